// Ambient occlusion from depth alone, at half the resolution.
//
// Around a pixel, places on the surface that rise above its tangent plane hide a part of the sky, the more so the
// higher they rise and the nearer they are. Eight places a pixel on a spiral, turned from pixel to pixel in a pattern
// of 4 x 4; a mean over 4 x 4 pixels of about the same distance then sees every turn once, so that no pattern is left
// and none is needed that changes with time. The sky hides nothing.
//
// A texel holds two halves: the share of ambient light that is left, and the logarithm of the distance along the view.
// After "Scalable Ambient Obscurance" (McGuire, Mara, Luebke 2012).
//!include lib/frame.wgsl

struct AmbientOcclusionPush {
    frame_index: u32,
    width: u32,
    height: u32,
    padding: u32,
}
var<immediate> pc: AmbientOcclusionPush;

@group(1) @binding(8) var depths: texture_2d<f32>;
@group(1) @binding(9) var found: texture_2d<u32>;
@group(1) @binding(13) var result: texture_storage_2d<r32uint, write>;

const PLACES: i32 = 8;
// Reach, metres, and what is added to it for each metre of distance: what is far away has its gullies darkened, what
// is near its stones.
const REACH: f32 = 2.5;
const REACH_A_METRE: f32 = 0.03;
// At most, as a share of the picture's height.
const REACH_OF_PICTURE: f32 = 0.11;
// Sine of the angle above the tangent plane below which nothing is hidden: facets are flat, the forms that they stand
// for are not.
const LEAST_RISE: f32 = 0.10;
const STRENGTH: f32 = 2.2;
// Logarithm of the distance of the sky.
const SKY: f32 = 30.0;

fn place_of(pixel: vec2<i32>, depth: f32) -> vec3<f32> {
    let f = &frames[pc.frame_index];
    let screen = (vec2<f32>(pixel) + 0.5) / (*f).resolution * 2.0 - 1.0;
    let ray = (*f).view_centre + screen.x * (*f).view_right + screen.y * (*f).view_down;
    return ray * ((*f).near / depth);
}

@compute @workgroup_size(8, 8)
fn ambient_occlusion(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= pc.width || id.y >= pc.height {
        return;
    }
    let f = &frames[pc.frame_index];
    let last = vec2<i32>((*f).resolution) - 1;
    let pixel = min(vec2<i32>(id.xy) * 2, last);
    let depth = textureLoad(depths, pixel, 0).r;
    if depth <= 0.0 {
        textureStore(result, vec2<i32>(id.xy), vec4(pack2x16float(vec2(1.0, SKY)), 0u, 0u, 0u));
        return;
    }
    let centre = place_of(pixel, depth);
    // The tangent plane: of the neighbours on either side the one on the same surface.
    let x = vec2(1, 0);
    let y = vec2(0, 1);
    let left = textureLoad(depths, max(pixel - x, vec2(0)), 0).r;
    let right = textureLoad(depths, min(pixel + x, last), 0).r;
    let above = textureLoad(depths, max(pixel - y, vec2(0)), 0).r;
    let below = textureLoad(depths, min(pixel + y, last), 0).r;
    let to_right = pixel.x == 0 || (pixel.x < last.x && abs(right - depth) < abs(left - depth));
    let to_below = pixel.y == 0 || (pixel.y < last.y && abs(below - depth) < abs(above - depth));
    var across = centre - place_of(pixel - x, max(left, 1e-9));
    if to_right {
        across = place_of(pixel + x, max(right, 1e-9)) - centre;
    }
    var down = centre - place_of(pixel - y, max(above, 1e-9));
    if to_below {
        down = place_of(pixel + y, max(below, 1e-9)) - centre;
    }
    let plane = cross(down, across);
    let normal = plane / max(length(plane), 1e-20);

    let distance = (*f).near / depth;
    let pixels_a_metre = (*f).pixels_per_metre / distance;
    let most = REACH_OF_PICTURE * (*f).resolution.y;
    let reach_pixels = min((REACH + REACH_A_METRE * distance) * pixels_a_metre, most);
    let reach = reach_pixels / pixels_a_metre;

    // Each of 16 turns once in 4 x 4 pixels, neighbours far apart.
    let turn = ((id.x & 1u) << 3u) | ((id.y & 1u) << 2u) | ((id.x & 2u) | ((id.y & 2u) >> 1u));
    let angle = f32(turn) * (6.2831853 / 16.0);
    let start = f32((turn * 7u) & 15u) / 16.0;
    var direction = vec2(cos(angle), sin(angle));
    var hidden = 0.0;
    for (var i = 0; i < PLACES; i++) {
        let out = (f32(i) + 0.25 + 0.75 * start) / f32(PLACES) * reach_pixels;
        let at = clamp(pixel + vec2<i32>(round(direction * max(out, 1.0))), vec2(0), last);
        // On by the golden angle.
        direction = vec2(
            -0.7373688 * direction.x - 0.6754903 * direction.y, 0.6754903 * direction.x - 0.7373688 * direction.y,
        );
        let there = textureLoad(depths, at, 0).r;
        if there > 0.0 {
            let step = place_of(at, there) - centre;
            let squared = dot(step, step);
            let rise = dot(step, normal) * inverseSqrt(max(squared, 1e-12));
            hidden += max(rise - LEAST_RISE, 0.0) * max(1.0 - squared / (reach * reach), 0.0);
        }
    }
    let left_over = clamp(1.0 - STRENGTH * hidden / f32(PLACES), 0.2, 1.0);
    let texel = pack2x16float(vec2(left_over, log2(distance)));
    textureStore(result, vec2<i32>(id.xy), vec4(texel, 0u, 0u, 0u));
}

@compute @workgroup_size(8, 8)
fn ambient_occlusion_blur(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= pc.width || id.y >= pc.height {
        return;
    }
    let texel = vec2<i32>(id.xy);
    let last = vec2(i32(pc.width), i32(pc.height)) - 1;
    let own = unpack2x16float(textureLoad(found, texel, 0).r);
    var sum = 0.0;
    var total = 0.0;
    for (var y = -2; y < 2; y++) {
        for (var x = -2; x < 2; x++) {
            let other = unpack2x16float(textureLoad(found, clamp(texel + vec2(x, y), vec2(0), last), 0).r);
            let weight = max(1.0 - 4.0 * abs(other.y - own.y), 0.0);
            sum += weight * other.x;
            total += weight;
        }
    }
    let mean = select(own.x, sum / max(total, 1e-6), total > 0.0);
    textureStore(result, texel, vec4(pack2x16float(vec2(mean, own.y)), 0u, 0u, 0u));
}
