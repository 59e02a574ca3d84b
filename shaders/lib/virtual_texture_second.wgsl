// A second virtual texture of one layer beside the first: heights under a material, for instance.
//!include lib/virtual_texture_bindings.wgsl

@group(1) @binding(19) var vt_second_page_table: texture_2d<u32>;
@group(1) @binding(20) var vt_second_layer: texture_2d<f32>;

fn vt_second_lookup(vt: VirtualTexture, place: VtPlace, whole_level: i32) -> VtPage {
    let level = vt_table_level(whole_level);
    return vt_page(vt, place, textureLoad(vt_second_page_table, vt_table_texel(vt, place, level), level));
}

// One bilinear tap: what is one value a texel is filtered no further.
fn vt_second_fetch(vt: VirtualTexture, page: VtPage) -> vec4<f32> {
    return select(
        vt.fallback[0], textureSampleLevel(vt_second_layer, vt_sampler, page.uv, 0.0), page.is_resident,
    );
}

// Samples the layer, trilinear where the texture asks for it, and counts the sample for feedback.
fn vt_second_sample(vt: VirtualTexture, request: VtRequest, feedback: ptr<function, VtFeedback>) -> vec4<f32> {
    let whole = vt_whole_level(vt, request.level);
    vt_ask(vt, request, feedback);
    let fine = vt_second_fetch(vt, vt_second_lookup(vt, request.place, whole));
    let share = vt_trilinear_share(vt, request.level);
    if share == 0.0 {
        return fine;
    }
    return mix(fine, vt_second_fetch(vt, vt_second_lookup(vt, request.place, whole + 1)), share);
}
