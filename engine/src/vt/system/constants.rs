//! What shaders read of all textures: one buffer a frame in flight.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use crate::vk::{Buffer, Device, Location, Result};
use crate::vt::sampling::{Trilinear, VirtualTexture, VirtualTextureFrame};
use crate::vt::{Borders, Filter, Options};

/// How a frame samples, beside what the options say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleSettings {
    /// Whether frames are averaged over time, which levels that are chosen by noise need.
    pub is_averaged: bool,
}

impl SampleSettings {
    pub(super) fn trilinear(self, options: &Options) -> Trilinear {
        match options.filter {
            Filter::Bilinear => Trilinear::Off,
            Filter::Trilinear => Trilinear::Manual,
            Filter::Stochastic => Trilinear::Stochastic,
            Filter::Auto if self.is_averaged => Trilinear::Stochastic,
            Filter::Auto => Trilinear::Manual,
        }
    }
}

/// Whether pages show their level and their borders.
pub(super) fn shown(options: &Options) -> (bool, bool) {
    (options.borders == Borders::Level, options.borders != Borders::Off)
}

/// The buffers, by place of the frame.
#[derive(Debug)]
pub(super) struct Constants {
    places: Vec<Option<Buffer>>,
    place: usize,
}

impl Constants {
    pub(super) fn new(frames_in_flight: usize) -> Self {
        Self { places: (0..frames_in_flight.max(1)).map(|_| None).collect(), place: 0 }
    }

    /// Writes the constants of a frame whose predecessor in the same place is done.
    pub(super) fn write(
        &mut self,
        device: &Arc<Device>,
        place: usize,
        frame: VirtualTextureFrame,
        textures: &[VirtualTexture],
    ) -> Result<()> {
        self.place = place % self.places.len();
        let head = size_of::<VirtualTextureFrame>() as u64;
        let needed = head + (textures.len().max(1) * size_of::<VirtualTexture>()) as u64;
        let held = &mut self.places[self.place];
        let buffer = match held.take().filter(|buffer| buffer.bytes() >= needed) {
            Some(buffer) => buffer,
            None => {
                let bytes = needed.next_power_of_two().max(1024);
                let usage = BufferUsageFlags::STORAGE_BUFFER;
                Buffer::committed(device, "VirtualTexture.Constants", bytes, usage, Location::Upload)?
            }
        };
        let buffer = held.insert(buffer);
        let frame = VirtualTextureFrame { texture_count: textures.len() as u32, ..frame };
        buffer.write_mapped(0, bytemuck::bytes_of(&frame))?;
        buffer.write_mapped(head, bytemuck::cast_slice(textures))
    }

    /// The buffer of the present frame.
    pub(super) fn buffer(&self) -> Option<&Buffer> {
        self.places.get(self.place)?.as_ref()
    }
}
