//! What was done to one cell of a resource, and what the next use has to wait for.

use ash::vk::{AccessFlags2, ImageLayout, PipelineStageFlags2};

use crate::graph::access::Access;
use crate::graph::compiled::Scope;
use crate::graph::order::{COMMIT, LANES};

/// Accesses that change memory.
pub(in crate::graph) const WRITES: u64 = AccessFlags2::SHADER_WRITE.as_raw()
    | AccessFlags2::SHADER_STORAGE_WRITE.as_raw()
    | AccessFlags2::COLOR_ATTACHMENT_WRITE.as_raw()
    | AccessFlags2::DEPTH_STENCIL_ATTACHMENT_WRITE.as_raw()
    | AccessFlags2::TRANSFER_WRITE.as_raw()
    | AccessFlags2::HOST_WRITE.as_raw()
    | AccessFlags2::MEMORY_WRITE.as_raw();

const MEMORY_WRITE: u64 = AccessFlags2::MEMORY_WRITE.as_raw();

/// Everything that a queue does.
pub(in crate::graph) const ALL: u64 = PipelineStageFlags2::ALL_COMMANDS.as_raw();

pub(super) const NONE: u32 = u32::MAX;
pub(super) const NO_LANE: u8 = u8::MAX;

/// State of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// `VkImageLayout`; 0 for buffers.
    pub(super) layout: i32,
    /// Lane that last wrote it or changed its layout.
    pub(super) owner: u8,
    /// Bits of the lanes that touched it before the frame and that nobody has waited for.
    pub(super) external: u8,
    /// A transient that nobody has touched yet: its memory may be somebody else's.
    pub(super) is_fresh: bool,
    /// The barrier that reads on the owner's lane share, once there is one.
    pub(super) cover: u32,
    /// The pass that wrote it last.
    pub(super) writer: u32,
    /// Stages and accesses of the last write.
    pub(super) write_stages: u64,
    pub(super) write_accesses: u64,
    /// Stages of the reads since, by lane, and their accesses.
    pub(super) reads: [u64; LANES],
    pub(super) read_accesses: u64,
}

/// One use, as Vulkan sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) pass: u32,
    pub(super) lane: usize,
    pub(super) stages: u64,
    pub(super) accesses: u64,
    /// 0 for buffers.
    pub(super) layout: i32,
    pub(super) is_image: bool,
    pub(super) writes: bool,
    /// Whether it needs what was there.
    pub(super) reads: bool,
}

impl Touch {
    pub(super) fn new(access: Access, pass: u32, lane: usize, is_image: bool) -> Self {
        Self {
            pass,
            lane,
            stages: access.stages().as_raw(),
            accesses: access.accesses().as_raw(),
            layout: if is_image { access.layout().as_raw() } else { 0 },
            is_image,
            writes: access.writes(),
            reads: access.reads(),
        }
    }
}

/// What a use asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: covered already, or by a semaphore.
    Nothing,
    /// An earlier barrier has to cover this use too.
    Widen(u32),
    /// A barrier.
    Barrier { from: Scope, to: Scope },
}

pub(super) fn scope(stages: u64, accesses: u64, layout: i32) -> Scope {
    Scope {
        stages: PipelineStageFlags2::from_raw(stages),
        accesses: AccessFlags2::from_raw(accesses),
        layout: ImageLayout::from_raw(layout),
    }
}

impl Cell {
    pub(super) const UNTOUCHED: Self = Self {
        layout: 0,
        owner: NO_LANE,
        external: 0,
        is_fresh: false,
        cover: NONE,
        writer: NONE,
        write_stages: 0,
        write_accesses: 0,
        reads: [0; LANES],
        read_accesses: 0,
    };

    /// Stages and write accesses of a lane that whoever changes the cell next has to wait for. A write that a barrier
    /// has made available is waited for through its readers.
    pub(super) fn pending(&self, lane: usize) -> (u64, u64) {
        let is_open = usize::from(self.owner) == lane && self.cover == NONE;
        let (stages, accesses) = if is_open { (self.write_stages, self.write_accesses) } else { (0, 0) };
        // Left by several queues before the frame, and which of them wrote is not told.
        let is_untold = self.external & (1 << lane) != 0 && self.reads[lane] & ALL != 0;
        let untold = if is_untold && self.write_accesses != 0 { MEMORY_WRITE } else { 0 };
        (self.reads[lane] | stages, accesses | untold)
    }

