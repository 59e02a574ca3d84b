// From the targets that pages are drawn into to the layers of the atlas: packing, then blocks.
//
// A dispatch for a batch: x counts blocks of a page, y layers, z pages. One thread makes one block of 4 x 4 texels of one
// layer, and stores it where the page lies: straight into the atlas through a view of its blocks, or into an intermediate
// image of one array layer a page that is copied from afterwards. Where a device has no BC, the `store_` entry points write
// the packed texels instead. What each kind stores is told in lib/virtual_texture_kinds.wgsl; here it is in integers, so
// that every device says the same, and engine/src/vt/compress/twin too.
//!include lib/bc.wgsl

struct CompressPush {
    // Blocks a side of a page, and pages.
    blocks: u32,
    pages: u32,
    // 1 where page i goes to array layer i, 0 where all go to the first.
    layer_step: u32,
    padding: u32,
    // Where pages begin, in blocks: x in the low half, y in the high half. Page i is word i.
    origins: array<vec4<u32>, 2>,
}
var<immediate> pc: CompressPush;

@group(1) @binding(8) var target0: texture_2d_array<f32>;
@group(1) @binding(9) var target1: texture_2d_array<f32>;
@group(1) @binding(10) var target2: texture_2d_array<f32>;

// Layers 0, 1 and 2: blocks of 8 or of 16 bytes, or texels.
@group(1) @binding(13) var layer0_small: texture_storage_2d_array<rg32uint, write>;
@group(1) @binding(13) var layer0_large: texture_storage_2d_array<rgba32uint, write>;
@group(1) @binding(13) var layer0_texels: texture_storage_2d_array<rgba8unorm, write>;
@group(1) @binding(14) var layer1_large: texture_storage_2d_array<rgba32uint, write>;
@group(1) @binding(14) var layer1_texels: texture_storage_2d_array<rgba8unorm, write>;
@group(1) @binding(22) var layer2_small: texture_storage_2d_array<rg32uint, write>;
@group(1) @binding(22) var layer2_large: texture_storage_2d_array<rgba32uint, write>;
@group(1) @binding(22) var layer2_texels: texture_storage_2d_array<rgba8unorm, write>;

// What a thread is about.
struct Job {
    is_on: bool,
    page: u32,
    // Corner of the block in the page, texels.
    texel: vec2<u32>,
    // Place in the destination, blocks, and its array layer.
    block: vec2<u32>,
    array_layer: u32,
}

fn job_of(id: vec3<u32>) -> Job {
    let side = max(pc.blocks, 1u);
    let block = vec2(id.x % side, id.x / side);
    let origin = pc.origins[(id.z >> 2u) & 1u][id.z & 3u];
    return Job(
        id.x < pc.blocks * pc.blocks && id.z < pc.pages,
        id.z,
        block * 4u,
        vec2(origin & 0xffffu, origin >> 16u) + block,
        id.z * pc.layer_step,
    );
}

fn code(v: vec4<f32>) -> vec4<i32> {
    return vec4<i32>(v * 255.0 + 0.5);
}

// Four texels of a row, as channels.
struct Quad {
    r: vec4<i32>,
    g: vec4<i32>,
    b: vec4<i32>,
    a: vec4<i32>,
}

fn quad(x: vec4<i32>, y: vec4<i32>, z: vec4<i32>, w: vec4<i32>) -> Quad {
    return Quad(
        vec4(x.r, y.r, z.r, w.r), vec4(x.g, y.g, z.g, w.g), vec4(x.b, y.b, z.b, w.b), vec4(x.a, y.a, z.a, w.a),
    );
}

fn pixels(a: Quad, b: Quad, c: Quad, d: Quad) -> BcPixels {
    return BcPixels(
        BcRows(a.r, b.r, c.r, d.r), BcRows(a.g, b.g, c.g, d.g), BcRows(a.b, b.b, c.b, d.b), BcRows(a.a, b.a, c.a, d.a),
    );
}

fn texel0(j: Job, x: u32, y: u32) -> vec4<i32> {
    return code(textureLoad(target0, j.texel + vec2(x, y), j.page, 0));
}
fn texel1(j: Job, x: u32, y: u32) -> vec4<i32> {
    return code(textureLoad(target1, j.texel + vec2(x, y), j.page, 0));
}
fn texel2(j: Job, x: u32, y: u32) -> vec4<i32> {
    return code(textureLoad(target2, j.texel + vec2(x, y), j.page, 0));
}

