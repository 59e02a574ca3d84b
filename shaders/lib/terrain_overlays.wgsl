// What is painted on the ground: roads and decals, composited over the layers in order, each attribute under its own
// opacity. `road_material` and `decal_material` shade one primitive, for whoever draws it as a ribbon or quad;
// `terrain_overlays` finds all that cover a place.
//!include lib/terrain_materials.wgsl

struct OverlayMaterial {
    base_colour: vec3<f32>,
    normal: vec3<f32>,
    roughness: f32,
    specular: f32,
    occlusion: f32,
    // Metres along y.
    displacement: f32,
    // Of base colour; of the normal; of roughness, specular, occlusion and displacement.
    opacity: vec3<f32>,
}

const ROAD_GRAVEL: u32 = 0u;
const ROAD_TRACK: u32 = 1u;
const DECAL_PUDDLE: u32 = 0u;
const DECAL_SCORCH: u32 = 1u;
const DECAL_FIELD: u32 = 2u;
const DECAL_MARK: u32 = 3u;
const DECAL_TRODDEN: u32 = 4u;
// How far beyond its edge a road is painted at most, metres.
const ROAD_MARGIN: f32 = 1.4;

// The layer of a kind, or what stands in for it.
fn kind_layer(kind: u32) -> u32 {
    return min(kind, max(terrain.material_count, 1u) - 1u);
}

// A tile of a layer over axes of one's own, in metres.
fn laid(kind: u32, at: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, period: f32) -> Texel {
    return texel_of(kind_layer(kind), at / period, dx / period, dy / period);
}

// Slopes along one's own axes, in the world.
fn world_slope(axis: vec2<f32>, slope: vec2<f32>) -> vec2<f32> {
    return axis * slope.x + vec2(-axis.y, axis.x) * slope.y;
}

fn normal_of(slope: vec2<f32>) -> vec3<f32> {
    return normalize(vec3(-slope.x, 1.0, -slope.y));
}

// A road at `along` metres from its beginning and `across` metres from its middle; `dx` and `dy` are how both move from
// pixel to pixel. `axis`: unit vector along it in the world. `slope`: of its plane.
fn road_material(
    kind: u32, along: f32, across: f32, half_width: f32, dx: vec2<f32>, dy: vec2<f32>, axis: vec2<f32>, slope: vec2<f32>,
) -> OverlayMaterial {
    let at = vec2(along, across);
    let footprint = sqrt(length(dx) * length(dy));
    let stones = laid(GROUND_GRAVEL, at, dx, dy, 3.3);
    let earth = laid(GROUND_MUD, at + vec2(3.1, 1.7), dx, dy, 9.7);
    let track = kind == ROAD_TRACK;
    let side = abs(across) / half_width;
    // Wheels run where they ran before, not quite straight.
    let bend = 0.08 * sin(along * 0.11) + 0.05 * sin(along * 0.29 + 2.0);
    let rut_at = (abs(across / half_width + bend) - 0.50) / 0.20;
    let rut = exp(-rut_at * rut_at);
    let fine = 1.0 - smoothstep(0.25, 1.0, footprint);
    let ragged = 0.55 * earth.colour.a + 0.40 * stones.colour.a + 0.10 * sin(along * 0.37) + 0.06 * sin(along * 1.13 + 1.0);
    // Beside the edge lie stones that wheels threw.
    let edge = smoothstep(1.28, 0.92, side + ragged);
    let middle = select(0.0, smoothstep(0.30, 0.06, abs(side + bend * 0.5) + 0.5 * ragged), track);
    var out: OverlayMaterial;
    let pale = select(vec3(0.262, 0.232, 0.190), vec3(0.198, 0.160, 0.118), track);
    let packed = select(vec3(0.212, 0.186, 0.150), vec3(0.142, 0.110, 0.078), track);
    let loose = pale * stones.colour.rgb;
    let beaten = packed * mix(vec3(1.0), stones.colour.rgb, 0.45) * mix(vec3(1.0), earth.colour.rgb, 0.35);
    out.base_colour = mix(loose, beaten, rut);
    // A bank of thrown stones between the ruts and at the edges, and the ruts themselves.
    let depth = -0.055 * rut;
    let rut_slope = 0.055 * 2.0 * rut_at * rut / (0.20 * half_width) * sign(across / half_width + bend) * fine;
    let bump = stones.form.xy * mix(0.85, 0.35, rut) + earth.form.xy * 0.3;
    out.normal = normal_of(slope + world_slope(axis, bump + vec2(0.0, rut_slope)));
    out.roughness = mix(stones.form.z, 0.72, 0.6 * rut);
    out.specular = 0.35;
    out.occlusion = mix(1.0, stones.form.w, 0.8) * (1.0 - 0.12 * rut);
    out.displacement = 0.10 * stones.colour.a + depth;
    out.opacity = vec3(edge * (1.0 - 0.85 * middle));
    return out;
}

