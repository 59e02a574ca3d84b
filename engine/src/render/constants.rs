//! What is the same for a whole frame, in one small buffer with a place for each frame in flight.

use std::sync::Arc;

use ash::vk::BufferUsageFlags;
use glam::Vec3;

use super::sampling::Sampling;
use super::view::View;
use crate::scene::Scene;
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, Device, Location, Result};

gpu_struct! {
    /// See `shaders/lib/frame.wgsl`.
    pub struct FrameConstants {
        /// From positions relative to the camera to clip space, with the frame's jitter.
        pub view_projection: [[f32; 4]; 4],
        /// Planes relative to the camera: left, right, bottom, top, near.
        pub frustum: [[f32; 4]; 5],
        /// Camera position, metres.
        pub camera: [f32; 3],
        /// Camera's height above the ground below it.
        pub camera_height: f32,
        /// Unit vector towards the sun.
        pub sun: [f32; 3],
        /// Pixels that one metre covers at a distance of one metre.
        pub pixels_per_metre: f32,
        /// View direction of the screen's centre.
        pub view_centre: [f32; 3],
        /// Multiplies linear light.
        pub exposure: f32,
        /// Step of the view direction to the right edge.
        pub view_right: [f32; 3],
        /// Seconds since the start.
        pub time: f32,
        /// Step of the view direction to the lower edge.
        pub view_down: [f32; 3],
        /// Frame number.
        pub frame: u32,
        /// Linear colour of sunlight.
        pub sun_colour: [f32; 3],
        /// Optical depth of haze a metre.
        pub haze_density: f32,
        /// Linear colour of the zenith.
        pub sky_colour: [f32; 3],
        /// Height over which haze thins to 1/e.
        pub haze_height: f32,
        /// Height from which haze is measured.
        pub haze_base: f32,
        /// Instances that may be looked at: all of them lie below the watermark.
        pub instance_count: u32,
        /// 1 when there is a terrain.
        pub has_terrain: u32,
        /// 1 when the sampler of the terrain's textures is anisotropic.
        pub anisotropic: u32,
        /// Width and height in pixels.
        pub resolution: [f32; 2],
        /// How far this frame's samples lie off the centres of their pixels, in clip space as a share of w.
        pub jitter: [f32; 2],
        /// From positions relative to the camera to the last frame's clip space, without either frame's jitter.
        pub reprojection: [[f32; 4]; 4],
        /// Distance of the near plane, metres.
        pub near: f32,
        /// Multiplies the footprint that textures are sampled with.
        pub footprint: f32,
        /// To a multiple of 16 bytes.
        pub padding_2: [f32; 2],
    }
}

impl FrameConstants {
    /// The constants of a frame of `extent` pixels.
    pub(super) fn new(view: &View, scene: &Scene, extent: [u32; 2], frame: u64, sampling: &Sampling) -> Self {
        let camera = &view.camera;
        let [width, height] = extent.map(|side| side.max(1) as f32);
        let aspect = width / height;
        let tangent = (camera.fov_y * 0.5).tan();
        let (forward, right) = (camera.forward(), camera.right());
        let up = right.cross(forward);
        let atmosphere = &view.atmosphere;
        let array = |v: Vec3| v.to_array();
        let (view_right, view_down) = (right * tangent * aspect, -up * tangent);
        let jitter = sampling.jitter(extent);
        // What is drawn with an offset is seen along rays that are offset the other way.
        let view_centre = forward - view_right * jitter.x - view_down * jitter.y;
        let terrain = scene.terrain();
        Self {
            view_projection: sampling.view_projection(camera, aspect, extent).to_cols_array_2d(),
            frustum: camera.frustum(aspect).map(|p| p.to_array()),
            camera: array(camera.position),
            camera_height: terrain.map_or(0.0, |t| t.lod_camera(camera).height),
            sun: array(atmosphere.sun),
            pixels_per_metre: height * 0.5 / tangent,
            view_centre: array(view_centre),
            exposure: atmosphere.exposure,
            view_right: array(view_right),
            time: view.time,
            view_down: array(view_down),
            frame: frame as u32,
            sun_colour: array(atmosphere.sun_colour),
            haze_density: atmosphere.haze_density,
            sky_colour: array(atmosphere.sky_colour),
            haze_height: atmosphere.haze_height,
            haze_base: atmosphere.haze_base,
            instance_count: scene.gpu().instances().len(),
            has_terrain: terrain.is_some().into(),
            anisotropic: 0,
            resolution: [width, height],
            jitter: jitter.to_array(),
            reprojection: sampling.reprojection(camera, aspect).to_cols_array_2d(),
            near: camera.near,
            footprint: sampling.footprint(),
            padding_2: [0.0; 2],
        }
    }
}

/// The buffer, with one place a frame in flight.
#[derive(Debug)]
pub(super) struct ConstantsBuffer {
    buffer: Buffer,
}

impl ConstantsBuffer {
    pub(super) fn new(device: &Arc<Device>, frames_in_flight: usize) -> Result<Self> {
        let bytes = (size_of::<FrameConstants>() * frames_in_flight) as u64;
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let buffer = Buffer::committed(device, "FrameConstants", bytes, usage, Location::Upload)?;
        Ok(Self { buffer })
    }

    /// Writes the constants of a frame whose predecessor in the same place is done.
    pub(super) fn write(&self, place: usize, constants: &FrameConstants) -> Result<()> {
        let offset = (place * size_of::<FrameConstants>()) as u64;
        self.buffer.write_mapped(offset, bytemuck::bytes_of(constants))
    }

    pub(super) fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}