fn row0(j: Job, y: u32) -> Quad {
    return quad(texel0(j, 0u, y), texel0(j, 1u, y), texel0(j, 2u, y), texel0(j, 3u, y));
}
fn row1(j: Job, y: u32) -> Quad {
    return quad(texel1(j, 0u, y), texel1(j, 1u, y), texel1(j, 2u, y), texel1(j, 3u, y));
}
fn row2(j: Job, y: u32) -> Quad {
    return quad(texel2(j, 0u, y), texel2(j, 1u, y), texel2(j, 2u, y), texel2(j, 3u, y));
}

fn load0(j: Job) -> BcPixels {
    return pixels(row0(j, 0u), row0(j, 1u), row0(j, 2u), row0(j, 3u));
}
fn load1(j: Job) -> BcPixels {
    return pixels(row1(j, 0u), row1(j, 1u), row1(j, 2u), row1(j, 3u));
}
fn load2(j: Job) -> BcPixels {
    return pixels(row2(j, 0u), row2(j, 1u), row2(j, 2u), row2(j, 3u));
}

// ---- packing -------------------------------------------------------------------------------------------------------

struct Normals {
    x: BcRows,
    y: BcRows,
    z: BcRows,
}

// Whole part of the square root, of numbers below 2^30.
fn whole_root(n: vec4<i32>) -> vec4<i32> {
    var s = vec4<i32>(sqrt(vec4<f32>(n)));
    // Square roots of floats may be off by some.
    s -= select(vec4(0), vec4(1), s * s > n);
    s += select(vec4(0), vec4(1), (s + 1) * (s + 1) <= n);
    return s;
}

struct NormalRow {
    x: vec4<i32>,
    y: vec4<i32>,
    z: vec4<i32>,
}

// Blended normals are shorter than one: brought to length one, codes of 8 bits to codes of 8 bits.
fn unit_row(x: vec4<i32>, y: vec4<i32>, z: vec4<i32>) -> NormalRow {
    let u = x - 128;
    let v = y - 128;
    let w = z - 128;
    let length = max(whole_root((u * u + v * v + w * w) * 16384), vec4(1));
    let by = (vec4(133169152) + length / 2) / length;
    return NormalRow(unit_code(u, by), unit_code(v, by), unit_code(w, by));
}

fn unit_code(v: vec4<i32>, by: vec4<i32>) -> vec4<i32> {
    return clamp(128 + ((v * by + 4096) >> vec4(13u)), vec4(0), vec4(255));
}

fn unit_normals(xy: BcPixels, z: BcRows) -> Normals {
    let a = unit_row(xy.r.a, xy.g.a, z.a);
    let b = unit_row(xy.r.b, xy.g.b, z.b);
    let c = unit_row(xy.r.c, xy.g.c, z.c);
    let d = unit_row(xy.r.d, xy.g.d, z.d);
    return Normals(BcRows(a.x, b.x, c.x, d.x), BcRows(a.y, b.y, c.y, d.y), BcRows(a.z, b.z, c.z, d.z));
}

struct YcocgRow {
    co: vec4<i32>,
    cg: vec4<i32>,
    y: vec4<i32>,
}

// Chromas of a grey are 132 and 130: levels that 5 and 6 bits have.
fn ycocg_row(r: vec4<i32>, g: vec4<i32>, b: vec4<i32>, scale: i32) -> YcocgRow {
    return YcocgRow(
        (67575 + 246 * scale * (r - b)) / vec4(510),
        (66555 + 125 * scale * (2 * g - r - b)) / vec4(510),
        (r + 2 * g + b + 2) / vec4(4),
    );
}

// The larger chroma, 510 at most.
fn chroma_row(r: vec4<i32>, g: vec4<i32>, b: vec4<i32>) -> vec4<i32> {
    return max(2 * abs(r - b), abs(2 * g - r - b));
}

// By how much the chromas of a block are multiplied, and the code of it.
fn chroma_scale(most: i32) -> vec2<i32> {
    if most <= 63 {
        return vec2(8, 231);
    }
    if most <= 127 {
        return vec2(4, 99);
    }
    return select(vec2(1, 0), vec2(2, 33), most <= 255);
}

// ---- layers of the kinds -------------------------------------------------------------------------------------------

