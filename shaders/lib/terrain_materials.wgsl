// What the ground is made of at a place: layers of material over the map's forms, blended by height.
//
//   slopes, curvature and height of the map, detail below its samples -> Forms
//   Forms -> weights of the layers, sum 1 (the twin of scene/terrain/materials/splat.rs)
//   a near and a far tile of each layer that has weight -> one surface
//
// A function of the place and the footprint alone: the same ground from the side, from above into a page, at any
// resolution. What is finer than the footprint fades to its mean. All gradients are explicit, and the layer is a
// loop's counter: it is the same for all pixels that sample together.
//!include lib/terrain.wgsl
//!include lib/terrain_roads.wgsl

@group(1) @binding(8) var slope_map: texture_2d<f32>;
@group(1) @binding(10) var detail_texture: texture_2d<f32>;
// Made by terrain_layers.wgsl: relative colour and height; normal x and y, roughness, occlusion.
@group(1) @binding(11) var layer_colours: texture_2d_array<f32>;
@group(1) @binding(26) var layer_forms: texture_2d_array<f32>;
@group(1) @binding(12) var trilinear: sampler;

struct TerrainMaterial {
    base_colour: vec3<f32>,
    // In the world, y up.
    normal: vec3<f32>,
    roughness: f32,
    // Reflectance straight on is 0.08 times this.
    specular: f32,
    occlusion: f32,
    // Metres along y, about the surface that the mesh has.
    displacement: f32,
}

const GROUND_ROCK: u32 = 0u;
const GROUND_SCREE: u32 = 1u;
const GROUND_DRY_GRASS: u32 = 2u;
const GROUND_GREEN_GRASS: u32 = 3u;
const GROUND_SNOW: u32 = 4u;
const GROUND_MUD: u32 = 5u;
const GROUND_GRAVEL: u32 = 6u;
const GROUND_FOREST_FLOOR: u32 = 7u;
const GROUND_KINDS: u32 = 8u;

// Share of a detail layer's period that a pixel may cover when the layer begins to fade, and when it is gone.
const FADE_BEGIN: f32 = 0.012;
const FADE_END: f32 = 0.035;
// The same of a tile of a material layer.
const TILE_FADE_BEGIN: f32 = 0.020;
const TILE_FADE_END: f32 = 0.075;
// How much a layer that stands higher covers the others: 0 mixes them.
const HEIGHT_BLEND: f32 = 13.0;
// A relative colour of 1, as stored.
const MEAN_COLOUR: f32 = 0.4;

