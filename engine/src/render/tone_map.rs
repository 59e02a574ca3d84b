//! From linear light to display values: bloom, exposure, a filmic curve. Without anti-aliasing over time,
//! [`EdgeBlend`](super::edge_blend) takes them up.

use std::sync::Arc;

use super::screen::ScreenPass;
use super::targets::OUTPUT_FORMAT;
use crate::graph::{Access, BufferHandle, Frame, ImageHandle, Queue, ShaderStages};
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, PassBindings, Result, Sampler, SamplerDesc, shader};

gpu_struct! {
    /// Push constants of `shaders/tone_map.wgsl`.
    pub struct ToneMapPush {
        /// Place of this frame's constants.
        pub frame_index: u32,
        /// 1 where the exposure that light asks for counts.
        pub auto_exposure: u32,
        /// How much of the bloom is added.
        pub bloom: f32,
        /// 1 where the next pass finds edges by the brightness in alpha.
        pub keeps_brightness: u32,
        /// What the mean of several frames is sharpened by.
        pub sharpness: f32,
    }
}

/// How much of the bloom is added to the picture.
const BLOOM: f32 = 0.4;
/// How much of its difference to its neighbours is added to a pixel that is the mean of several frames.
const SHARPNESS: f32 = 0.6;

/// What is mapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapped {
    /// Linear light.
    pub(super) colour: ImageHandle,
    /// Light around what is bright; read where somebody wrote it.
    pub(super) bloom: ImageHandle,
    /// The exposure that light asks for, where it counts.
    pub(super) exposure: Option<BufferHandle>,
    /// Whether it is the mean of several frames. If not, the next pass wants the brightness in alpha.
    pub(super) is_mean: bool,
}

#[derive(Debug)]
pub(super) struct ToneMap {
    screen: ScreenPass,
    sampler: Sampler,
}

impl ToneMap {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let entries = ("tone_map_vertex", "tone_map_fragment");
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy: 1.0 };
        Ok(Self {
            screen: ScreenPass::new(device, "ToneMap", &shader::TONE_MAP, entries, OUTPUT_FORMAT)?,
            sampler: Sampler::new(device, "Bilinear", desc)?,
        })
    }

    /// Declares the pass, which draws over all of `display`.
    pub(super) fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        mapped: Mapped,
        display: &mut ImageHandle,
        frames: &'f Buffer,
        extent: [u32; 2],
    ) {
        let frame_index = frame.place() as u32;
        let Mapped { colour, bloom, exposure, is_mean } = mapped;
        let reads = ShaderStages::FRAGMENT;
        let mut pass = frame
            .pass("ToneMap", Queue::Graphics)
            .read(colour, Access::Sampled(reads))
            .read_optional(bloom, Access::Sampled(reads))
            .write(display, Access::ColourAttachment);
        if let Some(exposure) = exposure {
            pass = pass.read(exposure, Access::StorageRead(reads));
        }
        let display = *display;
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let view = resources.image(display)?.view();
            let (light, bloom) = (resources.image(colour)?, resources.optional_image(bloom)?);
            // What is switched off is bound all the same, as something else: drivers that run lanes in software look
            // at what a branch that no lane takes would read.
            let exposed = exposure.map(|exposure| resources.buffer(exposure)).transpose()?;
            let bindings = PassBindings {
                buffers: &[(0, frames), (1, exposed.unwrap_or(frames))],
                images: &[(8, light), (9, bloom.unwrap_or(light))],
                sampler: Some(&self.sampler),
                ..Default::default()
            };
            let push = ToneMapPush {
                frame_index,
                auto_exposure: exposed.is_some().into(),
                bloom: if bloom.is_some() { BLOOM } else { 0.0 },
                keeps_brightness: (!is_mean).into(),
                sharpness: if is_mean { SHARPNESS } else { 0.0 },
            };
            self.screen.draw(encoder, (view, extent), &bindings, &push);
            Ok(())
        });
    }
}
