// What the ground looks like: normal and colour from the map, its slopes, and the detail below its samples.
//
// Every form and every colour comes from the map and from layers of one detail texture, each with mips; a layer
// that is finer than a pixel fades out before it is skipped, so nothing pops and nothing sparkles.

@group(1) @binding(8) var slope_map: texture_2d<f32>;
@group(1) @binding(9) var light_map: texture_2d<f32>;
@group(1) @binding(10) var detail_texture: texture_2d<f32>;
// Stones (height, slopes) and tufts: scene/terrain/detail/grain.rs.
@group(1) @binding(11) var grain_texture: texture_2d<f32>;
@group(1) @binding(12) var trilinear: sampler;

struct Ground {
    normal: vec3<f32>,
    albedo: vec3<f32>,
    occlusion: f32,
    // See the function of that name.
    turned_to_sun: f32,
}

// Tiles of stones and tufts at one's feet, and some way off, in metres.
const GRAVEL_PERIOD: f32 = 3.7;
const BOULDER_PERIOD: f32 = 17.3;
// Tile of the relief laid against walls, seen from the side, in metres.
const WALL_PERIOD: f32 = 73.0;
// Metres a pixel covers where the small tile gives way to the large one (few pixels need both), and where that goes.
const GRAVEL_BEGIN: f32 = 0.030;
const GRAVEL_END: f32 = 0.055;
const BOULDER_BEGIN: f32 = 0.20;
const BOULDER_END: f32 = 0.80;
// Share of a layer's period that a pixel may cover when the layer begins to fade, and when it is gone.
const FADE_BEGIN: f32 = 0.012;
const FADE_END: f32 = 0.035;

// Sun (x) and sky (y) visibility from the terrain's light map.
fn terrain_light(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>) -> vec2<f32> {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let uv = map_uv(world.xz);
    let m = textureSampleGrad(light_map, trilinear, uv, dx.xz * step, dy.xz * step);
    let shadow = m.x + m.y;
    let penumbra = max(m.z, terrain.softness);
    return vec2(smoothstep(shadow - penumbra, shadow + penumbra, world.y), m.w);
}

// From 0 to 1, whether the ground without its detail is turned to the sun: crests of the detail and stones on the
// far side stay dark.
fn turned_to_sun(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>, sun: vec3<f32>) -> f32 {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let slope = textureSampleGrad(slope_map, trilinear, map_uv(world.xz), dx.xz * step, dy.xz * step).xy;
    return smoothstep(-0.10, 0.10, dot(normalize(vec3(-slope.x, 1.0, -slope.y)), sun));
}

fn hash_1d(n: f32) -> f32 {
    var h = bitcast<u32>(i32(n)) * 0x9e3779b9u;
    h ^= h >> 15u;
    h *= 0x85ebca6bu;
    h ^= h >> 13u;
    return f32(h >> 8u) / 16777216.0;
}

// Beds of rock: smooth random values along one axis.
fn beds(at: f32) -> f32 {
    let low = floor(at);
    let f = at - low;
    return mix(hash_1d(low), hash_1d(low + 1.0), f * f * (3.0 - 2.0 * f));
}

fn layer_sample(world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, period: f32, r: vec2<f32>, offset: vec2<f32>) -> vec4<f32> {
    let turn = mat2x2<f32>(vec2(r.x, -r.y), vec2(r.y, r.x));
    let scale = 1.0 / period;
    let s = textureSampleGrad(
        detail_texture, trilinear, turn * world * scale + offset, turn * dx * scale, turn * dy * scale,
    );
    // Slopes turned back to the world's axes.
    return vec4(s.x, r.x * s.y - r.y * s.z, r.y * s.y + r.x * s.z, s.w);
}

// Stones over their mean height, their slopes, tufts.
fn grain_sample(world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, period: f32, r: vec2<f32>, shown: f32) -> vec4<f32> {
    if shown <= 0.0 {
        return vec4(0.0);
    }
    let turn = mat2x2<f32>(vec2(r.x, -r.y), vec2(r.y, r.x)) * (1.0 / period);
    let t = textureSampleGrad(grain_texture, trilinear, turn * world, turn * dx, turn * dy);
    // Heights from 0 to 1, slopes from -2 to 2, tufts from -1 to 1.
    let s = vec4(t.x, t.y * 4.0 - 2.0, t.z * 4.0 - 2.0, t.w * 2.0 - 1.0);
    return shown * vec4(s.x - 0.08, r.x * s.y - r.y * s.z, r.y * s.y + r.x * s.z, s.w);
}

