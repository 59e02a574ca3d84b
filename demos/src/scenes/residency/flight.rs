//! The scripted flight: in over the sea, along a bay, over fields and hills, down to a village by an inlet.

use glam::Vec3;
use vasa::scene::Camera;

/// Share of the flight, eye, target.
type Station = (f32, [f32; 3], [f32; 3]);

/// Eye and target by share of the flight, relative to the island's middle, metres.
const STATIONS: [Station; 7] = [
    (0.00, [-1500.0, 430.0, 2050.0], [100.0, 0.0, 150.0]),
    (0.20, [-900.0, 210.0, 1380.0], [300.0, 0.0, 420.0]),
    (0.40, [-420.0, 112.0, 1010.0], [320.0, 0.0, 400.0]),
    (0.57, [-190.0, 150.0, 420.0], [500.0, 0.0, -150.0]),
    (0.73, [40.0, 175.0, -280.0], [620.0, 0.0, -720.0]),
    (0.88, [60.0, 135.0, -930.0], [580.0, 0.0, -880.0]),
    (1.00, [130.0, 128.0, -1290.0], [470.0, 0.0, -850.0]),
];

/// The camera at a share of the flight.
pub fn camera(share: f32) -> Camera {
    let u = share.clamp(0.0, 1.0);
    let last = STATIONS.len() - 2;
    let leg = STATIONS.iter().rposition(|(at, _, _)| *at <= u).unwrap_or(0).min(last);
    let at = |i: usize| STATIONS[i.min(STATIONS.len() - 1)];
    let (from, to) = (at(leg).0, at(leg + 1).0);
    let t = (u - from) / (to - from);
    let curve = |of: fn(&Station) -> [f32; 3]| {
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
