// Anti-aliasing of the display-referred image: along edges, never across them.
//
// Where brightness jumps, the structure tensor of the 5 x 5 pixels around says which way the edge runs, to a
// fraction of a pixel, and how much it is an edge rather than a texture. The pixel becomes the mean of what lies
// along that line, so that the steps of a ridge against the sky run into each other and texture stays sharp.

@group(1) @binding(8) var source: texture_2d<f32>;
@group(1) @binding(12) var bilinear: sampler;

struct EdgeBlendPush {
    width: u32,
    height: u32,
}
var<immediate> pc: EdgeBlendPush;

// Least difference of brightness that counts as an edge; dither and grain stay below it.
const THRESHOLD: f32 = 0.085;
// Pixels to each side of the line that is averaged.
const REACH: i32 = 3;

@vertex
fn edge_blend_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0, 0.0, 1.0);
}

// The tone map leaves the brightness in alpha. (x - 2 to x + 1) and (x - 1 to x + 2) of a row.
struct Row {
    left: vec4<f32>,
    right: vec4<f32>,
}

fn brightness(at: vec2<i32>) -> f32 {
    return textureLoad(source, clamp(at, vec2(0), vec2(i32(pc.width), i32(pc.height)) - 1), 0).a;
}

fn row(pixel: vec2<i32>, y: i32) -> Row {
    let middle = vec3(
        brightness(pixel + vec2(-1, y)), brightness(pixel + vec2(0, y)), brightness(pixel + vec2(1, y)),
    );
    return Row(
        vec4(brightness(pixel + vec2(-2, y)), middle), vec4(middle, brightness(pixel + vec2(2, y))),
    );
}

// xx, yy, xy of the gradients between two rows, the middle counting most.
fn tensor_between(a: Row, b: Row) -> vec3<f32> {
    let x = a.right + b.right - a.left - b.left;
    let y = b.left + b.right - a.left - a.right;
    let weight = vec4(1.0, 2.0, 2.0, 1.0);
    return vec3(dot(weight, x * x), dot(weight, y * y), dot(weight, x * y));
}

@fragment
fn edge_blend_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(position.xy);
    let texel_size = 1.0 / vec2(f32(pc.width), f32(pc.height));
    let centre = textureLoad(source, pixel, 0);
    // At the pixel's corners: what is above, left, right and below.
    let before = textureGather(3, source, bilinear, (position.xy - 0.5) * texel_size);
    let after = textureGather(3, source, bilinear, (position.xy + 0.5) * texel_size);
    let low = min(min(before, after), vec4(centre.a));
    let high = max(max(before, after), vec4(centre.a));
    let range = max(max(high.x, high.y), max(high.z, high.w)) - min(min(low.x, low.y), min(low.z, low.w));
    if range < THRESHOLD {
        return vec4(centre.rgb, 1.0);
    }
    let rows = array<Row, 5>(row(pixel, -2), row(pixel, -1), row(pixel, 0), row(pixel, 1), row(pixel, 2));
    let tensor = tensor_between(rows[0], rows[1]) + 2.0 * tensor_between(rows[1], rows[2])
        + 2.0 * tensor_between(rows[2], rows[3]) + tensor_between(rows[3], rows[4]);
    let difference = tensor.x - tensor.y;
    let spread = sqrt(difference * difference + 4.0 * tensor.z * tensor.z);
    // 1 on a straight edge, 0 where every direction is alike.
    let coherence = spread / max(tensor.x + tensor.y, 1e-8);
    let angle = 0.5 * atan2(2.0 * tensor.z, difference);
    let along = vec2(-sin(angle), cos(angle));
    var sum = vec3(0.0);
    var total = 0.0;
    for (var i = -REACH; i <= REACH; i++) {
        let weight = 1.0 - f32(abs(i)) / f32(REACH + 1);
        let at = (position.xy + along * f32(i)) * texel_size;
        sum += weight * textureSampleLevel(source, bilinear, at, 0.0).rgb;
        total += weight;
    }
    let share = smoothstep(0.30, 0.70, coherence) * smoothstep(THRESHOLD, 2.0 * THRESHOLD, range);
    return vec4(mix(centre.rgb, sum / total, share), 1.0);
}
