// What the eight kinds of virtual texture store: one file for those who draw pages and those who sample them.
//
//   surface (linear, world)  --vt_encode-->  attributes (0..1)  --vt_pack(kind)-->  layers (formats of the atlas)
//   surface                  <--vt_decode--  attributes         <--vt_unpack(kind)-- layers
//
// Attributes are what page drawing blends, in its targets: every one is an affine or monotonous code in 0..1, and a
// share of two codes is the code of something between.
//
//   base colour   square root of linear light: even steps in 5, 6 and 8 bits; decoded by squaring
//   normal        (n * 127 + 128) / 255 in the space of the box: x east, y south, z up. 0 is a code that 8 bits hold
//                 exactly, so that flat ground is flat on every device
//   roughness, specular, mask   as they are
//   height        (metres - offset) / scale, both in the VirtualTexture
//
// Layers by kind (a channel that is not named is 0; alpha that is not named is 1):
//
//   | kind                             | layer 0                        | layer 1                                   | layer 2                                       |
//   | BaseColor                        | BC1 rgb base colour            |                                           |                                               |
//   | BaseColorNormalRoughness         | BC1 rgb base colour            | BC3 r roughness, g normal y, a normal x   |                                               |
//   | BaseColorNormalSpecular          | BC3 rgb base colour, a specular| BC3 r roughness, g normal y, a normal x   |                                               |
//   | BaseColorNormalSpecularYCoCg     | BC3 r Co, g Cg, b scale, a Y   | BC5 r normal x, g normal y                | BC1 r specular, g roughness, b normal z       |
//   | BaseColorNormalSpecularMaskYCoCg | BC3 r Co, g Cg, b scale, a Y   | BC5 r normal x, g normal y                | BC3 r specular, g roughness, b normal z, a mask|
//   | Mask4                            | BC3 rgba masks                 |                                           |                                               |
//   | WorldHeight                      | R16 r height                   |                                           |                                               |
//   | Displacement                     | BC4 or R16 r height            |                                           |                                               |
//
// A normal's z follows from x and y; where it is stored, in 5 bits, only its sign is used. The low quality of
// BaseColorNormalRoughness (RGB565 and RGBA5551) has one bit of alpha: see vt_pack_low.
//
// Targets that pages are drawn into, every value times its opacity, alpha = opacity (blended by premultiplied over):
//
//   target 0: base colour;  target 1: normal x, normal y, mask;  target 2: specular, roughness, normal z
//   Mask4:    target 0: mask x, mask y;  target 1: mask z, mask w
//   heights:  target 0: height

const VT_KIND_BASE_COLOR: u32 = 0u;
const VT_KIND_BASE_COLOR_NORMAL_ROUGHNESS: u32 = 1u;
const VT_KIND_BASE_COLOR_NORMAL_SPECULAR: u32 = 2u;
const VT_KIND_BASE_COLOR_NORMAL_SPECULAR_YCOCG: u32 = 3u;
const VT_KIND_BASE_COLOR_NORMAL_SPECULAR_MASK_YCOCG: u32 = 4u;
const VT_KIND_MASK4: u32 = 5u;
const VT_KIND_WORLD_HEIGHT: u32 = 6u;
const VT_KIND_DISPLACEMENT: u32 = 7u;

// What a material is lit by.
struct VtSurface {
    // Linear, 0..1.
    base_colour: vec3<f32>,
    roughness: f32,
    // Of the world, y up, of length one.
    normal: vec3<f32>,
    specular: f32,
    // Masks of Mask4; x alone is the mask of other kinds.
    mask: vec4<f32>,
    // 0..1 of the virtual texture's range: see vt_height.
    height: f32,
}

// The same as codes in 0..1.
struct VtAttributes {
    base_colour: vec3<f32>,
    roughness: f32,
    // Of the box: x east, y south, z up.
    normal: vec3<f32>,
    specular: f32,
    mask: vec4<f32>,
    height: f32,
}

// A texel of each layer of the atlas.
struct VtLayers {
    layer0: vec4<f32>,
    layer1: vec4<f32>,
    layer2: vec4<f32>,
}

// A texel of each target that pages are drawn into.
struct VtTargets {
    target0: vec4<f32>,
    target1: vec4<f32>,
    target2: vec4<f32>,
}

fn vt_encode_base_colour(linear: vec3<f32>) -> vec3<f32> {
    return sqrt(clamp(linear, vec3(0.0), vec3(1.0)));
}

fn vt_decode_base_colour(code: vec3<f32>) -> vec3<f32> {
    return code * code;
}

// Of a normal that points up.
const VT_UP_CODE: vec3<f32> = vec3<f32>(0.5019607843, 0.5019607843, 1.0);

