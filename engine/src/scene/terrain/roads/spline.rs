//! Catmull-Rom curves through corners, and points at even distances along them.

use glam::Vec2;

/// Steps of the curve between two corners that its length is measured in.
const STEPS: usize = 24;

/// The place on the curve through b and c at `t` from 0 to 1; a and d are the corners before and after (Catmull and
/// Rom, "A class of local interpolating splines", 1974).
pub fn catmull_rom(a: Vec2, b: Vec2, c: Vec2, d: Vec2, t: f32) -> Vec2 {
    0.5 * (b * 2.0
        + (c - a) * t
        + (a * 2.0 - b * 5.0 + c * 4.0 - d) * (t * t)
        + (b * 3.0 - a - c * 3.0 + d) * (t * t * t))
}

/// Points about `spacing` metres apart along the curve through the corners, both ends among them. Corners that lie on
/// one another count once. Fewer than two give what there is.
pub fn resample(corners: &[Vec2], spacing: f32) -> Vec<Vec2> {
    let mut corners: Vec<Vec2> = corners.to_vec();
    corners.dedup_by(|a, b| a.distance(*b) < 1e-3);
    let (Some(first), Some(last)) = (corners.first().copied(), corners.last().copied()) else {
        return Vec::new();
    };
    if corners.len() < 2 {
        return corners;
    }
    let corner = |i: usize| {
        // One more before the first and after the last, in line. Indices are one higher than the corners'.
        match i.checked_sub(1) {
            None => first * 2.0 - corners[1],
            Some(i) => corners.get(i).copied().unwrap_or(last * 2.0 - corners[corners.len() - 2]),
        }
    };
    let mut fine = Vec::with_capacity(corners.len() * STEPS);
    for i in 0..corners.len() - 1 {
        for step in 0..STEPS {
            let t = step as f32 / STEPS as f32;
            fine.push(catmull_rom(corner(i), corner(i + 1), corner(i + 2), corner(i + 3), t));
        }
    }
    fine.push(last);
    let length: f32 = fine.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let count = ((length / spacing.max(0.1)).round() as usize).clamp(1, 100_000);
    let step = length / count as f32;
    let mut points = vec![first];
    let (mut walked, mut next) = (0.0, step);
    for pair in fine.windows(2) {
        let here = pair[0].distance(pair[1]);
        while next <= walked + here && points.len() < count {
            points.push(pair[0].lerp(pair[1], ((next - walked) / here.max(1e-6)).clamp(0.0, 1.0)));
            next += step;
        }
        walked += here;
    }
    points.push(last);
    points
}
