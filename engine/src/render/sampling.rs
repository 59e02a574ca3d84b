//! Where in its pixels a frame samples, and which frame it goes on from.

use glam::{Mat4, Vec2, Vec4};

use crate::scene::Camera;

/// Places in a pixel that frames sample in turn.
const PLACES: u64 = 8;
/// Cosine of the largest turn of the camera from one frame to the next; beyond it there is a cut.
const LARGEST_TURN: f32 = 0.7;
/// With anti-aliasing over time, textures are sampled finer by half a level: the mean of several frames is as smooth as
/// one frame with the whole footprint, and sharper.
const FOOTPRINT: f32 = 0.7;

/// What a frame was seen with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// Number of the frame.
    pub(super) frame: u64,
    /// Camera.
    pub(super) camera: Camera,
    /// Size that was drawn, in pixels.
    pub(super) extent: [u32; 2],
    /// Seconds since the start.
    pub(super) seconds: f32,
    /// Whether its exposure followed the light.
    pub(super) auto_exposure: bool,
}

/// The frame that is drawn and the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sequence {
    now: Option<Seen>,
    before: Option<Seen>,
}

impl Sequence {
    /// The next frame is seen so. The same frame may be prepared several times, until it fits into memory.
    pub(super) fn go_on(&mut self, seen: Seen) {
        if self.now.is_none_or(|now| now.frame != seen.frame) {
            self.before = self.now.take();
        }
        self.now = Some(seen);
    }

    /// The next frame has nothing to do with those before.
    pub(super) fn cut(&mut self) {
        *self = Self::default();
    }

    fn pair(&self) -> Option<(Seen, Seen)> {
        let (before, now) = (self.before?, self.now?);
        (before.frame + 1 == now.frame).then_some((before, now))
    }

    /// The frame that this one goes on from: of the same size, and seen in about the same direction.
    pub(super) fn previous(&self) -> Option<Seen> {
        let (before, now) = self.pair()?;
        let is_turned = before.camera.forward().dot(now.camera.forward()) < LARGEST_TURN;
        (before.extent == now.extent && !is_turned).then_some(before)
    }

    /// Seconds since the frame whose exposure this one goes on from, `None` where it begins anew.
    pub(super) fn seconds(&self) -> Option<f32> {
        let (before, now) = self.pair()?;
        before.auto_exposure.then(|| (now.seconds - before.seconds).clamp(0.0, 0.25))
    }
}

/// How a frame samples. By default in the centres of its pixels.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sampling {
    /// Number of the frame, where frames are a picture together.
    pub(super) turn: Option<u64>,
    /// What the frame was seen with that this one goes on from.
    pub(super) previous: Option<Camera>,
}

impl Sampling {
    /// Offset in clip space, as a share of w.
    pub(super) fn jitter(&self, extent: [u32; 2]) -> Vec2 {
        let Some(turn) = self.turn else { return Vec2::ZERO };
        let place = (turn % PLACES) as u32 + 1;
        let in_pixel = Vec2::new(halton(place, 2), halton(place, 3)) - 0.5;
        in_pixel * 2.0 / Vec2::from(extent.map(|side| side.max(1) as f32))
    }

    /// The camera's matrix with the frame's offset.
    pub(super) fn view_projection(&self, camera: &Camera, aspect: f32, extent: [u32; 2]) -> Mat4 {
        let jitter = self.jitter(extent);
        let mut offset = Mat4::IDENTITY;
        // As a share of w: what is in the fourth column counts w times.
        offset.w_axis = Vec4::new(jitter.x, jitter.y, 0.0, 1.0);
        if jitter == Vec2::ZERO {
            return camera.view_projection(aspect);
        }
        offset * camera.view_projection(aspect)
    }

    /// From positions relative to the camera to clip space of the frame before, both without offset.
    pub(super) fn reprojection(&self, camera: &Camera, aspect: f32) -> Mat4 {
        let previous = self.previous.unwrap_or(*camera);
        previous.view_projection(aspect) * Mat4::from_translation(camera.position - previous.position)
    }

    /// Multiplies the footprint that textures are sampled with.
    pub(super) fn footprint(&self) -> f32 {
        if self.turn.is_some() { FOOTPRINT } else { 1.0 }
    }
}

