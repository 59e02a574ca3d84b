//! Roads and decals as shaders read them: `shaders/lib/terrain_roads.wgsl`.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;

use crate::scene::terrain::roads::{Attributes, Item, Overlays};
use crate::scene::terrain::surface::Surface;
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, Location, Result};

gpu_struct! {
    /// A segment of a road, or a decal.
    pub struct OverlayPrimitive {
        /// First end of a segment; centre of a decal, metres.
        pub place: [f32; 2],
        /// Second end of a segment; half extent of a decal, metres.
        pub other: [f32; 2],
        /// Heights of a segment's ends, metres; cosine and sine of a decal's turn.
        pub pair: [f32; 2],
        /// Of a segment: metres from the road's beginning to its first end.
        pub along: f32,
        /// Metres from a road's middle to its edge.
        pub half_width: f32,
        /// Metres beyond it over which the ground is blended.
        pub shoulder: f32,
        /// Kind of road; of a decal, 256 more.
        pub kind: u32,
        /// Number of the road.
        pub road: u32,
        /// What it changes: the bits of [`Attributes`].
        pub attributes: u32,
    }
}

/// Added to the kind of a decal.
pub const DECAL: u32 = 256;

/// The primitives in the order of the grid's indices.
pub fn primitives(overlays: &Overlays) -> Vec<OverlayPrimitive> {
    let of = |item: &Item| match *item {
        Item::Segment { road: index, segment } => {
            let road = overlays.roads().get(index as usize)?;
            let from = road.points.get(segment as usize)?;
            let to = road.points.get(segment as usize + 1)?;
            Some(OverlayPrimitive {
                place: from.place.into(),
                other: to.place.into(),
                pair: [from.height, to.height],
                along: from.along,
                half_width: road.half_width,
                shoulder: road.shoulder,
                kind: road.kind as u32,
                road: index,
                attributes: Attributes::ALL.0,
            })
        }
        Item::Decal(index) => {
            let decal = overlays.decals().get(index as usize)?;
            Some(OverlayPrimitive {
                place: decal.centre.into(),
                other: decal.half_extent.into(),
                pair: decal.rotation.into(),
                kind: DECAL + decal.kind as u32,
                road: u32::MAX,
                attributes: decal.attributes.0,
                ..OverlayPrimitive::default()
            })
        }
    };
    overlays.grid().items().iter().map(|item| of(item).unwrap_or_default()).collect()
}

/// The grid and the primitives on the GPU; a few zeros where there are none.
#[derive(Debug)]
pub struct OverlayBuffers {
    words: Buffer,
    primitives: Buffer,
}

impl OverlayBuffers {
    pub(in crate::scene::terrain) fn new(device: &Arc<Device>, surface: &Surface) -> Result<Self> {
        let overlays = surface.overlays();
        let words = overlays.map_or(&[][..], |overlays| overlays.grid().words());
        let primitives = overlays.map(|overlays| primitives(overlays)).unwrap_or_default();
        let buffer = |name, bytes: &[u8]| -> Result<Buffer> {
            let size = bytes.len().max(64) as u64;
            let buffer =
                Buffer::committed(device, name, size, BufferUsageFlags::STORAGE_BUFFER, Location::Upload)?;
            if !bytes.is_empty() {
                buffer.write_mapped(0, bytes)?;
            }
            Ok(buffer)
        };
        Ok(Self {
            words: buffer("Terrain.OverlayCells", bytemuck::cast_slice(words))?,
            primitives: buffer("Terrain.OverlayPrimitives", bytemuck::cast_slice(&primitives))?,
        })
    }

    /// Where each cell's list begins, and the lists.
    pub fn words(&self) -> &Buffer {
        &self.words
    }

    /// The [`OverlayPrimitive`]s.
    pub fn primitives(&self) -> &Buffer {
        &self.primitives
    }
}
