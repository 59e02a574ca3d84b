//! The maps that shaders read of a terrain, and the constants that say how.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, Format, ImageUsageFlags};

use super::TerrainDesc;
use super::detail::{LAYERS, SIZE, f32_to_f16};
use super::light::{LightMaps, SUN_RADIUS};
use super::materials::{Layers, LayersDesc, MAX_LAYERS, MaterialLayer, OverlayBuffers, material_layers};
use super::roads::OverlayGrid;
use super::surface::Surface;
use crate::memory::staging::upload_images;
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, Image, ImageDesc, Location, Result};

gpu_struct! {
    /// One layer of the detail texture.
    pub struct TerrainLayer {
        /// Side of a tile, metres.
        pub period: f32,
        /// Strength beside the other layers.
        pub gain: f32,
        /// Cosine and sine of its turn.
        pub rotation: [f32; 2],
        /// Where the world's origin lies, in tiles.
        pub offset: [f32; 2],
        /// To 32 bytes.
        pub padding: [f32; 2],
    }

    /// How shaders read a terrain.
    pub struct TerrainConstants {
        /// Half the map's extent on x and z, metres.
        pub half_extent: [f32; 2],
        /// Distance between samples on x and z, metres.
        pub pixel_size: [f32; 2],
        /// Samples on x and z.
        pub map_size: [f32; 2],
        /// Least and greatest height, metres.
        pub height_range: [f32; 2],
        /// Height amplitude of the detail on flat and on steep ground, as a share of a layer's period.
        pub flat_strength: f32,
        /// See `flat_strength`.
        pub steep_strength: f32,
        /// Least half height of the shadow's edge, metres.
        pub softness: f32,
        /// Mips of the detail texture.
        pub detail_levels: f32,
        /// The detail's layers, coarsest first.
        pub layers: [TerrainLayer; LAYERS],
        /// Layers of material.
        pub material_count: u32,
        /// Side of a cell of the grid of roads and decals, metres.
        pub overlay_cell: f32,
        /// Its cells along x and z; zeros where there are no roads.
        pub overlay_side: [u32; 2],
        /// How they are laid; those beyond the count are zeros.
        pub materials: [MaterialLayer; MAX_LAYERS],
    }

    /// One chunk whose vertices are to be made.
    pub struct ChunkJob {
        /// North-west corner, metres.
        pub corner: [f32; 2],
        /// Side of a cell, metres.
        pub cell: f32,
        /// First word of its vertices.
        pub first_word: u32,
    }
}

/// The maps and constants of a terrain on the GPU.
#[derive(Debug)]
pub struct Textures {
    constants: Buffer,
    coefficients: Image,
    slope: Image,
    light: Image,
    detail: Image,
    layers: Layers,
    overlays: OverlayBuffers,
}

impl Textures {
    pub(super) fn new(
        device: &Arc<Device>,
        surface: &Surface,
        light: &LightMaps,
        desc: &TerrainDesc,
    ) -> Result<Self> {
        let (width, height) = surface.size();
        let image = |name, format, extent, mips| {
            let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
            Image::committed(device, name, ImageDesc { mips, ..ImageDesc::new_2d(format, extent, usage) })
        };
        let mips = (width.max(height)).ilog2() + 1;
        let detail = surface.detail().texture();
        let detail_levels = detail.level_count() as u32;
        let map = [width, height];
        let half = Format::R16G16B16A16_SFLOAT;
        let coefficients = image("Terrain.Coefficients", Format::R32_SFLOAT, map, 1)?;
        let slope_image = image("Terrain.Slope", half, map, mips)?;
        let light_image = image("Terrain.Light", half, map, mips)?;
        let detail_image = image("Terrain.Detail", half, [SIZE as u32; 2], detail_levels)?;
        let slope = half_mips(slope_map(surface, light), width, height, mips);
        let light_map = half_mips(light_map(light, desc), width, height, mips);
        let bytes = |levels: &'_ [Vec<[u16; 4]>]| -> Vec<Vec<u8>> {
            levels.iter().map(|l| bytemuck::cast_slice(l).to_vec()).collect()
        };
        let (slope, light_map) = (bytes(&slope), bytes(&light_map));
        let detail_mips: Vec<&[u8]> =
            (0..detail.level_count()).map(|level| bytemuck::cast_slice(detail.level(level))).collect();
        upload_images(
            device,
            &[
                (&coefficients, vec![bytemuck::cast_slice(surface.coefficients())]),
                (&slope_image, slope.iter().map(Vec::as_slice).collect()),
                (&light_image, light_map.iter().map(Vec::as_slice).collect()),
                (&detail_image, detail_mips),
            ],
        )?;
        let layers = LayersDesc { count: desc.layers, size: desc.layer_size, seed: desc.seed };
        let layers = Layers::new(device, layers)?;
        let constants = constants(surface, detail_levels, layers.count());
        let bytes = size_of::<TerrainConstants>() as u64;
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let buffer = Buffer::committed(device, "Terrain.Constants", bytes, usage, Location::Upload)?;
        buffer.write_mapped(0, bytemuck::bytes_of(&constants))?;
        Ok(Self {
            constants: buffer,
            coefficients,
            slope: slope_image,
            light: light_image,
            detail: detail_image,
            layers,
            overlays: OverlayBuffers::new(device, surface)?,
        })
    }

    /// The [`TerrainConstants`].
    pub fn constants(&self) -> &Buffer {
        &self.constants
    }

    /// The spline's coefficients (`R32_SFLOAT`, a texel a sample).
    pub fn coefficients(&self) -> &Image {
        &self.coefficients
    }

    /// Slope on x and z, curvature, height over the middle of the map's range.
    pub fn slope(&self) -> &Image {
        &self.slope
    }

    /// Shadow height as two halves that add up, penumbra in metres, sky visibility.
    pub fn light(&self) -> &Image {
        &self.light
    }

    /// The detail texture.
    pub fn detail(&self) -> &Image {
        &self.detail
    }

    /// Roads and decals.
    pub fn overlays(&self) -> &OverlayBuffers {
        &self.overlays
    }

    /// The buffers that `lib/terrain_materials.wgsl` and `lib/terrain_overlays.wgsl` read, by binding.
    pub fn material_buffers(&self) -> [(u32, &Buffer); 3] {
        [(5, &self.constants), (6, self.overlays.words()), (7, self.overlays.primitives())]
    }

    /// The images that they read, by binding; the sampler is a repeating one at 12.
    pub fn material_images(&self) -> [(u32, &Image); 4] {
        [(8, &self.slope), (10, &self.detail), (11, self.layers.colours()), (26, self.layers.forms())]
    }

    /// The layers of material.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }
}

