//! One-time uploads of whole images, at load time: recorded together, submitted once, waited for.

use std::sync::Arc;

use ash::vk::{AccessFlags2, BufferUsageFlags, ImageLayout, PipelineStageFlags2};

use crate::vk::{Buffer, CommandPool, Device, Image, Location, Result, Timeline};

/// Fills every mip of the images and leaves them ready for sampling. `mips` are tightly packed texels, finest first.
///
/// # Errors
/// When there is no memory for the staging buffers, or the device is lost.
pub fn upload_images(device: &Arc<Device>, images: &[(&Image, Vec<&[u8]>)]) -> Result<()> {
    let mut pool = CommandPool::new(device, Timeline::Graphics)?;
    let mut encoder = pool.begin("UploadImages")?;
    let mut staging = Vec::new();
    for (image, mips) in images {
        let aspect = image.desc().aspect();
        let none = (PipelineStageFlags2::NONE, AccessFlags2::NONE);
        let copy = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
        let read = (PipelineStageFlags2::ALL_COMMANDS, AccessFlags2::SHADER_SAMPLED_READ);
        let to_copy = (ImageLayout::UNDEFINED, ImageLayout::TRANSFER_DST_OPTIMAL);
        let to_read = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::SHADER_READ_ONLY_OPTIMAL);
        encoder.image_barrier(image.raw(), aspect, to_copy, none, copy);
        for (mip, bytes) in mips.iter().enumerate() {
            let usage = BufferUsageFlags::TRANSFER_SRC;
            let buffer = Buffer::committed(device, "Staging", bytes.len() as u64, usage, Location::Upload)?;
            buffer.write_mapped(0, bytes)?;
            encoder.copy_buffer_to_image(&buffer, 0, image, mip as u32);
            staging.push(buffer);
        }
        encoder.image_barrier(image.raw(), aspect, to_read, copy, read);
    }
    let done = device.submit(Timeline::Graphics, vec![encoder.finish()?], &[])?;
    device.wait(&[done])
}
