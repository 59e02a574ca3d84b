//! Recording a compiled frame.

use ash::vk::AccessFlags2;

use super::context::{PassContext, Resolver};
use super::error::{Error, Result};
use super::frame::{Attached, Imported, Ready, UsedFn, Work};
use super::frame_graph::{FrameGraph, lane_of};
use super::states::ImportKey;
use super::stats::GraphStats;
use crate::graph::{Barrier, Compiled, Declaration, Queue, ResourceId, ResourceInfo, Subresources};
use crate::vk::{BarrierBatch, BufferBarrier, CommandBuffer, CommandEncoder, ImageBarrier, Point};

use super::context::Found;

/// A submission that is recorded.
pub(super) enum RecordedSubmission {
    Commands(usize, CommandBuffer),
    Commit(Option<Point>),
}

/// A frame that is recorded and not submitted.
pub struct Recorded<'g, 'f> {
    pub(super) graph: &'g mut FrameGraph,
    pub(super) submissions: Vec<RecordedSubmission>,
    pub(super) imports: Vec<(ResourceId, ImportKey)>,
    pub(super) history: Vec<(&'static str, ResourceId, ResourceId)>,
    pub(super) swapchain: Option<ResourceId>,
    pub(super) used: Vec<(ResourceId, UsedFn<'f>)>,
}

impl<'g, 'f> Ready<'g, 'f> {
    /// Makes what is not there yet, and lets every pass record.
    ///
    /// # Errors
    /// When there is no memory, or what a pass says. Nothing is submitted; binds of commits are done and waited for by
    /// the next frame.
    pub fn record(self) -> Result<Recorded<'g, 'f>> {
        let Ready { graph, mut attached } = self;
        let used = std::mem::take(&mut attached.used);
        let recorded = record(graph, attached);
        // Until it is submitted; a frame that is dropped instead has written times that never come.
        graph.is_pending = true;
        let (submissions, imports, history, swapchain) = recorded?;
        Ok(Recorded { graph, submissions, imports, history, swapchain, used })
    }
}

type Parts = (
    Vec<RecordedSubmission>,
    Vec<(ResourceId, ImportKey)>,
    Vec<(&'static str, ResourceId, ResourceId)>,
    Option<ResourceId>,
);

fn record(graph: &mut FrameGraph, attached: Attached<'_>) -> Result<Parts> {
    let Attached { mut work, names, groups, mut abouts, imports, history, .. } = attached;
    let place = graph.place();
    let FrameGraph {
        device, compiler, declaration, places, history: images, batch, frame, stats, bound, ..
    } = graph;
    let Some(compiled) = compiler.latest() else { return Err(not_compiled().into()) };
    *stats = GraphStats::of(compiled);
    let place = &mut places[place];
    place.transients.prepare(device, declaration, compiled, *frame)?;
    let count = declaration.resources.len();
    let mut resolver = Resolver {
        declaration,
        imports: vec![None; count],
        history: vec![None; count],
        images,
        transients: &place.transients,
        absent: &compiled.absent,
    };
    for (id, import, _) in &imports {
        resolver.imports[id.0 as usize] = Some(*import);
    }
    for (name, previous, current) in &history {
        resolver.history[previous.0 as usize] = Some((*name, true));
        resolver.history[current.0 as usize] = Some((*name, false));
    }
    refuse_exclusive(declaration, compiled, &imports)?;
    let mut recorded = Vec::with_capacity(compiled.submissions.len());
    for submission in &compiled.submissions {
        let passes = &compiled.order[submission.passes.start as usize..submission.passes.end as usize];
        if submission.queue == Queue::Commit {
            let mut point = None;
            for plan in passes {
                let index = plan.pass.0 as usize;
                if let Work::Commit(commit) = std::mem::replace(&mut work[index], Work::Nothing) {
                    let done = commit().map_err(|error| Error::of_pass(names[index], error))?;
                    // Kept until something that waits for it is submitted.
                    *bound = done.or(*bound);
                    point = done.or(point);
                }
            }
            recorded.push(RecordedSubmission::Commit(point));
            continue;
        }
        let index = lane_of(submission.queue);
        let Some(lane) = place.lanes.get_mut(index).and_then(Option::as_mut) else { continue };
        let mut encoder = lane.pool.begin("Frame")?;
        for plan in passes {
            let index = plan.pass.0 as usize;
            let name = names[index];
            encoder.set_group(groups[index]);
            encoder.set_about(abouts[index].take());
            lower(&mut encoder, batch, declaration, &resolver, barriers(compiled, &plan.barriers));
            lane.timer.begin(&mut encoder, name);
            if let Work::Record(record) = std::mem::replace(&mut work[index], Work::Nothing) {
                let mut context = PassContext { encoder: &mut encoder, resolver: &resolver, pass: plan.pass };
                record(&mut context).map_err(|error| Error::of_pass(name, error))?;
            }
            lane.timer.end(&mut encoder, name);
        }
        encoder.set_group(None);
        lower(&mut encoder, batch, declaration, &resolver, barriers(compiled, &submission.barriers_after));
        recorded.push(RecordedSubmission::Commands(index, encoder.finish()?));
    }
    let swapchain = imports.iter().find(|(_, import, _)| matches!(import, Imported::Raw { .. }));
    let swapchain = swapchain.map(|(id, ..)| *id);
    let imports = imports.into_iter().map(|(id, _, key)| (id, key)).collect();
    Ok((recorded, imports, history, swapchain))
}

fn barriers<'c>(compiled: &'c Compiled, range: &std::ops::Range<u32>) -> &'c [Barrier] {
    compiled.barriers.get(range.start as usize..range.end as usize).unwrap_or_default()
}

/// Records the barriers of one place with one call.
fn lower(
    encoder: &mut CommandEncoder,
    batch: &mut BarrierBatch,
    declaration: &Declaration,
    resolver: &Resolver<'_>,
    barriers: &[Barrier],
) {
    for barrier in barriers {
        let index = barrier.resource.0 as usize;
        // Who takes memory over waits for whatever those stages did to it: writes that a read has waited for since are
        // available already, but validation (1.3.239) wants the read named.
        let whatever = AccessFlags2::MEMORY_READ | AccessFlags2::MEMORY_WRITE;
        let accesses = if barrier.takes_over.is_some() { whatever } else { barrier.from.accesses };
        let from = (barrier.from.stages, accesses);
        let to = (barrier.to.stages, barrier.to.accesses);
        if barrier.takes_over.is_some() {
            // What was written through the resource before is no access of this one.
            batch.memory(from, to);
        }
        match (resolver.get(index), declaration.resources.get(index).map(|r| &r.info)) {
            (Some(Found::Buffer(buffer)), _) => {
                let (offset, bytes) = match barrier.part {
                    Subresources::Bytes { offset, bytes } => (offset, bytes),
                    _ => (0, ash::vk::WHOLE_SIZE),
                };
                batch.buffer(BufferBarrier { buffer: buffer.raw(), offset, bytes, from, to });
            }
            (Some(found), Some(ResourceInfo::Image(info))) => {
                let (image, aspect) = match found {
                    Found::Image(image) => (image.raw(), image.desc().aspect()),
                    Found::Raw { image, .. } => (image, ash::vk::ImageAspectFlags::COLOR),
                    Found::Buffer(_) => continue,
                };
                let (first_mip, mips, first_layer, layers) = match barrier.part {
                    Subresources::Image { first_mip, mips, first_layer, layers } => {
                        (first_mip, mips, first_layer, layers)
                    }
                    _ => (0, info.mips, 0, info.layers),
                };
                let range = ash::vk::ImageSubresourceRange::default()
                    .aspect_mask(aspect)
                    .base_mip_level(first_mip)
                    .level_count(mips)
                    .base_array_layer(first_layer)
                    .layer_count(layers);
                let layouts = (barrier.from.layout, barrier.to.layout);
                batch.image(ImageBarrier { image, range, layouts, from, to });
            }
            // Nothing stands behind it: a resource that no pass of this frame touches.
            _ => {}
        }
    }
    encoder.barriers(batch);
}

/// An image that was made for one queue family cannot be used by two: contents would be undefined, and nobody would say
/// so.
fn refuse_exclusive(
    declaration: &Declaration,
    compiled: &Compiled,
    imports: &[(ResourceId, Imported<'_>, ImportKey)],
) -> Result<()> {
    let is_exclusive = |imported: &Imported<'_>| match imported {
        Imported::Image(image) => !image.is_shared(),
        Imported::Raw { .. } => true,
        // Buffers are made for all queues.
        Imported::Buffer(_) => false,
    };
    let is_wrong = |(id, imported, _): &&(ResourceId, Imported<'_>, ImportKey)| {
        compiled.is_shared.get(id.0 as usize) == Some(&true) && is_exclusive(imported)
    };
    let Some((id, ..)) = imports.iter().find(is_wrong) else { return Ok(()) };
    let name = declaration.resources.get(id.0 as usize).map_or("?", |resource| &resource.name);
    Err(crate::graph::GraphError::Exclusive { resource: name.into() }.into())
}

/// A frame is only recorded and submitted by what compiling it gave.
pub(super) fn not_compiled() -> crate::graph::GraphError {
    crate::graph::GraphError::Broken { what: "it was not compiled before it was recorded".into() }
}
