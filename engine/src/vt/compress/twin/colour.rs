//! Blocks of colour: BC1, and the second half of BC3.
//!
//! All in integers, so that the GPU says the same bit for bit. The steps:
//!
//! ```text
//! 16 texels --covariance, squared four times--> principal axis --project--> first indices
//!           --least squares a channel, then the best of 3 x 3 levels near it--> endpoints --nearest--> indices, again
//! ```
//!
//! The four colours of a block lie evenly on a line, so the nearest of them is found by projecting on that line; and the
//! squared error of endpoints for given indices is a quadratic form of a few sums, so trying levels costs next to nothing.
//! After "Real-Time DXT Compression" (van Waveren 2006) and the cluster fit of libsquish (Brown 2006), whose optimum over
//! orderings is here approached by alternating.

use super::{Block, sum};

/// What 5 bits become in a decoder.
pub fn expand5(level: i32) -> i32 {
    (level << 3) | (level >> 2)
}

/// What 6 bits become in a decoder.
pub fn expand6(level: i32) -> i32 {
    (level << 2) | (level >> 4)
}

/// How often indices and endpoints are made from each other.
const ROUNDS: u32 = 3;
/// How much a difference between red and green counts in a block of greys, beside four times the squared errors.
const CHROMA: i32 = 5;

/// Levels of the two endpoints: 5, 6 and 5 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Endpoints {
    first: [i32; 3],
    last: [i32; 3],
}

/// Endpoints, an index (0..=3, along the line) a texel, and the error that is left.
#[derive(Debug, Clone, Copy)]
struct Fit {
    ends: Endpoints,
    indices: Block,
    error: i32,
}

/// Sums over a block for given indices: all that the error of endpoints depends on.
#[derive(Debug, Clone, Copy)]
struct Sums {
    aa: i32,
    ab: i32,
    bb: i32,
    p: [i32; 3],
    q: [i32; 3],
}

fn expand(channel: usize, level: i32) -> i32 {
    if channel == 1 { expand6(level) } else { expand5(level) }
}

fn top(channel: usize) -> i32 {
    if channel == 1 { 63 } else { 31 }
}

/// Two words: endpoints, then 2 bits a texel. Always in the mode of four colours. `scale` is how much a channel counts:
/// its errors are multiplied by it, 1 or 2.
pub fn encode(texels: &[Block; 3], scale: [i32; 3]) -> [u32; 2] {
    let [red, green, blue] = texels;
    if texels.iter().all(|channel| channel.iter().all(|value| *value == channel[0])) {
        return pack(&Fit { ends: flat([red[0], green[0], blue[0]]), indices: [1; 16], error: 0 });
    }
    let mut best = Fit { ends: Endpoints::default(), indices: first_indices(texels, scale), error: i32::MAX };
    let mut indices = best.indices;
    for _ in 0..ROUNDS {
        let Some(ends) = fit(&Sums::new(texels, &indices)) else { break };
        let next = nearest(texels, &ends, scale, 0);
        if next.error >= best.error {
            break;
        }
        best = next;
        indices = next.indices;
    }
    if best.error == i32::MAX {
        let mean = texels.each_ref().map(|channel| (sum(channel, |x| x) + 8) / 16);
        return pack(&Fit { ends: flat(mean), indices: [1; 16], error: 0 });
    }
    let grey = (0..16).all(|i| red[i] == green[i] && green[i] == blue[i]);
    pack(&if grey { refine_grey(texels, best, scale) } else { refine(texels, best, scale) })
}

/// Tries each level one lower and one higher, and keeps what is better.
fn refine(texels: &[Block; 3], mut best: Fit, scale: [i32; 3]) -> Fit {
    for step in 0..12 {
        let mut ends = best.ends;
        let c = step / 4;
        let by = if step % 2 == 0 { -1 } else { 1 };
        let end = if step % 4 < 2 { &mut ends.first } else { &mut ends.last };
        end[c] = (end[c] + by).clamp(0, top(c));
        let next = nearest(texels, &ends, scale, 0);
        if next.error < best.error {
            best = next;
        }
    }
    best
}