fn opaque(v: BcPixels) -> BcPixels {
    return BcPixels(v.r, v.g, v.b, bc_constant(255));
}

fn layer_base(j: Job) -> BcPixels {
    return opaque(load0(j));
}

fn layer_base_specular(j: Job) -> BcPixels {
    let base = load0(j);
    return BcPixels(base.r, base.g, base.b, load2(j).r);
}

fn layer_roughness_normal(j: Job) -> BcPixels {
    let third = load2(j);
    let n = unit_normals(load1(j), third.b);
    return BcPixels(third.g, n.y, bc_constant(0), n.x);
}

fn layer_ycocg(j: Job) -> BcPixels {
    let base = load0(j);
    let chroma = BcRows(
        chroma_row(base.r.a, base.g.a, base.b.a), chroma_row(base.r.b, base.g.b, base.b.b),
        chroma_row(base.r.c, base.g.c, base.b.c), chroma_row(base.r.d, base.g.d, base.b.d),
    );
    let scale = chroma_scale(bc_max(chroma));
    let a = ycocg_row(base.r.a, base.g.a, base.b.a, scale.x);
    let b = ycocg_row(base.r.b, base.g.b, base.b.b, scale.x);
    let c = ycocg_row(base.r.c, base.g.c, base.b.c, scale.x);
    let d = ycocg_row(base.r.d, base.g.d, base.b.d, scale.x);
    return BcPixels(
        BcRows(a.co, b.co, c.co, d.co), BcRows(a.cg, b.cg, c.cg, d.cg), bc_constant(scale.y),
        BcRows(a.y, b.y, c.y, d.y),
    );
}

fn layer_normal(j: Job) -> BcPixels {
    let n = unit_normals(load1(j), load2(j).b);
    return BcPixels(n.x, n.y, bc_constant(0), bc_constant(255));
}

fn layer_specular_roughness(j: Job) -> BcPixels {
    let third = load2(j);
    let n = unit_normals(load1(j), third.b);
    return BcPixels(third.r, third.g, n.z, bc_constant(255));
}

fn layer_specular_roughness_mask(j: Job) -> BcPixels {
    let second = load1(j);
    let third = load2(j);
    let n = unit_normals(second, third.b);
    return BcPixels(third.r, third.g, n.z, second.b);
}

fn layer_masks(j: Job) -> BcPixels {
    let first = load0(j);
    let second = load1(j);
    return BcPixels(first.r, first.g, second.r, second.g);
}

// ---- blocks --------------------------------------------------------------------------------------------------------

// How much channels count: the second of a normal counts for more than the roughness beside it.
const EVEN: vec3<i32> = vec3<i32>(1, 1, 1);
const NORMAL_FIRST: vec3<i32> = vec3<i32>(1, 2, 1);

fn colour_block(v: BcPixels, scale: vec3<i32>) -> vec4<u32> {
    return vec4(bc_colour(BcColour(v.r, v.g, v.b), scale), 0u, 0u);
}

fn alpha_block(v: BcPixels, scale: vec3<i32>) -> vec4<u32> {
    return vec4(bc_scalar(v.a), bc_colour(BcColour(v.r, v.g, v.b), scale));
}

fn two_block(v: BcPixels) -> vec4<u32> {
    return vec4(bc_scalar(v.r), bc_scalar(v.g));
}

@compute @workgroup_size(64)
fn base_color(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on {
        textureStore(layer0_small, j.block, j.array_layer, colour_block(layer_base(j), EVEN));
    }
}

@compute @workgroup_size(64)
fn base_color_normal_roughness(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if !j.is_on {
        return;
    }
    if id.y == 0u {
        textureStore(layer0_small, j.block, j.array_layer, colour_block(layer_base(j), EVEN));
    } else {
        textureStore(layer1_large, j.block, j.array_layer, alpha_block(layer_roughness_normal(j), NORMAL_FIRST));
    }
}

@compute @workgroup_size(64)
fn base_color_normal_specular(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if !j.is_on {
        return;
    }
    if id.y == 0u {
        textureStore(layer0_large, j.block, j.array_layer, alpha_block(layer_base_specular(j), EVEN));
    } else {
        textureStore(layer1_large, j.block, j.array_layer, alpha_block(layer_roughness_normal(j), NORMAL_FIRST));
    }
}

