// Bloom: light that is brighter than white spreads over its neighbours, as in a lens.
//
// Down a chain of pictures, each half as large, and up again, each level mixed with what comes from below. Only what
// is above a threshold goes in; what comes out is never more than what went in.
// After "Next Generation Post Processing in Call of Duty: Advanced Warfare" (Jimenez 2014).
//!include lib/frame.wgsl

struct BloomPush {
    frame_index: u32,
    // 1 for the first step down, which takes from the picture itself.
    is_first: u32,
    // Sizes of a texel, as a share of the image: of what is read, and of what is drawn into.
    source_texel: vec2<f32>,
    target_texel: vec2<f32>,
}
var<immediate> pc: BloomPush;

@group(1) @binding(8) var source: texture_2d<f32>;
@group(1) @binding(9) var level: texture_2d<f32>;
@group(1) @binding(12) var bilinear: sampler;

// Exposed brightness above which light spreads, and over how much it sets in.
const THRESHOLD: f32 = 1.5;
const KNEE: f32 = 0.5;
// Share that comes from below, on the way up.
const FROM_BELOW: f32 = 0.65;
// No sample counts as brighter: the sun's disc is enough of a lamp.
const MOST: f32 = 64.0;

@vertex
fn bloom_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0, 0.0, 1.0);
}

fn tap(at: vec2<f32>, x: f32, y: f32) -> vec3<f32> {
    return textureSampleLevel(source, bilinear, at + vec2(x, y) * pc.source_texel, 0.0).rgb;
}

// The part of light that is above the threshold, and how much it counts: a single bright pixel less, so that it does
// not flicker.
fn bright(light: vec3<f32>) -> vec4<f32> {
    let luminance = dot(light, vec3(0.2126, 0.7152, 0.0722));
    let exposed = luminance * frames[pc.frame_index].exposure;
    let soft = clamp(exposed - THRESHOLD + KNEE, 0.0, 2.0 * KNEE);
    let over = max(exposed - THRESHOLD, soft * soft / (4.0 * KNEE));
    let share = over / max(exposed, 1e-6) * min(MOST / max(luminance, 1e-6), 1.0);
    return vec4(light * share, 1.0 / (1.0 + luminance));
}

@fragment
fn bloom_down(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let at = position.xy * pc.target_texel;
    let a = tap(at, -2.0, -2.0);
    let b = tap(at, 0.0, -2.0);
    let c = tap(at, 2.0, -2.0);
    let d = tap(at, -2.0, 0.0);
    let e = tap(at, 0.0, 0.0);
    let g = tap(at, 2.0, 0.0);
    let h = tap(at, -2.0, 2.0);
    let i = tap(at, 0.0, 2.0);
    let j = tap(at, 2.0, 2.0);
    let inner = 0.25 * (tap(at, -1.0, -1.0) + tap(at, 1.0, -1.0) + tap(at, -1.0, 1.0) + tap(at, 1.0, 1.0));
    if pc.is_first == 0u {
        return vec4(0.5 * inner + 0.03125 * (a + c + h + j) + 0.0625 * (b + d + g + i) + 0.125 * e, 1.0);
    }
    let middle = bright(inner);
    var corners = array<vec4<f32>, 4>(
        bright(0.25 * (a + b + d + e)), bright(0.25 * (b + c + e + g)),
        bright(0.25 * (d + e + h + i)), bright(0.25 * (e + g + i + j)),
    );
    var sum = middle.rgb * middle.a * 0.5;
    var total = middle.a * 0.5;
    for (var k = 0; k < 4; k++) {
        sum += corners[k].rgb * corners[k].a * 0.125;
        total += corners[k].a * 0.125;
    }
    return vec4(sum / total, 1.0);
}

@fragment
fn bloom_up(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let at = position.xy * pc.target_texel;
    // A tent over 3 x 3 texels of the smaller image.
    let below = 0.25 * (tap(at, -0.5, -0.5) + tap(at, 0.5, -0.5) + tap(at, -0.5, 0.5) + tap(at, 0.5, 0.5));
    let own = textureLoad(level, vec2<i32>(position.xy), 0).rgb;
    return vec4(mix(own, below, FROM_BELOW), 1.0);
}