fn vt_normal_code(n: vec3<f32>) -> vec3<f32> {
    return (n * 127.0 + 128.0) / 255.0;
}

// Blended codes are of normals that are shorter than one.
fn vt_normal_of_code(code: vec3<f32>) -> vec3<f32> {
    return (code * 255.0 - 128.0) / 127.0;
}

fn vt_unit_code(code: vec3<f32>) -> vec3<f32> {
    let blended = vt_normal_of_code(code);
    return vt_normal_code(blended / max(length(blended), 1e-6));
}

// From the world (y up) to the box (z up).
fn vt_encode_normal(world: vec3<f32>) -> vec3<f32> {
    return vt_normal_code(world.xzy);
}

// From x and y of the box's code, and the code of z: only whether it is at least a half counts.
fn vt_decode_normal(code: vec3<f32>) -> vec3<f32> {
    let xy = vt_normal_of_code(code).xy;
    // Filtered or compressed codes may lie outside of the unit circle.
    let z = sqrt(max(1.0 - dot(xy, xy), 0.0)) * select(-1.0, 1.0, code.z >= 0.5);
    let box_normal = vec3(xy, z);
    return (box_normal / max(length(box_normal), 1e-6)).xzy;
}

// Two chromas, their scale, and luma of a colour code: (Co, Cg, scale, Y). Chromas of a grey are 132 and 130 of 255, which
// 5 and 6 bits hold exactly, so that greys stay grey. 5 and 6 bits are few for the pale colours of ground: who packs blocks
// multiplies the chromas of each by what they have room for (the idea: van Waveren and Castano, "Real-Time YCoCg-DXT
// Compression", 2007). Scales 1, 2, 4 and 8 are codes 0, 33, 99 and 231, which 5 bits hold exactly too. Here it is 1.
fn vt_encode_ycocg(rgb: vec3<f32>) -> vec4<f32> {
    let y = 0.25 * rgb.r + 0.5 * rgb.g + 0.25 * rgb.b;
    let co = 0.5 * (rgb.r - rgb.b);
    let cg = 0.5 * rgb.g - 0.25 * (rgb.r + rgb.b);
    return vec4((132.0 + 246.0 * co) / 255.0, (130.0 + 250.0 * cg) / 255.0, 0.0, y);
}

fn vt_decode_ycocg(code: vec4<f32>) -> vec3<f32> {
    let share = 1.0 / (1.0 + code.b * (255.0 / 33.0));
    let co = (code.r * 255.0 - 132.0) * (share / 246.0);
    let cg = (code.g * 255.0 - 130.0) * (share / 250.0);
    let y = code.a;
    return clamp(vec3(y + co - cg, y + cg, y - co - cg), vec3(0.0), vec3(1.0));
}

fn vt_encode(surface: VtSurface) -> VtAttributes {
    return VtAttributes(
        vt_encode_base_colour(surface.base_colour),
        saturate(surface.roughness),
        vt_encode_normal(surface.normal),
        saturate(surface.specular),
        saturate(surface.mask),
        saturate(surface.height),
    );
}

fn vt_decode(a: VtAttributes) -> VtSurface {
    return VtSurface(
        vt_decode_base_colour(a.base_colour), a.roughness, vt_decode_normal(a.normal), a.specular, a.mask, a.height,
    );
}

// What a draw of opacity `opacity` gives to the targets of a page; a draw's write masks choose among the channels.
fn vt_targets(kind: u32, a: VtAttributes, opacity: f32) -> VtTargets {
    if kind == VT_KIND_MASK4 {
        return VtTargets(
            vec4(a.mask.xy * opacity, 0.0, opacity), vec4(a.mask.zw * opacity, 0.0, opacity), vec4(0.0),
        );
    }
    if kind == VT_KIND_WORLD_HEIGHT || kind == VT_KIND_DISPLACEMENT {
        return VtTargets(vec4(a.height * opacity, 0.0, 0.0, opacity), vec4(0.0), vec4(0.0));
    }
    return VtTargets(
        vec4(a.base_colour * opacity, opacity),
        vec4(vec3(a.normal.xy, a.mask.x) * opacity, opacity),
        vec4(vec3(a.specular, a.roughness, a.normal.z) * opacity, opacity),
    );
}

// The attributes that the targets hold when all is drawn.
fn vt_attributes(kind: u32, t: VtTargets) -> VtAttributes {
    if kind == VT_KIND_MASK4 {
        let masks = vec4(t.target0.xy, t.target1.xy);
        return VtAttributes(vec3(0.0), 0.0, VT_UP_CODE, 0.0, masks, 0.0);
    }
    if kind == VT_KIND_WORLD_HEIGHT || kind == VT_KIND_DISPLACEMENT {
        return VtAttributes(vec3(0.0), 0.0, VT_UP_CODE, 0.0, vec4(0.0), t.target0.x);
    }
    let masks = vec4(t.target1.z, 0.0, 0.0, 0.0);
    return VtAttributes(
        t.target0.rgb, t.target2.y, vec3(t.target1.xy, t.target2.z), t.target2.x, masks, 0.0,
    );
}

