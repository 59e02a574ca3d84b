// Fragment entry points of what is drawn into pages, for one, two and three targets.
//
// Who includes this has `Varyings`, and `painted(Varyings) -> VtTargets`, which says what a texel gets.
//!include lib/virtual_texture_page.wgsl

struct PageTargets1 {
    @location(0) target0: vec4<f32>,
}

struct PageTargets2 {
    @location(0) target0: vec4<f32>,
    @location(1) target1: vec4<f32>,
}

struct PageTargets3 {
    @location(0) target0: vec4<f32>,
    @location(1) target1: vec4<f32>,
    @location(2) target2: vec4<f32>,
}

@fragment
fn page_fragment_1(in: Varyings) -> PageTargets1 {
    return PageTargets1(painted(in).target0);
}

@fragment
fn page_fragment_2(in: Varyings) -> PageTargets2 {
    let t = painted(in);
    return PageTargets2(t.target0, t.target1);
}

@fragment
fn page_fragment_3(in: Varyings) -> PageTargets3 {
    let t = painted(in);
    return PageTargets3(t.target0, t.target1, t.target2);
}
