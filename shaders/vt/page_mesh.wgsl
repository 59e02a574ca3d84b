// A mesh of the scene in a page, from above: of its surfaces the upper one stays, by depth.
//!include lib/virtual_texture_page.wgsl

@group(1) @binding(4) var<storage, read> vertices: array<u32>;

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
    @location(1) colour: vec3<f32>,
    @location(2) height: f32,
}

fn octahedral(packed: u32) -> vec3<f32> {
    let p = unpack2x16snorm(packed);
    let y = 1.0 - abs(p.x) - abs(p.y);
    let fold = select(vec2(-1.0), vec2(1.0), p >= vec2(0.0)) * (1.0 - abs(p.yx));
    let xz = select(fold, p, y >= 0.0);
    return normalize(vec3(xz.x, y, xz.y));
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
