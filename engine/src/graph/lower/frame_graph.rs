//! What outlives frames: the compiler, places in flight, states and history.

use std::sync::Arc;

use super::error::Result;
use super::frame::Frame;
use super::history::History;
use super::needs::NeedsCache;
use super::states::States;
use super::stats::GraphStats;
use super::transients::Transients;
use crate::graph::{Compiled, Compiler, Declaration, Options, Order, Queue, Queues};
use crate::vk::{BarrierBatch, CommandPool, Device, PassTimer, Point, Timeline};

/// How frames are compiled. By default as fast as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// Whether transients share memory.
    pub aliasing: bool,
    /// Order of passes.
    pub order: Order,
    /// Whether passes that ask for it run on a queue beside rendering, where there is one.
    pub async_compute: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { aliasing: true, order: Order::Declared, async_compute: true }
    }
}

/// A queue of one frame in flight: its recordings and their times.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) pool: CommandPool,
    pub(super) timer: PassTimer,
}

/// A frame in flight.
#[derive(Debug)]
pub(super) struct Place {
    /// By queue kind; `None` for kinds without a queue of their own.
    pub(super) lanes: [Option<Lane>; 3],
    pub(super) transients: Transients,
}

/// Compiles and runs frames on a device.
#[derive(Debug)]
pub struct FrameGraph {
    pub(super) device: Arc<Device>,
    pub(super) options: GraphOptions,
    pub(super) queues: Queues,
    pub(super) compiler: Compiler,
    pub(super) declaration: Declaration,
    pub(super) needs: NeedsCache,
    pub(super) places: Vec<Place>,
    pub(super) states: States,
    pub(super) history: History,
    pub(super) batch: BarrierBatch,
    pub(super) frame: u64,
    /// The last bind that no submission has waited for yet.
    pub(super) bound: Option<Point>,
    pub(super) stats: GraphStats,
    /// Frames that were asked to be compiled.
    pub(super) compiled: u64,
    /// A frame was recorded, in part at least, and is not submitted.
    pub(super) is_pending: bool,
}

impl FrameGraph {
    /// A graph with so many frames in flight.
    ///
    /// # Errors
    /// When the driver has no memory.
    pub fn new(device: &Arc<Device>, frames_in_flight: usize, options: GraphOptions) -> Result<Self> {
        let plan = device.queue_plan();
        let queues = Queues {
            compute: options.async_compute && plan.compute.family != plan.graphics.family,
            transfer: plan.transfer.family != plan.graphics.family,
            commit: true,
        };
        let lane = |timeline| -> Result<Lane> {
            Ok(Lane {
                pool: CommandPool::new(device, timeline)?,
                timer: PassTimer::of_queue(device, timeline)?,
            })
        };
        let places = (0..frames_in_flight.max(1)).map(|_| {
            Ok(Place {
                lanes: [
                    Some(lane(Timeline::Graphics)?),
                    queues.compute.then(|| lane(Timeline::Compute)).transpose()?,
                    queues.transfer.then(|| lane(Timeline::Transfer)).transpose()?,
                ],
                transients: Transients::default(),
            })
        });
        Ok(Self {
            places: places.collect::<Result<_>>()?,
            device: device.clone(),
            options,
            queues,
            compiler: Compiler::new(),
            declaration: Declaration::default(),
            needs: NeedsCache::default(),
            states: States::default(),
            history: History::default(),
            batch: BarrierBatch::default(),
            frame: 0,
            bound: None,
            stats: GraphStats::default(),
            compiled: 0,
            is_pending: false,
        })
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// How frames are compiled.
    pub fn options(&self) -> GraphOptions {
        self.options
    }

    /// Changes how frames are compiled, from the next on. A graph that was made without a queue beside rendering gets none.
    pub fn set_options(&mut self, options: GraphOptions) {
        self.queues.compute =
            options.async_compute && self.places.iter().all(|place| place.lanes[1].is_some());
        self.options = options;
    }

    /// Number of frames in flight.
    pub fn frames_in_flight(&self) -> usize {
        self.places.len()
    }

    /// The place of the next frame among those in flight.
    pub fn place(&self) -> usize {
        (self.frame % self.places.len() as u64) as usize
    }

    /// Waits for the frame that was in this place before. Returns the milliseconds of its passes, if it was not asked
    /// for them yet.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait_for_place(&mut self) -> Result<Vec<(&'static str, f64)>> {
        self.forget_times();
        let place = self.place();
        self.take_times(place)
    }

    /// A frame in the present place that was recorded and dropped has no times.
    fn forget_times(&mut self) {
        if !std::mem::take(&mut self.is_pending) {
            return;
        }
        let place = self.place();
        for lane in self.places[place].lanes.iter_mut().flatten() {
            lane.timer.forget();
        }
    }

    /// The milliseconds of passes of the frame in a place; waits for it.
    pub(super) fn take_times(&mut self, place: usize) -> Result<Vec<(&'static str, f64)>> {
        let mut times = Vec::new();
        for lane in self.places[place].lanes.iter_mut().flatten() {
            lane.pool.reset()?;
            times.extend(lane.timer.take()?);
        }
        Ok(times)
    }

    /// Waits for all frames in flight, oldest first; the milliseconds of their passes.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn wait_for_all(&mut self) -> Result<Vec<Vec<(&'static str, f64)>>> {
        self.forget_times();
        let count = self.places.len();
        (0..count).map(|back| self.take_times((self.place() + back) % count)).collect()
    }

    /// Begins a frame. Call [`Self::wait_for_place`] first.
    pub fn begin<'g, 'f>(&'g mut self) -> Frame<'g, 'f> {
        self.forget_times();
        self.declaration.reset();
        Frame::new(self)
    }

    /// The frame declared last, and what was compiled of it: for looking at.
    ///
    /// # Errors
    /// When it was wrong.
    pub fn last(&mut self) -> Result<(&Declaration, &Compiled)> {
        let options = self.compile_options();
        Ok((&self.declaration, self.compiler.compile(&self.declaration, &options)?))
    }

    /// The last frame, in numbers.
    pub fn stats(&self) -> GraphStats {
        let compiles = self.compiler.stats().compiles;
        GraphStats {
            heap_bytes: self.places.iter().map(|place| place.transients.bytes()).sum(),
            compiles,
            compile_hits: self.compiled.saturating_sub(compiles),
            ..self.stats
        }
    }

    /// Gives the memory of all transients back: the next frames make it anew. For whoever needs memory more urgently.
    pub fn trim(&mut self) {
        for place in &mut self.places {
            place.transients.clear();
        }
    }

    pub(super) fn compile_options(&self) -> Options {
        Options {
            queues: self.queues,
            aliasing: self.options.aliasing,
            order: self.options.order,
            granularity: self.device.capabilities().limits.buffer_image_granularity,
            // Each frame in flight has heaps of its own, and the host waits for the frame before in them.
            heap_before: None,
        }
    }
}

/// The lane that takes a queue's passes.
pub(super) fn lane_of(queue: Queue) -> usize {
    match queue {
        Queue::Graphics | Queue::Commit => 0,
        Queue::Compute => 1,
        Queue::Transfer => 2,
    }
}
