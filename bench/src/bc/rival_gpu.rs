//! `block_compression` on the GPU, through wgpu.

use std::time::Instant;

use block_compression::{CompressionVariant, GpuBlockCompressor};
use wgpu::util::{DeviceExt as _, TextureDataOrder};

use super::Rival;
use super::gpu::{BUSY, TURNS, WARM_UP};
use super::pictures::{Picture, SIDE};
use crate::stats;

/// Pages of a batch, as ours: here below each other in one picture, one dispatch.
const PAGES: u32 = 8;

/// Its speed in each format on the device whose name has `name` in it; nothing where wgpu finds none. By timestamps where
/// the device has them, by the host's clock from the submission to the end of a wait otherwise.
pub(crate) fn speeds(picture: &Picture, runs: usize, name: Option<&str>) -> Vec<Rival> {
    pollster::block_on(measure(picture, runs, name)).unwrap_or_else(|why| {
        log::warn!("block_compression on the GPU is not measured: {why}");
        Vec::new()
    })
}

async fn measure(picture: &Picture, runs: usize, name: Option<&str>) -> Result<Vec<Rival>, String> {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(desc);
    let adapters = instance.enumerate_adapters(wgpu::Backends::VULKAN).await;
    let fits = |adapter: &&wgpu::Adapter| name.is_none_or(|name| adapter.get_info().name.contains(name));
    let adapter = adapters.iter().find(fits).ok_or("wgpu finds no such device")?;
    let clock = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
    let desc = wgpu::DeviceDescriptor { required_features: clock, ..Default::default() };
    let (device, queue) = adapter.request_device(&desc).await.map_err(|error| error.to_string())?;
    let side = SIDE as u32;
    let texels = picture.texels.as_flattened().repeat(PAGES as usize);
    let texture = device.create_texture_with_data(
        &queue,
        &wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width: side, height: side * PAGES, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        },
        TextureDataOrder::LayerMajor,
        &texels,
    );
    let view = texture.create_view(&Default::default());
    let mut compressor = GpuBlockCompressor::new(device.clone(), queue.clone());
    let variants = [
        ("BC1", CompressionVariant::BC1),
        ("BC3", CompressionVariant::BC3),
        ("BC4", CompressionVariant::BC4),
        ("BC5", CompressionVariant::BC5),
    ];
    let has_timestamps = !clock.is_empty();
    let mut rivals =
        variants.map(|(format, _)| Rival { format, ms: Vec::new(), megapixels: 0.0, has_timestamps });
    let turns = if adapter.get_info().device_type == wgpu::DeviceType::Cpu { 1 } else { TURNS };
    for _ in 0..turns {
        for ((_, variant), rival) in variants.into_iter().zip(&mut rivals) {
            let blocks = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: variant.blocks_byte_size(side, side * PAGES) as u64,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            // So many dispatches in one pass; milliseconds of the pass.
            let mut once = |dispatches: usize| -> Result<f64, String> {
                for _ in 0..dispatches {
                    compressor.add_compression_task(variant, &view, side, side * PAGES, &blocks, None, None);
                }
                let timer = has_timestamps.then(|| Timer::new(&device));
                let mut encoder = device.create_command_encoder(&Default::default());
                {
                    let timestamp_writes = timer.as_ref().map(Timer::writes);
                    let desc = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                    compressor.compress(&mut encoder.begin_compute_pass(&desc));
                }
                if let Some(timer) = &timer {
                    timer.resolve(&mut encoder);
                }
                let started = Instant::now();
                queue.submit([encoder.finish()]);
                device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| error.to_string())?;
                let on_host = started.elapsed().as_secs_f64() * 1e3;
                let on_gpu =
                    timer.and_then(|timer| timer.milliseconds(&device, queue.get_timestamp_period()));
                Ok(on_gpu.unwrap_or(on_host))
            };
            let started = Instant::now();
            once(1)?;
            while started.elapsed() < WARM_UP {
                once(if turns == 1 { 1 } else { BUSY })?;
            }
            let ms = (0..runs).map(|_| once(1)).collect::<Result<Vec<_>, _>>()?;
            rival.ms.extend(stats::median(&ms));
        }
    }
    for rival in &mut rivals {
        let best = rival.ms.iter().copied().fold(f64::INFINITY, f64::min);
        rival.megapixels = f64::from(side * side * PAGES) / best / 1e3;
    }
    Ok(rivals.into())
}

/// Two timestamps around a pass.
struct Timer {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    back: wgpu::Buffer,
}

impl Timer {
    fn new(device: &wgpu::Device) -> Self {
        let buffer = |usage| {
            let desc = wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
            device.create_buffer(&desc)
        };
        let desc = wgpu::QuerySetDescriptor { label: None, ty: wgpu::QueryType::Timestamp, count: 2 };
        Self {
            set: device.create_query_set(&desc),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            back: buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
        }
    }

    fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.back, 0, 16);
    }

    fn milliseconds(&self, device: &wgpu::Device, nanoseconds: f32) -> Option<f64> {
        let slice = self.back.slice(..);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        device.poll(wgpu::PollType::wait_indefinitely()).ok()?;
        let bytes = slice.get_mapped_range().ok()?;
        let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        Some(word(8)?.saturating_sub(word(0)?) as f64 * f64::from(nanoseconds) / 1e6)
    }
}