fn constants(surface: &Surface, detail_levels: u32, layers: u32) -> TerrainConstants {
    let half = surface.half_extent();
    let (width, height) = surface.size();
    let params = surface.detail().params();
    let (low, high) = surface.height_bounds(-half.x, -half.y, half.x, half.y);
    let pixel = surface.pixel_size();
    let grid = surface.overlays().map(|overlays| overlays.grid());
    let mut materials = [MaterialLayer::default(); MAX_LAYERS];
    for (place, layer) in materials.iter_mut().zip(material_layers(layers as usize)) {
        *place = layer;
    }
    TerrainConstants {
        half_extent: half.into(),
        pixel_size: pixel.into(),
        map_size: [width as f32, height as f32],
        height_range: [low, high],
        flat_strength: params.flat,
        steep_strength: params.steep,
        // The grid is coarse: half of what a 45 degree slope rises in an eighth of a sample.
        softness: (pixel.x * pixel.y).sqrt() / 16.0,
        detail_levels: detail_levels as f32,
        layers: params.layers.map(|layer| TerrainLayer {
            period: layer.period,
            gain: layer.gain,
            rotation: layer.rotation.into(),
            offset: layer.offset.into(),
            padding: [0.0; 2],
        }),
        material_count: layers,
        overlay_cell: grid.map_or(0.0, OverlayGrid::cell),
        overlay_side: grid.map_or([0; 2], OverlayGrid::side),
        materials,
    }
}

/// Slope on x and z, curvature, height over the middle of the map's range: halves hold that to a metre or better.
fn slope_map(surface: &Surface, light: &LightMaps) -> Vec<[f32; 4]> {
    let (width, height) = surface.size();
    let (half, pixel) = (surface.half_extent(), surface.pixel_size());
    let (low, high) = surface.height_bounds(-half.x, -half.y, half.x, half.y);
    let mut texels = Vec::with_capacity((width * height) as usize);
    for row in 0..height {
        for column in 0..width {
            let (x, z) = (column as f32 * pixel.x - half.x, row as f32 * pixel.y - half.y);
            let (height, slope) = surface.base(x, z);
            let curvature = light.curvature.get(texels.len()).copied().unwrap_or_default();
            texels.push([slope.x, slope.y, curvature, height - 0.5 * (low + high)]);
        }
    }
    texels
}

/// Shadow height as two halves that add up (one would be metres off), penumbra in metres, sky visibility.
fn light_map(light: &LightMaps, desc: &TerrainDesc) -> Vec<[f32; 4]> {
    let horizontal = (desc.sun.x * desc.sun.x + desc.sun.z * desc.sun.z).max(1e-6);
    let maps = light.shadow_height.iter().zip(&light.occluder_distance).zip(&light.sky_visibility);
    maps.map(|((&shadow, &distance), &sky)| {
        let high = super::detail::f16_to_f32(f32_to_f16(shadow));
        [high, shadow - high, distance * SUN_RADIUS / horizontal, sky]
    })
    .collect()
}

/// A chain of mips by box filter, as half floats. Odd sizes round down, as Vulkan's do.
fn half_mips(finest: Vec<[f32; 4]>, width: u32, height: u32, mips: u32) -> Vec<Vec<[u16; 4]>> {
    let (mut width, mut height) = (width as usize, height as usize);
    let mut level = finest;
    let mut chain = Vec::with_capacity(mips as usize);
    for mip in 0..mips {
        chain.push(level.iter().map(|texel| texel.map(f32_to_f16)).collect());
        if mip + 1 == mips {
            break;
        }
        let (w, h) = ((width / 2).max(1), (height / 2).max(1));
        let mut next = Vec::with_capacity(w * h);
        for y in 0..h {
            for x in 0..w {
                let (x1, y1) = ((2 * x + 1).min(width - 1), (2 * y + 1).min(height - 1));
                let four = [(2 * x, 2 * y), (x1, 2 * y), (2 * x, y1), (x1, y1)];
                let four = four.map(|(x, y)| level[y.min(height - 1) * width + x.min(width - 1)]);
                next.push(std::array::from_fn(|c| four.iter().map(|t| t[c]).sum::<f32>() * 0.25));
            }
        }
        (width, height, level) = (w, h, next);
    }
    chain
}
