//! Decoders, as the formats are defined: endpoints widened by repeating bits, values between them not rounded.

use super::colour::{expand5, expand6};

/// The sixteen colours of a BC1 half, 0..=1; `has_four` is whether the order of the endpoints does not matter (BC3).
pub fn colour(words: [u32; 2], has_four: bool) -> [[f32; 3]; 16] {
    let ends = [words[0] & 0xffff, words[0] >> 16];
    let [a, b] = ends.map(|end| {
        let part = |shift: u32, mask: u32| ((end >> shift) & mask) as i32;
        [expand5(part(11, 31)), expand6(part(5, 63)), expand5(part(0, 31))].map(|v| v as f32 / 255.0)
    });
    let mix = |s: f32, t: f32| std::array::from_fn(|c| (a[c] * s + b[c] * t) / (s + t));
    let palette: [[f32; 3]; 4] = if has_four || ends[0] > ends[1] {
        [a, b, mix(2.0, 1.0), mix(1.0, 2.0)]
    } else {
        [a, b, mix(1.0, 1.0), [0.0; 3]]
    };
    std::array::from_fn(|i| palette[((words[1] >> (2 * i)) & 3) as usize])
}

/// The sixteen values of a BC4 half, 0..=1.
pub fn scalar(words: [u32; 2]) -> [f32; 16] {
    let bits = u64::from(words[0]) | (u64::from(words[1]) << 32);
    let (a, b) = ((bits & 255) as f32 / 255.0, ((bits >> 8) & 255) as f32 / 255.0);
    let value = |code: u32| {
        let k = code.saturating_sub(1) as f32;
        match code {
            0 => a,
            1 => b,
            _ if a > b => (a * (7.0 - k) + b * k) / 7.0,
            6 => 0.0,
            7 => 1.0,
            _ => (a * (5.0 - k) + b * k) / 5.0,
        }
    };
    std::array::from_fn(|i| value(((bits >> (16 + 3 * i)) & 7) as u32))
}