// A decal at `uv` from -1 to 1, `local` metres from its centre along its own axes; `dx`, `dy`, `axis` and `slope` as
// above, with the slope of the ground below it.
fn decal_material(
    kind: u32, uv: vec2<f32>, local: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, axis: vec2<f32>, slope: vec2<f32>,
) -> OverlayMaterial {
    let footprint = sqrt(length(dx) * length(dy));
    var out: OverlayMaterial;
    out.specular = 0.4;
    out.occlusion = 1.0;
    switch kind {
        case DECAL_PUDDLE: {
            let earth = laid(GROUND_MUD, local, dx, dy, 2.6);
            let reach = length(uv) + 0.35 * earth.colour.a;
            let wet = smoothstep(1.0, 0.62, reach);
            let water = smoothstep(0.74, 0.60, reach);
            out.base_colour = mix(vec3(0.078, 0.062, 0.048) * earth.colour.rgb, vec3(0.030, 0.027, 0.024), water);
            out.normal = normal_of(mix(slope + world_slope(axis, 0.3 * earth.form.xy), vec2(0.0), water));
            out.roughness = mix(0.45, 0.06, water);
            out.specular = 0.5;
            out.displacement = -0.03 * water;
            out.opacity = vec3(0.92 * wet, wet, wet);
        }
        case DECAL_SCORCH: {
            let ash = laid(GROUND_GRAVEL, local, dx, dy, 4.7);
            let burnt = smoothstep(1.0, 0.35, length(uv) + 0.45 * ash.colour.a);
            out.base_colour = mix(vec3(0.022, 0.020, 0.019), vec3(0.120, 0.115, 0.110), smoothstep(0.20, 0.45, ash.colour.a));
            out.normal = normal_of(slope);
            out.roughness = 0.95;
            out.specular = 0.15;
            out.occlusion = 0.9;
            out.opacity = vec3(0.88 * burnt, 0.0, burnt);
        }
        case DECAL_FIELD: {
            let earth = laid(GROUND_MUD, local, dx, dy, 5.3);
            let blades = laid(GROUND_GREEN_GRASS, local, dx, dy, 2.1);
            let fine = 1.0 - smoothstep(0.16, 0.60, footprint);
            let turn = local.y * (6.2831853 / 0.85) + 0.5 * sin(local.x * 0.21);
            let crest = sin(turn);
            // Strips were ploughed on different days.
            let strip = 0.5 + 0.5 * sin(floor(local.y / 6.8) * 2.7);
            let crop = smoothstep(-0.25, 0.45, 0.6 * fine * crest + 0.8 * (strip - 0.5)) * 0.72;
            let soil = vec3(0.128, 0.090, 0.060) * earth.colour.rgb * (1.0 + 0.25 * fine * crest);
            out.base_colour = mix(soil, vec3(0.110, 0.142, 0.044) * blades.colour.rgb, crop);
            let bump = mix(0.5 * earth.form.xy, 0.5 * blades.form.xy, crop) + vec2(0.0, 0.42 * fine * cos(turn));
            out.normal = normal_of(slope + world_slope(axis, bump));
            out.roughness = mix(0.90, 0.78, crop);
            out.specular = 0.25;
            out.occlusion = (0.86 + 0.14 * crest * fine) * earth.form.w;
            out.displacement = 0.09 * crest * fine;
            let border = max(abs(uv.x), abs(uv.y)) + 0.05 * earth.colour.a + 0.012 * sin(local.x * 0.7) + 0.012 * sin(local.y * 0.9);
            out.opacity = vec3(smoothstep(1.0, 0.95, border));
        }
        case DECAL_MARK: {
            let worn = laid(GROUND_GRAVEL, local, dx, dy, 3.3);
            let r = length(uv);
            let soft = clamp(1.5 * footprint / 7.0, 0.012, 0.2);
            let ring = smoothstep(0.10 + soft, 0.10 - soft, abs(r - 0.86));
            let bars = smoothstep(0.07 + soft, 0.07 - soft, abs(abs(uv.x) - 0.30)) * smoothstep(0.46 + soft, 0.46 - soft, abs(uv.y));
            let bar = smoothstep(0.07 + soft, 0.07 - soft, abs(uv.y)) * smoothstep(0.30 + soft, 0.30 - soft, abs(uv.x));
            let paint = max(ring, max(bars, bar)) * smoothstep(-0.26, -0.04, worn.colour.a);
            out.base_colour = vec3(0.62, 0.61, 0.58) * (0.9 + 0.1 * worn.colour.rgb);
            out.normal = normal_of(slope);
            out.roughness = 0.55;
            out.specular = 0.5;
            out.opacity = vec3(0.9 * paint, 0.0, paint);
        }
        default: {
            let stones = laid(GROUND_GRAVEL, local, dx, dy, 2.4);
            let trodden = smoothstep(1.0, 0.55, length(uv) + 0.3 * stones.colour.a);
            out.base_colour = vec3(0.2);
            out.normal = normal_of(slope + world_slope(axis, 0.8 * stones.form.xy));
            out.roughness = 0.70;
            out.specular = 0.35;
            out.occlusion = stones.form.w;
            out.opacity = vec3(0.0, 0.85 * trodden, 0.85 * trodden);
        }
    }
    return out;
}

