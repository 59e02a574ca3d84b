//! Texels of targets to texels of layers, as `shaders/vt/compress.wgsl` packs them.

use super::{Block, Texels};
use crate::vt::compress::Kind;

const OPAQUE: Block = [255; 16];
const NONE: Block = [0; 16];

/// The layers of a block of a kind that is packed: base colours, normals and the like in 8 bits a channel, from up to three
/// targets. Layers that the kind does not have are zeros. Heights pass through.
pub fn pack(kind: Kind, targets: &[Texels; 3]) -> [Texels; 3] {
    let [base, second, third] = targets;
    let normal = unit_normals(&second[0], &second[1], &third[2]);
    let [nx, ny, nz] = normal;
    let opaque = [base[0], base[1], base[2], OPAQUE];
    let roughness_normal = [third[1], ny, NONE, nx];
    let ycocg = ycocg(base);
    let none = [NONE; 4];
    match kind {
        Kind::BaseColor => [opaque, none, none],
        Kind::BaseColorNormalRoughness => [opaque, roughness_normal, none],
        Kind::BaseColorNormalSpecular => [[base[0], base[1], base[2], third[0]], roughness_normal, none],
        Kind::BaseColorNormalSpecularYCoCg => {
            [ycocg, [nx, ny, NONE, OPAQUE], [third[0], third[1], nz, OPAQUE]]
        }
        Kind::BaseColorNormalSpecularMaskYCoCg => {
            [ycocg, [nx, ny, NONE, OPAQUE], [third[0], third[1], nz, second[2]]]
        }
        Kind::Mask4 => [[base[0], base[1], second[0], second[1]], none, none],
        Kind::WorldHeight | Kind::Displacement => [*base, none, none],
    }
}

/// How much the colour channels of a layer count.
pub fn scale(kind: Kind, layer: usize) -> [i32; 3] {
    let has_normal = matches!(kind, Kind::BaseColorNormalRoughness | Kind::BaseColorNormalSpecular);
    if has_normal && layer == 1 { [1, 2, 1] } else { [1; 3] }
}

/// Codes of normals, brought to length one.
pub fn unit_normals(x: &Block, y: &Block, z: &Block) -> [Block; 3] {
    let mut out = [NONE; 3];
    for i in 0..16 {
        let v = [x[i], y[i], z[i]].map(|code| code - 128);
        let squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        // 128 times the length, and 127 x 2^13 over the length.
        let length = (squared * 16_384).isqrt().max(1);
        let by = (133_169_152 + length / 2) / length;
        for (channel, part) in out.iter_mut().zip(v) {
            channel[i] = (128 + ((part * by + 4096) >> 13)).clamp(0, 255);
        }
    }
    out
}

/// By how much the chromas of a block are multiplied, and the code of it: the most that the largest has room for.
fn chroma_scale(base: &Texels) -> (i32, i32) {
    let chroma = |i: usize| {
        let [r, g, b] = [base[0][i], base[1][i], base[2][i]];
        (2 * (r - b).abs()).max((2 * g - r - b).abs())
    };
    match (0..16).map(chroma).fold(0, i32::max) {
        ..=63 => (8, 231),
        64..=127 => (4, 99),
        128..=255 => (2, 33),
        _ => (1, 0),
    }
}

/// Orange and green chroma, their scale, and luma: (Co, Cg, scale, Y). Chromas of a grey are 132 and 130, which are levels
/// of 5 and 6 bits.
pub fn ycocg(base: &Texels) -> Texels {
    let (scale, code) = chroma_scale(base);
    let mut out = [NONE, NONE, [code; 16], NONE];
    for i in 0..16 {
        let [r, g, b] = [base[0][i], base[1][i], base[2][i]];
        out[0][i] = (67_575 + 246 * scale * (r - b)) / 510;
        out[1][i] = (66_555 + 125 * scale * (2 * g - r - b)) / 510;
        out[3][i] = (r + 2 * g + b + 2) / 4;
    }
    out
}
