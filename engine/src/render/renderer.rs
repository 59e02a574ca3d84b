//! The passes of a frame, in order.

use std::sync::Arc;

use ash::vk::SampleCountFlags;
use glam::Vec3;

use super::ambient_occlusion::AmbientOcclusion;
use super::base::{BasePass, Drawn, NearGround};
use super::bloom::Bloom;
use super::constants::{ConstantsBuffer, FrameConstants};
use super::culling::{Culled, Culling};
use super::edge_blend::EdgeBlend;
use super::error::Result;
use super::exposure::{Exposure, ExposureState};
use super::inset::Inset;
use super::options::{GroundShading, RenderOptions};
use super::quality::{Effects, Quality, sample_flags, target_bytes};
use super::sampling::{Sampling, Seen, Sequence};
use super::targets::{OUTPUT_FORMAT, make_output};
use super::temporal::Temporal;
use super::tone_map::{Mapped, ToneMap};
use super::view::View;
use super::virtual_ground::VirtualGround;
use crate::graph::{Access, Frame, ImageHandle, ImageInfo, ImportState, Queue};
use crate::memory::UploadRing;
use crate::scene::terrain::ChunkDraw;
use crate::scene::{Scene, SceneBuffers};
use crate::streaming::{StreamedGround, StreamedImages};
use crate::vk::{Buffer, Device, Image};
use crate::vt::{VirtualTextures, VtImages};

/// Which frame is drawn, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTarget {
    /// Width and height in pixels.
    pub extent: [u32; 2],
    /// Number of the frame.
    pub frame: u64,
    /// Its place among the frames in flight.
    pub place: usize,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// Meshes, instances, terrain.
    pub scene: &'a Scene,
    /// A streamed ground plane under them.
    pub ground: Option<&'a StreamedGround>,
    /// Virtual textures; where they have the ground's, it is drawn with them.
    pub textures: Option<&'a VirtualTextures>,
}

/// What is drawn, as its updates of the frame leave it.
#[derive(Debug, Clone)]
pub struct Updated {
    /// Buffers of the scene.
    pub scene: SceneBuffers,
    /// Images of the streamed ground.
    pub ground: Option<StreamedImages>,
    /// Images of virtual textures.
    pub textures: Option<VtImages>,
}

/// Metres that displacement may move a vertex out of the bounds of its chunk, and some more.
const NEAR_MARGIN: f32 = 2.0;

/// Pipelines and per-frame buffers.
#[derive(Debug)]
pub struct Renderer {
    device: Arc<Device>,
    options: RenderOptions,
    quality: Quality,
    ground: GroundShading,
    frames_in_flight: usize,
    constants: ConstantsBuffer,
    culling: Culling,
    /// One for each quality that was used: number of samples and anisotropy.
    bases: Vec<((SampleCountFlags, u32), BasePass)>,
    ambient_occlusion: AmbientOcclusion,
    temporal: Temporal,
    exposure: Exposure,
    bloom: Bloom,
    tone_map: ToneMap,
    edge_blend: EdgeBlend,
    /// Of the base passes, the present frame's.
    base: usize,
    /// Metres within which the ground's materials are evaluated over its virtual textures, and the chunks there.
    near_reach: f32,
    /// Where the prepared frame is seen from.
    eye: Vec3,
    near_chunks: Vec<ChunkDraw>,
    /// Size that is drawn, pixels.
    drawn: [u32; 2],
    sequence: Sequence,
    /// Display values; what is shown, read back and written to files.
    output: Option<Image>,
    inset: Option<Inset>,
}

