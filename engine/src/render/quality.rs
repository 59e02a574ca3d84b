//! How much a frame may cost: what is given up when memory is short.
//!
//! Separate from [`RenderOptions`](super::RenderOptions), which say what is wanted: quality only ever takes away from
//! that, and may change with every frame.

use ash::vk::SampleCountFlags;

/// Optional effects that may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// Ambient occlusion.
    pub ambient_occlusion: bool,
    /// Bloom.
    pub bloom: bool,
    /// Anti-aliasing over time, which keeps a history.
    pub temporal: bool,
    /// An exposure that follows the light.
    pub auto_exposure: bool,
}

impl Effects {
    /// All of them.
    pub const ALL: Self = Self { ambient_occlusion: true, bloom: true, temporal: true, auto_exposure: true };
    /// None.
    pub const NONE: Self =
        Self { ambient_occlusion: false, bloom: false, temporal: false, auto_exposure: false };

    /// Those that are in both.
    pub fn and(self, other: Self) -> Self {
        Self {
            ambient_occlusion: self.ambient_occlusion && other.ambient_occlusion,
            bloom: self.bloom && other.bloom,
            temporal: self.temporal && other.temporal,
            auto_exposure: self.auto_exposure && other.auto_exposure,
        }
    }
}

/// The most that a frame may use of everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Sides of the drawn picture as a share of those asked for, over 0 to 1; it is enlarged at the end.
    pub scale: f32,
    /// Samples a pixel at most.
    pub samples: u32,
    /// Anisotropy of textures at most; 1 is none.
    pub anisotropy: u32,
    /// Optional effects that may run.
    pub effects: Effects,
}

impl Quality {
    /// Everything that was asked for.
    pub const FULL: Self = Self { scale: 1.0, samples: 64, anisotropy: 16, effects: Effects::ALL };

    /// The size that is drawn for a picture of a size.
    pub fn drawn_extent(&self, extent: [u32; 2]) -> [u32; 2] {
        let scale = if self.scale > 0.0 && self.scale < 1.0 { self.scale } else { 1.0 };
        extent.map(|side| ((side as f32 * scale).round() as u32).clamp(1, side.max(1)))
    }
}

impl Default for Quality {
    fn default() -> Self {
        Self::FULL
    }
}

/// Bytes of the images that pictures of a size are drawn into, with so many samples a pixel and those effects: by the
/// formats, without what a driver adds, and without what images save that share memory. Each frame in flight has its own,
/// but for the picture itself and what lives across frames.
pub fn target_bytes(
    extent: [u32; 2],
    frames_in_flight: usize,
    samples: u32,
    effects: Effects,
    quality: &Quality,
) -> u64 {
    let samples = u64::from(samples.min(quality.samples).max(1));
    let effects = effects.and(quality.effects);
    let pixels = |[width, height]: [u32; 2]| u64::from(width) * u64::from(height);
    let drawn = quality.drawn_extent(extent);
    let (colour, depth) = (8, 4 * samples);
    // Blended along edges where it is not over time.
    let display = if effects.temporal { 0 } else { 4 };
    let history = if effects.temporal { 2 * 8 } else { 0 };
    let several = if samples > 1 { 8 * samples } else { 0 };
    let is_depth_read = effects.temporal || effects.ambient_occlusion;
    let resolved = if samples > 1 && is_depth_read { 4 } else { 0 };
    // A smaller picture that is enlarged in the end.
    let small = if drawn == extent { 0 } else { 4 };
    // Two images at half the resolution; two chains that begin there.
    let occlusion = if effects.ambient_occlusion { 2 } else { 0 };
    let bloom = if effects.bloom { 2 * 8 / 3 + 1 } else { 0 };
    let each = colour + depth + display + several + resolved + occlusion + bloom + small;
    pixels(drawn) * (each * frames_in_flight as u64 + history) + 4 * pixels(extent)
}

/// A number of samples as Vulkan has it: the largest power of two that is not more, up to 8.
pub(super) fn sample_flags(samples: u32, allowed: u32) -> SampleCountFlags {
    let has = |n: u32| allowed & n != 0;
    SampleCountFlags::from_raw([8, 4, 2].into_iter().find(|n| *n <= samples && has(*n)).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_draws_fewer_pixels_and_never_none() {
        let at = |scale| Quality { scale, ..Quality::FULL };
        assert_eq!(at(0.75).drawn_extent([1280, 720]), [960, 540]);
        assert_eq!(at(0.5).drawn_extent([1, 3]), [1, 2]);
        for scale in [1.0, 2.0, 0.0, -1.0, f32::NAN] {
            assert_eq!(at(scale).drawn_extent([160, 90]), [160, 90], "{scale}");
        }
    }

    #[test]
    fn targets_shrink_with_samples_and_scale() {
        let target_bytes =
            |extent, samples, quality: &Quality| target_bytes(extent, 1, samples, Effects::NONE, quality);
        let full = target_bytes([1000, 1000], 4, &Quality::FULL);
        assert_eq!(full, 1_000_000 * (8 + 16 + 4 + 4 + 32));
        let one = target_bytes([1000, 1000], 4, &Quality { samples: 1, ..Quality::FULL });
        assert_eq!(one, 1_000_000 * 20);
        let half = Quality { samples: 1, scale: 0.5, ..Quality::FULL };
        assert_eq!(target_bytes([1000, 1000], 4, &half), 250_000 * 20 + 4_000_000);
    }

    #[test]
    fn every_effect_that_may_run_and_has_images_counts() {
        let of =
            |effects| target_bytes([1000, 1000], 2, 4, Effects::ALL, &Quality { effects, ..Quality::FULL });
        let all = of(Effects::ALL);
        assert!(all > of(Effects { bloom: false, ..Effects::ALL }));
        assert!(all > of(Effects { ambient_occlusion: false, ..Effects::ALL }));
        assert!(all > of(Effects { temporal: false, ..Effects::ALL }));
        assert_eq!(of(Effects::NONE), target_bytes([1000, 1000], 2, 4, Effects::NONE, &Quality::FULL));
    }

    #[test]
    fn samples_are_those_that_the_device_has() {
        assert_eq!(sample_flags(8, 0b0101), SampleCountFlags::TYPE_4);
        assert_eq!(sample_flags(3, 0b1111), SampleCountFlags::TYPE_2);
        assert_eq!(sample_flags(0, 0b1111), SampleCountFlags::TYPE_1);
    }
}
