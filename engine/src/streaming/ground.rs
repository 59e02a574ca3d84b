//! A ground plane with a streamed image on it.

use std::sync::Arc;

use ash::vk::Format;
use glam::Vec3;

use super::error::Result;
use super::image::{StreamedImage, StreamedImageDesc};
use super::need::{GroundPlane, Sight, ground_requests};
use super::source::TileSource;
use crate::scene::Camera;
use crate::sparse::{Missing, SparseMemory};

/// Frames that tiles stay without a request while detail is given up: it is to be seen soon what that gives back.
const HASTE_FRAMES: u32 = 3;

/// How to make a [`StreamedGround`].
#[derive(Debug, Clone)]
pub struct GroundDesc {
    /// Debug name of the image.
    pub name: String,
    /// Width and height of the image in texels.
    pub extent: [u32; 2],
    /// Format of its texels.
    pub format: Format,
    /// Where it lies.
    pub plane: GroundPlane,
    /// Memory for its tiles at most, bytes.
    pub budget_bytes: u64,
    /// Tiles mapped in one frame at most.
    pub maps_per_frame: u32,
    /// Frames that a tile stays after the last request for it.
    pub keep_frames: u32,
    /// Samples along the longer axis of a pixel's footprint at most.
    pub taps: u32,
    /// Linear colour of everything beyond the image.
    pub beyond: Vec3,
}

/// How the ground is drawn; may change from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroundLook {
    /// Added to every wished level of detail: positive is coarser.
    pub bias: f32,
    /// How much of the colour of its resident mip every place shows, 0 to 1.
    pub tint: f32,
    /// Draw the residency map into the picture's corner.
    pub inset: bool,
}

impl Default for GroundLook {
    fn default() -> Self {
        Self { bias: 0.0, tint: 0.0, inset: true }
    }
}

/// The image and where it lies.
#[derive(Debug)]
pub struct StreamedGround {
    image: StreamedImage,
    plane: GroundPlane,
    taps: u32,
    beyond: Vec3,
    budget_bytes: u64,
    keep_frames: u32,
    /// Levels of detail that are given up while memory is short.
    shed_levels: u32,
    /// How it is drawn.
    pub look: GroundLook,
}

impl StreamedGround {
    /// Reserves the image. Where the device cannot map single tiles, all of it has memory, and the same tiles are
    /// streamed.
    ///
    /// # Errors
    /// As [`StreamedImage::new`].
    pub fn new(sparse: &SparseMemory, desc: &GroundDesc, source: Arc<dyn TileSource>) -> Result<Self> {
        let image = StreamedImageDesc {
            name: desc.name.clone(),
            format: desc.format,
            extent: desc.extent,
            budget_bytes: desc.budget_bytes,
            maps_per_frame: desc.maps_per_frame,
            keep_frames: desc.keep_frames,
            missing: Missing::CommitAll,
        };
        Ok(Self {
            image: StreamedImage::new(sparse, &image, source)?,
            plane: desc.plane,
            taps: desc.taps.clamp(1, 16),
            beyond: desc.beyond,
            budget_bytes: desc.budget_bytes,
            keep_frames: desc.keep_frames,
            shed_levels: 0,
            look: GroundLook::default(),
        })
    }

    /// Plans what a view needs; see [`StreamedImage::plan`].
    pub fn plan(&mut self, camera: &Camera, extent: [u32; 2]) {
        let sight = Sight { extent, taps: self.taps, bias: self.bias() };
        let requests = ground_requests(camera, &self.plane, self.image.layout(), &sight);
        self.image.plan(&requests);
    }

    /// Does with less for a while: `quarters` of the memory it was made for, and everything `levels` of detail coarser.
    /// Its tiles go in the next frames; it keeps addresses and descriptors. All of it comes back with (4, 0).
    pub fn set_share(&mut self, quarters: u32, levels: u32) {
        self.image.set_budget(self.budget_bytes / 4 * u64::from(quarters.min(4)));
        let patience = if levels > 0 { HASTE_FRAMES } else { u32::MAX };
        self.image.set_keep_frames(self.keep_frames.min(patience));
        self.shed_levels = levels;
    }

    /// Memory that it was made for, bytes.
    pub fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// Added to every wished level of detail now.
    pub fn bias(&self) -> f32 {
        self.look.bias + self.shed_levels as f32
    }

    /// The image.
    pub fn image(&self) -> &StreamedImage {
        &self.image
    }

    /// The image, to go through a frame.
    pub fn image_mut(&mut self) -> &mut StreamedImage {
        &mut self.image
    }

    /// Where it lies.
    pub fn plane(&self) -> &GroundPlane {
        &self.plane
    }

    /// Samples along the longer axis of a pixel's footprint at most.
    pub fn taps(&self) -> u32 {
        self.taps
    }

    /// Linear colour of everything beyond the image.
    pub fn beyond(&self) -> Vec3 {
        self.beyond
    }
}
