// Decals in a page: rectangles, one an instance; a run of them is one draw, in order.
//!include lib/page_paints.wgsl
//!include lib/virtual_texture_page_targets.wgsl

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

fn painted(in: Varyings) -> VtTargets {
    let w = writers[in.writer];
    let offset = page_place(in.clip) - w.centre;
    let local = vec2(dot(offset, w.along), dot(offset, vec2(-w.along.y, w.along.x)));
    let left = w.half_size - abs(local);
    let half_width = min(w.half_size.x, w.half_size.y);
    let p = PaintPlace(local.x, local / w.half_size, min(left.x, left.y), half_width, w.along);
    let t = paint_targets(w, p);
    if t.target0.a <= 0.0 {
        discard;
    }
    return t;
}
