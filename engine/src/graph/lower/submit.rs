//! Submitting a recorded frame: each queue's submissions in order, waits between them, states for the next frame.

use super::error::{Error, Result};
use super::frame::UsedFn;
use super::frame_graph::FrameGraph;
use super::record::{Recorded, RecordedSubmission, not_compiled};
use super::states::{ImportKey, States};
use crate::graph::{
    Barrier, Compiled, Declaration, ImportState, LeftState, Origin, Queue, ResourceId, Submission,
};
use crate::vk::timeline::PresentSync;
use crate::vk::{Point, Timeline};

/// Timelines of the lanes.
const LANES: [Timeline; 3] = [Timeline::Graphics, Timeline::Compute, Timeline::Transfer];

/// A frame in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Moment when the graphics queue is done with it.
    pub graphics: Point,
    /// Moment when the last submission of each other queue is done.
    pub beside: [Option<Point>; 2],
    /// Whether a submission of it waited for binds.
    pub waits_for_binds: bool,
}

impl Recorded<'_, '_> {
    /// Submits the frame. Every first submission of a queue waits for `waits` too.
    ///
    /// # Errors
    /// When the device is lost, or the driver refuses a submission: those before it are in flight then.
    pub fn submit(self, waits: &[Point], present: PresentSync) -> Result<Done> {
        let Recorded { graph, submissions, imports, history, swapchain, used } = self;
        let FrameGraph {
            device, compiler, declaration, states, history: images, frame, bound, places, ..
        } = graph;
        let Some(compiled) = compiler.latest() else { return Err(not_compiled().into()) };
        let presenting = presenting(compiled, declaration, swapchain);
        let mut points: Vec<Option<Point>> = vec![None; submissions.len()];
        let mut present = Some(present);
        let mut done = Done {
            graphics: device.submitted(Timeline::Graphics),
            beside: [None; 2],
            waits_for_binds: bound.is_some(),
        };
        let mut last = states.last;
        let mut made = 0;
        for (index, recorded) in submissions.into_iter().enumerate() {
            let (lane, commands) = match recorded {
                RecordedSubmission::Commit(point) => {
                    points[index] = point;
                    continue;
                }
                RecordedSubmission::Commands(lane, commands) => (lane, commands),
            };
            let submission = &compiled.submissions[index];
            let mut list: Vec<Point> = waits.to_vec();
            list.extend(*bound);
            let of_frame = &compiled.waits[submission.waits.start as usize..submission.waits.end as usize];
            list.extend(of_frame.iter().filter_map(|wait| points.get(wait.submission as usize).copied()?));
            // What frames before left on other queues.
            let kinds = (0..states.last.len()).filter(|kind| submission.external >> kind & 1 == 1);
            list.extend(kinds.filter_map(|kind| states.last[kind]));
            let timeline = LANES[lane];
            let sync = if presenting == Some(index) { present.take() } else { None };
            let submitted =
                device.submit_with_present(timeline, vec![commands], &list, sync.unwrap_or_default());
            let point = match submitted {
                Ok(point) => point,
                Err(error) => {
                    // Those before are in flight and have moved resources on. Binds have not.
                    if made > 0 {
                        let place = (*frame % places.len() as u64) as usize;
                        places[place].lanes.iter_mut().flatten().for_each(|lane| lane.timer.discard());
                        states.last = last;
                        leave_half(declaration, compiled, index, imports, states, *frame);
                        history.iter().for_each(|(name, ..)| images.forget(name));
                        let (all, source) = (points.len(), Box::new(error));
                        return Err(Error::Half { done: made, all, graphics: done.graphics, source });
                    }
                    return Err(error.into());
                }
            };
            made += 1;
            points[index] = Some(point);
            tell_used(declaration, compiled, submission, &used, point);
            last[submission.queue as usize] = Some(point);
            match lane {
                0 => done.graphics = point,
                beside => done.beside[beside - 1] = Some(point),
            }
        }
        *bound = None;
        states.last = last;
        let left = |id: ResourceId| compiled.left.get(id.0 as usize).copied().flatten();
        for (id, key) in imports {
            if Some(id) != swapchain {
                states.leave(key, left(id), *frame);
            }
        }
        for (name, previous, current) in history {
            images.submitted(name, left(previous), left(current), *frame);
        }
        states.forget_old(*frame);
        images.forget_old(*frame);
        let place = (*frame % graph.places.len() as u64) as usize;
        graph.places[place].transients.forget_old(*frame);
        graph.frame += 1;
        graph.is_pending = false;
        Ok(done)
    }
}

/// The submission that leaves the swapchain's image to be shown.
fn presenting(
    compiled: &Compiled,
    declaration: &Declaration,
    swapchain: Option<ResourceId>,
) -> Option<usize> {
    let swapchain = swapchain?;
    compiled.submissions.iter().rposition(|submission| {
        let passes = submission.passes.start as usize..submission.passes.end as usize;
        submission.queue == Queue::Graphics
            && compiled.order[passes]
                .iter()
                .any(|plan| declaration.uses_of(plan.pass).iter().any(|usage| usage.resource == swapchain))
    })
}

/// A frame of which only the submissions before `refused` are in flight: imported resources are in the layout of the last
/// barrier of those, and anything may still use them.
fn leave_half(
    declaration: &Declaration,
    compiled: &Compiled,
    refused: usize,
    imports: Vec<(ResourceId, ImportKey)>,
    states: &mut States,
    frame: u64,
) {
    let in_flight = &compiled.submissions[..refused];
    let ranges = in_flight.iter().flat_map(|submission| {
        let passes = submission.passes.start as usize..submission.passes.end as usize;
        let before = compiled.order[passes].iter().map(|plan| plan.barriers.clone());
        before.chain([submission.barriers_after.clone()])
    });
    let recorded: Vec<&Barrier> =
        ranges.flat_map(|range| &compiled.barriers[range.start as usize..range.end as usize]).collect();
    for (id, key) in imports {
        let last = recorded.iter().rev().find(|barrier| barrier.resource == id);
        let before = match declaration.resources.get(id.0 as usize).map(|resource| resource.origin) {
            Some(Origin::Imported { before: ImportState::After(left), .. }) => left.layout,
            _ => 0,
        };
        let left = LeftState {
            stages: ash::vk::PipelineStageFlags2::ALL_COMMANDS.as_raw(),
            accesses: (ash::vk::AccessFlags2::MEMORY_READ | ash::vk::AccessFlags2::MEMORY_WRITE).as_raw(),
            layout: last.map_or(before, |barrier| barrier.to.layout.as_raw()),
            queue: Queue::Graphics,
            // Whatever queue it was: the next frame waits for all of them.
            beside: 0b111,
        };
        states.leave(key, Some(left), frame);
    }
}

/// Tells of a submission those who asked about a resource that it uses.
fn tell_used(
    declaration: &Declaration,
    compiled: &Compiled,
    submission: &Submission,
    used: &[(ResourceId, UsedFn<'_>)],
    point: Point,
) {
    let passes = &compiled.order[submission.passes.start as usize..submission.passes.end as usize];
    for (id, tell) in used {
        let is_used = |pass| declaration.uses_of(pass).iter().any(|usage| usage.resource == *id);
        if passes.iter().any(|plan| is_used(plan.pass)) {
            tell(point);
        }
    }
}