/// Element `index` of the Halton sequence of a base, over 0 to 1 (Halton 1960).
fn halton(mut index: u32, base: u32) -> f32 {
    let (mut value, mut digit) = (0.0, 1.0);
    while index > 0 {
        digit /= base as f32;
        value += digit * (index % base) as f32;
        index /= base;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn seen(frame: u64) -> Seen {
        Seen {
            frame,
            camera: Camera::default(),
            extent: [160, 90],
            seconds: frame as f32,
            auto_exposure: true,
        }
    }

    #[test]
    fn samples_cover_a_pixel_evenly() {
        let at = |turn| Sampling { turn: Some(turn), previous: None }.jitter([2, 2]);
        let places: Vec<Vec2> = (0..PLACES).map(at).collect();
        assert!(places.iter().all(|p| p.abs().max_element() < 0.5), "{places:?}");
        let mean = places.iter().sum::<Vec2>() / PLACES as f32;
        assert!(mean.length() < 0.1, "{mean}");
        for quadrant in [Vec2::new(-1.0, -1.0), Vec2::new(1.0, -1.0), Vec2::new(-1.0, 1.0), Vec2::ONE] {
            let inside = places.iter().filter(|p| (**p * quadrant).min_element() >= 0.0).count();
            assert!(inside >= 1, "{quadrant}: {places:?}");
        }
        assert_eq!(at(0), at(PLACES));
        assert_eq!(Sampling::default().jitter([2, 2]), Vec2::ZERO);
    }

    #[test]
    fn an_offset_moves_every_distance_alike() {
        let (camera, extent) = (Camera::default(), [160, 90]);
        let sampling = Sampling { turn: Some(3), previous: None };
        let jitter = sampling.jitter(extent);
        for distance in [1.0, 50.0, 9000.0] {
            let at = (camera.forward() * distance + camera.right() * 0.1 * distance).extend(1.0);
            let (plain, moved) =
                (camera.view_projection(1.6) * at, sampling.view_projection(&camera, 1.6, extent) * at);
            let off = moved / moved.w - plain / plain.w;
            assert!((off.truncate().truncate() - jitter).length() < 1e-5 && off.z.abs() < 1e-7, "{off}");
        }
    }

    #[test]
    fn a_place_is_found_where_the_last_camera_saw_it() {
        let before = Camera { position: Vec3::new(1.0, 2.0, 3.0), ..Camera::default() };
        let now = Camera { position: Vec3::new(4.0, 2.5, 1.0), yaw: before.yaw + 0.2, ..before };
        let place = now.position + now.forward() * 40.0;
        let sampling = Sampling { turn: Some(0), previous: Some(before) };
        let found = sampling.reprojection(&now, 1.5) * (place - now.position).extend(1.0);
        let wanted = before.view_projection(1.5) * (place - before.position).extend(1.0);
        assert!((found / found.w - wanted / wanted.w).length() < 1e-4, "{found} {wanted}");
    }

    #[test]
    fn a_frame_goes_on_from_the_one_before_only_if_it_looks_like_it() {
        let mut sequence = Sequence::default();
        sequence.go_on(seen(4));
        assert!(sequence.previous().is_none() && sequence.seconds().is_none(), "the first");
        sequence.go_on(seen(5));
        sequence.go_on(seen(5));
        assert_eq!((sequence.previous(), sequence.seconds()), (Some(seen(4)), Some(0.25)));
        sequence.go_on(Seen { extent: [80, 45], ..seen(6) });
        assert!(sequence.previous().is_none() && sequence.seconds().is_some(), "another size");
        let turned = Camera { yaw: Camera::default().yaw + 1.5, ..Camera::default() };
        sequence.go_on(Seen { camera: turned, extent: [80, 45], ..seen(7) });
        assert!(sequence.previous().is_none(), "turned away");
        sequence.go_on(Seen { camera: turned, extent: [80, 45], ..seen(8) });
        assert!(sequence.previous().is_some());
        sequence.cut();
        sequence.go_on(seen(9));
        assert!(sequence.previous().is_none() && sequence.seconds().is_none(), "a cut");
        sequence.go_on(seen(11));
        assert!(sequence.previous().is_none(), "a frame was left out");
    }
}
