//! A model of what Vulkan promises, which knows nothing of how barriers were found: it carries barriers, semaphores and
//! commands out and keeps, for every queue and stage, the set of operations that are over by then. Every operation that
//! needs another to be over, its memory available or visible, or an image in a layout, asks.

use std::collections::HashMap;

use super::*;

const STAGES: usize = 64;
const ALL_COMMANDS: u64 = 1 << 16;

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set([u64; 48]);

impl Set {
    const NONE: Self = Self([0; 48]);

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }
}

/// Something that touched memory: a command at one stage, a change of layout, a bind.
#[derive(Debug, Clone)]
struct Operation {
    name: String,
    /// Identity of the resource across frames.
    resource: usize,
    /// Bits of its atoms; commands are taken apart, one operation an atom.
    atoms: u32,
    accesses: u64,
    writes: bool,
}

/// What a model leaves out, to see whether it notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NoBarrier(usize),
    NoWait(usize),
    /// The barrier forgets its first stage.
    FewerStages(usize),
    /// The barrier forgets what has to be made available.
    NoAccesses(usize),
}

#[derive(Clone)]
struct Physical {
    layouts: Vec<i32>,
    has_contents: Vec<bool>,
    /// Heap, first byte and end of a transient of this frame.
    place: Option<(u32, u64, u64)>,
}

pub(super) struct Model {
    operations: Vec<Operation>,
    /// What is over for what comes next, by lane and stage.
    known: Vec<[Set; STAGES]>,
    done: Vec<[Set; STAGES]>,
    all_done: Vec<Set>,
    available: Set,
    visible: HashMap<(usize, usize, u64), Set>,
    visible_to_all: Vec<Set>,
    physical: HashMap<usize, Physical>,
    frame: usize,
}

/// Atoms of a part: mips times layers of an image of up to four layers, quarters of a buffer.
pub(super) fn atoms(info: &ResourceInfo, part: Subresources) -> u32 {
    let mut bits = 0;
    for row in 0..4 {
        for column in 0..4 {
            let is_inside = match (info, part) {
                (ResourceInfo::Image(info), Subresources::All) => row < info.mips && column < info.layers,
                (ResourceInfo::Buffer(_), Subresources::All) => row == 0,
                (_, Subresources::Image { first_mip, mips, first_layer, layers }) => {
                    (first_mip..first_mip + mips).contains(&row)
                        && (first_layer..first_layer + layers).contains(&column)
                }
                (ResourceInfo::Buffer(info), Subresources::Bytes { offset, bytes }) => {
                    let quarter = info.bytes / 4;
                    row == 0 && (offset..offset + bytes).contains(&(u64::from(column) * quarter))
                }
                _ => false,
            };
            bits |= u32::from(is_inside) << (row * 4 + column);
        }
    }
    bits
}

fn stages_of(mask: u64) -> impl Iterator<Item = usize> {
    let mask = if mask & ALL_COMMANDS != 0 { u64::MAX } else { mask };
    (0..STAGES).filter(move |&stage| mask >> stage & 1 != 0)
}

fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|bit| 1 << bit).filter(move |bit| mask & bit != 0)
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            operations: Vec::new(),
            known: vec![[Set::NONE; STAGES]; 4],
            done: vec![[Set::NONE; STAGES]; 4],
            all_done: vec![Set::NONE; 4],
            available: Set::NONE,
            visible: HashMap::new(),
            visible_to_all: vec![Set::NONE; 4],
            physical: HashMap::new(),
            frame: 0,
        }
    }

    fn overlaps(&self, a: usize, a_atoms: u32, b: usize, b_atoms: u32) -> bool {
        if a == b {
            return a_atoms & b_atoms != 0;
        }
        match (self.physical[&a].place, self.physical[&b].place) {
            (Some(a), Some(b)) => a.0 == b.0 && a.1 < b.2 && b.1 < a.2,
            _ => false,
        }
    }

    fn known_to(&self, lane: usize, stages: u64) -> Set {
        let mut set = Set::NONE;
        for stage in stages_of(stages) {
            set.join(&self.done[lane][stage]);
            set.join(&self.known[lane][stage]);
        }
        if stages & ALL_COMMANDS != 0 {
            set.join(&self.all_done[lane]);
        }
        set
    }

    fn over(&self, lane: usize) -> Set {
        let mut set = self.known_to(lane, ALL_COMMANDS);
        set.join(&self.visible_to_all[lane]);
        set
    }

    fn receive(&mut self, lane: usize, set: &Set) {
        self.available.join(set);
        self.visible_to_all[lane].join(set);
        self.known[lane].iter_mut().for_each(|known| known.join(set));
    }

    /// Carries one frame out. `physical` tells resources across frames apart (`None` for transients).
    pub(super) fn run(
        &mut self,
        frame: &Declaration,
        physical: &[Option<usize>],
        compiled: &Compiled,
        options: &Options,
        fault: Option<Fault>,
    ) -> Result<(), String> {
        self.frame += 1;
        let ids = self.enter(frame, physical, compiled, options);
        let before_frame: Vec<Set> = (0..4).map(|lane| self.over(lane)).collect();
        let mut signals: Vec<Set> = Vec::new();
        for (index, submission) in compiled.submissions.iter().enumerate() {
            let lane = submission.queue as usize;
            let is_commit = submission.queue == Queue::Commit;
            if is_commit {
                // Binds know only what their own batch waited for.
                self.known[lane] = [Set::NONE; STAGES];
                self.visible_to_all[lane] = Set::NONE;
                self.done[lane] = [Set::NONE; STAGES];
                self.all_done[lane] = Set::NONE;
            }
            for at in submission.waits.clone() {
                let wait = compiled.waits[at as usize];
                if wait.submission as usize >= index {
                    return Err(format!("submission {index} waits for {}", wait.submission));
                }
                if fault != Some(Fault::NoWait(at as usize)) {
                    self.receive(lane, &signals[wait.submission as usize]);
                }
            }
            for (other, done) in before_frame.iter().enumerate() {
                if submission.external >> other & 1 != 0 {
                    self.receive(lane, done);
                }
            }
            for place in submission.passes.clone() {
                let plan = &compiled.order[place as usize];
                for at in plan.barriers.clone() {
                    self.barrier(frame, &ids, compiled, at as usize, lane, fault)?;
                }
                self.pass(frame, &ids, compiled, plan.pass.0, lane)?;
            }
            for at in submission.barriers_after.clone() {
                self.barrier(frame, &ids, compiled, at as usize, lane, fault)?;
            }
            signals.push(self.over(lane));
        }
        self.leave(frame, &ids, compiled)
    }

    /// Identities of resources, and their state when the frame begins.
    fn enter(
        &mut self,
        frame: &Declaration,
        physical: &[Option<usize>],
        compiled: &Compiled,
        options: &Options,
    ) -> Vec<usize> {
        if options.heap_before.is_none() {
            // The host waited: whoever lay in the heaps is gone.
            self.physical.values_mut().for_each(|physical| physical.place = None);
        }
        let mut ids = Vec::new();
        for (index, resource) in frame.resources.iter().enumerate() {
            let id = physical[index].unwrap_or(1000 * self.frame + index);
            let place = compiled.placements[index];
            let entry = self.physical.entry(id).or_insert(Physical {
                layouts: vec![0; 16],
                has_contents: vec![false; 16],
                place: place.map(|place| (place.heap, place.offset, place.offset + place.bytes)),
            });
            let (before, has_contents) = match resource.origin {
                Origin::Imported { before, .. } => (before, true),
                Origin::HistoryPrevious { before, .. } => (before, true),
                Origin::HistoryCurrent { before } => (before, false),
                Origin::Transient { .. } => (ImportState::Undefined, false),
            };
            if self.frame == 1
                && let ImportState::After(left) = before
            {
                entry.layouts = vec![left.layout; 16];
            }
            let is_image = matches!(resource.info, ResourceInfo::Image(_));
            let is_after = match before {
                ImportState::After(left) => !is_image || left.layout != 0,
                ImportState::Undefined => false,
            };
            let is_history = matches!(resource.origin, Origin::HistoryPrevious { .. });
            entry.has_contents = vec![is_history || has_contents && is_after; 16];
            if self.frame == 1
                && let ImportState::After(left) = before
            {
                self.work_before(resource, id, left, options);
            }
            ids.push(id);
        }
        ids
    }

    /// What happened before the first frame, as an import tells it.
    fn work_before(&mut self, resource: &Resource, id: usize, left: LeftState, options: &Options) {
        let has = [true, options.queues.compute, options.queues.transfer, true];
        let queue = if has[left.queue as usize] { left.queue as usize } else { 0 };
        let atoms = atoms(&resource.info, Subresources::All);
        let writes = left.accesses & crate::graph::sync::WRITES != 0;
        let operation = Operation {
            name: format!("work before on '{}'", resource.name),
            resource: id,
            atoms,
            accesses: left.accesses,
            writes,
        };
        for lane in 0..4 {
            if lane == queue {
                for atom in bits(u64::from(atoms)) {
                    let at = self.push(Operation { atoms: atom as u32, ..operation.clone() }, lane);
                    for stage in stages_of(left.stages) {
                        self.done[lane][stage].add(at);
                    }
                }
            } else if (0..4)
                .any(|kind| left.beside >> kind & 1 != 0 && lane == if has[kind] { kind } else { 0 })
            {
                for atom in bits(u64::from(atoms)) {
                    self.push(Operation { atoms: atom as u32, ..operation.clone() }, lane);
                }
            }
        }
    }

    fn push(&mut self, operation: Operation, lane: usize) -> usize {
        let at = self.operations.len();
        self.operations.push(operation);
        self.all_done[lane].add(at);
        at
    }

    fn barrier(
        &mut self,
        frame: &Declaration,
        ids: &[usize],
        compiled: &Compiled,
        at: usize,
        lane: usize,
        fault: Option<Fault>,
    ) -> Result<(), String> {
        let barrier = &compiled.barriers[at];
        if fault == Some(Fault::NoBarrier(at)) {
            return Ok(());
        }
        let mut from = barrier.from;
        if fault == Some(Fault::FewerStages(at)) {
            let raw = from.stages.as_raw();
            from.stages = ash::vk::PipelineStageFlags2::from_raw(raw & raw.wrapping_sub(1));
        }
        if fault == Some(Fault::NoAccesses(at)) {
            from.accesses = ash::vk::AccessFlags2::NONE;
        }
        let index = barrier.resource.0 as usize;
        let (resource, id) = (&frame.resources[index], ids[index]);
        let atoms = atoms(&resource.info, barrier.part);
        let first = self.known_to(lane, from.stages.as_raw());
        let mut passed = Set::NONE;
        let mut shown = Set::NONE;
        for (at, operation) in self.operations.iter().enumerate() {
            if !self.overlaps(operation.resource, operation.atoms, id, atoms) || !first.has(at) {
                continue;
            }
            passed.add(at);
            let is_any_write = from.accesses.contains(ash::vk::AccessFlags2::MEMORY_WRITE);
            if is_any_write || operation.accesses & from.accesses.as_raw() != 0 {
                self.available.add(at);
            }
            if self.available.has(at) {
                shown.add(at);
            }
        }
        let is_image = matches!(resource.info, ResourceInfo::Image(_));
        if is_image && barrier.from.layout != barrier.to.layout {
            for (at, operation) in self.operations.iter().enumerate() {
                let is_over = passed.has(at) && (!operation.writes || self.available.has(at));
                if self.overlaps(operation.resource, operation.atoms, id, atoms) && !is_over {
                    return Err(format!("'{}' changes layout beside {}", resource.name, operation.name));
                }
            }
            let state = self.physical.get_mut(&id).unwrap();
            for atom in (0..16).filter(|atom| atoms >> atom & 1 != 0) {
                if barrier.from.layout.as_raw() == 0 {
                    // History that is not valid yet has no contents to lose.
                    state.has_contents[atom] &= matches!(resource.origin, Origin::HistoryPrevious { .. });
                } else if state.layouts[atom] != barrier.from.layout.as_raw() {
                    return Err(format!("'{}' is not in the layout of barrier {at}", resource.name));
                }
                state.layouts[atom] = barrier.to.layout.as_raw();
            }
            let name = format!("change of '{}' to {:?}", resource.name, barrier.to.layout);
            for atom in bits(u64::from(atoms)) {
                let atoms = atom as u32;
                let change = Operation { name: name.clone(), resource: id, atoms, accesses: 0, writes: true };
                let at = self.push(change, lane);
                self.available.add(at);
                passed.add(at);
                shown.add(at);
            }
        }
        for stage in stages_of(barrier.to.stages.as_raw()) {
            self.known[lane][stage].join(&passed);
            for access in bits(barrier.to.accesses.as_raw()) {
                self.visible.entry((lane, stage, access)).or_insert(Set::NONE).join(&shown);
            }
        }
        Ok(())
    }

    fn pass(
        &mut self,
        frame: &Declaration,
        ids: &[usize],
        compiled: &Compiled,
        pass: u32,
        lane: usize,
    ) -> Result<(), String> {
        let start = self.operations.len();
        let declared = &frame.passes[pass as usize];
        let mut fresh = Vec::new();
        for at in declared.uses.clone().filter(|&at| !compiled.is_absent(at)) {
            let usage = &frame.uses[at as usize];
            let index = usage.resource.0 as usize;
            let (info, id) = (&frame.resources[index].info, ids[index]);
            let atoms = atoms(info, usage.part);
            let name =
                format!("pass '{}' ({:?} of '{}')", declared.name, usage.access, frame.resources[index].name);
            let is_commit = usage.access == Access::Commit;
            let stages = if is_commit { ALL_COMMANDS } else { usage.access.stages().as_raw() };
            let accesses = usage.access.accesses().as_raw();
            let operation = Operation { name, resource: id, atoms, accesses, writes: usage.access.writes() };
            self.check_state(usage, info, &operation)?;
            for stage in bits(stages).map(|bit| bit.trailing_zeros() as usize) {
                self.check(&operation, usage, lane, stage, start, is_commit)?;
                for atom in bits(u64::from(atoms)) {
                    let at = self.push(Operation { atoms: atom as u32, ..operation.clone() }, lane);
                    fresh.push((at, stage));
                }
            }
        }
        for (at, stage) in fresh {
            self.done[lane][stage].add(at);
            if self.operations[at].accesses == 0 {
                self.available.add(at);
            }
        }
        Ok(())
    }

    /// Layout and contents.
    fn check_state(&mut self, usage: &Use, info: &ResourceInfo, operation: &Operation) -> Result<(), String> {
        if usage.access == Access::Commit {
            return Ok(());
        }
        if operation.writes {
            for (&other, physical) in &self.physical.clone() {
                if other != operation.resource && self.overlaps(other, u32::MAX, operation.resource, u32::MAX)
                {
                    let _ = physical;
                    self.physical.get_mut(&other).unwrap().has_contents.fill(false);
                }
            }
        }
        let state = self.physical.get_mut(&operation.resource).unwrap();
        for atom in (0..16).filter(|atom| operation.atoms >> atom & 1 != 0) {
            if matches!(info, ResourceInfo::Image(_)) && state.layouts[atom] != usage.access.layout().as_raw()
            {
                return Err(format!("{} finds layout {}", operation.name, state.layouts[atom]));
            }
            if usage.access.reads() && !state.has_contents[atom] {
                return Err(format!("{} finds no contents", operation.name));
            }
            state.has_contents[atom] |= operation.writes;
        }
        Ok(())
    }

    /// Everything that conflicts with an operation is over, available, and visible to what it reads.
    fn check(
        &self,
        operation: &Operation,
        usage: &Use,
        lane: usize,
        stage: usize,
        start: usize,
        is_commit: bool,
    ) -> Result<(), String> {
        let Operation { name, resource, atoms, .. } = operation;
        let mut newest: HashMap<u32, usize> = HashMap::new();
        for (at, other) in self.operations[..start].iter().enumerate() {
            if !self.overlaps(other.resource, other.atoms, *resource, *atoms)
                || !(other.writes || operation.writes)
            {
                continue;
            }
            if !self.known[lane][stage].has(at) {
                return Err(format!("{name} at stage {stage} may run beside {}", other.name));
            }
            if other.writes && !self.available.has(at) {
                return Err(format!("{name}: memory of {} is not available", other.name));
            }
            if other.writes && other.resource == *resource {
                for atom in (0..16).filter(|atom| (other.atoms & atoms) >> atom & 1 != 0) {
                    newest.insert(atom, at);
                }
            }
        }
        if !usage.access.reads() || is_commit {
            return Ok(());
        }
        let reads = usage.access.accesses().as_raw() & !crate::graph::sync::WRITES;
        for at in newest.into_values() {
            for access in bits(reads) {
                let is_visible = self.visible_to_all[lane].has(at)
                    || self.visible.get(&(lane, stage, access)).is_some_and(|visible| visible.has(at));
                if !is_visible {
                    let other = &self.operations[at].name;
                    return Err(format!("{name} at stage {stage} does not see {other}"));
                }
            }
        }
        Ok(())
    }

    /// What the frame says of how it leaves things is so.
    fn leave(&self, frame: &Declaration, ids: &[usize], compiled: &Compiled) -> Result<(), String> {
        for (index, resource) in frame.resources.iter().enumerate() {
            let state = &self.physical[&ids[index]];
            let Some(left) = compiled.left[index] else { continue };
            if !matches!(resource.info, ResourceInfo::Image(_)) {
                continue;
            }
            let all = atoms(&resource.info, Subresources::All);
            for atom in (0..16).filter(|atom| all >> atom & 1 != 0) {
                if state.layouts[atom] != left.layout {
                    return Err(format!("'{}' is left in layout {}", resource.name, state.layouts[atom]));
                }
            }
        }
        Ok(())
    }
}
