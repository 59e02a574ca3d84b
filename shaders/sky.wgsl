// The sky, wherever nothing was drawn: one triangle at infinite distance.
//!include lib/frame.wgsl
//!include lib/atmosphere.wgsl

struct BasePush {
    frame_index: u32,
}
var<immediate> pc: BasePush;

struct Varyings {
    @builtin(position) clip: vec4<f32>,
    @location(0) screen: vec2<f32>,
}

@vertex
fn sky_vertex(@builtin(vertex_index) vertex: u32) -> Varyings {
    let corner = vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0;
    return Varyings(vec4(corner, 0.0, 1.0), corner);
}

@fragment
fn sky_fragment(in: Varyings) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let d = normalize((*f).view_centre + in.screen.x * (*f).view_right + in.screen.y * (*f).view_down);
    var colour = sky_radiance(d, (*f).sun, (*f).sun_colour, (*f).sky_colour);
    // The disc: half a degree across.
    let towards = dot(d, (*f).sun);
    colour += (*f).sun_colour * 8.0 * smoothstep(0.99996, 0.99999, towards) * step(0.0, d.y);
    return vec4(colour, 1.0);
}