/// For a block of greys, where 5 and 6 bits must agree: levels of red and blue around those found, each with the green that
/// matches it best and its neighbours. What is between red and green counts as an error too.
fn refine_grey(texels: &[Block; 3], mut best: Fit, scale: [i32; 3]) -> Fit {
    best.error = i32::MAX;
    let base = best.ends;
    for step in 0..81 {
        // By one down, none, or one up: -1, 0, 1.
        let by = |place: i32| step / place % 3 - 1;
        let level = [(base.first[0] + by(1)).clamp(0, 31), (base.last[0] + by(3)).clamp(0, 31)];
        let green = [grey_match(level[0]) + by(9), grey_match(level[1]) + by(27)].map(|g| g.clamp(0, 63));
        let ends = Endpoints { first: [level[0], green[0], level[0]], last: [level[1], green[1], level[1]] };
        let next = nearest(texels, &ends, scale, CHROMA);
        if next.error < best.error {
            best = next;
        }
    }
    best
}

/// The 6 bits that are nearest to 5 bits: within 2 of 255.
fn grey_match(five: i32) -> i32 {
    2 * five + i32::from((five >> 2) - (five >> 3) >= 2)
}

impl Sums {
    fn new(texels: &[Block; 3], indices: &Block) -> Self {
        let n1 = sum(indices, |k| k);
        let n2 = sum(indices, |k| k * k);
        let q = texels.each_ref().map(|channel| 3 * (0..16).map(|i| indices[i] * channel[i]).sum::<i32>());
        let p = std::array::from_fn(|c| 9 * sum(&texels[c], |x| x) - q[c]);
        Sums { aa: 144 - 6 * n1 + n2, ab: 3 * n1 - n2, bb: n2, p, q }
    }

    /// Of a channel, for endpoints of 0..=255: nine times the squared error, less what does not depend on them.
    fn error(&self, channel: usize, a: i32, b: i32) -> i32 {
        self.form(a, b) - 2 * (self.p[channel] * a + self.q[channel] * b)
    }

    fn form(&self, a: i32, b: i32) -> i32 {
        self.aa * a * a + 2 * self.ab * a * b + self.bb * b * b
    }
}

/// The best levels near the solution of least squares; nothing where it has none.
fn fit(sums: &Sums) -> Option<Endpoints> {
    let det = sums.aa * sums.bb - sums.ab * sums.ab;
    if det == 0 {
        return None;
    }
    let mut ends = Endpoints::default();
    for c in 0..3 {
        let top = top(c);
        let level = |numerator: i32| (numerator.clamp(0, 255 * det) * 2 * top + 255 * det) / (510 * det);
        let near_first = level(sums.bb * sums.p[c] - sums.ab * sums.q[c]);
        let near_last = level(sums.aa * sums.q[c] - sums.ab * sums.p[c]);
        let mut least = i32::MAX;
        for step in 0..9 {
            let a = (near_first + step / 3 - 1).clamp(0, top);
            let b = (near_last + step % 3 - 1).clamp(0, top);
            let error = sums.error(c, expand(c, a), expand(c, b));
            if error < least {
                least = error;
                (ends.first[c], ends.last[c]) = (a, b);
            }
        }
    }
    Some(ends)
}

/// The nearest of the four colours for each texel, and four times the error that is left. `chroma` is how much the difference
/// between red and green counts.
fn nearest(texels: &[Block; 3], ends: &Endpoints, scale: [i32; 3], chroma: i32) -> Fit {
    let a: [i32; 3] = std::array::from_fn(|c| expand(c, ends.first[c]));
    let b: [i32; 3] = std::array::from_fn(|c| expand(c, ends.last[c]));
    let weight = scale.map(|s| s * s);
    let d: [i32; 3] = std::array::from_fn(|c| (b[c] - a[c]) * weight[c]);
    let length: i32 = (0..3).map(|c| (b[c] - a[c]) * d[c]).sum();
    let indices =
        std::array::from_fn(|i| steps(6 * (0..3).map(|c| (texels[c][i] - a[c]) * d[c]).sum::<i32>(), length));
    let sums = Sums::new(texels, &indices);
    let squares: i32 = (0..3).map(|c| weight[c] * sums.error(c, a[c], b[c])).sum();
    Fit { ends: *ends, indices, error: 4 * squares + chroma * sums.form(a[0] - a[1], b[0] - b[1]) }
}

