//! The scripted flight: in over the sea, down to the coast, low over fields and a village, up along the hills.

use glam::Vec3;
use vasa::scene::Camera;

/// Eye and target by share of the flight, relative to the island's middle, metres.
const STATIONS: [(f32, [f32; 3], [f32; 3]); 7] = [
    (0.00, [-1900.0, 620.0, 2350.0], [100.0, 0.0, 100.0]),
    (0.18, [-1350.0, 330.0, 1500.0], [100.0, 20.0, 200.0]),
    (0.36, [-900.0, 130.0, 900.0], [100.0, 0.0, 250.0]),
    (0.55, [-380.0, 85.0, 620.0], [600.0, 0.0, 250.0]),
    (0.72, [250.0, 95.0, 560.0], [900.0, 10.0, -150.0]),
    (0.86, [760.0, 150.0, 330.0], [500.0, 10.0, -500.0]),
    (1.00, [930.0, 210.0, 60.0], [-150.0, 0.0, -350.0]),
];

/// The camera at a share of the flight.
pub fn camera(share: f32) -> Camera {
    let u = share.clamp(0.0, 1.0);
    let last = STATIONS.len() - 2;
    let leg = STATIONS.iter().rposition(|(at, _, _)| *at <= u).unwrap_or(0).min(last);
    let at = |i: usize| STATIONS[i.min(STATIONS.len() - 1)];
    let (from, to) = (at(leg).0, at(leg + 1).0);
    let t = (u - from) / (to - from);
    let curve = |of: fn(&(f32, [f32; 3], [f32; 3])) -> [f32; 3]| {
        let point = |i: usize| (at(i).0, Vec3::from(of(&at(i))));
        let before = point(leg.saturating_sub(1));
        let (a, b, after) = (point(leg), point(leg + 1), point(leg + 2));
        // Hermite, with the slope through both neighbours of a station.
        let slope = |p: (f32, Vec3), q: (f32, Vec3)| (q.1 - p.1) / (q.0 - p.0).max(1e-3) * (to - from);
        let (start, end) = (slope(before, b), slope(a, after));
        let (t2, t3) = (t * t, t * t * t);
        a.1 * (2.0 * t3 - 3.0 * t2 + 1.0)
            + start * (t3 - 2.0 * t2 + t)
            + b.1 * (3.0 * t2 - 2.0 * t3)
            + end * (t3 - t2)
    };
    Camera::looking_at(curve(|s| s.1), curve(|s| s.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_its_stations_and_never_jumps() {
        for (share, eye, _) in STATIONS {
            assert!((camera(share).position - Vec3::from(eye)).length() < 0.1, "{share}");
        }
        let mut last = camera(0.0);
        for i in 1..=2000 {
            let next = camera(i as f32 / 2000.0);
            assert!(
                (next.position - last.position).length() < 8.0 && (next.yaw - last.yaw).abs() < 0.02,
                "{i}"
            );
            assert!(next.position.y > 40.0, "{i}: {} m", next.position.y);
            last = next;
        }
    }
}
