//! Pictures to encode: made by formulas, the same everywhere.

use super::encoders::Format;

/// Texels a side: a page of 256 with its border.
pub(crate) const SIDE: usize = 264;

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Colours, and something unrelated in alpha.
    Colour,
    /// Greys.
    Grey,
    /// Normals, length one.
    Normals,
    /// One channel that is often 0 or 255.
    Mask,
}

/// A picture.
pub(crate) struct Picture {
    pub(crate) name: &'static str,
    pub(crate) content: Content,
    pub(crate) texels: Vec<[u8; 4]>,
}

impl Picture {
    fn new(name: &'static str, content: Content, at: impl Fn(f32, f32, i32, i32) -> [f32; 4]) -> Self {
        let quantised = |v: f32| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        let texel = |i: usize| {
            let (x, y) = ((i % SIDE) as i32, (i / SIDE) as i32);
            at(x as f32 / SIDE as f32, y as f32 / SIDE as f32, x, y).map(quantised)
        };
        Self { name, content, texels: (0..SIDE * SIDE).map(texel).collect() }
    }

    /// Formats that it is encoded in.
    pub(crate) fn formats(&self) -> Vec<Format> {
        match self.content {
            Content::Colour => vec![Format::Bc1, Format::Bc3, Format::Ycocg],
            Content::Grey => vec![Format::Bc1, Format::Ycocg],
            Content::Normals => vec![Format::Bc5],
            Content::Mask => vec![Format::Bc4],
        }
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Picture> {
    let ground = Picture::new("ground", Content::Colour, |x, y, i, j| {
        let (m, d) = (layers(x * 6.0, y * 6.0, 6, 1), layers(x * 40.0, y * 40.0, 4, 9));
        let grass = [0.25 + 0.3 * d, 0.42 + 0.35 * d, 0.12 + 0.15 * d];
        let rock = [0.5, 0.47, 0.43].map(|c| c + 0.4 * (d - 0.5));
        let soil = [0.45 + 0.25 * d, 0.3 + 0.2 * d, 0.2 + 0.12 * d];
        let e = ((m - 0.5) * 14.0 + 0.5).clamp(0.0, 1.0);
        let g = ((layers(x * 9.0, y * 9.0, 5, 77) - 0.52) * 20.0).clamp(0.0, 1.0);
        let c = |k: usize| {
            let under = grass[k] * (1.0 - e) + rock[k] * e;
            under * (1.0 - g) + soil[k] * g + 0.05 * (hash(i, j, 5 + k as u32) - 0.5)
        };
        [c(0), c(1), c(2), layers(x * 12.0, y * 12.0, 5, 33)]
    });
    let slopes = Picture::new("slopes", Content::Colour, |x, y, _, _| {
        [0.2 + 0.6 * x, 0.3 + 0.5 * y, 0.5 + 0.4 * (x - y), 0.5 + 0.5 * x * y]
    });
    let noise = Picture::new("noise", Content::Colour, |_, _, i, j| [1, 2, 3, 4].map(|s| hash(i, j, s)));
    let ramp = Picture::new("grey ramp", Content::Grey, |x, y, _, _| [(x + 0.2 * y) / 1.2; 4]);
    let greys = Picture::new("greys", Content::Grey, |x, y, _, _| [layers(x * 30.0, y * 30.0, 5, 3); 4]);
    let normals = |name, steep: f32| {
        Picture::new(name, Content::Normals, move |x, y, _, _| {
            let h = |x: f32, y: f32| layers(x * 8.0, y * 8.0, 6, 21);
            let e = 1.0 / SIDE as f32;
            let (dx, dy) = ((h(x + e, y) - h(x - e, y)) * steep, (h(x, y + e) - h(x, y - e)) * steep);
            let length = (dx * dx + dy * dy + 1.0).sqrt();
            [-dx / length * 0.5 + 0.5, -dy / length * 0.5 + 0.5, 0.5 / length + 0.5, 1.0]
        })
    };
    let mask = Picture::new("mask", Content::Mask, |x, y, _, _| {
        [((layers(x * 10.0, y * 10.0, 5, 91) - 0.5) * 8.0 + 0.5).clamp(0.0, 1.0); 4]
    });
    let soft = Picture::new("soft mask", Content::Mask, |x, y, _, _| [layers(x * 12.0, y * 12.0, 5, 33); 4]);
    vec![
        ground,
        slopes,
        noise,
        ramp,
        greys,
        normals("normals", 6.0),
        normals("steep normals", 18.0),
        mask,
        soft,
    ]
}

/// 0..1, evenly, for every point and salt another.
fn hash(x: i32, y: i32, salt: u32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8da6_b343)
        ^ (y as u32).wrapping_mul(0xd816_3841)
        ^ salt.wrapping_mul(0xcb1a_b31f);
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    h = h.wrapping_mul(0x297a_2d39);
    h ^= h >> 15;
    (h >> 8) as f32 / 16_777_216.0
}

fn value_noise(x: f32, y: f32, salt: u32) -> f32 {
    let (i, j) = (x.floor() as i32, y.floor() as i32);
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let (s, t) = (smooth(x - x.floor()), smooth(y - y.floor()));
    let row = |j: i32| hash(i, j, salt) * (1.0 - s) + hash(i + 1, j, salt) * s;
    row(j) * (1.0 - t) + row(j + 1) * t
}

/// Octaves of noise, 0..1.
fn layers(x: f32, y: f32, octaves: u32, salt: u32) -> f32 {
    let (mut share, mut scale, mut total, mut all) = (0.5, 1.0, 0.0, 0.0);
    for octave in 0..octaves {
        total += share * value_noise(x * scale, y * scale, salt + octave);
        all += share;
        share *= 0.55;
        scale *= 2.03;
    }
    total / all
}
