// A part of a virtual texture, flat on the whole target: what sampling gives, through the page table.
//!include lib/virtual_texture_feedback.wgsl

// As in engine/src/vt/sampling/probe.rs.
struct VtViewPush {
    // The uv of the target's upper left and lower right corner.
    uv_first: vec2<f32>,
    uv_last: vec2<f32>,
    // Pixels of the target.
    extent: vec2<f32>,
    texture: u32,
    // Added to the level.
    bias: f32,
    // Depth of the view, 0 is far.
    depth: f32,
    // 1 where the view asks for the pages that it shows.
    gives_feedback: u32,
}
var<immediate> pc: VtViewPush;

@vertex
fn view_vertex(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4<f32> {
    // One triangle over the whole target.
    let corner = vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u));
    return vec4(corner * 2.0 - 1.0, pc.depth, 1.0);
}

// The base colour in steps that look even, or the height from black to white.
@fragment @early_depth_test(force)
fn view_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let size = pc.uv_last - pc.uv_first;
    let uv = pc.uv_first + size * (position.xy / pc.extent);
    let pixel = vec2<u32>(position.xy);
    let vt = vt_texture(pc.texture);
    var feedback = vt_no_feedback();
    if pc.gives_feedback != 0u {
        feedback = vt_feedback_of(pixel);
    }
    let dx = vec2(size.x / pc.extent.x, 0.0);
    let dy = vec2(0.0, size.y / pc.extent.y);
    let sample = vt_sample(vt, vt_request(vt, vt_frame(), uv, dx, dy, pc.bias, pixel), &feedback);
    let surface = vt_sample_surface(vt, sample);
    vt_feedback_write(feedback);
    if vt.kind == VT_KIND_WORLD_HEIGHT || vt.kind == VT_KIND_DISPLACEMENT {
        return vec4(vt_shown(vt, sample.page, vec3(surface.height)), 1.0);
    }
    if vt.kind == VT_KIND_MASK4 {
        return vec4(vt_shown(vt, sample.page, surface.mask.rgb), 1.0);
    }
    return vec4(vt_encode_base_colour(surface.base_colour), 1.0);
}
