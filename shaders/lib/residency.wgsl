// Sampling an image of which only some tiles have memory.
//
// The residency map has one texel a mip-0 tile: the finest mip that may be sampled there. WGSL has no gradient sample
// with a clamp of its level, so levels are explicit here: never finer than the map says, at the place of each sample.

@group(1) @binding(8) var resident_image: texture_2d<f32>;
// One texel a tile of mip 0.
@group(1) @binding(9) var residency_map: texture_2d<u32>;
@group(1) @binding(12) var trilinear: sampler;

// How an image lies under its residency map.
struct Residency {
    // Texels of mip 0.
    texels: vec2<f32>,
    // Tiles along each axis, as a fraction where the last one is cut.
    tiles: vec2<f32>,
}

fn resident_lod_of_tile(tile: vec2<i32>) -> f32 {
    let last = vec2<i32>(textureDimensions(residency_map)) - 1;
    return f32(textureLoad(residency_map, clamp(tile, vec2(0), last), 0).x);
}

// The finest level that may be sampled at a place.
fn resident_lod(residency: Residency, uv: vec2<f32>) -> f32 {
    return resident_lod_of_tile(vec2<i32>(floor(uv * residency.tiles)));
}

// The same without steps: nowhere finer, and continuous. At the corners of a tile it is the coarsest of the four
// around, in between what lies on the straight between corners.
fn smooth_resident_lod(residency: Residency, uv: vec2<f32>) -> f32 {
    let place = uv * residency.tiles;
    let low = floor(place);
    let tile = vec2<i32>(low);
    let part = clamp(place - low, vec2(0.0), vec2(1.0));
    var rows: array<vec3<f32>, 3>;
    for (var y = 0; y < 3; y++) {
        rows[y] = vec3(
            resident_lod_of_tile(tile + vec2(-1, y - 1)),
            resident_lod_of_tile(tile + vec2(0, y - 1)),
            resident_lod_of_tile(tile + vec2(1, y - 1)),
        );
    }
    let upper = max(rows[0], rows[1]);
    let lower = max(rows[1], rows[2]);
    let left = mix(max(upper.x, upper.y), max(lower.x, lower.y), part.y);
    let right = mix(max(upper.y, upper.z), max(lower.y, lower.z), part.y);
    return mix(left, right, part.x);
}

// A pixel's footprint: its longer axis in texture coordinates, and both lengths in texels of mip 0.
struct Footprint {
    axis: vec2<f32>,
    major: f32,
    minor: f32,
}

fn footprint(residency: Residency, dx: vec2<f32>, dy: vec2<f32>) -> Footprint {
    let a = length(dx * residency.texels);
    let b = length(dy * residency.texels);
    return Footprint(select(dy, dx, a > b), max(a, b), max(min(a, b), 1e-6));
}

// The level that a footprint wishes for, with up to `taps` samples along its longer axis. The twin of
// engine/src/streaming/need.rs.
fn wished_lod(f: Footprint, taps: f32) -> f32 {
    return log2(max(f.minor, f.major / taps));
}

// The colour of a footprint: trilinear samples along its longer axis, each at a level that is resident at its place.
fn sample_resident(
    residency: Residency, uv: vec2<f32>, f: Footprint, taps: f32, lod: f32,
) -> vec3<f32> {
    let count = clamp(ceil(f.major / exp2(lod)), 1.0, taps);
    var sum = vec3(0.0);
    for (var i = 0.0; i < count; i += 1.0) {
        let at = uv + f.axis * ((i + 0.5) / count - 0.5);
        let level = max(lod, resident_lod(residency, at));
        sum += textureSampleLevel(resident_image, trilinear, at, level).rgb;
    }
    return sum / count;
}
