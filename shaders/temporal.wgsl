// Anti-aliasing over time: each frame samples every pixel at another place; their mean is the picture.
//
// Where the surface of a pixel was in the last frame follows from its depth and both cameras: only the camera moves.
// What is found there counts as far as it fits what this frame has around the pixel, so that nothing that was hidden,
// or that has changed, leaves a trail. Alpha counts the frames that are in the mean: young pixels take more of this frame.
//
// After "High Quality Temporal Supersampling" (Karis 2014) and "An Excursion in Temporal Supersampling" (Salvi 2016).
//!include lib/frame.wgsl

struct TemporalPush {
    frame_index: u32,
    // 1 where there is a last frame to go on from.
    is_valid: u32,
}
var<immediate> pc: TemporalPush;

@group(1) @binding(8) var source: texture_2d<f32>;
@group(1) @binding(9) var depths: texture_2d<f32>;
@group(1) @binding(10) var history: texture_2d<f32>;
@group(1) @binding(12) var bilinear: sampler;

// Frames that a mean has at most: twice the number of places in a pixel.
const MOST_FRAMES: f32 = 16.0;
// Standard deviations around the mean of the neighbours within which the past is believed.
const SPREAD: f32 = 1.25;

@vertex
fn temporal_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0, 0.0, 1.0);
}

// Bright samples count less, so that one of them among many does not flicker; and brightness apart from colour.
fn squeeze(light: vec3<f32>) -> vec3<f32> {
    let c = light / (1.0 + dot(light, vec3(0.25, 0.5, 0.25)));
    return vec3(dot(c, vec3(0.25, 0.5, 0.25)), 0.5 * (c.r - c.b), dot(c, vec3(-0.25, 0.5, -0.25)));
}

fn release(c: vec3<f32>) -> vec3<f32> {
    let rest = c.x - c.z;
    let light = vec3(rest + c.y, c.x + c.z, rest - c.y) / max(1.0 - c.x, 1e-3);
    return max(light, vec3(0.0));
}

// Catmull-Rom over 4 x 4 texels in five bilinear taps: the corners, which count least, are left out.
fn sharp(at: vec2<f32>, size: vec2<f32>) -> vec4<f32> {
    let middle = floor(at - 0.5) + 0.5;
    let t = at - middle;
    let w0 = t * (-0.5 + t * (1.0 - 0.5 * t));
    let w1 = 1.0 + t * t * (-2.5 + 1.5 * t);
    let w2 = t * (0.5 + t * (2.0 - 1.5 * t));
    let w3 = t * t * (-0.5 + 0.5 * t);
    let w12 = w1 + w2;
    let p0 = (middle - 1.0) / size;
    let p12 = (middle + w2 / w12) / size;
    let p3 = (middle + 2.0) / size;
    let centre = textureSampleLevel(history, bilinear, p12, 0.0);
    var sum = centre.rgb * (w12.x * w12.y);
    sum += textureSampleLevel(history, bilinear, vec2(p12.x, p0.y), 0.0).rgb * (w12.x * w0.y);
    sum += textureSampleLevel(history, bilinear, vec2(p0.x, p12.y), 0.0).rgb * (w0.x * w12.y);
    sum += textureSampleLevel(history, bilinear, vec2(p3.x, p12.y), 0.0).rgb * (w3.x * w12.y);
    sum += textureSampleLevel(history, bilinear, vec2(p12.x, p3.y), 0.0).rgb * (w12.x * w3.y);
    let weight = w12.x * w12.y + w12.x * (w0.y + w3.y) + w12.y * (w0.x + w3.x);
    return vec4(max(sum / weight, vec3(0.0)), centre.a);
}

@fragment
fn temporal_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let size = (*f).resolution;
    let pixel = vec2<i32>(position.xy);
    let last = vec2<i32>(size) - 1;
    let off = (*f).jitter * size * 0.5;
    var sum = vec3(0.0);
    var total = 0.0;
    var mean = vec3(0.0);
    var squares = vec3(0.0);
    var least = vec3(1e9);
    var most = vec3(-1e9);
    // Edges move with what is in front.
    var nearest = 0.0;
    var nearest_at = vec2(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let at = clamp(pixel + vec2(x, y), vec2(0), last);
            let c = squeeze(textureLoad(source, at, 0).rgb);
            let from_centre = vec2(f32(x), f32(y)) - off;
            let weight = exp(-4.0 * dot(from_centre, from_centre));
            sum += weight * c;
            total += weight;
            mean += c;
            squares += c * c;
            least = min(least, c);
            most = max(most, c);
            let depth = textureLoad(depths, at, 0).r;
            if depth > nearest {
                nearest = depth;
                nearest_at = vec2(f32(x), f32(y));
            }
        }
    }
    let current = sum / total;
    let screen = (position.xy + nearest_at) / size * 2.0 - 1.0;
    let ray = (*f).view_centre + screen.x * (*f).view_right + screen.y * (*f).view_down;
    let clip = (*f).reprojection * vec4(ray * (*f).near, nearest);
    let moved = clip.xy / max(clip.w, 1e-12) - (screen - (*f).jitter);
    let before = position.xy + moved * size * 0.5;
    if pc.is_valid == 0u || clip.w <= 0.0 || any(before < vec2(0.0)) || any(before > size) {
        return vec4(release(current), 1.0);
    }
    let past = sharp(before, size);
    mean /= 9.0;
    let reach = SPREAD * sqrt(max(squares / 9.0 - mean * mean, vec3(0.0)));
    // Never beyond what there is: a sharp lookup swings over at edges, and would do so again in every frame.
    let low = min(max(mean - reach, least), current);
    let high = max(min(mean + reach, most), current);
    // Towards this frame's colour until it is inside: a mixture of the two and no third.
    let beyond = squeeze(past.rgb) - current;
    let room = select(current - low, high - current, beyond > vec3(0.0));
    let inside = clamp(room / max(abs(beyond), vec3(1e-6)), vec3(0.0), vec3(1.0));
    let believed = current + beyond * min(min(inside.x, inside.y), inside.z);
    // What moves far is drawn out by being looked up again and again: it has fewer frames in it.
    let most_frames = max(MOST_FRAMES / (1.0 + length(before - position.xy)), 2.0);
    let age = clamp(past.a, 1.0, most_frames - 1.0);
    let mixed = mix(believed, current, 1.0 / (age + 1.0));
    return vec4(release(mixed), age + 1.0);
}