impl Renderer {
    /// Compiles the pipelines.
    ///
    /// # Errors
    /// When the driver refuses one, or has no memory.
    pub fn new(device: &Arc<Device>, options: RenderOptions, frames_in_flight: usize) -> Result<Self> {
        let options = options.resolved(device.capabilities().device_type);
        // One and four samples are guaranteed; of the others the device may have none.
        let samples = sample_flags(options.samples, device.capabilities().limits.sample_counts);
        if samples.as_raw() != options.samples {
            log::warn!("{} samples a pixel are not to be had here: {samples:?} are used", options.samples);
        }
        let options = RenderOptions { samples: samples.as_raw(), ..options };
        let base = BasePass::new(device, samples, options.anisotropy)?;
        Ok(Self {
            device: device.clone(),
            options,
            quality: Quality::FULL,
            ground: GroundShading::Auto,
            frames_in_flight,
            constants: ConstantsBuffer::new(device, frames_in_flight)?,
            culling: Culling::new(device, frames_in_flight)?,
            bases: vec![((samples, options.anisotropy), base)],
            ambient_occlusion: AmbientOcclusion::new(device)?,
            temporal: Temporal::new(device)?,
            exposure: Exposure::new(device)?,
            bloom: Bloom::new(device)?,
            tone_map: ToneMap::new(device)?,
            edge_blend: EdgeBlend::new(device)?,
            base: 0,
            near_reach: 0.0,
            eye: Vec3::ZERO,
            near_chunks: Vec::new(),
            drawn: [1; 2],
            sequence: Sequence::default(),
            output: None,
            inset: None,
        })
    }

    /// What the next frames may cost.
    pub fn set_quality(&mut self, quality: Quality) {
        self.quality = quality;
    }

    /// What frames may cost now.
    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// Shades the ground of a terrain otherwise from the next frame on. Virtual textures go on with what they do for
    /// others.
    pub fn set_ground_shading(&mut self, shading: GroundShading) {
        self.ground = shading;
    }

    /// How the ground of a terrain is shaded.
    pub fn ground_shading(&self) -> GroundShading {
        self.ground
    }

