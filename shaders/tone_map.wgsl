// From linear light to display values: exposure, a filmic curve, the sRGB transfer, dither against banding.
//!include lib/frame.wgsl

struct ToneMapPush {
    frame_index: u32,
}
var<immediate> pc: ToneMapPush;

@group(1) @binding(8) var source: texture_2d<f32>;

@vertex
fn tone_map_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0, 0.0, 1.0);
}

// A curve with a toe and a shoulder; each channel apart, then a little of the colour brought back.
fn film(x: vec3<f32>) -> vec3<f32> {
    let y = max(x, vec3(0.0));
    return 1.0 - exp(-1.25 * y * (y + 0.55) / (y + 0.35));
}

fn srgb(x: vec3<f32>) -> vec3<f32> {
    let low = 12.92 * x;
    let high = 1.055 * pow(max(x, vec3(1e-6)), vec3(1.0 / 2.4)) - 0.055;
    return select(high, low, x <= vec3(0.0031308));
}

// A hash of the pixel: deterministic, the same every frame.
fn dither(pixel: vec2<u32>) -> f32 {
    var h = pixel.x * 0x9e3779b9u ^ (pixel.y * 0x85ebca6bu);
    h ^= h >> 16u;
    h *= 0xc2b2ae35u;
    h ^= h >> 15u;
    return f32(h & 0xffffu) / 65536.0 - 0.5;
}

@fragment
fn tone_map_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let pixel = vec2<u32>(position.xy);
    let linear = textureLoad(source, vec2<i32>(pixel), 0).rgb * (*f).exposure;
    return vec4(srgb(film(linear)) + dither(pixel) / 255.0, 1.0);
}
