//! The checker at work: every bind and every declared use is told to the shadow page table, and what it finds wrong
//! is said.
//!
//! Reports go to the log (once a kind) and to the instance's messages, where tests and statistics count them. On by
//! default in debug builds ([`SparseKnobs::check`](super::SparseKnobs::check)).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use super::batch::{BindPlan, Memory, ResourceBinds};
use super::lower::Done;

use super::shadow::{
    Batch, BindRange, ChunkId, ChunkMap, Order, PagePicture, PageTable, PageView, Report, ResourceDesc,
    ResourceId, Shadow,
};
use super::tiles::{TailRange, TileCoord, TileLayout, TileLocation};
use crate::vk::{Device, Point};

/// Checks binds and uses of one device's reserved memory.
#[derive(Debug)]
pub struct Checker {
    device: Arc<Device>,
    state: Option<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    shadow: Shadow,
    /// How the tiles of partially resident images are numbered.
    layouts: HashMap<u64, Arc<TileLayout>>,
}

/// What the device knows of time.
struct DeviceOrder<'a>(&'a Device);

impl Order for DeviceOrder<'_> {
    fn is_before(&self, earlier: Point, later: Point) -> bool {
        self.0.is_ordered(earlier, later)
    }

    fn is_done(&self, point: Point) -> bool {
        self.0.reached(point).unwrap_or(true)
    }
}

/// Destruction goes through the retire queue, which waits for all that was submitted before.
struct AfterRetirement;

impl Order for AfterRetirement {
    fn is_before(&self, _: Point, _: Point) -> bool {
        true
    }

    fn is_done(&self, _: Point) -> bool {
        true
    }
}

impl Checker {
    pub(super) fn new(device: &Arc<Device>, on: bool) -> Self {
        Self { device: device.clone(), state: on.then(Mutex::default) }
    }

    /// Whether it checks; without it there are no page tables to look at.
    pub fn is_on(&self) -> bool {
        self.state.is_some()
    }

    /// Reports so far.
    pub fn reports(&self) -> u64 {
        self.lock().map_or(0, |state| state.shadow.reports_total())
    }

    /// The last reports, oldest first.
    pub fn last_reports(&self) -> Vec<Report> {
        self.lock().map_or_else(Vec::new, |state| state.shadow.last_reports().cloned().collect())
    }

    /// The page table of a resource, by its number. `None` where the checker is off or the resource is gone.
    pub fn page_table(&self, id: u64) -> Option<PageTable> {
        self.lock()?.shadow.page_table(ResourceId(id))
    }

    /// The page tables of all resources.
    pub fn page_tables(&self) -> Vec<PageTable> {
        let Some(state) = self.lock() else { return Vec::new() };
        let ids: Vec<ResourceId> = state.shadow.resources().map(|(id, _)| id).collect();
        ids.into_iter().filter_map(|id| state.shadow.page_table(id)).collect()
    }

    /// What every chunk holds.
    pub fn chunk_maps(&self) -> Vec<ChunkMap> {
        self.lock().map_or_else(Vec::new, |state| state.shadow.chunk_map())
    }

    /// A picture of all page tables and chunks. `None` where the checker is off.
    pub fn picture(&self) -> Option<PagePicture> {
        Some(PagePicture::of_view(&PageView::of_shadow(&self.lock()?.shadow)))
    }

    pub(super) fn declare_use(&self, id: u64, bytes: Range<u64>, at: Point) {
        self.told(|shadow, device| shadow.use_range(ResourceId(id), bytes, at, &DeviceOrder(device)));
    }

    pub(super) fn add_chunk(&self, id: u64, name: &str, bytes: u64) {
        if let Some(mut state) = self.lock() {
            state.shadow.add_chunk(ChunkId(id), name, bytes);
        }
    }

    pub(super) fn free_chunk(&self, id: u64) {
        self.told(|shadow, _| shadow.free_chunk(ChunkId(id), &AfterRetirement));
    }

