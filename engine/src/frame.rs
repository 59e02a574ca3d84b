//! One frame of the engine: scene and memory are brought up to date, passes declared, compiled, recorded, submitted.

use crate::engine::{Engine, FrameReport, PresentTarget};
use crate::error::{Error, Result};
use crate::graph::{self, Access, Done, Frame, ImageHandle, Queue};
use crate::pressure::{Parts, Pressure};
use crate::render::{FrameTarget, GroundShading, Quality, Renderer, Updated, View, World};
use crate::sparse::{Flushed, SparseMemory};
use crate::vk::timeline::PresentSync;
use crate::vt::{SampleSettings, VtAtlases, VtFrame};

/// Frames over which made objects are counted.
const COUNTED_FRAMES: usize = 100;

impl Engine {
    /// Draws the scene into the output image of that size and, with `present`, into a swapchain image too.
    ///
    /// # Errors
    /// When the device has no memory (scene and engine keep working) or is lost.
    pub fn render(
        &mut self,
        view: &View,
        extent: [u32; 2],
        present: Option<PresentTarget<'_>>,
    ) -> Result<FrameReport> {
        profiling::scope!("Engine::render");
        #[cfg(feature = "hot-reload")]
        self.reload_shaders();
        let place = self.graph.place();
        let times = self.graph.wait_for_place()?;
        if !times.is_empty() {
            self.passes.add(&times);
            self.culled = self.renderer.culled(place);
        }
        self.device.collect()?;
        let (frame, seconds) = (self.frame, view.time);
        self.with_parts(extent, |pressure, parts| pressure.begin_frame(frame, seconds, parts))?;

        let submitted = self.submit_frame(view, extent, present);
        if submitted.is_err() {
            self.keep_unsubmitted();
        }
        let (report, drawn) = submitted?;
        self.sparse.end_frame();
        self.remember_created();
        self.frame += 1;
        drawn.map(|()| report)
    }

