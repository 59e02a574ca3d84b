// What a virtual texture gives at listed places: for tools that inspect one, and for tests. One thread a probe.
//!include lib/virtual_texture_feedback.wgsl
//!include lib/virtual_texture_second.wgsl

// As in engine/src/vt/sampling/probe.rs.
struct VtProbe {
    uv: vec2<f32>,
    dx: vec2<f32>,
    dy: vec2<f32>,
    pixel: vec2<u32>,
    // With VT_PROBE_PLACE: page of level 0; uv is then the way from its corner in pages.
    page: vec2<i32>,
    // Level with VT_PROBE_LEVEL, a bias otherwise.
    level: f32,
    texture: u32,
    // VT_PROBE_*.
    flags: u32,
    // Textures that are sampled, from `texture` on. The result is that of the first.
    count: u32,
}

const VT_PROBE_LEVEL: u32 = 1u;
const VT_PROBE_PLACE: u32 = 2u;
// Through the bindings of the second texture.
const VT_PROBE_SECOND: u32 = 4u;
const VT_PROBE_FEEDBACK: u32 = 8u;

// As in engine/src/vt/sampling/probe.rs.
struct VtProbeResult {
    layer0: vec4<f32>,
    layer1: vec4<f32>,
    layer2: vec4<f32>,
    atlas_uv: vec2<f32>,
    texel: vec2<f32>,
    gradient: vec2<f32>,
    atlas_page: vec2<u32>,
    fraction: vec2<f32>,
    page: vec2<u32>,
    base_colour: vec3<f32>,
    roughness: f32,
    normal: vec3<f32>,
    specular: f32,
    mask: vec4<f32>,
    height: f32,
    level: f32,
    whole_level: i32,
    mapped_level: u32,
    is_resident: u32,
    word: u32,
    padding: vec2<u32>,
}

struct ProbePush {
    count: u32,
}
var<immediate> pc: ProbePush;

@group(1) @binding(0) var<storage, read> probes: array<VtProbe>;
@group(1) @binding(1) var<storage, read_write> results: array<VtProbeResult>;

fn probe_request(probe: VtProbe, vt: VirtualTexture) -> VtRequest {
    let frame = vt_frame();
    var place = vt_place(vt, probe.uv);
    if (probe.flags & VT_PROBE_PLACE) != 0u {
        place = vt_place_from(vt, probe.page, probe.uv);
    }
    if (probe.flags & VT_PROBE_LEVEL) != 0u {
        let level = vt_explicit_level(vt, frame, probe.level, probe.pixel);
        return VtRequest(place, vec2(0.0), vec2(0.0), level, probe.pixel);
    }
    return vt_request_at(vt, frame, place, probe.dx, probe.dy, probe.level, probe.pixel);
}

@compute @workgroup_size(64)
fn probe(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x >= pc.count {
        return;
    }
    let probe = probes[thread.x];
    let vt = vt_texture(probe.texture);
    let request = probe_request(probe, vt);
    var feedback = VtFeedback(VT_NO_WORD, 0u, true);
    var sample: VtSample;
    if (probe.flags & VT_PROBE_SECOND) != 0u {
        sample.whole_level = vt_whole_level(vt, request.level);
        sample.page = vt_second_lookup(vt, request.place, sample.whole_level);
        sample.layers.layer0 = vt_second_sample(vt, request, &feedback);
    } else {
        sample = vt_sample(vt, request, &feedback);
    }
    for (var i = 1u; i < probe.count; i++) {
        let other = vt_texture(probe.texture + i);
        _ = vt_sample(other, probe_request(probe, other), &feedback);
    }
    if (probe.flags & VT_PROBE_FEEDBACK) != 0u && vt_gives_feedback(vt_frame(), probe.pixel) {
        vt_feedback_write(feedback);
    }
    let surface = vt_sample_surface(vt, sample);
    let page = sample.page;
    let result = &results[thread.x];
    (*result).layer0 = sample.layers.layer0;
    (*result).layer1 = sample.layers.layer1;
    (*result).layer2 = sample.layers.layer2;
    (*result).atlas_uv = page.uv;
    (*result).texel = page.texel;
    (*result).gradient = page.gradient;
    (*result).atlas_page = page.page;
    (*result).fraction = request.place.fraction;
    (*result).page = request.place.page;
    (*result).base_colour = surface.base_colour;
    (*result).roughness = surface.roughness;
    (*result).normal = surface.normal;
    (*result).specular = surface.specular;
    (*result).mask = surface.mask;
    (*result).height = vt_height(vt, surface.height);
    (*result).level = request.level;
    (*result).whole_level = sample.whole_level;
    (*result).mapped_level = page.level;
    (*result).is_resident = u32(page.is_resident);
    (*result).word = feedback.word;
}
