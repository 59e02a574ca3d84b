// Sampling virtual textures through the bindings of a material: see lib/virtual_texture.wgsl for what each is.
//
//   let vt = vt_texture(slot);
//   var feedback = vt_feedback_of(pixel);
//   let request = vt_request(vt, vt_frame(), uv, dx, dy, 0.0, pixel);
//   let sample = vt_sample(vt, request, &feedback);          // any number of samples
//   let surface = vt_sample_surface(vt, sample);             // base colour, normal, roughness ...
//   vt_feedback_write(feedback);                             // once, with lib/virtual_texture_feedback.wgsl
//
// No implicit derivatives: it may be called in any flow. A fragment shader that writes feedback forces early depth
// tests (`@early_depth_test(force)`), or hidden surfaces ask for pages.
//!include lib/virtual_texture.wgsl

struct VirtualTextures {
    frame: VirtualTextureFrame,
    textures: array<VirtualTexture>,
}

@group(1) @binding(24) var<storage, read> virtual_textures: VirtualTextures;
@group(1) @binding(15) var vt_page_table: texture_2d<u32>;
@group(1) @binding(16) var vt_layer0: texture_2d<f32>;
@group(1) @binding(17) var vt_layer1: texture_2d<f32>;
@group(1) @binding(18) var vt_layer2: texture_2d<f32>;
@group(1) @binding(21) var vt_sampler: sampler;

// What was sampled.
struct VtSample {
    layers: VtLayers,
    // The finer page, where two were filtered.
    page: VtPage,
    // The level that was asked for: below 0 where the texture has nothing fine enough.
    whole_level: i32,
}

fn vt_frame() -> VirtualTextureFrame {
    return virtual_textures.frame;
}

// A texture by its slot; the last one for a slot that there is not.
fn vt_texture(slot: u32) -> VirtualTexture {
    return virtual_textures.textures[min(slot, max(virtual_textures.frame.texture_count, 1u) - 1u)];
}

// What a pixel will say of what it samples.
fn vt_feedback_of(pixel: vec2<u32>) -> VtFeedback {
    return VtFeedback(VT_NO_WORD, 0u, vt_gives_feedback(virtual_textures.frame, pixel));
}

// The page that shows `place` at a level.
fn vt_lookup(vt: VirtualTexture, place: VtPlace, whole_level: i32) -> VtPage {
    let level = vt_table_level(whole_level);
    return vt_page(vt, place, textureLoad(vt_page_table, vt_table_texel(vt, place, level), level));
}

// What the atlas holds at a page's place, in the first `count` layers.
fn vt_fetch(vt: VirtualTexture, page: VtPage, request: VtRequest, count: u32) -> VtLayers {
    if !page.is_resident {
        return vt_fallback(vt);
    }
    var layers = VtLayers(vec4(0.0), vec4(0.0), vec4(0.0));
    if (vt.flags & VT_ANISOTROPIC) == 0u {
        layers.layer0 = textureSampleLevel(vt_layer0, vt_sampler, page.uv, 0.0);
        if count > 1u {
            layers.layer1 = textureSampleLevel(vt_layer1, vt_sampler, page.uv, 0.0);
        }
        if count > 2u {
            layers.layer2 = textureSampleLevel(vt_layer2, vt_sampler, page.uv, 0.0);
        }
        return layers;
    }
    let footprint = vt_footprint(vt, page, request.dx, request.dy);
    if (vt.flags & VT_MANUAL_TAPS) == 0u {
        layers.layer0 = textureSampleGrad(vt_layer0, vt_sampler, page.uv, footprint.dx, footprint.dy);
        if count > 1u {
            layers.layer1 = textureSampleGrad(vt_layer1, vt_sampler, page.uv, footprint.dx, footprint.dy);
        }
        if count > 2u {
            layers.layer2 = textureSampleGrad(vt_layer2, vt_sampler, page.uv, footprint.dx, footprint.dy);
        }
        return layers;
    }
    for (var i = 0.0; i < footprint.taps; i += 1.0) {
        let uv = page.uv + footprint.axis * ((i + 0.5) / footprint.taps - 0.5);
        layers.layer0 += textureSampleLevel(vt_layer0, vt_sampler, uv, 0.0) / footprint.taps;
        if count > 1u {
            layers.layer1 += textureSampleLevel(vt_layer1, vt_sampler, uv, 0.0) / footprint.taps;
        }
        if count > 2u {
            layers.layer2 += textureSampleLevel(vt_layer2, vt_sampler, uv, 0.0) / footprint.taps;
        }
    }
    return layers;
}

// Counts a sample for feedback. Where two levels are filtered, both are asked for: nobody else may ask for the coarser
// one, and in its place would be whatever lies above.
fn vt_ask(vt: VirtualTexture, request: VtRequest, feedback: ptr<function, VtFeedback>) {
    if !(*feedback).is_heard {
        return;
    }
    let frame = virtual_textures.frame.frame;
    let whole = vt_whole_level(vt, request.level);
    *feedback = vt_feedback_add(*feedback, vt_feedback_word(vt, request.place, whole), request.pixel, frame);
    if vt_trilinear_share(vt, request.level) > 0.0 {
        let coarser = vt_feedback_word(vt, request.place, whole + 1);
        *feedback = vt_feedback_add(*feedback, coarser, request.pixel, frame);
    }
}

// Samples the first `count` layers, and counts the sample for feedback.
fn vt_sample_layers(
    vt: VirtualTexture, request: VtRequest, count: u32, feedback: ptr<function, VtFeedback>,
) -> VtSample {
    let whole = vt_whole_level(vt, request.level);
    vt_ask(vt, request, feedback);
    let page = vt_lookup(vt, request.place, whole);
    let share = vt_trilinear_share(vt, request.level);
    var layers: VtLayers;
    if share > 0.0 {
        // Both entries before both fetches: they wait for memory together.
        let next = vt_lookup(vt, request.place, whole + 1);
        layers = vt_fetch(vt, page, request, count);
        let coarser = vt_fetch(vt, next, request, count);
        layers.layer0 = mix(layers.layer0, coarser.layer0, share);
        layers.layer1 = mix(layers.layer1, coarser.layer1, share);
        layers.layer2 = mix(layers.layer2, coarser.layer2, share);
    } else {
        layers = vt_fetch(vt, page, request, count);
    }
    return VtSample(layers, page, whole);
}

// Samples the layers of the texture's kind.
fn vt_sample(vt: VirtualTexture, request: VtRequest, feedback: ptr<function, VtFeedback>) -> VtSample {
    return vt_sample_layers(vt, request, vt_layer_count(vt.kind), feedback);
}

// The surface that a sample is of, with what the texture is asked to show of its pages. A pass that knows the kind
// calls vt_surface with it, and the compiler drops the others.
fn vt_sample_surface(vt: VirtualTexture, sample: VtSample) -> VtSurface {
    var surface = vt_stored_surface(vt, sample.layers);
    surface.base_colour = vt_shown(vt, sample.page, surface.base_colour);
    return surface;
}
