//! A scripted flight over any ground: places and heights above it, joined smoothly. Pure.

use glam::{Vec2, Vec3};
use vasa::scene::Camera;

/// Where the flight comes by: a place (east, south) in metres, and a height above the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// East and south of the map's centre, metres.
    pub place: Vec2,
    /// Metres above the highest ground nearby; positive.
    pub clearance: f32,
}

/// Waypoints at equal shares of the flight, and what the last view looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct Flight {
    waypoints: Vec<Waypoint>,
    subject: Vec3,
    /// Ground this far around is kept below, metres.
    berth: f32,
}

/// From here on the view turns to the subject.
const TURN: f32 = 0.72;

impl Flight {
    /// A flight over at least two waypoints, which ends looking at `subject`.
    pub fn new(waypoints: Vec<Waypoint>, subject: Vec3, berth: f32) -> Self {
        debug_assert!(waypoints.len() >= 2);
        Self { waypoints, subject, berth }
    }

    /// The camera at a share from 0 to 1.
    pub fn camera(&self, share: f32, ground: impl Fn(f32, f32) -> f32) -> Camera {
        let share = share.clamp(0.0, 1.0);
        let (place, clearance) = self.at(share);
        let eye = Vec3::new(place.x, self.highest(place, &ground) + clearance, place.y);
        // Ahead along the path; a little further than the end, the direction it arrives in.
        let (before, after) = ((share - 0.02).max(0.0), (share + 0.02).min(1.0));
        let ahead = (self.at(after).0 - self.at(before).0).normalize_or(Vec2::NEG_Y);
        let far = place + ahead * (self.berth * 4.0 + clearance * 2.5);
        let ahead = Vec3::new(far.x, ground(far.x, far.y) + clearance * 0.35, far.y) - eye;
        let subject = self.subject - eye;
        let turn = smooth((share - TURN) / (1.0 - TURN));
        let direction = ahead.normalize_or(Vec3::NEG_Z).lerp(subject.normalize_or(Vec3::NEG_Z), turn);
        Camera::looking_at(eye, eye + direction.normalize_or(Vec3::NEG_Z))
    }

    /// The highest ground within the berth.
    fn highest(&self, place: Vec2, ground: impl Fn(f32, f32) -> f32) -> f32 {
        let ring = |radius: f32, count: u32| {
            (0..count).map(move |i| {
                Vec2::from_angle(i as f32 / count as f32 * std::f32::consts::TAU) * radius + place
            })
        };
        ring(self.berth, 12)
            .chain(ring(self.berth * 0.5, 8))
            .chain([place])
            .map(|p| ground(p.x, p.y))
            .fold(f32::NEG_INFINITY, f32::max)
    }

    /// Place and clearance by a Catmull-Rom spline; clearances are joined as logarithms, so that they stay
    /// positive.
    fn at(&self, share: f32) -> (Vec2, f32) {
        let last = self.waypoints.len() - 1;
        let along = share * last as f32;
        let i = (along as usize).min(last.saturating_sub(1));
        let point = |k: isize| {
            let w = self.waypoints[(i as isize + k).clamp(0, last as isize) as usize];
            w.place.extend(w.clearance.max(1e-3).ln())
        };
        let (p, t) = ([point(-1), point(0), point(1), point(2)], along - i as f32);
        let place = 0.5
            * (2.0 * p[1]
                + (p[2] - p[0]) * t
                + (2.0 * p[0] - 5.0 * p[1] + 4.0 * p[2] - p[3]) * t * t
                + (3.0 * (p[1] - p[2]) + p[3] - p[0]) * t * t * t);
        (place.truncate(), place.z.exp())
    }
}

fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hills(x: f32, z: f32) -> f32 {
        300.0 * (x * 0.003).sin() * (z * 0.002).cos()
    }

    fn waypoint() -> impl Strategy<Value = Waypoint> {
        (-9e3f32..9e3, -9e3f32..9e3, 2f32..3000.0)
            .prop_map(|(x, z, clearance)| Waypoint { place: Vec2::new(x, z), clearance })
    }

    proptest! {
        #[test]
        fn the_camera_is_above_the_ground_and_moves_without_jumps(
            waypoints in prop::collection::vec(waypoint(), 2..8),
        ) {
            let flight = Flight::new(waypoints, Vec3::new(0.0, 500.0, 0.0), 60.0);
            let cameras: Vec<_> =
                (0..=2000).map(|i| flight.camera(i as f32 / 2000.0, hills)).collect();
            for camera in &cameras {
                let p = camera.position;
                prop_assert!(p.is_finite() && camera.yaw.is_finite() && camera.pitch.is_finite());
                prop_assert!(p.y > hills(p.x, p.z), "{p}");
            }
            for pair in cameras.windows(2) {
                // At most some waypoints' distances over the whole flight, with the spline's overshoot.
                prop_assert!(pair[0].position.distance(pair[1].position) < 500.0);
            }
        }

        #[test]
        fn waypoints_are_met_and_the_subject_is_in_the_middle_at_the_end(
            waypoints in prop::collection::vec(waypoint(), 2..8),
        ) {
            let subject = Vec3::new(123.0, 456.0, -789.0);
            let flight = Flight::new(waypoints.clone(), subject, 60.0);
            for (i, waypoint) in waypoints.iter().enumerate() {
                let place = flight.at(i as f32 / (waypoints.len() - 1) as f32).0;
                prop_assert!(place.distance(waypoint.place) < 20.0, "{place} {waypoint:?}");
            }
            let end = flight.camera(1.0, hills);
            let to = (subject - end.position).normalize_or(Vec3::NEG_Z);
            prop_assert!(end.forward().dot(to) > 0.999 || to.y.abs() > 0.99);
        }
    }

    #[test]
    fn the_same_share_is_the_same_camera() {
        let at = |x: f32| Waypoint { place: Vec2::new(x, -x), clearance: 50.0 };
        let flight = Flight::new(vec![at(0.0), at(100.0), at(900.0)], Vec3::ZERO, 10.0);
        assert_eq!(flight.camera(0.37, hills), flight.camera(0.37, hills));
        assert_eq!(flight.camera(1.0, hills), flight.camera(7.0, hills));
    }
}
