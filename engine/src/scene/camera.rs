//! The camera: where it is, where it looks, and the matrices made from that.

use glam::{Mat4, Vec3, Vec4};

/// A perspective camera. World axes: x east, y up, z south; metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Position in the world.
    pub position: Vec3,
    /// Heading in radians: 0 looks north (-z), a quarter turn looks east (+x).
    pub yaw: f32,
    /// Radians above the horizon.
    pub pitch: f32,
    /// Vertical field of view in radians.
    pub fov_y: f32,
    /// Distance of the near plane; there is no far plane.
    pub near: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { position: Vec3::ZERO, yaw: 0.0, pitch: 0.0, fov_y: 50f32.to_radians(), near: 0.25 }
    }
}

impl Camera {
    /// A camera at `position` that looks at `target`.
    pub fn looking_at(position: Vec3, target: Vec3) -> Self {
        let to = (target - position).normalize_or(Vec3::NEG_Z);
        Self { position, yaw: to.x.atan2(-to.z), pitch: to.y.clamp(-1.0, 1.0).asin(), ..Self::default() }
    }

    /// Unit vector of the view direction.
    pub fn forward(&self) -> Vec3 {
        let (sin_yaw, cos_yaw) = self.yaw.sin_cos();
        let (sin_pitch, cos_pitch) = self.pitch.sin_cos();
        Vec3::new(sin_yaw * cos_pitch, sin_pitch, -cos_yaw * cos_pitch)
    }

    /// Unit vector to the right of the view.
    pub fn right(&self) -> Vec3 {
        let (sin_yaw, cos_yaw) = self.yaw.sin_cos();
        Vec3::new(cos_yaw, 0.0, sin_yaw)
    }

    /// From positions *relative to the camera* to clip space. Depth is reversed (1 near, 0 infinitely far) and y
    /// points down, as Vulkan has it.
    pub fn view_projection(&self, aspect: f32) -> Mat4 {
        let (right, forward) = (self.right(), self.forward());
        let up = right.cross(forward);
        let view = Mat4::from_cols(
            Vec4::new(right.x, up.x, -forward.x, 0.0),
            Vec4::new(right.y, up.y, -forward.y, 0.0),
            Vec4::new(right.z, up.z, -forward.z, 0.0),
            Vec4::W,
        );
        let f = 1.0 / (self.fov_y * 0.5).tan();
        let projection = Mat4::from_cols(
            Vec4::new(f / aspect, 0.0, 0.0, 0.0),
            Vec4::new(0.0, -f, 0.0, 0.0),
            Vec4::new(0.0, 0.0, 0.0, -1.0),
            Vec4::new(0.0, 0.0, self.near, 0.0),
        );
        projection * view
    }

    /// Planes of the view, relative to the camera: left, right, bottom, top, near. A point p is inside where
    /// `dot(plane.xyz, p) + plane.w >= 0`.
    pub fn frustum(&self, aspect: f32) -> [Vec4; 5] {
        let m = self.view_projection(aspect);
        let (x, y, z, w) = (m.row(0), m.row(1), m.row(2), m.row(3));
        // Reversed depth: the near plane is z = w.
        [w + x, w - x, w - y, w + y, w - z].map(|plane| plane / plane.truncate().length().max(1e-20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ahead_is_in_the_middle_and_near_is_one() {
        let camera = Camera::looking_at(Vec3::new(3.0, 4.0, 5.0), Vec3::new(10.0, 2.0, -7.0));
        let ahead = camera.forward();
        let m = camera.view_projection(1.5);
        let clip = m * (ahead * camera.near).extend(1.0);
        assert!((clip / clip.w - Vec4::new(0.0, 0.0, 1.0, 1.0)).length() < 1e-5, "{clip}");
        let far = m * (ahead * 1e6).extend(1.0);
        assert!(far.z / far.w < 1e-5 && far.z / far.w >= 0.0);
        let up = m * (ahead * 10.0 + Vec3::Y).extend(1.0);
        assert!(up.y / up.w < 0.0, "up in the world is up (negative y) in Vulkan's clip space");
        let right = m * (ahead * 10.0 + camera.right()).extend(1.0);
        assert!(right.x / right.w > 0.0);
    }

    proptest::proptest! {
        #[test]
        fn frustum_agrees_with_clip_space(
            yaw in -3f32..3.0, pitch in -1.4f32..1.4, x in -50f32..50.0, y in -50f32..50.0, z in -50f32..50.0,
        ) {
            let camera = Camera { yaw, pitch, ..Camera::default() };
            let p = Vec3::new(x, y, z).extend(1.0);
            let clip = camera.view_projection(1.6) * p;
            let inside_clip = clip.x.abs() <= clip.w && clip.y.abs() <= clip.w && clip.z <= clip.w;
            let distance = camera.frustum(1.6).iter().map(|plane| plane.dot(p)).fold(f32::INFINITY, f32::min);
            // Away from the planes both must say the same.
            proptest::prop_assume!(distance.abs() > 1e-2);
            proptest::prop_assert_eq!(inside_clip, distance > 0.0);
        }
    }
}
