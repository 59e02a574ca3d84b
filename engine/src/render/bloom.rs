//! Bloom; see `shaders/bloom.wgsl`.
//!
//! ```text
//! light -> Down1 -> Down2 -> ... -> Down5
//!            |        |                |
//!           Up1 <--- Up2 <--- ... <----+
//! ```
//!
//! Each level is an image of its own, so that the graph can lay one where another was.

use std::sync::Arc;

use super::screen::ScreenPass;
use super::targets::COLOUR_FORMAT;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, PassBindings, Result, Sampler, SamplerDesc, shader};

gpu_struct! {
    /// Push constants of `shaders/bloom.wgsl`.
    pub struct BloomPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// 1 for the first step down.
        pub is_first: u32,
        /// Size of a texel of what is read, as a share of the image.
        pub source_texel: [f32; 2],
        /// Size of a texel of what is drawn into.
        pub target_texel: [f32; 2],
    }
}

const DOWN: [&str; 5] = ["Bloom.Down1", "Bloom.Down2", "Bloom.Down3", "Bloom.Down4", "Bloom.Down5"];
const UP: [&str; 4] = ["Bloom.Up1", "Bloom.Up2", "Bloom.Up3", "Bloom.Up4"];

/// An image of a level, and its size.
type Level = (ImageHandle, [u32; 2]);

#[derive(Debug)]
pub(super) struct Bloom {
    down: ScreenPass,
    up: ScreenPass,
    sampler: Sampler,
}

impl Bloom {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let pass = |name, fragment| {
            ScreenPass::new(device, name, &shader::BLOOM, ("bloom_vertex", fragment), COLOUR_FORMAT)
        };
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self {
            down: pass("Bloom.Down", "bloom_down")?,
            up: pass("Bloom.Up", "bloom_up")?,
            sampler: Sampler::new(device, "Bilinear", desc)?,
        })
    }

    /// Declares the passes; returns light around what is bright, at half the resolution.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        colour: ImageHandle,
        (frames, extent): (&'f Buffer, [u32; 2]),
        is_on: bool,
    ) -> ImageHandle {
        let mut above = (colour, extent);
        let downs = DOWN.map(|name| {
            above = self.step(frame, name, (above, None), frames, is_on);
            above
        });
        let mut below = above;
        for (name, level) in UP.into_iter().zip(downs).rev() {
            below = self.step(frame, name, (below, Some(level)), frames, is_on);
        }
        below.0
    }

    /// One step down from `source`, or up to `level`.
    fn step<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        name: &'static str,
        (source, level): (Level, Option<Level>),
        frames: &'f Buffer,
        is_on: bool,
    ) -> Level {
        let extent = level.map_or_else(|| source.1.map(|side| side.div_ceil(2)), |level| level.1);
        let texel = |size: [u32; 2]| size.map(|side| 1.0 / side.max(1) as f32);
        let push = BloomPush {
            frame_index: frame.place() as u32,
            is_first: (name == DOWN[0]).into(),
            source_texel: texel(source.1),
            target_texel: texel(extent),
        };
        let mut target = frame.image(name, ImageInfo::new_2d(COLOUR_FORMAT, extent));
        let read = [Some(source.0), level.map(|level| level.0)];
        let pass = frame
            .pass(name, Queue::Graphics)
            .when(is_on)
            .read_all(read.into_iter().flatten(), Access::Sampled(ShaderStages::FRAGMENT))
            .write(&mut target, Access::ColourAttachment);
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let mut images = vec![(8, resources.image(source.0)?)];
            if let Some((level, _)) = level {
                images.push((9, resources.image(level)?));
            }
            let bindings = PassBindings {
                buffers: &[(0, frames)],
                images: &images,
                sampler: Some(&self.sampler),
                ..Default::default()
            };
            let view = resources.image(target)?.view();
            let screen = if level.is_some() { &self.up } else { &self.down };
            screen.draw(encoder, (view, extent), &bindings, &push);
            Ok(())
        });
        (target, extent)
    }
}
