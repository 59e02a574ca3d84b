// Auto exposure: how bright the picture is, and what it is multiplied by for it.
//
// A histogram of the logarithm of brightness over one pixel in sixteen; its mean between two percentiles, so that
// neither deep shade nor the sun decides; and a step from the last frame's exposure towards the one that is wished.
//!include lib/frame.wgsl
//!include lib/exposure.wgsl

struct ExposurePush {
    frame_index: u32,
    // Since the last frame.
    seconds: f32,
    // 1 where there is no last frame: the wish is taken as it is.
    is_first: u32,
    padding: u32,
}
var<immediate> pc: ExposurePush;

@group(1) @binding(5) var<storage, read_write> bins: array<atomic<u32>>;
@group(1) @binding(6) var<storage, read_write> state: ExposureState;
@group(1) @binding(8) var source: texture_2d<f32>;

const BINS: u32 = 128u;
// Brightness of the lowest bin, and how many bins there are for a doubling.
const LOWEST: f32 = -10.0;
const BINS_A_DOUBLING: f32 = 8.0;
// Shares of the pixels that are darker and brighter than what counts.
const DARKER: f32 = 0.10;
const BRIGHTER: f32 = 0.05;
// Brightness that is left as it is, and how much of what is missing to it is made up: dusk stays darker than noon.
const MIDDLE: f32 = -1.8;
const SHARE: f32 = 0.6;
const MOST: f32 = 4.0;
// How fast eyes get used to bright and to dark, a second.
const TO_BRIGHT: f32 = 3.0;
const TO_DARK: f32 = 1.2;

var<workgroup> group_bins: array<atomic<u32>, 128>;

@compute @workgroup_size(16, 16)
fn exposure_histogram(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) index: u32,
) {
    let pixel = id.xy * 4u;
    if all(vec2<f32>(pixel) < frames[pc.frame_index].resolution) {
        let light = textureLoad(source, vec2<i32>(pixel), 0).rgb;
        let brightness = log2(max(dot(light, vec3(0.2126, 0.7152, 0.0722)), 1e-9));
        let bin = clamp((brightness - LOWEST) * BINS_A_DOUBLING, 0.0, f32(BINS - 1u));
        atomicAdd(&group_bins[u32(bin)], 1u);
    }
    workgroupBarrier();
    if index < BINS {
        let count = atomicLoad(&group_bins[index]);
        if count > 0u {
            atomicAdd(&bins[index], count);
        }
    }
}

@compute @workgroup_size(1)
fn exposure_average() {
    var pixels = 0.0;
    for (var i = 0u; i < BINS; i++) {
        pixels += f32(atomicLoad(&bins[i]));
    }
    let from_pixel = pixels * DARKER;
    let to_pixel = pixels * (1.0 - BRIGHTER);
    var below = 0.0;
    var sum = 0.0;
    var count = 0.0;
    for (var i = 0u; i < BINS; i++) {
        let above = below + f32(atomicLoad(&bins[i]));
        let inside = max(min(above, to_pixel) - max(below, from_pixel), 0.0);
        sum += inside * (LOWEST + (f32(i) + 0.5) / BINS_A_DOUBLING);
        count += inside;
        below = above;
    }
    let brightness = select(MIDDLE, sum / max(count, 1e-6), count > 0.0);
    let wished = clamp(SHARE * (MIDDLE - brightness), -MOST, MOST);
    var now = wished;
    if pc.is_first == 0u {
        let before = log2(max(state.exposure, 1e-6));
        let speed = select(TO_DARK, TO_BRIGHT, wished < before);
        now = before + (wished - before) * (1.0 - exp(-speed * pc.seconds));
    }
    state.exposure = exp2(now);
    state.brightness = exp2(brightness);
}