// The ground before layers: from the map, and from the detail that a footprint can show.
struct Forms {
    // Of the map, and with the detail.
    base: vec2<f32>,
    slope: vec2<f32>,
    // Above 0 on crests.
    curvature: f32,
    // Metres, detail included.
    height: f32,
    // From 0 to 1 over the map's range.
    share: f32,
    relief: vec4<f32>,
    noise: vec4<f32>,
    // Metres that a pixel covers.
    footprint: f32,
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

// Height without detail, from the heights and slopes of the four samples around (Ferguson's patch without twist): what
// a bilinear sampler gives is metres off where the ground bends.
fn map_height(world: vec2<f32>) -> f32 {
    let size = terrain.map_size;
    let place = clamp(world / terrain.pixel_size + (size - 1.0) * 0.5, vec2(0.0), size - 1.0);
    let low = min(floor(place), size - 2.0);
    let f = place - low;
    let g = 1.0 - f;
    let step = terrain.pixel_size;
    var height = 0.0;
    for (var i = 0; i < 4; i++) {
        let corner = vec2(i & 1, i >> 1u);
        let texel = textureLoad(slope_map, vec2<i32>(low) + corner, 0);
        let t = select(g, f, corner == vec2(1));
        let w = t * t * (3.0 - 2.0 * t);
        // The slope's part, which is 0 at both ends.
        let d = select(f * g * g, -f * f * g, corner == vec2(1)) * step;
        height += texel.w * w.x * w.y + texel.x * d.x * w.y + texel.y * w.x * d.y;
    }
    return 0.5 * (terrain.height_range.x + terrain.height_range.y) + height;
}

fn terrain_forms(world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> Forms {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let map = textureSampleGrad(slope_map, trilinear, map_uv(world), dx * step, dy * step);
    var forms: Forms;
    forms.base = map.xy;
    forms.curvature = map.z;
    // Along the ground, not the plane.
    let lift = vec2(dot(map.xy, dx), dot(map.xy, dy));
    forms.footprint = sqrt(length(vec3(dx, lift.x)) * length(vec3(dy, lift.y)));
    let strength = terrain.flat_strength + (terrain.steep_strength - terrain.flat_strength) * slope_factor(map.xy);
    // On walls what is laid from above is drawn out: the finest layer gives way to one laid from the side.
    let upright = smoothstep(0.65, 1.10, length(map.xy));
    var slope = map.xy;
    var height = 0.5 * (terrain.height_range.x + terrain.height_range.y) + map.w;
    for (var i = 0; i < 4; i++) {
        let layer = terrain.layers[i];
        let shown = 1.0 - smoothstep(layer.period * FADE_BEGIN, layer.period * FADE_END, forms.footprint);
        if shown > 0.0 {
            let share = shown * select(1.0, 1.0 - 0.75 * upright, i == 3);
            let s = layer_sample(world, dx, dy, layer.period, layer.rotation, layer.offset) * share;
            slope += layer.gain * strength * s.yz;
            height += layer.gain * strength * layer.period * s.x;
            forms.relief[i] = s.x;
            forms.noise[i] = s.w;
        }
    }
    let road = road_shape(world, 0.0);
    if road.share > 0.0 {
        // The mesh is flat there: so is what shades it. Cuts and banks lean to the road.
        let natural = map_height(world) + height - (0.5 * (terrain.height_range.x + terrain.height_range.y) + map.w);
        slope = mix(slope, road.slope, road.share) + road.share_slope * (road.height - natural);
        height = mix(natural, road.height, road.share);
        forms.base = mix(forms.base, road.slope, road.share);
        forms.relief *= 1.0 - road.share;
    }
    forms.slope = slope;
    forms.height = height;
    // Hills are no mountains: low relief stays green to the top, and low summits have no snow.
    let range = max(terrain.height_range.y - terrain.height_range.x, 600.0);
    forms.share = clamp((height - terrain.height_range.x) / range, 0.0, 1.0);
    return forms;
}

// Weights of the eight kinds; they sum to 1.
fn terrain_weights(f: Forms) -> array<f32, 8> {
    let tangent = length(f.slope);
    let north = f.slope.y / sqrt(1.0 + tangent * tangent);
    let noise = f.noise;
    let relief = f.relief;
    let patches = 0.55 * noise.x + 0.45 * noise.y + 0.35 * noise.z + 0.30 * noise.w;
    let crests = 0.5 * relief.x + 0.45 * relief.y + 0.35 * relief.z + 0.3 * relief.w;
    let rocky = smoothstep(0.62, 0.92, tangent + 0.34 * crests + 0.22 * patches + 0.18 * f.curvature + 0.25 * (f.share - 0.4));
    let stony = smoothstep(0.30, 0.62, tangent * 0.8 + 0.5 * (f.share - 0.45) + 0.30 * patches + 0.20 * crests + 0.16 * f.curvature);
    let moist = clamp(0.55 - 0.55 * f.curvature - 0.5 * crests + 0.55 * north + 0.5 * patches + 0.25 * (0.6 - f.share), 0.0, 1.0);

    // Snow that is left in early summer: high, in hollows and on northern slopes.
    let cold = f.share + 0.16 * north - 0.12 * f.curvature - 0.08 * crests + 0.06 * patches;
    let alpine = smoothstep(1500.0, 2600.0, terrain.height_range.y);
    let snow = alpine * smoothstep(0.685, 0.76, cold) * (1.0 - smoothstep(0.75, 1.05, tangent));
    // Hollows on flat ground gather water, and what it carries.
    let flat = 1.0 - smoothstep(0.10, 0.30, tangent);
    let hollow = smoothstep(0.02, 0.30, -f.curvature - 0.25 * crests + 0.10 * patches);
    let muddy = flat * hollow * smoothstep(0.45, 0.80, moist) * smoothstep(-0.10, 0.35, noise.y + 0.5 * noise.w);
    let washed = flat * smoothstep(0.05, 0.40, -f.curvature + 0.30 * noise.z + 0.10 * noise.w - 0.15) * (1.0 - muddy);
    // Stones lie flat where it is flat.
    let settled = 1.0 - smoothstep(0.22, 0.46, tangent + 0.12 * noise.w);
    // Woods below the tree line, in damp places, in patches.
    let below = 1.0 - smoothstep(0.40, 0.58, f.share + 0.10 * noise.y);
    let wooded = below * smoothstep(0.60, 0.78, moist + 0.30 * noise.z + 0.20 * noise.y) * (1.0 - smoothstep(0.55, 0.85, tangent));
    let green = smoothstep(0.30, 0.78, moist + 0.12 * noise.w);

    var w: array<f32, 8>;
    w[GROUND_SNOW] = snow;
    var rest = 1.0 - snow;
    w[GROUND_ROCK] = rest * rocky;
    rest *= 1.0 - rocky;
    w[GROUND_MUD] = rest * muddy;
    rest *= 1.0 - muddy;
    let loose = max(stony, 0.8 * washed);
    w[GROUND_SCREE] = rest * loose * (1.0 - settled);
    w[GROUND_GRAVEL] = rest * loose * settled;
    rest *= 1.0 - loose;
    w[GROUND_FOREST_FLOOR] = rest * wooded;
    rest *= 1.0 - wooded;
    w[GROUND_GREEN_GRASS] = rest * green;
    w[GROUND_DRY_GRASS] = rest * (1.0 - green);
    return w;
}

// Weights of the layers there are. With fewer than eight, the nearest kind stands in; each layer beyond is a variant
// of an earlier one and takes a part of its ground.
fn layer_weights(f: Forms) -> array<f32, 16> {
    var stand_ins = array<u32, 8>(0u, 0u, 1u, 2u, 1u, 2u, 1u, 3u);
    let kinds = terrain_weights(f);
    var w: array<f32, 16>;
    for (var k = 0u; k < GROUND_KINDS; k++) {
        w[k] = kinds[k];
    }
    for (var k = GROUND_KINDS - 1u; k >= max(terrain.material_count, 1u); k--) {
        w[stand_ins[k]] += w[k];
        w[k] = 0.0;
    }
    for (var k = GROUND_KINDS; k < min(terrain.material_count, 16u); k++) {
        // Patches, another way round for each.
        let sign = select(-1.0, 1.0, (k & 1u) == 0u);
        let share = smoothstep(-0.12, 0.12, sign * (f.noise.y + 0.6 * f.noise.z + 0.4 * f.noise.w));
        w[k] = w[k - GROUND_KINDS] * share;
        w[k - GROUND_KINDS] *= 1.0 - share;
    }
    return w;
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

// How thick and thin beds lie at a place, about 0. They dip gently to the south-west and are bent by the coarse layers.
fn bedding(world: vec2<f32>, f: Forms, rise: f32) -> vec2<f32> {
    let level = f.height + 0.07 * world.x - 0.05 * world.y + 26.0 * f.noise.x + 9.0 * f.noise.y + 3.0 * f.noise.z;
    let crossed = rise + 0.12 * f.footprint;
    return vec2(
        (beds(level / 34.0) - 0.5) * (1.0 - smoothstep(10.0, 26.0, crossed)),
        (beds(level / 7.5 + 91.0) - 0.5) * (1.0 - smoothstep(2.0, 5.5, crossed)),
    );
}

// The colour of a kind at a place, seen from so far that nothing of its tiles shows.
fn kind_colour(kind: u32, f: Forms, bed: vec2<f32>) -> vec3<f32> {
    let noise = f.noise;
    let relief = f.relief;
    switch kind {
        case GROUND_ROCK: {
            let crests = 0.5 * relief.x + 0.45 * relief.y + 0.35 * relief.z + 0.3 * relief.w;
            let shade = 0.5 + 0.54 * bed.x + 0.5 * bed.y + 0.55 * noise.z + 0.35 * crests + 0.3 * noise.w;
            let grey = mix(vec3(0.128, 0.114, 0.106), vec3(0.268, 0.243, 0.214), clamp(shade, 0.0, 1.0));
            let rust = clamp(0.9 * noise.y + 0.8 * bed.x - 0.05, 0.0, 0.6);
            return mix(grey, vec3(0.275, 0.176, 0.112), rust) * (1.0 + 0.30 * relief.w);
        }
        case GROUND_SCREE: {
            let shade = 0.5 + 1.0 * noise.z + 0.8 * noise.w + 0.7 * relief.w - 0.5 * noise.y;
            return mix(vec3(0.250, 0.224, 0.190), vec3(0.172, 0.146, 0.122), clamp(shade, 0.0, 1.0));
        }
        case GROUND_DRY_GRASS: {
            let shade = 0.5 + 1.2 * noise.z + 0.9 * noise.w;
            let straw = mix(vec3(0.300, 0.232, 0.108), vec3(0.205, 0.150, 0.078), clamp(shade, 0.0, 1.0));
            return straw * (1.0 + 0.25 * relief.w);
        }
        case GROUND_GREEN_GRASS: {
            let shade = 0.5 + 1.1 * noise.y + 0.8 * noise.w;
            let meadow = mix(vec3(0.142, 0.146, 0.056), vec3(0.092, 0.112, 0.044), clamp(shade, 0.0, 1.0));
            return meadow * (1.0 + 0.25 * relief.w);
        }
        case GROUND_SNOW: {
            return vec3(0.80, 0.83, 0.87);
        }
        case GROUND_MUD: {
            return mix(vec3(0.130, 0.098, 0.068), vec3(0.086, 0.066, 0.048), clamp(0.5 + noise.w + noise.z, 0.0, 1.0));
        }
        case GROUND_GRAVEL: {
            let shade = 0.5 + 1.0 * noise.w + 0.6 * noise.z;
            return mix(vec3(0.262, 0.246, 0.222), vec3(0.190, 0.172, 0.150), clamp(shade, 0.0, 1.0));
        }
        default: {
            let shade = 0.5 + 1.0 * noise.w + 0.8 * noise.z;
            return mix(vec3(0.080, 0.082, 0.036), vec3(0.058, 0.066, 0.030), clamp(shade, 0.0, 1.0)) * (1.0 + 0.4 * relief.w);
        }
    }
}

// What tiles add to a kind's colour and form, all about its mean.
struct Tile {
    // Over the mean colour.
    colour: vec3<f32>,
    height: f32,
    // World slopes, of what is laid from above.
    slope: vec2<f32>,
    // How far a normal leans, of what is laid from the side.
    lean: vec3<f32>,
    roughness: f32,
    occlusion: f32,
}

// A footprint that is at least so long: what is finer does not belong to a far tile.
fn widened(d: vec2<f32>, least: f32) -> vec2<f32> {
    return d * max(1.0, least / max(length(d), 1e-6));
}

struct Texel {
    colour: vec4<f32>,
    // Slopes on u and v, roughness, occlusion.
    form: vec4<f32>,
}

fn texel_of(layer: u32, uv: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> Texel {
    let c = textureSampleGrad(layer_colours, trilinear, uv, layer, dx, dy);
    let f = textureSampleGrad(layer_forms, trilinear, uv, layer, dx, dy);
    let n = f.xy * 2.0 - 1.0;
    let up = sqrt(max(1.0 - dot(n, n), 0.04));
    return Texel(vec4(c.rgb / MEAN_COLOUR, c.a - 0.5), vec4(-n / up, f.zw));
}

// Adds a texel that is `shown` to a tile that is multiplied together from what went before.
fn laid_from_above(tile: Tile, t: Texel, r: vec2<f32>, shown: f32, strength: f32) -> Tile {
    var out = tile;
    out.colour *= mix(vec3(1.0), t.colour.rgb, shown);
    out.height += shown * strength * t.colour.a;
    out.slope += shown * strength * vec2(r.x * t.form.x - r.y * t.form.y, r.y * t.form.x + r.x * t.form.y);
    out.roughness = mix(out.roughness, t.form.z, shown);
    out.occlusion *= mix(1.0, t.form.w, shown);
    return out;
}

fn tile_from_above(layer: u32, m: MaterialLayer, world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, shown: vec2<f32>) -> Tile {
    var tile = Tile(vec3(1.0), 0.0, vec2(0.0), vec3(0.0), m.roughness, 1.0);
    if shown.y > 0.0 {
        let r = m.far_turn;
        let turn = mat2x2<f32>(vec2(r.x, -r.y), vec2(r.y, r.x)) * (1.0 / m.far_period);
        let t = texel_of(layer, turn * world, widened(turn * dx, m.far_least), widened(turn * dy, m.far_least));
        tile = laid_from_above(tile, t, r, shown.y, m.far_strength);
    }
    if shown.x > 0.0 {
        let r = m.near_turn;
        let turn = mat2x2<f32>(vec2(r.x, -r.y), vec2(r.y, r.x)) * (1.0 / m.near_period);
        let t = texel_of(layer, turn * world, turn * dx, turn * dy);
        tile = laid_from_above(tile, t, r, shown.x, 1.0);
    }
    return tile;
}

// The same seen from the side, over one horizontal axis and the height. `along` is the direction of u.
fn tile_from_side(layer: u32, m: MaterialLayer, uv: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, along: vec3<f32>, shown: vec2<f32>) -> Tile {
    var tile = Tile(vec3(1.0), 0.0, vec2(0.0), vec3(0.0), m.roughness, 1.0);
    if shown.y > 0.0 {
        let scale = 1.0 / m.far_period;
        let t = texel_of(layer, uv * scale, dx * scale, dy * scale);
        tile = laid_from_above(tile, t, vec2(1.0, 0.0), shown.y, m.far_strength);
    }
    if shown.x > 0.0 {
        let scale = 1.0 / m.near_period;
        let t = texel_of(layer, uv * scale, dx * scale, dy * scale);
        tile = laid_from_above(tile, t, vec2(1.0, 0.0), shown.x, 1.0);
    }
    tile.lean = tile.slope.x * along + vec3(0.0, tile.slope.y, 0.0);
    tile.slope = vec2(0.0);
    return tile;
}

fn add_tile(sum: Tile, tile: Tile, weight: f32) -> Tile {
    return Tile(
        sum.colour + weight * tile.colour, sum.height + weight * tile.height, sum.slope + weight * tile.slope,
        sum.lean + weight * tile.lean, sum.roughness + weight * tile.roughness, sum.occlusion + weight * tile.occlusion,
    );
}

fn terrain_material(world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> TerrainMaterial {
    let f = terrain_forms(world, dx, dy);
    let weights = layer_weights(f);
    let lift = vec2(dot(f.slope, dx), dot(f.slope, dy));
    let bed = bedding(world, f, max(abs(lift.x), abs(lift.y)));
    // Shares of the three directions that tiles are laid from.
    let steep = smoothstep(0.60, 1.05, length(f.slope));
    let facing = f.slope * f.slope * f.slope * f.slope;
    let sides = steep * facing / max(facing.x + facing.y, 1e-6);
    // Lines of repeated tiles are bent.
    let place = world + vec2(7.0 * f.noise.y + 2.2 * f.noise.z, 2.4 * f.noise.z - 6.0 * f.noise.x);

    var total = 0.0;
    var colour = vec3(0.0);
    var slope = vec2(0.0);
    var lean = vec3(0.0);
    var other = vec4(0.0);
    for (var i = 0u; i < min(terrain.material_count, 16u); i++) {
        let weight = weights[i];
        if weight <= 0.002 {
            continue;
        }
        let m = terrain.materials[i];
        let kind = i % GROUND_KINDS;
        let shown = 1.0 - smoothstep(
            vec2(m.near_period, m.far_period) * TILE_FADE_BEGIN, vec2(m.near_period, m.far_period) * TILE_FADE_END,
            vec2(f.footprint),
        );
        var tile: Tile;
        if kind == GROUND_ROCK && steep > 0.0 {
            tile = Tile(vec3(0.0), 0.0, vec2(0.0), vec3(0.0), 0.0, 0.0);
            if steep < 1.0 {
                tile = add_tile(tile, tile_from_above(i, m, place, dx, dy, shown), 1.0 - steep);
            }
            if sides.x > 0.01 {
                let uv = vec2(place.y, f.height);
                let side = tile_from_side(i, m, uv, vec2(dx.y, lift.x), vec2(dy.y, lift.y), vec3(0.0, 0.0, 1.0), shown);
                tile = add_tile(tile, side, sides.x);
            }
            if sides.y > 0.01 {
                let uv = vec2(place.x, f.height);
                let side = tile_from_side(i, m, uv, vec2(dx.x, lift.x), vec2(dy.x, lift.y), vec3(1.0, 0.0, 0.0), shown);
                tile = add_tile(tile, side, sides.y);
            }
        } else {
            tile = tile_from_above(i, m, place, dx, dy, shown);
        }
        let b = weight * exp(HEIGHT_BLEND * clamp(tile.height, -0.6, 0.6));
        total += b;
        colour += b * tile.colour * m.tint * kind_colour(kind, f, bed);
        slope += b * tile.slope * m.bump;
        lean += b * tile.lean * m.bump;
        other += b * vec4(tile.roughness, m.specular, tile.occlusion, tile.height * m.displacement);
    }
    let share = 1.0 / max(total, 1e-6);
    other *= share;

    // Hard beds stand as steps: the rock between them is steeper. Snow lies smooth over what is below it.
    let rocky = weights[GROUND_ROCK] + weights[GROUND_ROCK + GROUND_KINDS];
    let snowy = weights[GROUND_SNOW] + weights[GROUND_SNOW + GROUND_KINDS];
    let macro_slope = f.slope * (1.0 + rocky * 0.9 * (0.6 * bed.x + 0.55 * bed.y));
    let ground = macro_slope + share * slope;
    let leaning = normalize(vec3(-ground.x, 1.0, -ground.y)) - share * lean;
    // Ground is a height over the plane, and so are pages of it: no normal looks down.
    let normal = normalize(vec3(leaning.x, max(leaning.y, 0.06), leaning.z));
    let hollow = 0.5 * f.relief.y + 0.6 * f.relief.z + 0.7 * f.relief.w;
    let wide = 0.90 + (1.0 - 0.75 * snowy) * 0.55 * hollow + 0.10 * f.curvature;
    return TerrainMaterial(
        max(share * colour, vec3(0.005)), normal, clamp(other.x, 0.05, 1.0), other.y,
        clamp(wide * other.z, 0.30, 1.12), other.w,
    );
}