// `o` over `under`, in what the bits name.
fn composited(under: TerrainMaterial, o: OverlayMaterial, attributes: u32) -> TerrainMaterial {
    var out = under;
    let has = vec3<bool>((attributes & 1u) != 0u, (attributes & 2u) != 0u, (attributes & 4u) != 0u);
    let a = select(vec3(0.0), clamp(o.opacity, vec3(0.0), vec3(1.0)), has);
    out.base_colour = mix(under.base_colour, o.base_colour, a.x);
    out.normal = normalize(mix(under.normal, o.normal, a.y));
    out.roughness = mix(under.roughness, o.roughness, a.z);
    out.specular = mix(under.specular, o.specular, a.z);
    out.occlusion = mix(under.occlusion, o.occlusion, a.z);
    out.displacement = mix(under.displacement, o.displacement, a.z);
    return out;
}

// A road's nearest segment so far.
struct NearestRoad {
    distance: f32,
    across: f32,
    along: f32,
    index: u32,
}

fn with_road(
    under: TerrainMaterial, near: NearestRoad, world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>,
) -> TerrainMaterial {
    let segment = overlay_primitives[near.index];
    if near.distance >= segment.half_width + ROAD_MARGIN {
        return under;
    }
    let axis = normalize(segment.other - segment.place);
    let right = vec2(-axis.y, axis.x);
    let own = road_material(
        segment.kind, near.along, near.across, segment.half_width, vec2(dot(axis, dx), dot(right, dx)),
        vec2(dot(axis, dy), dot(right, dy)), axis, road_shape(world, 0.0).slope,
    );
    return composited(under, own, segment.attributes);
}

// Paints all roads and decals that cover a place over a material.
fn terrain_overlays(world: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>, material: ptr<function, TerrainMaterial>) {
    let list = overlay_list(world);
    var road = 0xffffffffu;
    var near = NearestRoad(1e9, 0.0, 0.0, 0u);
    for (var i = list.x; i < list.y; i++) {
        let index = overlay_words[i];
        let primitive = overlay_primitives[index];
        let is_decal = primitive.kind >= OVERLAY_DECAL;
        // Segments of a road stand together: it is painted once, where it is nearest.
        if road != 0xffffffffu && (is_decal || primitive.road != road) {
            *material = with_road(*material, near, world, dx, dy);
            road = 0xffffffffu;
        }
        if is_decal {
            let axis = primitive.pair;
            let right = vec2(-axis.y, axis.x);
            let local = vec2(dot(axis, world - primitive.place), dot(right, world - primitive.place));
            let uv = local / primitive.other;
            if max(abs(uv.x), abs(uv.y)) >= 1.0 {
                continue;
            }
            let own = decal_material(
                primitive.kind - OVERLAY_DECAL, uv, local, vec2(dot(axis, dx), dot(right, dx)),
                vec2(dot(axis, dy), dot(right, dy)), axis, terrain_forms(world, dx, dy).slope,
            );
            *material = composited(*material, own, primitive.attributes);
            continue;
        }
        if road == 0xffffffffu {
            road = primitive.road;
            near = NearestRoad(1e9, 0.0, 0.0, index);
        }
        let found = nearest_on(world, primitive.place, primitive.other);
        if found.x < near.distance {
            let way = primitive.other - primitive.place;
            let out = world - primitive.place;
            let across = (way.x * out.y - way.y * out.x) / max(length(way), 1e-3);
            near = NearestRoad(found.x, across, primitive.along + found.y * length(way), index);
        }
    }
    if road != 0xffffffffu {
        *material = with_road(*material, near, world, dx, dy);
    }
}