    pub(super) fn add_resource(&self, id: u64, desc: ResourceDesc, layout: Option<Arc<TileLayout>>) {
        if let Some(mut state) = self.lock() {
            state.shadow.add_resource(ResourceId(id), desc);
            state.layouts.extend(layout.map(|layout| (id, layout)));
        }
    }

    pub(super) fn remove_resource(&self, id: u64) {
        self.told(|shadow, _| shadow.remove_resource(ResourceId(id), &AfterRetirement));
        if let Some(mut state) = self.lock() {
            state.layouts.remove(&id);
        }
    }

    /// A bind call was made.
    pub(super) fn bound(&self, plan: &BindPlan, done: Done) {
        let Some(mut state) = self.lock() else { return };
        let growth = ranges(&plan.growth, &state.layouts);
        let shrink = ranges(&plan.shrink, &state.layouts);
        let batches = [(done.growth, &growth), (done.shrink, &shrink)];
        let batches: Vec<Batch<'_>> =
            batches.into_iter().filter_map(|(at, binds)| Some(Batch { at: at?, binds })).collect();
        let reports = state.shadow.bind(&batches, &DeviceOrder(&self.device));
        drop(state);
        self.say(&reports);
    }

    fn told(&self, tell: impl FnOnce(&mut Shadow, &Device) -> Vec<Report>) {
        let Some(mut state) = self.lock() else { return };
        let reports = tell(&mut state.shadow, &self.device);
        drop(state);
        self.say(&reports);
    }

    fn say(&self, reports: &[Report]) {
        for report in reports {
            let messages = self.device.instance().messages();
            let text = report.to_string();
            let kind = report.kind.name();
            let text =
                text.strip_prefix(kind).map_or(text.as_str(), |rest| rest.trim_start_matches([':', ' ']));
            messages.add_checker_report(kind, text.to_owned());
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        // The shadow is a model: a panic elsewhere leaves it as it was told.
        Some(self.state.as_ref()?.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The binds of a batch in the bytes of each resource's tile space.
fn ranges(resources: &[ResourceBinds], layouts: &HashMap<u64, Arc<TileLayout>>) -> Vec<BindRange> {
    let mut all = Vec::new();
    for r in resources {
        let memory = |m: Option<Memory>| m.map(|m| (ChunkId(m.chunk), m.offset));
        let resource = ResourceId(r.resource);
        let layout = layouts.get(&r.resource);
        for b in r.bytes.iter().filter(|b| !b.metadata) {
            let offset = match layout {
                // Of a partially resident image only tails are bound by bytes.
                Some(layout) => tail_offset(layout, b.offset),
                None => b.offset,
            };
            all.push(BindRange { resource, offset, bytes: b.bytes, memory: memory(b.memory) });
        }
        let Some(layout) = layout else { continue };
        let [width, height, depth] = layout.tiling().granularity.map(|side| side.max(1));
        for t in &r.tiles {
            let first = [t.offset[0] / width, t.offset[1] / height, t.offset[2] / depth];
            for i in 0..t.extent[0].div_ceil(width) {
                let tile =
                    TileCoord { layer: t.layer, mip: t.mip, x: first[0] + i, y: first[1], z: first[2] };
                let Some(index) = layout.index(TileLocation::Tile(tile)) else { continue };
                let memory = t.memory.and_then(|m| m.advanced(u64::from(i) * layout.tile_bytes()));
                all.push(BindRange {
                    resource,
                    offset: index * layout.tile_bytes(),
                    bytes: layout.tile_bytes(),
                    memory: memory.map(|m| (ChunkId(m.chunk), m.offset)),
                });
            }
        }
    }
    all
}

fn tail_offset(layout: &TileLayout, opaque_offset: u64) -> u64 {
    let holds = |tail: &TailRange| (tail.offset..tail.offset + tail.bytes).contains(&opaque_offset);
    layout
        .tails()
        .find(holds)
        .map_or(u64::MAX, |tail| tail.first_tile * layout.tile_bytes() + (opaque_offset - tail.offset))
}
