//! What is left of a picture.

use serde::Serialize;

use super::encoders::Format;
use super::pictures::{Content, Picture};

/// How far a decoded picture is from what it was.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Quality {
    /// Peak signal to noise over the channels of the format, dB.
    pub(crate) psnr: f64,
    /// Of luma.
    pub(crate) luma: Option<f64>,
    /// Degrees between normals.
    pub(crate) angle_mean: Option<f64>,
    pub(crate) angle_max: Option<f64>,
    /// Difference between red and green, or blue and green, of decoded greys, in 255.
    pub(crate) chroma_mean: Option<f64>,
    pub(crate) chroma_max: Option<f64>,
}

/// Decibels that stand for no error at all.
const PERFECT: f64 = 100.0;

impl Quality {
    /// Of a picture decoded from a format, 0..1.
    pub(crate) fn of(picture: &Picture, format: Format, decoded: &[[f32; 4]]) -> Self {
        let was = |i: usize| picture.texels[i].map(|v| f64::from(v) / 255.0);
        let got = |i: usize| decoded[i].map(f64::from);
        let count = picture.texels.len();
        let channels: &[usize] = match format {
            Format::Bc1 | Format::Ycocg => &[0, 1, 2],
            Format::Bc3 => &[0, 1, 2, 3],
            Format::Bc4 => &[0],
            Format::Bc5 => &[0, 1],
        };
        let squares =
            |of: &dyn Fn(usize) -> f64| (0..count).map(|i| of(i).powi(2)).sum::<f64>() / count as f64;
        let over = |c: usize| squares(&|i| got(i)[c] - was(i)[c]);
        let psnr = decibels(channels.iter().map(|c| over(*c)).sum::<f64>() / channels.len() as f64);
        let weigh = |v: [f64; 4]| 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
        let has_colour = matches!(picture.content, Content::Colour | Content::Grey);
        let luma = has_colour.then(|| decibels(squares(&|i| weigh(got(i)) - weigh(was(i)))));
        let mut quality =
            Self { psnr, luma, angle_mean: None, angle_max: None, chroma_mean: None, chroma_max: None };
        if picture.content == Content::Normals {
            let (mean, max) = spread((0..count).map(|i| angle(was(i), got(i))), count);
            (quality.angle_mean, quality.angle_max) = (Some(mean), Some(max));
        }
        if picture.content == Content::Grey {
            let chroma = |v: [f64; 4]| (v[0] - v[1]).abs().max((v[2] - v[1]).abs()) * 255.0;
            let (mean, max) = spread((0..count).map(|i| chroma(got(i))), count);
            (quality.chroma_mean, quality.chroma_max) = (Some(mean), Some(max));
        }
        quality
    }
}

fn spread(values: impl Iterator<Item = f64>, count: usize) -> (f64, f64) {
    let (sum, max) = values.fold((0.0, 0.0f64), |(sum, max), v| (sum + v, max.max(v)));
    (sum / count as f64, max)
}

fn decibels(mean_square: f64) -> f64 {
    if mean_square <= 0.0 { PERFECT } else { (-10.0 * mean_square.log10()).min(PERFECT) }
}

/// Degrees between two normals of which x and y are stored.
fn angle(a: [f64; 4], b: [f64; 4]) -> f64 {
    let unit = |v: [f64; 4]| {
        let (x, y) = (v[0] * 2.0 - 1.0, v[1] * 2.0 - 1.0);
        let z = (1.0 - x * x - y * y).max(0.0).sqrt();
        let length = (x * x + y * y + z * z).sqrt();
        [x / length, y / length, z / length]
    };
    let (a, b) = (unit(a), unit(b));
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).clamp(-1.0, 1.0).acos().to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_known_size() {
        assert_eq!(decibels(0.0), PERFECT);
        assert!((decibels((1.0f64 / 255.0).powi(2)) - 48.13).abs() < 0.01);
        assert!(angle([0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]) < 1e-6);
        assert!((angle([0.5, 0.5, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0]) - 90.0).abs() < 1e-6);
    }
}
