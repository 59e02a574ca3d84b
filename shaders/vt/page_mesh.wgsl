// A mesh of the scene in a page, from above: of its surfaces the upper one stays, by depth.
//!include lib/virtual_texture_page_targets.wgsl
//!include lib/octahedral.wgsl

@group(1) @binding(4) var<storage, read> vertices: array<u32>;

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
    @location(1) colour: vec3<f32>,
    @location(2) height: f32,
}

@vertex
fn page_vertex(@builtin(vertex_index) vertex: u32) -> Varyings {
    let word = pc.first_word + vertex * 6u;
    let position = vec4(
        bitcast<f32>(vertices[word]), bitcast<f32>(vertices[word + 1u]), bitcast<f32>(vertices[word + 2u]), 1.0,
    );
    let normal = octahedral(vertices[word + 3u]);
    let rows = writers[pc.writer].rows;
    let world = vec3(dot(rows[0], position), dot(rows[1], position), dot(rows[2], position));
    var out: Varyings;
    out.clip = page_clip(world.xz, (world.y - pc.depth_offset) * pc.depth_scale);
    out.normal = vec3(dot(rows[0].xyz, normal), dot(rows[1].xyz, normal), dot(rows[2].xyz, normal));
    out.colour = pc.colour * unpack4x8unorm(vertices[word + 4u]).rgb;
    out.height = world.y;
    return out;
}

fn painted(in: Varyings) -> VtTargets {
    let w = writers[pc.writer];
    let facing = normalize(in.normal);
    // What is seen from above is turned upwards, whichever way its triangles go round.
    let normal = facing * select(-1.0, 1.0, facing.y >= 0.0);
    var height = in.height;
    if pc.kind == VT_KIND_DISPLACEMENT {
        height = w.displacement;
    }
    let surface = VtSurface(in.colour, pc.roughness, normal, w.specular, w.mask, page_height(height));
    return page_targets(surface, w.opacity);
}