/// How many of 1, 3 and 5 times `unit` are below `at`.
fn steps(at: i32, unit: i32) -> i32 {
    i32::from(at > unit) + i32::from(at > 3 * unit) + i32::from(at > 5 * unit)
}

/// Indices along the principal axis, the outermost texels at its ends.
fn first_indices(texels: &[Block; 3], scale: [i32; 3]) -> Block {
    let scaled: [Block; 3] = std::array::from_fn(|c| texels[c].map(|x| x * scale[c]));
    let axis = axis(&scaled);
    let along: Block = std::array::from_fn(|i| (0..3).map(|c| axis[c] * scaled[c][i]).sum::<i32>());
    let low = along.iter().copied().min().unwrap_or(0);
    let high = along.iter().copied().max().unwrap_or(0);
    along.map(|at| steps(6 * (at - low), high - low))
}

/// The axis along which texels differ most, each part below 2^14: the sixteenth power of the covariance.
fn axis(texels: &[Block; 3]) -> [i32; 3] {
    let total = texels.each_ref().map(|channel| sum(channel, |x| x));
    let pair = |a: usize, b: usize| {
        16 * (0..16).map(|i| texels[a][i] * texels[b][i]).sum::<i32>() - total[a] * total[b]
    };
    let mut m = reduce([pair(0, 0), pair(0, 1), pair(0, 2), pair(1, 1), pair(1, 2), pair(2, 2)]);
    for _ in 0..4 {
        let [xx, xy, xz, yy, yz, zz] = m;
        m = reduce([
            xx * xx + xy * xy + xz * xz,
            xx * xy + xy * yy + xz * yz,
            xx * xz + xy * yz + xz * zz,
            xy * xy + yy * yy + yz * yz,
            xy * xz + yy * yz + yz * zz,
            xz * xz + yz * yz + zz * zz,
        ]);
    }
    let [xx, xy, xz, yy, yz, zz] = m;
    if xx >= yy && xx >= zz {
        [xx, xy, xz]
    } else if yy >= zz {
        [xy, yy, yz]
    } else {
        [xz, yz, zz]
    }
}

/// Shifts all down until the largest magnitude is below 2^14.
fn reduce(m: [i32; 6]) -> [i32; 6] {
    let top = m.iter().map(|v| v.abs()).max().unwrap_or(0);
    let bits = 32 - (top | 1).leading_zeros() as i32;
    let shift = (bits - 14).max(0);
    m.map(|v| v >> shift)
}

/// Endpoints of which the colour one third of the way is nearest to `colour`, and closest together.
fn flat(colour: [i32; 3]) -> Endpoints {
    let mut ends = Endpoints::default();
    for (c, value) in colour.into_iter().enumerate() {
        let top = top(c);
        let mut least = i32::MAX;
        for first in 0..=top {
            let a = expand(c, first);
            let want = (3 * value - 2 * a).clamp(0, 255);
            let last = (want * top + 127) / 255;
            let b = expand(c, last);
            let error = 256 * (2 * a + b - 3 * value).abs() + (a - b).abs();
            if error < least {
                least = error;
                (ends.first[c], ends.last[c]) = (first, last);
            }
        }
    }
    ends
}

fn pack(fit: &Fit) -> [u32; 2] {
    let word = |e: &[i32; 3]| (e[0] << 11) | (e[1] << 5) | e[2];
    let (first, last) = (word(&fit.ends.first), word(&fit.ends.last));
    if first == last {
        return [(first | (last << 16)) as u32, 0];
    }
    // The larger word comes first: that is the mode of four colours.
    let swap = first < last;
    let mut bits = 0u32;
    for (i, k) in fit.indices.iter().enumerate() {
        let k = if swap { 3 - k } else { *k };
        // Along the line 0, 1, 2, 3; in the block 0, 2, 3, 1.
        let code = [0, 2, 3, 1][(k & 3) as usize];
        bits |= code << (2 * i);
    }
    [(first.max(last) | (first.min(last) << 16)) as u32, bits]
}