    fn virtual_ground<'f>(&self, world: World<'f>) -> Option<VirtualGround<'f>> {
        let ground = world.textures.and_then(|textures| VirtualGround::of(textures, self.eye));
        match self.ground {
            GroundShading::Auto => ground,
            GroundShading::Surface => ground.map(VirtualGround::surface_alone),
            GroundShading::Direct | GroundShading::Plain => None,
        }
    }

    /// Bytes of the images that a picture of a size is drawn into with a quality.
    pub fn target_bytes(&self, extent: [u32; 2], quality: &Quality) -> u64 {
        target_bytes(extent, self.frames_in_flight, self.options.samples, self.options.effects(), quality)
    }

    /// The effects that run now: those that are wanted and may.
    pub fn effects(&self) -> Effects {
        self.options.effects().and(self.quality.effects)
    }

    /// The next frame has nothing to do with those before: no history is read, and the exposure is that of its own light.
    pub fn cut(&mut self) {
        self.sequence.cut();
    }

    /// Auto exposure, as the last frame that is done left it, or one in flight; zeros before the first and where it is
    /// off.
    pub fn exposure(&self) -> ExposureState {
        if self.effects().auto_exposure { self.exposure.state() } else { ExposureState::default() }
    }

    fn samples_and_anisotropy(&self) -> (SampleCountFlags, u32) {
        let samples = self.options.samples.min(self.quality.samples);
        let flags = sample_flags(samples, self.device.capabilities().limits.sample_counts);
        (flags, self.options.anisotropy.min(self.quality.anisotropy).max(1))
    }

    /// The base pass for the present quality, compiled when it is first needed.
    fn base_index(&mut self) -> Result<usize> {
        let wanted = self.samples_and_anisotropy();
        if let Some(found) = self.bases.iter().position(|(key, _)| *key == wanted) {
            return Ok(found);
        }
        self.bases.push((wanted, BasePass::new(&self.device, wanted.0, wanted.1)?));
        Ok(self.bases.len() - 1)
    }

    /// Makes a frame of a prepared scene ready to be declared: what its size and quality ask for, its constants, its inset.
    ///
    /// # Errors
    /// When there is no memory for it, or the driver refuses a pipeline.
    pub fn prepare(
        &mut self,
        world: World<'_>,
        view: &View,
        target: FrameTarget,
        uploads: &mut UploadRing,
    ) -> Result<()> {
        let FrameTarget { extent: shown, frame, place } = target;
        self.drawn = self.quality.drawn_extent(shown);
        self.base = self.base_index()?;
        let draws_virtual = self.virtual_ground(world).is_some();
        if let Some((_, base)) = self.bases.get_mut(self.base) {
            if draws_virtual {
                base.prepare_virtual(&self.device)?;
            }
            if self.ground == GroundShading::Plain {
                base.prepare_plain(&self.device)?;
            }
        }
        self.culling.reserve(world.scene.gpu().instances().len())?;
        if self.output.as_ref().is_none_or(|output| output.desc().extent != shown) {
            self.output = None; // The old one first: two at once may not fit.
            self.output = Some(make_output(&self.device, shown)?);
        }
        let anisotropy = self.samples_and_anisotropy().1;
        let effects = self.effects();
        self.sequence.go_on(Seen {
            frame,
            camera: view.camera,
            extent: self.drawn,
            seconds: view.time,
            auto_exposure: effects.auto_exposure,
        });
        let sampling = Sampling {
            turn: effects.temporal.then_some(frame),
            previous: self.sequence.previous().map(|seen| seen.camera),
        };
        let constants = FrameConstants {
            anisotropic: (anisotropy > 1).into(),
            ..FrameConstants::new(view, world.scene, self.drawn, frame, &sampling)
        };
        self.constants.write(place, &constants)?;
        self.eye = Vec3::from(constants.camera);
        self.find_near_ground(world, &constants);
        let with_inset = world.ground.filter(|ground| ground.look.inset && ground.image().is_ready());
        self.inset = with_inset.and_then(|ground| Inset::draw(ground, &view.camera, shown, uploads));
        Ok(())
    }

    /// Which ground is so near that its materials are evaluated over its virtual textures.
    fn find_near_ground(&mut self, world: World<'_>, constants: &FrameConstants) {
        let pixels = constants.pixels_per_metre / constants.footprint;
        self.near_reach = self.virtual_ground(world).map_or(0.0, |ground| ground.near_reach(pixels));
        self.near_chunks.clear();
        let Some(terrain) = world.scene.terrain().filter(|_| self.near_reach > 0.0) else { return };
        let (camera, reach) = (Vec3::from(constants.camera), self.near_reach);
        // As culling sees them; displacement moves vertices a little.
        let is_near = |centre: Vec3, extent: Vec3| {
            let (centre, extent) = (centre - camera, extent + Vec3::splat(NEAR_MARGIN));
            let seen = |plane: &[f32; 4]| {
                let [x, y, z, w] = *plane;
                let normal = Vec3::new(x, y, z);
                normal.dot(centre) + w + normal.abs().dot(extent) >= 0.0
            };
            (centre.abs() - extent).max(Vec3::ZERO).length() < reach && constants.frustum.iter().all(seen)
        };
        self.near_chunks.extend(terrain.chunk_draws(world.scene.gpu(), is_near));
    }

    /// Declares the passes of a prepared frame; returns its output.
    pub fn declare<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        world: World<'f>,
        mut updated: Updated,
    ) -> Option<ImageHandle> {
        let (shown, (_, base)) = (self.output.as_ref()?, self.bases.get(self.base)?);
        let (extent, frames) = (self.drawn, self.constants.buffer());
        // Shown, read back or written to a file afterwards: whoever does finds it ready to be copied.
        let mut output = frame.import_image(shown, ImportState::Undefined, Some(Access::CopySource));

        let list = self.culling.declare(frame, (world.scene, &updated.scene), frames);
        let textures = self.virtual_ground(world);
        let drawn = Drawn {
            world,
            buffers: updated.scene,
            culling: &self.culling,
            list,
            ground: updated.ground,
            textures,
            near: NearGround { reach: self.near_reach, chunks: &self.near_chunks },
            is_plain: self.ground == GroundShading::Plain,
        };
        let (effects, view) = (self.effects(), (frames, extent));
        // The streamed ground is a plane: nothing on it hides anything.
        let is_occluded = effects.ambient_occlusion && drawn.has_instances();
        let reads_depth = is_occluded || effects.temporal;
        let images = updated.textures.as_ref();
        let depth = base.depth.declare(frame, drawn, &base.ground, view, (reads_depth, images));
        let occlusion = self.ambient_occlusion.declare(frame, depth.sampled, view, is_occluded);
        let mut colour = base.colour(frame, extent);
        base.sky.declare(frame, &mut colour, depth, frames, extent);
        base.declare(frame, drawn, &mut colour, (depth, occlusion), view, updated.textures.as_mut());
        if let (Some(textures), Some(images)) = (world.textures, &updated.textures) {
            textures.declare_feedback(frame, images);
        }
        let mut light = colour.light;
        if effects.temporal {
            let is_continuous = self.sequence.previous().is_some();
            light = self.temporal.declare(frame, (light, depth.sampled), view, is_continuous);
        }
        let exposure =
            effects.auto_exposure.then(|| self.exposure.declare(frame, light, view, self.sequence.seconds()));
        let bloom = self.bloom.declare(frame, light, view, effects.bloom);
        let mapped = Mapped { colour: light, bloom, exposure, is_mean: effects.temporal };
        if extent == shown.desc().extent {
            self.display(frame, mapped, &mut output, view);
        } else {
            let mut small = frame.image("Output.Drawn", ImageInfo::new_2d(OUTPUT_FORMAT, extent));
            self.display(frame, mapped, &mut small, view);
            enlarge(frame, (small, extent), (&mut output, shown.desc().extent));
        }
        if let Some(inset) = &self.inset {
            inset.declare(frame, &mut output);
        }
        Some(output)
    }

    /// Declares what makes display values of linear light; edges are blended where they were not smoothed over time.
    fn display<'f>(
        &'f self,
        frame: &mut Frame<'_, 'f>,
        mapped: Mapped,
        output: &mut ImageHandle,
        (frames, extent): (&'f Buffer, [u32; 2]),
    ) {
        if mapped.is_mean {
            return self.tone_map.declare(frame, mapped, output, frames, extent);
        }
        let mut display = frame.image("Display", ImageInfo::new_2d(OUTPUT_FORMAT, extent));
        self.tone_map.declare(frame, mapped, &mut display, frames, extent);
        self.edge_blend.declare(frame, display, output, extent);
    }

    /// The last frame's display values (`R8G8B8A8_UNORM`, in the layout `TRANSFER_SRC_OPTIMAL`).
    pub fn output(&self) -> Option<&Image> {
        self.output.as_ref()
    }

    /// The last frame's `VkDrawIndexedIndirectCommand`s and, in the first word of the second buffer, their number:
    /// for tools and tests that read them back.
    pub fn draw_list(&self) -> (&Buffer, &Buffer) {
        self.culling.draw_list()
    }

    /// What a frame drew, once it is done.
    pub fn culled(&self, place: usize) -> Culled {
        self.culling.read(place)
    }
}

/// Declares the copy of a smaller picture into the one that is shown.
fn enlarge<'f>(
    frame: &mut Frame<'_, 'f>,
    (small, from): (ImageHandle, [u32; 2]),
    (output, to): (&mut ImageHandle, [u32; 2]),
) {
    let pass = frame
        .pass("Enlarge", Queue::Graphics)
        .read(small, Access::CopySource)
        .write(output, Access::CopyDestination);
    let output = *output;
    pass.record(move |pass| {
        let (encoder, resources) = pass.split();
        let (source, target) = (resources.image(small)?.raw(), resources.image(output)?.raw());
        encoder.blit((source, from), (target, to));
        Ok(())
    });
}
