//! Blocks of one channel: BC4, the halves of BC5, and the first half of BC3.
//!
//! Two modes: eight values evenly between two endpoints, or six and, beside them, exactly 0 and 255, which masks need. In
//! both, endpoints start at the extremes and are fitted by least squares; the mode with the smaller error is taken.

use super::{Block, sum};

/// Endpoints, an index a texel (0..=`steps` along the line; 6 is 0 and 7 is 255 where `steps` is 5), and the squared
/// error times `steps` squared.
#[derive(Debug, Clone, Copy)]
struct Fit {
    first: i32,
    last: i32,
    indices: Block,
    error: i32,
}

/// Two words: both endpoints, then 3 bits a texel.
pub fn encode(texels: &Block) -> [u32; 2] {
    let low = texels.iter().copied().min().unwrap_or(0);
    let high = texels.iter().copied().max().unwrap_or(0);
    if high - low <= 7 {
        // Steps of exactly one.
        let first = low.min(248);
        return pack_eight(&Fit { first, last: first + 7, indices: texels.map(|x| x - first), error: 0 });
    }
    let eight = best(texels, 7, low, high);
    // Texels that have an exact value of their own do not count for the endpoints.
    let inner_low = texels.iter().copied().filter(|x| *x > 0).min().unwrap_or(255);
    let inner_high = texels.iter().copied().filter(|x| *x < 255).max().unwrap_or(0);
    if eight.error > 0 && (low == 0 || high == 255) && inner_low < inner_high {
        let six = best(texels, 5, inner_low, inner_high);
        if six.error * 49 < eight.error * 25 {
            return pack_six(&six);
        }
    }
    pack_eight(&eight)
}

/// From the extremes, and once fitted: a second round gives a tenth of a decibel.
fn best(texels: &Block, steps: i32, low: i32, high: i32) -> Fit {
    let start = nearest(texels, steps, low, high);
    let fitted = fit(texels, steps, &start.indices).map(|(first, last)| nearest(texels, steps, first, last));
    fitted.filter(|fitted| fitted.error < start.error).unwrap_or(start)
}

/// The nearest value of each texel.
fn nearest(texels: &Block, steps: i32, first: i32, last: i32) -> Fit {
    let range = last - first;
    let mut error = 0;
    let indices = texels.map(|x| {
        let at = 2 * steps * (x - first);
        let mut k = (0..7).filter(|j| *j < steps && at > (2 * j + 1) * range).count() as i32;
        let off = (steps - k) * first + k * last - steps * x;
        let mut least = off * off;
        if steps == 5 {
            let (dark, light) = (25 * x * x, 25 * (255 - x) * (255 - x));
            if dark < least {
                (k, least) = (6, dark);
            }
            if light < least {
                (k, least) = (7, light);
            }
        }
        error += least;
        k
    });
    Fit { first, last, indices, error }
}

/// The best endpoints near the solution of least squares; nothing where it has none.
fn fit(texels: &Block, steps: i32, indices: &Block) -> Option<(i32, i32)> {
    // A texel that has a value of its own counts for nothing.
    let on = indices.map(|k| i32::from(k <= steps));
    let k: Block = std::array::from_fn(|i| indices[i] * on[i]);
    let x: Block = std::array::from_fn(|i| texels[i] * on[i]);
    let (n, n1, n2) = (sum(&on, |v| v), sum(&k, |v| v), sum(&k, |v| v * v));
    let kx: i32 = (0..16).map(|i| k[i] * x[i]).sum();
    let aa = n * steps * steps - 2 * steps * n1 + n2;
    let ab = steps * n1 - n2;
    let bb = n2;
    let q = steps * kx;
    let p = steps * steps * sum(&x, |v| v) - q;
    let det = aa * bb - ab * ab;
    if det == 0 {
        return None;
    }
    let level = |numerator: i32| (2 * numerator.clamp(0, 255 * det) + det) / (2 * det);
    let near_first = level(bb * p - ab * q);
    let near_last = level(aa * q - ab * p);
    let (mut first, mut last) = (near_first, near_last);
    let mut least = i32::MAX;
    for step in 0..9 {
        let a = (near_first + step / 3 - 1).clamp(0, 255);
        let b = (near_last + step % 3 - 1).clamp(0, 255);
        let error = aa * a * a + 2 * ab * a * b + bb * b * b - 2 * (p * a + q * b);
        // The order of the endpoints says the mode.
        if a < b && error < least {
            least = error;
            (first, last) = (a, b);
        }
    }
    (first < last).then_some((first, last))
}

/// Of eight values: the larger endpoint comes first.
fn pack_eight(fit: &Fit) -> [u32; 2] {
    pack(fit.last, fit.first, &fit.indices.map(|k| [1, 7, 6, 5, 4, 3, 2, 0][(k & 7) as usize]))
}

/// Of six: the smaller endpoint comes first.
fn pack_six(fit: &Fit) -> [u32; 2] {
    pack(fit.first, fit.last, &fit.indices.map(|k| [0, 2, 3, 4, 5, 1, 6, 7][(k & 7) as usize]))
}

fn pack(first: i32, last: i32, codes: &Block) -> [u32; 2] {
    let mut bits = (first as u64) | ((last as u64) << 8);
    for (i, code) in codes.iter().enumerate() {
        bits |= (*code as u64) << (16 + 3 * i);
    }
    [bits as u32, (bits >> 32) as u32]
}
