//! The twin of `shaders/lib/virtual_texture_kinds.wgsl`: what each kind stores in which channel.

use crate::vt::Kind;

/// What a material is lit by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surface {
    /// Linear, 0 to 1.
    pub base_colour: [f32; 3],
    /// 0 to 1.
    pub roughness: f32,
    /// Of the world, y up, of length one.
    pub normal: [f32; 3],
    /// 0 to 1.
    pub specular: f32,
    /// Masks of [`Kind::Mask4`]; the first alone is the mask of other kinds.
    pub mask: [f32; 4],
    /// 0 to 1 of the texture's range.
    pub height: f32,
}

/// The same as codes, 0 to 1: what page drawing blends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attributes {
    /// Square root of linear light.
    pub base_colour: [f32; 3],
    /// As it is.
    pub roughness: f32,
    /// (n * 127 + 128) / 255 in the space of the box: x east, y south, z up. 8 bits hold 0 exactly.
    pub normal: [f32; 3],
    /// As it is.
    pub specular: f32,
    /// As they are.
    pub mask: [f32; 4],
    /// As it is.
    pub height: f32,
}

/// A texel of each layer.
pub type Layers = [[f32; 4]; 3];

fn normal_code(n: f32) -> f32 {
    (n * 127.0 + 128.0) / 255.0
}

fn normal_of_code(code: f32) -> f32 {
    (code * 255.0 - 128.0) / 127.0
}

fn unit(n: [f32; 3]) -> [f32; 3] {
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(1e-6);
    n.map(|n| n / length)
}

/// Two chromas, their scale (1), and luma, (Co, Cg, 0, Y), of a colour code. Chromas of a grey are codes that 5 and 6 bits
/// hold exactly.
pub(super) fn encode_ycocg([r, g, b]: [f32; 3]) -> [f32; 4] {
    let (y, co, cg) = (0.25 * r + 0.5 * g + 0.25 * b, 0.5 * (r - b), 0.5 * g - 0.25 * (r + b));
    [(132.0 + 246.0 * co) / 255.0, (130.0 + 250.0 * cg) / 255.0, 0.0, y]
}

pub(super) fn decode_ycocg([x, y, scale, luma]: [f32; 4]) -> [f32; 3] {
    let share = 1.0 / (1.0 + scale * (255.0 / 33.0));
    let (co, cg) = ((x * 255.0 - 132.0) * (share / 246.0), (y * 255.0 - 130.0) * (share / 250.0));
    [luma + co - cg, luma + cg, luma - co - cg].map(|c| c.clamp(0.0, 1.0))
}

impl Surface {
    /// As codes.
    pub fn encode(&self) -> Attributes {
        let [x, y, z] = self.normal;
        Attributes {
            base_colour: self.base_colour.map(|c| c.clamp(0.0, 1.0).sqrt()),
            roughness: self.roughness.clamp(0.0, 1.0),
            normal: [x, z, y].map(normal_code),
            specular: self.specular.clamp(0.0, 1.0),
            mask: self.mask.map(|m| m.clamp(0.0, 1.0)),
            height: self.height.clamp(0.0, 1.0),
        }
    }
}

impl Attributes {
    /// What a kind does not store.
    const MISSING: Self = Self {
        base_colour: [0.0; 3],
        roughness: 1.0,
        normal: [128.0 / 255.0, 128.0 / 255.0, 1.0],
        specular: 0.0,
        mask: [0.0; 4],
        height: 0.0,
    };

    /// As a surface.
    pub fn decode(&self) -> Surface {
        let [x, y] = [self.normal[0], self.normal[1]].map(normal_of_code);
        let up = (1.0 - (x * x + y * y)).max(0.0).sqrt();
        let [x, y, z] = unit([x, y, if self.normal[2] >= 0.5 { up } else { -up }]);
        Surface {
            base_colour: self.base_colour.map(|code| code * code),
            roughness: self.roughness,
            normal: [x, z, y],
            specular: self.specular,
            mask: self.mask,
            height: self.height,
        }
    }

    /// In the layers of a kind; normals that blending made shorter are put right.
    pub fn pack(&self, kind: Kind) -> Layers {
        let [r, g, b] = self.base_colour;
        let [x, y, z] = unit(self.normal.map(normal_of_code)).map(normal_code);
        let ycocg = encode_ycocg(self.base_colour);
        let none = [0.0; 4];
        let roughness_normal = [self.roughness, y, 0.0, x];
        let third = |alpha| [self.specular, self.roughness, z, alpha];
        match kind {
            Kind::BaseColor => [[r, g, b, 1.0], none, none],
            Kind::BaseColorNormalRoughness => [[r, g, b, 1.0], roughness_normal, none],
            Kind::BaseColorNormalSpecular => [[r, g, b, self.specular], roughness_normal, none],
            Kind::BaseColorNormalSpecularYCoCg => [ycocg, [x, y, 0.0, 1.0], third(1.0)],
            Kind::BaseColorNormalSpecularMaskYCoCg => [ycocg, [x, y, 0.0, 1.0], third(self.mask[0])],
            Kind::Mask4 => [self.mask, none, none],
            Kind::WorldHeight | Kind::Displacement => [[self.height, 0.0, 0.0, 1.0], none, none],
        }
    }

    /// In the layers of [`Kind::BaseColorNormalRoughness`] in low quality.
    pub fn pack_low(&self) -> Layers {
        let [r, g, b] = self.base_colour;
        let [x, y, _] = unit(self.normal.map(normal_of_code)).map(normal_code);
        [[r, g, b, 1.0], [x, y, self.roughness, 1.0], [0.0; 4]]
    }

    /// From these layers.
    pub fn unpack_low([first, second, _]: Layers) -> Self {
        Self {
            base_colour: [first[0], first[1], first[2]],
            roughness: second[2],
            normal: [second[0], second[1], 1.0],
            ..Self::MISSING
        }
    }

    /// From the layers of a kind. What it does not store: roughness 1, specular and masks 0, normal up.
    pub fn unpack(kind: Kind, [first, second, third]: Layers) -> Self {
        let base_colour = [first[0], first[1], first[2]];
        let of_two =
            Self { base_colour, roughness: second[0], normal: [second[3], second[1], 1.0], ..Self::MISSING };
        let of_three = Self {
            base_colour: decode_ycocg(first),
            roughness: third[1],
            normal: [second[0], second[1], third[2]],
            specular: third[0],
            ..Self::MISSING
        };
        match kind {
            Kind::BaseColor => Self { base_colour, ..Self::MISSING },
            Kind::BaseColorNormalRoughness => of_two,
            Kind::BaseColorNormalSpecular => Self { specular: first[3], ..of_two },
            Kind::BaseColorNormalSpecularYCoCg => of_three,
            Kind::BaseColorNormalSpecularMaskYCoCg => Self { mask: [third[3], 0.0, 0.0, 0.0], ..of_three },
            Kind::Mask4 => Self { mask: first, ..Self::MISSING },
            Kind::WorldHeight | Kind::Displacement => Self { height: first[0], ..Self::MISSING },
        }
    }
}