fn ground_surface(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>, sun: vec3<f32>) -> Ground {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let base = textureSampleGrad(slope_map, trilinear, map_uv(world.xz), dx.xz * step, dy.xz * step);
    let steep = slope_factor(base.xy);
    let strength = terrain.flat_strength + (terrain.steep_strength - terrain.flat_strength) * steep;
    // Metres that a pixel covers.
    let footprint = sqrt(length(dx) * length(dy));
    // On walls what is laid from above is drawn out: the finest layer gives way to one laid from the side.
    let upright = smoothstep(0.65, 1.10, length(base.xy));
    var slope = base.xy;
    var relief = vec4(0.0);
    var noise = vec4(0.0);
    for (var i = 0; i < 4; i++) {
        let layer = terrain.layers[i];
        let shown = 1.0 - smoothstep(layer.period * FADE_BEGIN, layer.period * FADE_END, footprint);
        if shown > 0.0 {
            let share = shown * select(1.0, 1.0 - 0.75 * upright, i == 3);
            let s = layer_sample(world.xz, dx.xz, dy.xz, layer.period, layer.rotation, layer.offset) * share;
            slope += layer.gain * strength * s.yz;
            relief[i] = s.x;
            noise[i] = s.w;
        }
    }
    let leaves = smoothstep(GRAVEL_BEGIN, GRAVEL_END, footprint);
    let gravel = grain_sample(world.xz, dx.xz, dy.xz, GRAVEL_PERIOD, vec2(0.8, 0.6), 1.0 - leaves);
    let boulders = grain_sample(world.xz, dx.xz, dy.xz, BOULDER_PERIOD, vec2(0.28, 0.96), leaves * (1.0 - smoothstep(BOULDER_BEGIN, BOULDER_END, footprint)));
    let tufts = gravel.w + boulders.w;

    // What grows and lies here. Numbers from 0 to 1 along height, and slopes as tangents.
    // Hills are no mountains: low relief stays green to the top, and low summits have no snow.
    let range = max(terrain.height_range.y - terrain.height_range.x, 600.0);
    let height = clamp((world.y - terrain.height_range.x) / range, 0.0, 1.0);
    let tangent = length(slope);
    let north = slope.y / sqrt(1.0 + tangent * tangent);
    let patches = 0.55 * noise.x + 0.45 * noise.y + 0.35 * noise.z + 0.30 * noise.w;
    let crests = 0.5 * relief.x + 0.45 * relief.y + 0.35 * relief.z + 0.3 * relief.w;
    let rocky = smoothstep(0.62, 0.92, tangent + 0.34 * crests + 0.22 * patches + 0.18 * base.z + 0.25 * (height - 0.4));
    let stony = smoothstep(0.30, 0.62, tangent * 0.8 + 0.5 * (height - 0.45) + 0.30 * patches + 0.20 * crests + 0.16 * base.z);
    let moist = clamp(0.55 - 0.55 * base.z - 0.5 * crests + 0.55 * north + 0.5 * patches + 0.25 * (0.6 - height), 0.0, 1.0);

    let straw = mix(vec3(0.300, 0.232, 0.108), vec3(0.205, 0.150, 0.078), clamp(0.5 + 1.2 * noise.z + 0.9 * noise.w, 0.0, 1.0));
    let meadow = mix(vec3(0.142, 0.146, 0.056), vec3(0.096, 0.112, 0.046), clamp(0.5 + 1.1 * noise.y + 0.8 * noise.w, 0.0, 1.0));
    var albedo = mix(straw, meadow, smoothstep(0.30, 0.78, moist));
    albedo *= 1.0 + 0.42 * gravel.w + 0.34 * boulders.w + 0.25 * relief.w;
    let scree = mix(vec3(0.250, 0.224, 0.190), vec3(0.172, 0.146, 0.122), clamp(0.5 + 1.0 * noise.z + 0.8 * noise.w + 0.7 * relief.w - 0.5 * noise.y, 0.0, 1.0));
    albedo = mix(albedo, scree * (1.0 + 0.70 * gravel.x + 0.55 * boulders.x), stony);

    // The layer laid from the side, along the axis that the wall faces. Between the axes it fades: no seam.
    let facing = abs(base.xy);
    let one_axis = abs(facing.x - facing.y) / max(facing.x + facing.y, 1e-3);
    let wall_share = smoothstep(0.55, 0.95, tangent) * smoothstep(0.04, 0.40, one_axis)
        * (1.0 - smoothstep(WALL_PERIOD * 0.008, WALL_PERIOD * 0.022, footprint));
    var wall = vec4(0.0);
    let along_z = facing.x > facing.y;
    if wall_share > 0.0 {
        let side = select(vec2(world.x, world.y), vec2(world.z, world.y), along_z) / WALL_PERIOD;
        let side_dx = select(vec2(dx.x, dx.y), vec2(dx.z, dx.y), along_z) / WALL_PERIOD;
        let side_dy = select(vec2(dy.x, dy.y), vec2(dy.z, dy.y), along_z) / WALL_PERIOD;
        wall = wall_share * textureSampleGrad(detail_texture, trilinear, side, side_dx, side_dy);
    }

    // Beds dip gently to the south-west and are bent by the coarse layers.
    let level = world.y + 0.07 * world.x - 0.05 * world.z + 26.0 * noise.x + 9.0 * noise.y + 3.0 * noise.z;
    let crossed = max(abs(dx.y), abs(dy.y)) + 0.12 * footprint;
    let thick = (beds(level / 34.0) - 0.5) * (1.0 - smoothstep(10.0, 26.0, crossed));
    let thin = (beds(level / 7.5 + 91.0) - 0.5) * (1.0 - smoothstep(2.0, 5.5, crossed));
    let bed = 0.6 * thick + 0.55 * thin;
    var rock = mix(vec3(0.128, 0.114, 0.106), vec3(0.268, 0.243, 0.214), clamp(0.5 + 0.9 * bed + 0.55 * noise.z + 0.35 * crests + 0.5 * wall.w + 0.4 * wall.x, 0.0, 1.0));
    rock = mix(rock, vec3(0.275, 0.176, 0.112), clamp(0.9 * noise.y + 0.8 * thick - 0.05, 0.0, 0.6));
    albedo = mix(albedo, rock * (1.0 + 0.30 * relief.w + 0.30 * boulders.x + 0.25 * gravel.x), rocky);
    // Hard beds stand as steps: the rock between them is steeper.
    slope *= 1.0 + rocky * 0.9 * bed;

    // Snow that is left in early summer: high, in hollows and on northern slopes.
    let cold = height + 0.16 * north - 0.12 * base.z - 0.08 * crests + 0.06 * patches;
    let alpine = smoothstep(1500.0, 2600.0, terrain.height_range.y);
    let snow = alpine * smoothstep(0.685, 0.76, cold) * (1.0 - smoothstep(0.75, 1.05, tangent));
    albedo = mix(albedo, vec3(0.80, 0.83, 0.87), snow);

    // For shading, the finest forms count for more than the mesh shows of them.
    let roughness = mix(1.0, 0.25, snow);
    // Stones show through grass where it is thin.
    let bare = roughness * (0.10 + 0.90 * max(stony, 0.6 * rocky));
    slope += bare * (0.45 * gravel.yz + 0.45 * boulders.yz);
    let across = select(vec3(1.0, 0.0, 0.0), vec3(0.0, 0.0, 1.0), along_z);
    let bump = 0.04 * (wall.y * across + vec3(0.0, wall.z, 0.0));
    let normal = normalize(normalize(vec3(-slope.x, 1.0, -slope.y)) - bump);
    let hollow = 0.5 * relief.y + 0.6 * relief.z + 0.7 * relief.w + 0.35 * bare * (gravel.x + boulders.x) + 0.10 * tufts + 0.6 * wall.x;
    let occlusion = clamp(0.90 + roughness * (0.55 * hollow) + 0.10 * base.z, 0.55, 1.12);
    let turned = smoothstep(-0.10, 0.10, dot(normalize(vec3(-base.x, 1.0, -base.y)), sun));
    return Ground(normal, max(albedo, vec3(0.01)), occlusion, turned);
}