    /// Whether other lanes have to be waited for.
    pub(super) fn is_pending_beside(&self, lane: usize) -> bool {
        let owner = usize::from(self.owner);
        let is_owned_beside = owner < LANES && owner != lane && (owner == COMMIT || self.write_stages != 0);
        is_owned_beside || self.is_read_beside(lane) || self.external & !(1 << lane) != 0
    }

    fn is_read_beside(&self, lane: usize) -> bool {
        self.reads.iter().enumerate().any(|(other, &stages)| other != lane && stages != 0)
    }

    /// A page bind: semaphores do everything.
    pub(super) fn commit(&mut self, external: &mut u8) {
        *external |= self.external & !(1 << COMMIT);
        *self = Self { layout: self.layout, owner: COMMIT as u8, ..Self::UNTOUCHED };
    }

    /// Moves the state on by one use. `next` is the index that a barrier gets if one is asked for; bits of lanes whose
    /// work before the frame has to be waited for are added to `external`.
    pub(super) fn touch(&mut self, touch: &Touch, next: u32, external: &mut u8) -> Step {
        if !touch.writes && (!touch.is_image || touch.layout == self.layout) {
            return self.read(touch, next, external);
        }
        if touch.writes && self.writer == touch.pass {
            self.write_stages |= touch.stages;
            self.write_accesses |= touch.accesses & WRITES;
            return Step::Nothing;
        }
        let from_layout = if touch.writes && !touch.reads { 0 } else { self.layout };
        let (mut stages, mut accesses) = self.pending(touch.lane);
        if usize::from(self.owner) == touch.lane
            && self.reads[touch.lane] == 0
            && self.external == 0
            && self.is_read_beside(touch.lane)
        {
            // Other lanes read what this lane wrote, and are waited for: that path covers the write.
            (stages, accesses) = (0, 0);
        }
        let is_changed = touch.is_image && touch.layout != self.layout;
        let is_needed = is_changed || stages != 0;
        // A barrier from undefined is a change of layout even where the layout stays.
        let is_transition = touch.is_image && (is_changed || from_layout != touch.layout);
        if is_transition && self.is_pending_beside(touch.lane) {
            stages |= ALL;
        }
        *external |= self.external & !(1 << touch.lane);
        let to_accesses = if accesses == 0 && !is_transition && !touch.reads { 0 } else { touch.accesses };
        let from = scope(stages, accesses, if touch.is_image { from_layout } else { 0 });
        let to = scope(touch.stages, to_accesses, touch.layout);
        *self = Self { layout: touch.layout, owner: touch.lane as u8, ..Self::UNTOUCHED };
        self.write_stages = touch.stages;
        if touch.writes {
            self.writer = touch.pass;
            self.write_accesses = touch.accesses & WRITES;
        } else {
            self.cover = next;
            self.reads[touch.lane] = touch.stages;
            self.read_accesses = touch.accesses;
        }
        if is_needed { Step::Barrier { from, to } } else { Step::Nothing }
    }

    /// A read in the layout that the cell has.
    fn read(&mut self, touch: &Touch, next: u32, external: &mut u8) -> Step {
        let lane = touch.lane;
        let mut step = Step::Nothing;
        if self.external != 0 && self.is_seen(touch) {
            // Only read before the frame, at these stages on this lane: there is nothing to see that was not seen.
        } else if usize::from(self.owner) == lane {
            if self.cover != NONE {
                step = Step::Widen(self.cover);
            } else if self.write_stages != 0 {
                let from = scope(self.write_stages, self.write_accesses, self.layout);
                step = Step::Barrier { from, to: scope(touch.stages, touch.accesses, self.layout) };
                self.cover = next;
            }
            *external |= self.external & !(1 << lane);
        } else if self.external != 0 {
            *external |= self.external & !(1 << lane);
            if self.external & (1 << lane) != 0 {
                let (stages, accesses) = self.pending(lane);
                let from = scope(stages, accesses, self.layout);
                step = Step::Barrier { from, to: scope(touch.stages, touch.accesses, self.layout) };
            }
        }
        self.reads[lane] |= touch.stages;
        self.read_accesses |= touch.accesses;
        step
    }

    fn is_seen(&self, touch: &Touch) -> bool {
        let is_lane = self.external & (1 << touch.lane) != 0;
        let seen =
            if usize::from(self.owner) == touch.lane { self.write_stages } else { self.reads[touch.lane] };
        is_lane && self.write_accesses == 0 && (touch.stages & !seen == 0 || seen & ALL != 0)
    }
}
