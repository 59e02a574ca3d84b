//! What lies under the pointer: a ray through a pixel, and where it meets the ground.

use glam::Vec3;
use vasa::scene::Camera;

/// Farther away nothing is picked, metres.
const FAR: f32 = 200_000.0;
/// Halvings of the last step.
const HALVINGS: u32 = 24;

/// The direction in which a camera sees a pixel of a picture, of length one.
pub fn ray(camera: &Camera, extent: [u32; 2], pixel: [f32; 2]) -> Vec3 {
    let [width, height] = extent.map(|side| side.max(1) as f32);
    let (forward, right) = (camera.forward(), camera.right());
    let up = right.cross(forward);
    let half = (camera.fov_y * 0.5).tan();
    let (x, y) = (2.0 * pixel[0] / width - 1.0, 1.0 - 2.0 * pixel[1] / height);
    (forward + right * (x * half * width / height) + up * (y * half)).normalize()
}

/// Where a ray first meets the ground; nothing where it does not. Steps grow with the distance, as what one sees does.
pub fn hit(origin: Vec3, direction: Vec3, ground: impl Fn(f32, f32) -> f32) -> Option<Vec3> {
    let at = |distance: f32| origin + direction * distance;
    let clearance = |distance: f32| {
        let at = at(distance);
        at.y - ground(at.x, at.z)
    };
    let (mut before, mut distance) = (0.0, 0.0);
    while distance < FAR {
        let above = clearance(distance);
        if above <= 0.0 {
            let (mut low, mut high) = (before, distance);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if clearance(middle) > 0.0 { low = middle } else { high = middle }
            }
            return Some(at(high));
        }
        before = distance;
        distance += (0.25 * above).max(0.5 + 0.002 * distance);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera::looking_at(Vec3::new(10.0, 100.0, 20.0), Vec3::new(60.0, 40.0, -80.0))
    }

    #[test]
    fn rays_are_those_that_the_camera_draws() {
        let (camera, extent) = (camera(), [160, 90]);
        for pixel in [[0.0, 0.0], [80.0, 45.0], [160.0, 10.0], [33.0, 77.0]] {
            let clip = camera.view_projection(160.0 / 90.0) * ray(&camera, extent, pixel).extend(1.0);
            let drawn = [(clip.x / clip.w + 1.0) * 80.0, (clip.y / clip.w + 1.0) * 45.0];
            assert!((drawn[0] - pixel[0]).abs() < 0.01 && (drawn[1] - pixel[1]).abs() < 0.01, "{drawn:?}");
        }
    }

    #[test]
    fn the_first_hill_is_hit() {
        let hills = |x: f32, z: f32| 20.0 * (x * 0.05).sin() * (z * 0.04).cos();
        let camera = camera();
        for pixel in [[80.0, 45.0], [20.0, 80.0], [150.0, 60.0]] {
            let direction = ray(&camera, [160, 90], pixel);
            let found = hit(camera.position, direction, hills).unwrap();
            assert!((found.y - hills(found.x, found.z)).abs() < 0.05, "{found}");
            let length = (found - camera.position).length();
            assert!((camera.position + direction * length - found).length() < 0.05);
            for step in 1..200 {
                let on_the_way = camera.position + direction * (length * 0.995 * step as f32 / 200.0);
                assert!(on_the_way.y > hills(on_the_way.x, on_the_way.z), "something lies before {found}");
            }
        }
        assert_eq!(hit(camera.position, Vec3::Y, hills), None, "the sky");
    }
}
