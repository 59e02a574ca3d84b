//! A camera that is flown by hand. Pure: keys and time in, camera out.

use glam::Vec3;
use vasa::scene::Camera;

/// What is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// W.
    pub forward: bool,
    /// S.
    pub back: bool,
    /// A.
    pub left: bool,
    /// D.
    pub right: bool,
    /// E.
    pub up: bool,
    /// Q.
    pub down: bool,
    /// Shift.
    pub fast: bool,
}

/// Radians a pixel of mouse movement.
const SENSITIVITY: f32 = 0.0025;
/// How much faster Shift makes it.
const FAST: f32 = 5.0;
/// Speeds that make sense, metres a second.
const SPEEDS: (f32, f32) = (1.0, 20_000.0);
/// Seconds in which the velocity comes near what is asked.
const EASE: f32 = 0.12;
/// Least height above the ground, metres.
pub const CLEARANCE: f32 = 2.0;

/// Position, direction and speed.
#[derive(Debug, Clone, PartialEq)]
pub struct FlyCamera {
    /// The camera to draw with.
    pub camera: Camera,
    /// What is held down.
    pub held: Held,
    speed: f32,
    velocity: Vec3,
}

impl FlyCamera {
    /// Begins where a camera is, with a speed in metres a second.
    pub fn new(camera: Camera, speed: f32) -> Self {
        let speed = speed.clamp(SPEEDS.0, SPEEDS.1);
        Self { camera, held: Held::default(), speed, velocity: Vec3::ZERO }
    }

    /// Metres a second.
    pub fn speed(&self) -> f32 {
        self.speed
    }

    /// Turns by a movement of the mouse in pixels: right and down are positive.
    pub fn look(&mut self, right: f32, down: f32) {
        const UPRIGHT: f32 = 1.55; // Just short of straight up, where the heading would be lost.
        let camera = &mut self.camera;
        camera.yaw = (camera.yaw + right * SENSITIVITY).rem_euclid(std::f32::consts::TAU);
        camera.pitch = (camera.pitch - down * SENSITIVITY).clamp(-UPRIGHT, UPRIGHT);
    }

    /// Changes the speed by notches of the wheel, a quarter each.
    pub fn change_speed(&mut self, notches: f32) {
        self.speed = (self.speed * 1.25f32.powf(notches.clamp(-8.0, 8.0))).clamp(SPEEDS.0, SPEEDS.1);
    }

    /// Moves on by a time in seconds, and stays above `ground(x, z)`.
    pub fn advance(&mut self, seconds: f32, ground: impl Fn(f32, f32) -> f32) {
        let axis = |plus: bool, minus: bool| f32::from(i8::from(plus) - i8::from(minus));
        let held = self.held;
        let wanted = self.camera.forward() * axis(held.forward, held.back)
            + self.camera.right() * axis(held.right, held.left)
            + Vec3::Y * axis(held.up, held.down);
        let speed = self.speed * if held.fast { FAST } else { 1.0 };
        let wanted = wanted.normalize_or_zero() * speed;
        let seconds = seconds.clamp(0.0, 0.25); // A hitch is no reason to leap.
        self.velocity = self.velocity.lerp(wanted, 1.0 - (-seconds / EASE).exp());
        if held == Held::default() && self.velocity.length() < 0.01 {
            self.velocity = Vec3::ZERO;
        }
        let place = &mut self.camera.position;
        *place += self.velocity * seconds;
        place.y = place.y.max(ground(place.x, place.z) + CLEARANCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flown(held: Held, seconds: f32) -> Vec3 {
        let mut fly = FlyCamera::new(Camera { position: Vec3::Y * 100.0, ..Camera::default() }, 10.0);
        fly.held = held;
        (0..(seconds * 60.0) as u32).for_each(|_| fly.advance(1.0 / 60.0, |_, _| 0.0));
        fly.camera.position - Vec3::Y * 100.0
    }

    #[test]
    fn keys_move_along_their_axes() {
        let ahead = flown(Held { forward: true, ..Held::default() }, 4.0);
        assert!(ahead.z < -30.0 && ahead.z > -40.0 && ahead.x.abs() < 1e-3, "{ahead}");
        let right = flown(Held { right: true, ..Held::default() }, 4.0);
        assert!(right.x > 30.0 && right.z.abs() < 1e-3, "{right}");
        let up = flown(Held { up: true, ..Held::default() }, 4.0);
        assert!(up.y > 30.0, "{up}");
        assert_eq!(flown(Held { up: true, down: true, ..Held::default() }, 4.0), Vec3::ZERO);
        let fast = flown(Held { forward: true, fast: true, ..Held::default() }, 4.0);
        assert!((fast.z / ahead.z - FAST).abs() < 0.01, "{fast}");
    }

    #[test]
    fn diagonals_are_no_faster() {
        let both = flown(Held { forward: true, right: true, ..Held::default() }, 4.0);
        let one = flown(Held { forward: true, ..Held::default() }, 4.0);
        assert!((both.length() - one.length()).abs() < 0.1);
    }

    #[test]
    fn the_mouse_turns_right_and_down() {
        let mut fly = FlyCamera::new(Camera::default(), 10.0);
        fly.look(100.0, 50.0);
        assert!(fly.camera.forward().x > 0.0 && fly.camera.forward().y < 0.0);
        fly.look(0.0, -1e9);
        assert!(fly.camera.pitch < std::f32::consts::FRAC_PI_2 && fly.camera.right().is_finite());
    }

    proptest! {
        #[test]
        fn nothing_brings_it_below_the_ground_or_out_of_its_speeds(
            steps in prop::collection::vec((any::<[bool; 7]>(), -500f32..500.0, -500f32..500.0, -20f32..20.0, 0f32..2.0), 1..60),
        ) {
            let ground = |x: f32, z: f32| 40.0 * (x * 0.01).sin() + 30.0 * (z * 0.02).cos();
            let mut fly = FlyCamera::new(Camera { position: Vec3::Y * 90.0, ..Camera::default() }, 50.0);
            for ([forward, back, left, right, up, down, fast], x, y, notches, seconds) in steps {
                fly.held = Held { forward, back, left, right, up, down, fast };
                fly.look(x, y);
                fly.change_speed(notches);
                fly.advance(seconds, ground);
                let place = fly.camera.position;
                prop_assert!(place.is_finite());
                prop_assert!(place.y >= ground(place.x, place.z) + CLEARANCE - 1e-3);
                prop_assert!((SPEEDS.0..=SPEEDS.1).contains(&fly.speed()));
            }
        }
    }
}