// Attributes in the layers of a kind. Blended normals are shorter than one: they are put right here.
fn vt_pack(kind: u32, a: VtAttributes) -> VtLayers {
    let normal = vt_unit_code(a.normal);
    let base = vec4(a.base_colour, 1.0);
    let roughness_normal = vec4(a.roughness, normal.y, 0.0, normal.x);
    let normal_xy = vec4(normal.xy, 0.0, 1.0);
    let ycocg = vt_encode_ycocg(a.base_colour);
    switch kind {
        case VT_KIND_BASE_COLOR: {
            return VtLayers(base, vec4(0.0), vec4(0.0));
        }
        case VT_KIND_BASE_COLOR_NORMAL_ROUGHNESS: {
            return VtLayers(base, roughness_normal, vec4(0.0));
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR: {
            return VtLayers(vec4(a.base_colour, a.specular), roughness_normal, vec4(0.0));
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR_YCOCG: {
            let third = vec4(a.specular, a.roughness, normal.z, 1.0);
            return VtLayers(ycocg, normal_xy, third);
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR_MASK_YCOCG: {
            let third = vec4(a.specular, a.roughness, normal.z, a.mask.x);
            return VtLayers(ycocg, normal_xy, third);
        }
        case VT_KIND_MASK4: {
            return VtLayers(a.mask, vec4(0.0), vec4(0.0));
        }
        default: {
            return VtLayers(vec4(a.height, 0.0, 0.0, 1.0), vec4(0.0), vec4(0.0));
        }
    }
}

// Attributes from the layers of a kind. What a kind does not store: roughness 1, specular and mask 0, normal up.
fn vt_unpack(kind: u32, l: VtLayers) -> VtAttributes {
    let up = VT_UP_CODE;
    switch kind {
        case VT_KIND_BASE_COLOR: {
            return VtAttributes(l.layer0.rgb, 1.0, up, 0.0, vec4(0.0), 0.0);
        }
        case VT_KIND_BASE_COLOR_NORMAL_ROUGHNESS: {
            let normal = vec3(l.layer1.a, l.layer1.g, 1.0);
            return VtAttributes(l.layer0.rgb, l.layer1.r, normal, 0.0, vec4(0.0), 0.0);
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR: {
            let normal = vec3(l.layer1.a, l.layer1.g, 1.0);
            return VtAttributes(l.layer0.rgb, l.layer1.r, normal, l.layer0.a, vec4(0.0), 0.0);
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR_YCOCG: {
            let normal = vec3(l.layer1.rg, l.layer2.b);
            let base = vt_decode_ycocg(l.layer0);
            return VtAttributes(base, l.layer2.g, normal, l.layer2.r, vec4(0.0), 0.0);
        }
        case VT_KIND_BASE_COLOR_NORMAL_SPECULAR_MASK_YCOCG: {
            let normal = vec3(l.layer1.rg, l.layer2.b);
            let base = vt_decode_ycocg(l.layer0);
            let mask = vec4(l.layer2.a, 0.0, 0.0, 0.0);
            return VtAttributes(base, l.layer2.g, normal, l.layer2.r, mask, 0.0);
        }
        case VT_KIND_MASK4: {
            return VtAttributes(vec3(0.0), 1.0, up, 0.0, l.layer0, 0.0);
        }
        default: {
            return VtAttributes(vec3(0.0), 1.0, up, 0.0, vec4(0.0), l.layer0.r);
        }
    }
}

// BaseColorNormalRoughness in low quality: layer 0 RGB565 base colour, layer 1 RGBA5551 normal x, normal y, roughness.
fn vt_pack_low(a: VtAttributes) -> VtLayers {
    let normal = vt_unit_code(a.normal);
    return VtLayers(vec4(a.base_colour, 1.0), vec4(normal.xy, a.roughness, 1.0), vec4(0.0));
}

fn vt_unpack_low(l: VtLayers) -> VtAttributes {
    return VtAttributes(l.layer0.rgb, l.layer1.b, vec3(l.layer1.rg, 1.0), 0.0, vec4(0.0), 0.0);
}

// A surface with what a kind stores; the rest is as vt_unpack says.
fn vt_surface(kind: u32, l: VtLayers) -> VtSurface {
    return vt_decode(vt_unpack(kind, l));
}
