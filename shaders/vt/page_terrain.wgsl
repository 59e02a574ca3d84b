// The terrain in a page: the very material that direct evaluation calls, at each texel's place, with a little more
// than the texel as its footprint; and the height of the continuous surface, with the detail that a texel can carry.
//!include lib/virtual_texture_page_targets.wgsl
//!include lib/terrain_overlays.wgsl
//!include lib/terrain_height.wgsl

@group(1) @binding(9) var coefficients: texture_2d<f32>;

// Texels around the terrain that hold what its edge holds: filters look past the edge.
const MARGIN: f32 = 16.0;
// Largest occlusion that the material gives: the mask is its share.
const MOST_OCCLUSION: f32 = 1.12;
// What materials are evaluated for, as a share of a texel: see SURFACE_BIAS of engine/src/vt/system/ground.rs.
const FOOTPRINT: f32 = 1.15;

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(flat) writer: u32,
}

@vertex
fn page_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let w = &writers[instance];
    let place = page_corner((*w).centre, (*w).along, (*w).half_size, vertex, MARGIN);
    return Varyings(page_clip(place, 1.0), instance);
}

fn painted(in: Varyings) -> VtTargets {
    let limit = terrain.half_extent;
    let place = clamp(page_place(in.clip), -limit, limit);
    let dx = FOOTPRINT * pc.step_u;
    let dy = FOOTPRINT * pc.step_v;
    var m = terrain_material(place, dx, dy);
    terrain_overlays(place, dx, dy, &m);
    let mask = vec4(m.occlusion / MOST_OCCLUSION, 0.0, 0.0, 0.0);
    let height = page_height(m.displacement);
    let surface = VtSurface(m.base_colour, m.roughness, m.normal, m.specular, mask, height);
    return page_targets(surface, writers[in.writer].opacity);
}

@fragment
fn page_fragment_height(in: Varyings) -> PageTargets1 {
    let limit = terrain.half_extent;
    let place = clamp(page_place(in.clip), -limit, limit);
    let opacity = writers[in.writer].opacity;
    return PageTargets1(vec4(saturate(page_height(terrain_height(place, pc.texel))) * opacity, 0.0, 0.0, opacity));
}
