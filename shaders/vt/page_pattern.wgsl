// The calibration pattern in a page: the twin of engine/src/vt/runtime/pattern.rs.
//!include lib/virtual_texture_page_targets.wgsl

const AMPLITUDE: f32 = 60.0;
const DISPLACEMENT: f32 = 2.0;
const PERIODS: vec4<f32> = vec4(912.0, 648.0, 496.0, 384.0);

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(flat) writer: u32,
}

@vertex
fn page_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let w = &writers[instance];
    let place = page_corner((*w).centre, (*w).along, (*w).half_size, vertex, 2.0);
    return Varyings(page_clip(place, 1.0), instance);
}

// A wave of period 1 between 0 and 1, with a continuous slope.
fn wave(t: f32) -> f32 {
    let f = t - floor(t);
    let g = f * (1.0 - f);
    return 16.0 * g * g;
}

fn wave_slope(t: f32) -> f32 {
    let f = t - floor(t);
    return 32.0 * f * (1.0 - f) * (1.0 - 2.0 * f);
}

fn pattern(place: vec2<f32>) -> VtSurface {
    let x = place.x;
    let z = place.y;
    let sum = x + z;
    let p = PERIODS;
    let slope = vec2(
        AMPLITUDE / p.x * wave_slope(x / p.x) * wave(z / p.y), AMPLITUDE / p.y * wave(x / p.x) * wave_slope(z / p.y),
    );
    var height = AMPLITUDE * wave(x / p.x) * wave(z / p.y);
    if pc.kind == VT_KIND_DISPLACEMENT {
        height = DISPLACEMENT * wave(sum / p.y);
    }
    return VtSurface(
        vec3(0.1) + 0.8 * vec3(wave(x / p.x), wave(z / p.y), wave(sum / p.z)),
        0.2 + 0.6 * wave((x - z) / p.w),
        normalize(vec3(-slope.x, 1.0, -slope.y)),
        0.1 + 0.5 * wave(x / p.z),
        vec4(wave(z / p.w), wave(x / p.y), wave(sum / p.x), wave(z / p.z)),
        page_height(height),
    );
}

fn painted(in: Varyings) -> VtTargets {
    let w = writers[in.writer];
    let place = page_place(in.clip);
    let offset = place - w.centre;
    let local = vec2(dot(offset, w.along), dot(offset, vec2(-w.along.y, w.along.x)));
    if any(abs(local) > w.half_size) {
        discard;
    }
    return page_targets(pattern(place), w.opacity);
}
