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

fn texel(at: vec2<i32>) -> vec4<f32> {
    return textureLoad(source, clamp(at, vec2(0), vec2(i32(pc.width), i32(pc.height)) - 1), 0);
}

// The tone map leaves the brightness in alpha.
fn brightness(at: vec2<i32>) -> f32 {
    return texel(at).a;
}

@fragment
fn edge_blend_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(position.xy);
    let centre = texel(pixel);
    let west = brightness(pixel + vec2(-1, 0));
    let east = brightness(pixel + vec2(1, 0));
    let north = brightness(pixel + vec2(0, -1));
    let south = brightness(pixel + vec2(0, 1));
    let low = min(centre.a, min(min(west, east), min(north, south)));
    let high = max(centre.a, max(max(west, east), max(north, south)));
    if high - low < THRESHOLD {
        return vec4(centre.rgb, 1.0);
    }
    var rows: array<array<f32, 5>, 5>;
    for (var y = 0; y < 5; y++) {
        for (var x = 0; x < 5; x++) {
            rows[y][x] = brightness(pixel + vec2(x - 2, y - 2));
        }
    }
    // xx, yy, xy of the gradient's square, the middle counting most.
    var tensor = vec3(0.0);
    for (var y = 1; y < 4; y++) {
        for (var x = 1; x < 4; x++) {
            let weight = f32((2 - abs(x - 2)) * (2 - abs(y - 2)));
            let g = vec2(
                2.0 * (rows[y][x + 1] - rows[y][x - 1])
                    + rows[y - 1][x + 1] - rows[y - 1][x - 1] + rows[y + 1][x + 1] - rows[y + 1][x - 1],
                2.0 * (rows[y + 1][x] - rows[y - 1][x])
                    + rows[y + 1][x - 1] - rows[y - 1][x - 1] + rows[y + 1][x + 1] - rows[y - 1][x + 1],
            );
            tensor += weight * vec3(g.x * g.x, g.y * g.y, g.x * g.y);
        }
    }
    let difference = tensor.x - tensor.y;
    let spread = sqrt(difference * difference + 4.0 * tensor.z * tensor.z);
    // 1 on a straight edge, 0 where every direction is alike.
    let coherence = spread / max(tensor.x + tensor.y, 1e-8);
    let angle = 0.5 * atan2(2.0 * tensor.z, difference);
    let along = vec2(-sin(angle), cos(angle));
    let texel_size = 1.0 / vec2(f32(pc.width), f32(pc.height));
    var sum = vec3(0.0);
    var total = 0.0;
    for (var i = -REACH; i <= REACH; i++) {
        let weight = 1.0 - f32(abs(i)) / f32(REACH + 1);
        let at = (position.xy + along * f32(i)) * texel_size;
        sum += weight * textureSampleLevel(source, bilinear, at, 0.0).rgb;
        total += weight;
    }
    let share = smoothstep(0.45, 0.85, coherence) * smoothstep(THRESHOLD, 2.0 * THRESHOLD, high - low);
    return vec4(mix(centre.rgb, sum / total, share), 1.0);
}