    /// Brings the scene up to date and draws it. The outer error: nothing was submitted. The inner one: the scene's
    /// update was, but the frame could not be drawn.
    fn submit_frame(
        &mut self,
        view: &View,
        extent: [u32; 2],
        mut present: Option<PresentTarget<'_>>,
    ) -> Result<(FrameReport, Result<()>)> {
        let flushed = loop {
            match self.update_memory(view, extent) {
                Err(error) if self.give_up_for(&error, extent)? => self.keep_unsubmitted(),
                flushed => break flushed?,
            }
        };
        if let Some(ground) = &mut self.ground {
            ground.image_mut().fill(&mut self.uploads);
        }
        let drawing = loop {
            let error = match self.draw(&flushed, view, extent, present.as_mut()) {
                Ok(submitted) => break Ok(submitted),
                Err(error) => error,
            };
            if !self.give_up_for(&error, extent)? {
                break Err(error);
            }
        };
        let (done, drawn) = match drawing {
            Ok(Ok(done)) => (done.graphics, Ok(())),
            // The updates come first: they are in flight, and must not be made again.
            Ok(Err(graph::Error::Half { graphics, source, .. })) if source.loss().is_none() => {
                (graphics, Err((*source).into()))
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(error) if error.device_loss().is_some() => return Err(error),
            // The scene's update is submitted even when the frame cannot be drawn, so that the buffers stay what the host
            // thinks they are.
            Err(error) => (self.update_only(&flushed)?.graphics, Err(error)),
        };
        self.scene.submitted();
        if let Some(textures) = &mut self.textures {
            textures.submitted(self.frame);
        }
        if let Some(ground) = &mut self.ground {
            ground.image_mut().submitted();
        }
        self.uploads.finish(done);
        Ok((FrameReport { frame: self.frame, done, waited: flushed.waits }, drawn))
    }

    /// Declares, records and submits a whole frame. The outer error: it was not recorded, and may be tried again.
    fn draw(
        &mut self,
        flushed: &Flushed,
        view: &View,
        extent: [u32; 2],
        present: Option<&mut PresentTarget<'_>>,
    ) -> Result<graph::Result<Done>> {
        let Self { graph, renderer, scene, ground, textures, uploads, sparse, frame, .. } = self;
        let world = World { scene, ground: ground.as_ref(), textures: textures.as_ref() };
        let target = FrameTarget { extent, frame: *frame, place: graph.place() };
        renderer.prepare(world, view, target, uploads)?;
        let mut frame = graph.begin();
        let updated = declare_updates(&mut frame, world, sparse, flushed);
        let output = renderer.declare(&mut frame, world, updated);
        let sync = present.as_ref().map(|target| target.sync.clone()).unwrap_or_default();
        if let (Some(output), Some(present)) = (output, present) {
            declare_present(&mut frame, (output, extent), present);
        }
        let recorded = frame.compile()?.record()?;
        Ok(recorded.submit(&[], sync))
    }

    /// A frame that draws nothing.
    fn update_only(&mut self, flushed: &Flushed) -> Result<Done> {
        let Self { graph, scene, ground, textures, sparse, .. } = self;
        let mut frame = graph.begin();
        let world = World { scene, ground: ground.as_ref(), textures: textures.as_ref() };
        declare_updates(&mut frame, world, sparse, flushed);
        Ok(frame.compile()?.record()?.submit(&[], PresentSync::default())?)
    }

    fn keep_unsubmitted(&mut self) {
        self.scene.keep_unsubmitted();
        if let Some(textures) = &mut self.textures {
            textures.keep_unsubmitted();
        }
        if let Some(ground) = &mut self.ground {
            ground.image_mut().keep_unsubmitted();
        }
    }

    fn with_parts<T>(&mut self, extent: [u32; 2], run: impl FnOnce(&mut Pressure, &mut Parts<'_>) -> T) -> T {
        let Self { graph, sparse, ground, renderer, pressure, .. } = self;
        let targets = |renderer: &Renderer| {
            let Quality { scale, samples, effects, .. } = renderer.quality();
            (scale, samples, effects)
        };
        let before = targets(renderer);
        let ground = ground.as_mut();
        let given = run(pressure, &mut Parts { sparse, ground, renderer, extent });
        if targets(renderer) != before {
            // Other images from now on: the memory of those before is not kept until it is found to be too much.
            graph.trim();
        }
        given
    }

    /// Where an allocation was refused: gives something up, and says whether it should be tried again.
    pub(crate) fn give_up_for(&mut self, error: &Error, extent: [u32; 2]) -> Result<bool> {
        if error.out_of_memory().is_none() {
            return Ok(false);
        }
        let frame = self.frame;
        Ok(self.with_parts(extent, |pressure, parts| pressure.refused(frame, parts))?)
    }

    /// Brings scene and reserved memory up to date.
    fn update_memory(&mut self, view: &View, extent: [u32; 2]) -> Result<Flushed> {
        if let Some(textures) = &mut self.textures {
            match self.renderer.ground_shading() {
                GroundShading::Auto | GroundShading::Surface => textures.hide_primitives(&mut self.scene),
                // Nothing shows what the ground has of them.
                GroundShading::Direct | GroundShading::Plain => textures.show_primitives(&mut self.scene),
            }
        }
        self.scene.prepare(&view.camera, &mut self.uploads, self.frame)?;
        self.prepare_textures(extent)?;
        self.flush(view, extent)
    }

    /// Decides what virtual textures do in the frame.
    fn prepare_textures(&mut self, extent: [u32; 2]) -> Result<()> {
        let Self { textures, scene, renderer, graph, frame, .. } = self;
        let Some(textures) = textures else { return Ok(()) };
        let settings = SampleSettings { is_averaged: renderer.effects().temporal };
        let extent = renderer.quality().drawn_extent(extent);
        let at = VtFrame { frame: *frame, place: graph.place(), extent, settings };
        // All that the scene holds is in this frame's uploads at the latest, which come before the pages.
        let is_scene_ready = true;
        Ok(textures.prepare(at, scene, is_scene_ready)?)
    }

    /// Executes the frame's binds. A ground whose tiles are refused is drawn with those that it has; buffers of the scene
    /// cannot do without.
    fn flush(&mut self, view: &View, extent: [u32; 2]) -> Result<Flushed> {
        let Some(ground) = &mut self.ground else { return Ok(self.sparse.flush(None)?) };
        ground.plan(&view.camera, self.renderer.quality().drawn_extent(extent));
        let scene_needs_it = self.scene.needs_flush(&self.sparse);
        match self.sparse.flush(None) {
            Ok(flushed) => {
                ground.image_mut().bound();
                Ok(flushed)
            }
            Err(error) => {
                ground.image_mut().refused();
                if scene_needs_it { Err(error.into()) } else { Ok(Flushed::default()) }
            }
        }
    }

    fn remember_created(&mut self) {
        self.created.push_back(self.device.object_counts().created);
        if self.created.len() > COUNTED_FRAMES + 1 {
            self.created.pop_front();
        }
    }
}

/// Declares what brings buffers and images up to date, after the binds that they wait for.
fn declare_updates<'f>(
    frame: &mut Frame<'_, 'f>,
    world: World<'f>,
    sparse: &'f SparseMemory,
    flushed: &Flushed,
) -> Updated {
    let mut scene = world.scene.import(frame);
    let mut ground = world.ground.map(|ground| ground.image().import(frame, sparse));
    let mut atlases = world.textures.map(|textures| textures.import(frame, sparse));
    let bound = flushed.wait;
    let mut commit = frame.pass("CommitReservedResource", Queue::Commit).when(bound.is_some());
    for buffer in scene.all_mut() {
        commit = commit.write(buffer, Access::Commit);
    }
    if let Some(images) = &mut ground {
        commit = commit.write(&mut images.image, Access::Commit);
    }
    for image in atlases.iter_mut().flat_map(VtAtlases::all_mut) {
        commit = commit.write(image, Access::Commit);
    }
    // Bound already: tiles are filled according to what the driver gave.
    commit.commit(move || Ok(bound));
    world.scene.declare(frame, &mut scene);
    if let (Some(ground), Some(images)) = (world.ground, &mut ground) {
        ground.image().declare(frame, images);
    }
    let textures = world.textures.zip(atlases);
    let textures = textures.map(|(textures, atlases)| textures.declare(frame, (world.scene, scene), atlases));
    Updated { scene, ground, textures }
}

/// Declares the copy of the output into the swapchain's image, and what is drawn over it.
fn declare_present<'f>(
    frame: &mut Frame<'_, 'f>,
    (output, size): (ImageHandle, [u32; 2]),
    present: &'f mut PresentTarget<'_>,
) {
    let PresentTarget { image, view, extent, overlay, .. } = present;
    let (view, extent) = (*view, *extent);
    let mut shown = frame.import_swapchain_image(*image, view, extent);
    let pass = frame
        .pass("Present", Queue::Graphics)
        .read(output, Access::CopySource)
        .write(&mut shown, Access::CopyDestination);
    let copied = shown;
    pass.record(move |pass| {
        let (encoder, resources) = pass.split();
        let (source, target) = (resources.image(output)?.raw(), resources.raw_image(copied)?.0);
        encoder.blit((source, size), (target, extent));
        Ok(())
    });
    if let Some(overlay) = overlay {
        let pass = frame
            .pass("Overlay", Queue::Graphics)
            .write(&mut shown, Access::ColourAttachmentOver)
            .side_effects();
        pass.record(move |pass| {
            overlay(pass.encoder(), view, extent);
            Ok(())
        });
    }
}
