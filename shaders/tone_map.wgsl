// From linear light to display values: bloom, exposure, a filmic curve, the sRGB transfer, dither against banding.
//!include lib/frame.wgsl
//!include lib/exposure.wgsl

struct ToneMapPush {
    frame_index: u32,
    // 1 where the exposure that light asks for counts.
    auto_exposure: u32,
    // How much of the bloom is added.
    bloom: f32,
    // 1 where the next pass finds edges by the brightness in alpha.
    keeps_brightness: u32,
    // What the mean of several frames is sharpened by.
    sharpness: f32,
}
var<immediate> pc: ToneMapPush;

@group(1) @binding(1) var<storage, read> exposure: ExposureState;
@group(1) @binding(8) var source: texture_2d<f32>;
@group(1) @binding(9) var bloom: texture_2d<f32>;
@group(1) @binding(12) var bilinear: sampler;

@vertex
fn tone_map_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0, 0.0, 1.0);
}

// A film: a toe that deepens what is darker than middle grey, a shoulder that never clips; each channel apart,
// then some of the colour that this loses brought back.
fn film(x: vec3<f32>) -> vec3<f32> {
    let y = max(x, vec3(0.0));
    let toed = y * (y + 0.02) / (y + 0.055);
    let curve = 1.0 - exp(-1.22 * toed);
    let grey = vec3(dot(curve, vec3(0.2126, 0.7152, 0.0722)));
    return clamp(mix(grey, curve, 1.14), vec3(0.0), vec3(1.0));
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

// Away from the mean of the four neighbours, and never beyond the darkest and brightest of the five.
fn sharpened(pixel: vec2<i32>, own: vec3<f32>) -> vec3<f32> {
    let last = vec2<i32>(frames[pc.frame_index].resolution) - 1;
    let a = textureLoad(source, max(pixel - vec2(1, 0), vec2(0)), 0).rgb;
    let b = textureLoad(source, min(pixel + vec2(1, 0), last), 0).rgb;
    let c = textureLoad(source, max(pixel - vec2(0, 1), vec2(0)), 0).rgb;
    let d = textureLoad(source, min(pixel + vec2(0, 1), last), 0).rgb;
    let wished = own + pc.sharpness * (own - 0.25 * (a + b + c + d));
    let least = min(min(min(a, b), min(c, d)), own);
    let most = max(max(max(a, b), max(c, d)), own);
    return clamp(wished, least, most);
}

@fragment
fn tone_map_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let pixel = vec2<u32>(position.xy);
    var light = textureLoad(source, vec2<i32>(pixel), 0).rgb;
    if pc.sharpness > 0.0 {
        light = sharpened(vec2<i32>(pixel), light);
    }
    if pc.bloom > 0.0 {
        light += pc.bloom * textureSampleLevel(bloom, bilinear, position.xy / (*f).resolution, 0.0).rgb;
    }
    light *= (*f).exposure;
    if pc.auto_exposure != 0u {
        light *= exposure.exposure;
    }
    let display = srgb(film(light));
    let brightness = dot(display, vec3(0.299, 0.587, 0.114));
    return vec4(display + dither(pixel) / 255.0, select(1.0, brightness, pc.keeps_brightness != 0u));
}