@compute @workgroup_size(64)
fn base_color_normal_specular_ycocg(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if !j.is_on {
        return;
    }
    if id.y == 0u {
        textureStore(layer0_large, j.block, j.array_layer, alpha_block(layer_ycocg(j), EVEN));
    } else if id.y == 1u {
        textureStore(layer1_large, j.block, j.array_layer, two_block(layer_normal(j)));
    } else {
        textureStore(layer2_small, j.block, j.array_layer, colour_block(layer_specular_roughness(j), EVEN));
    }
}

@compute @workgroup_size(64)
fn base_color_normal_specular_mask_ycocg(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if !j.is_on {
        return;
    }
    if id.y == 0u {
        textureStore(layer0_large, j.block, j.array_layer, alpha_block(layer_ycocg(j), EVEN));
    } else if id.y == 1u {
        textureStore(layer1_large, j.block, j.array_layer, two_block(layer_normal(j)));
    } else {
        textureStore(layer2_large, j.block, j.array_layer, alpha_block(layer_specular_roughness_mask(j), EVEN));
    }
}

@compute @workgroup_size(64)
fn mask4(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on {
        textureStore(layer0_large, j.block, j.array_layer, alpha_block(layer_masks(j), EVEN));
    }
}

@compute @workgroup_size(64)
fn displacement(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on {
        textureStore(layer0_small, j.block, j.array_layer, vec4(bc_scalar(load0(j).r), 0u, 0u));
    }
}

// ---- texels, where a device has no BC ------------------------------------------------------------------------------

fn store_texel(j: Job, layer: u32, at: vec2<u32>, v: vec4<i32>) {
    let place = j.block * 4u + at;
    let value = vec4<f32>(v) / 255.0;
    if layer == 0u {
        textureStore(layer0_texels, place, j.array_layer, value);
    } else if layer == 1u {
        textureStore(layer1_texels, place, j.array_layer, value);
    } else {
        textureStore(layer2_texels, place, j.array_layer, value);
    }
}

fn store_row(j: Job, layer: u32, y: u32, r: vec4<i32>, g: vec4<i32>, b: vec4<i32>, a: vec4<i32>) {
    store_texel(j, layer, vec2(0u, y), vec4(r.x, g.x, b.x, a.x));
    store_texel(j, layer, vec2(1u, y), vec4(r.y, g.y, b.y, a.y));
    store_texel(j, layer, vec2(2u, y), vec4(r.z, g.z, b.z, a.z));
    store_texel(j, layer, vec2(3u, y), vec4(r.w, g.w, b.w, a.w));
}

fn store(j: Job, layer: u32, v: BcPixels) {
    store_row(j, layer, 0u, v.r.a, v.g.a, v.b.a, v.a.a);
    store_row(j, layer, 1u, v.r.b, v.g.b, v.b.b, v.a.b);
    store_row(j, layer, 2u, v.r.c, v.g.c, v.b.c, v.a.c);
    store_row(j, layer, 3u, v.r.d, v.g.d, v.b.d, v.a.d);
}

@compute @workgroup_size(64)
fn store_base_color(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on {
        store(j, 0u, layer_base(j));
    }
}

@compute @workgroup_size(64)
fn store_base_color_normal_roughness(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on && id.y == 0u {
        store(j, 0u, layer_base(j));
    } else if j.is_on {
        store(j, 1u, layer_roughness_normal(j));
    }
}

@compute @workgroup_size(64)
fn store_base_color_normal_specular(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on && id.y == 0u {
        store(j, 0u, layer_base_specular(j));
    } else if j.is_on {
        store(j, 1u, layer_roughness_normal(j));
    }
}

@compute @workgroup_size(64)
fn store_base_color_normal_specular_ycocg(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on && id.y == 0u {
        store(j, 0u, layer_ycocg(j));
    } else if j.is_on && id.y == 1u {
        store(j, 1u, layer_normal(j));
    } else if j.is_on {
        store(j, 2u, layer_specular_roughness(j));
    }
}

@compute @workgroup_size(64)
fn store_base_color_normal_specular_mask_ycocg(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on && id.y == 0u {
        store(j, 0u, layer_ycocg(j));
    } else if j.is_on && id.y == 1u {
        store(j, 1u, layer_normal(j));
    } else if j.is_on {
        store(j, 2u, layer_specular_roughness_mask(j));
    }
}

@compute @workgroup_size(64)
fn store_mask4(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = job_of(id);
    if j.is_on {
        store(j, 0u, layer_masks(j));
    }
}
