//! Random frames, in the declared and in random order, on one queue and on several: the model finds no fault, and finds
//! one when something is left out.

use ash::vk::AccessFlags2;
use proptest::prelude::*;

use super::model::{Fault, Model, atoms};
use super::*;

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.next(many) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next(from.len() as u64) as usize]
    }
}

/// A frame that can be declared again with other states before it.
struct Script {
    frame: Declaration,
    physical: Vec<Option<usize>>,
}

#[derive(Clone, Copy)]
enum AnyHandle {
    Image(ImageHandle),
    Buffer(BufferHandle),
}

fn accesses(dice: &mut Dice, is_image: bool, queue: Queue) -> Vec<Access> {
    let shader = if queue == Queue::Graphics {
        dice.pick(&[ShaderStages::VERTEX, ShaderStages::FRAGMENT, ShaderStages::COMPUTE, ShaderStages::DRAW])
    } else {
        ShaderStages::COMPUTE
    };
    [
        Access::ColourAttachment,
        Access::ColourAttachmentOver,
        Access::Sampled(shader),
        Access::StorageRead(shader),
        Access::StorageWrite(shader),
        Access::StorageReadWrite(shader),
        Access::Indirect,
        Access::Index,
        Access::CopySource,
        Access::CopyDestination,
        Access::CopyDestinationOver,
        Access::Commit,
    ]
    .into_iter()
    .filter(|access| access.fits_queue(queue))
    .filter(|access| if is_image { access.fits_images() } else { access.fits_buffers() })
    .collect()
}

/// Declares the frame of a seed. States before come from `left`, by physical resource, or from the seed in the first
/// frame.
fn script(seed: u64, passes: u64, before: &dyn Fn(usize) -> Option<ImportState>, turn: usize) -> Script {
    let mut dice = Dice(seed);
    let mut frame = Declaration::default();
    let mut physical = Vec::new();
    let mut handles = Vec::new();
    for index in 0..3 + dice.next(6) as usize {
        let is_image = !dice.one_in(3);
        let image =
            ImageInfo { mips: 1 + dice.next(3) as u32, layers: 1 + dice.next(2) as u32, ..image_info() };
        let buffer = buffer_info(64);
        let queue = dice.pick(&[Queue::Graphics, Queue::Graphics, Queue::Compute, Queue::Transfer]);
        let kinds = accesses(&mut dice, is_image, queue);
        let mut state = match kinds.is_empty() || dice.one_in(3) {
            true => ImportState::Undefined,
            false => {
                let mut left = LeftState::after(dice.pick(&kinds), queue, is_image);
                if dice.one_in(4) {
                    left.beside = (1 << dice.next(3)) & !(1 << queue as u8);
                }
                ImportState::After(left)
            }
        };
        let kind = dice.next(4);
        let after = dice.one_in(3).then_some(match is_image {
            true => DRAW,
            false => Access::HostRead,
        });
        if let Some(known) = before(index) {
            state = known;
        }
        let name = format!("r{index}");
        match (kind, is_image) {
            (0, true) => {
                handles.push(AnyHandle::Image(frame.import_image(name, image, state, after)));
                physical.push(Some(index));
            }
            (0, false) => {
                handles.push(AnyHandle::Buffer(frame.import_buffer(name, buffer, state, after)));
                physical.push(Some(index));
            }
            (1, true) => {
                let [old, new] = if turn.is_multiple_of(2) {
                    [100 + index, 200 + index]
                } else {
                    [200 + index, 100 + index]
                };
                let previous = match before(old) {
                    Some(ImportState::After(left)) => Some(left),
                    _ => None,
                };
                let current = before(new).unwrap_or(ImportState::Undefined);
                let (previous, current) = frame.history_image(name, image, previous, current);
                handles.push(AnyHandle::Image(previous));
                handles.push(AnyHandle::Image(current));
                physical.extend([Some(old), Some(new)]);
            }
            (_, true) => {
                handles.push(AnyHandle::Image(frame.image(name, image)));
                physical.push(None);
            }
            (_, false) => {
                handles.push(AnyHandle::Buffer(frame.buffer(name, buffer)));
                physical.push(None);
            }
        }
    }
    declare_passes(&mut dice, &mut frame, &mut handles, passes);
    let ids: Vec<ResourceId> = frame.transients().map(|(id, _)| id).collect();
    for id in ids {
        let heap = HeapKey { memory_type: dice.next(2) as u32, is_linear: false };
        frame.set_needs(id, MemoryNeeds { bytes: 256 * (1 + dice.next(6)), alignment: 256, heap });
    }
    Script { frame, physical }
}

fn part(dice: &mut Dice, info: &ResourceInfo) -> Subresources {
    if dice.one_in(2) {
        return Subresources::All;
    }
    match info {
        ResourceInfo::Image(info) => {
            let (first_mip, first_layer) =
                (dice.next(u64::from(info.mips)) as u32, dice.next(u64::from(info.layers)) as u32);
            let mips = 1 + dice.next(u64::from(info.mips - first_mip)) as u32;
            let layers = 1 + dice.next(u64::from(info.layers - first_layer)) as u32;
            Subresources::Image { first_mip, mips, first_layer, layers }
        }
        ResourceInfo::Buffer(_) => {
            let first = dice.next(4);
            Subresources::Bytes { offset: 16 * first, bytes: 16 * (1 + dice.next(4 - first)) }
        }
    }
}

fn declare_passes(dice: &mut Dice, frame: &mut Declaration, handles: &mut [AnyHandle], passes: u64) {
    let mut contents: Vec<u32> = frame
        .resources
        .iter()
        .map(|resource| {
            let is_image = matches!(resource.info, ResourceInfo::Image(_));
            let is_there = match resource.origin {
                Origin::HistoryPrevious { .. } => true,
                Origin::Imported { before: ImportState::After(left), .. } => !is_image || left.layout != 0,
                _ => false,
            };
            if is_there { u32::MAX } else { 0 }
        })
        .collect();
    let mut ids = Vec::new();
    for number in 0..passes {
        let queue = match dice.next(12) {
            0..7 => Queue::Graphics,
            7..10 => Queue::Compute,
            10 => Queue::Transfer,
            _ => Queue::Commit,
        };
        let pass = frame.pass(format!("p{number}"), queue);
        ids.push(pass);
        if dice.one_in(2) {
            frame.side_effects(pass);
        }
        let mut touched: Vec<usize> = Vec::new();
        for _ in 0..1 + dice.next(4) {
            let at = dice.next(handles.len() as u64) as usize;
            let resource = frame.resources[at].clone();
            let is_image = matches!(resource.info, ResourceInfo::Image(_));
            let part = part(dice, &resource.info);
            let wanted = atoms(&resource.info, part);
            let allowed: Vec<Access> = accesses(dice, is_image, queue)
                .into_iter()
                .filter(|access| match resource.origin {
                    Origin::Transient { .. } => *access != Access::Commit,
                    Origin::HistoryPrevious { .. } => !access.writes(),
                    _ => true,
                })
                .filter(|access| {
                    !access.reads() || *access == Access::Commit || contents[at] & wanted == wanted
                })
                .collect();
            if allowed.is_empty() || touched.contains(&at) {
                continue;
            }
            touched.push(at);
            let access = dice.pick(&allowed);
            if access.writes() && access != Access::Commit {
                contents[at] |= wanted;
            }
            match &mut handles[at] {
                AnyHandle::Image(handle) if access.writes() => frame.write_part(pass, handle, access, part),
                AnyHandle::Buffer(handle) if access.writes() => frame.write_part(pass, handle, access, part),
                AnyHandle::Image(handle) => frame.read_part(pass, *handle, access, part),
                AnyHandle::Buffer(handle) => frame.read_part(pass, *handle, access, part),
            }
        }
    }
    if passes > 2 && dice.one_in(3) {
        let first = dice.next(passes - 1);
        let then = first + 1 + dice.next(passes - first - 1);
        frame.before(ids[first as usize], ids[then as usize]);
    }
}

fn options(seed: u64) -> Options {
    let mut dice = Dice(seed ^ 0x5eed);
    Options {
        queues: Queues { compute: !dice.one_in(4), transfer: !dice.one_in(4), commit: true },
        aliasing: !dice.one_in(8),
        order: if dice.one_in(3) { Order::Declared } else { Order::Random(dice.next(u64::MAX)) },
        granularity: 1,
        heap_before: None,
    }
}

/// Frames in a row, each on what the one before left. Faults are made in the first.
struct Row {
    scripts: Vec<Script>,
    compiled: Vec<Compiled>,
    options: Vec<Options>,
}

const FRAMES: usize = 3;

fn row(seed: u64, passes: u64) -> Row {
    let mut row = Row { scripts: Vec::new(), compiled: Vec::new(), options: Vec::new() };
    for turn in 0..FRAMES {
        let before = |id: usize| {
            let last = row.scripts.last()?;
            let at = last.physical.iter().position(|&physical| physical == Some(id))?;
            let resource = &last.frame.resources[at];
            Some(match (row.compiled.last()?.left[at], resource.origin) {
                (Some(left), _) => ImportState::After(left),
                (
                    None,
                    Origin::Imported { before, .. }
                    | Origin::HistoryCurrent { before }
                    | Origin::HistoryPrevious { before, .. },
                ) => before,
                (None, Origin::Transient { .. }) => ImportState::Undefined,
            })
        };
        let script = script(seed, passes, &before, turn);
        let mut options = options(seed.rotate_left(7 * turn as u32));
        if let Some(first) = row.options.first() {
            options.queues = first.queues;
        }
        if seed.is_multiple_of(3) {
            options.heap_before = row.compiled.last().map(|last| last.heap_after);
        }
        let compiled = Compiler::new().compile(&script.frame, &options).cloned();
        row.compiled.push(compiled.unwrap_or_else(|error| panic!("{error}")));
        row.scripts.push(script);
        row.options.push(options);
    }
    row
}

/// A row as text, for when a test fails.
fn describe(row: &Row) -> String {
    let mut text = String::new();
    for turn in 0..FRAMES {
        let (Script { frame, physical }, compiled) = (&row.scripts[turn], &row.compiled[turn]);
        text += &format!("frame {turn} {:?}\n", row.options[turn]);
        for (index, resource) in frame.resources.iter().enumerate() {
            text += &format!(
                "  {index} {} {:?} {:?} {:?}\n",
                resource.name, physical[index], resource.info, resource.origin
            );
            text += &format!(
                "     {:?} {:?} left {:?}\n",
                compiled.lifetimes[index], compiled.placements[index], compiled.left[index]
            );
        }
        for (index, submission) in compiled.submissions.iter().enumerate() {
            let waits = &compiled.waits[submission.waits.start as usize..submission.waits.end as usize];
            text += &format!(
                "  submission {index} {:?} waits {waits:?} external {:b}\n",
                submission.queue, submission.external
            );
            let show = |range: std::ops::Range<u32>| {
                compiled.barriers[range.start as usize..range.end as usize]
                    .iter()
                    .map(|barrier| format!("      {barrier:?}\n"))
                    .collect::<String>()
            };
            for place in submission.passes.clone() {
                let plan = &compiled.order[place as usize];
                text += &show(plan.barriers.clone());
                let pass = &frame.passes[plan.pass.0 as usize];
                text += &format!("    {}\n", pass.name);
                for usage in &frame.uses[pass.uses.start as usize..pass.uses.end as usize] {
                    text += &format!("      {} {:?} {:?}\n", usage.resource.0, usage.access, usage.part);
                }
            }
            text += &show(submission.barriers_after.clone());
        }
    }
    text
}

fn run(row: &Row, fault: Option<Fault>) -> Result<(), String> {
    let mut model = Model::new();
    for turn in 0..FRAMES {
        let Script { frame, physical } = &row.scripts[turn];
        let fault = fault.filter(|_| turn == 0);
        model.run(frame, physical, &row.compiled[turn], &row.options[turn], fault)?;
    }
    Ok(())
}

/// Every pass once, every edge of the declaration kept, culled passes told.
fn check_order(frame: &Declaration, compiled: &Compiled) {
    let mut seen = vec![0; frame.passes.len()];
    compiled.order.iter().for_each(|plan| seen[plan.pass.0 as usize] += 1);
    compiled.culled.iter().for_each(|(pass, _)| seen[pass.0 as usize] += 1);
    assert!(seen.iter().all(|&seen| seen == 1));
    let mut next = 0;
    for submission in &compiled.submissions {
        assert_eq!(submission.passes.start, next);
        assert!(submission.passes.end > next);
        next = submission.passes.end;
    }
    assert_eq!(next as usize, compiled.order.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_finds_no_fault(seed in any::<u64>(), passes in 1u64..14) {
        let row = row(seed, passes);
        check_order(&row.scripts[0].frame, &row.compiled[0]);
        let result = run(&row, None);
        prop_assert!(result.is_ok(), "{:?}\n{}", result, describe(&row));
    }
}

/// Leaves one thing out at a time, in the first frame of a row; the model has to notice. Where queues wait for each other
/// for other reasons, a semaphore may make up for what is missing; where they do not, nothing does. What only the host or
/// a later frame would miss is not counted.
#[test]
fn the_model_notices_what_is_left_out() {
    let mut missed = [0; 4];
    let mut made = [0; 4];
    let mut made_alone = 0;
    for seed in 0..200u64 {
        let row = row(seed.wrapping_mul(0x1234_5678_9abc_def1), 10);
        assert_eq!(run(&row, None), Ok(()), "seed {seed}\n{}", describe(&row));
        let (frame, plan) = (&row.scripts[0].frame, &row.compiled[0]);
        let mut faults: Vec<(usize, Fault)> = Vec::new();
        for (at, barrier) in plan.barriers.iter().enumerate() {
            let origin = frame.resources[barrier.resource.0 as usize].origin;
            if !matches!(origin, Origin::Transient { .. }) {
                continue;
            }
            faults.push((0, Fault::NoBarrier(at)));
            if barrier.from.stages.as_raw().count_ones() == 1 {
                faults.push((1, Fault::FewerStages(at)));
            }
            if barrier.from.accesses != AccessFlags2::NONE {
                faults.push((2, Fault::NoAccesses(at)));
            }
        }
        // Explicit orders and the line of commits are waited for whatever is touched.
        if frame.orders.is_empty() {
            let ends = plan.submissions.iter().filter(|submission| submission.queue != Queue::Commit);
            faults.extend(ends.flat_map(|end| end.waits.clone()).map(|at| (3, Fault::NoWait(at as usize))));
        }
        for (kind, fault) in faults {
            made[kind] += 1;
            let is_missed = run(&row, Some(fault)).is_ok();
            // Without semaphores there is only one path, and every barrier on it counts.
            if plan.waits.is_empty() {
                made_alone += 1;
                assert!(!is_missed, "seed {seed}: {fault:?}\n{}", describe(&row));
            }
            missed[kind] += usize::from(is_missed);
        }
    }
    println!("missed {missed:?} of {made:?}: barriers, stages, accesses, waits");
    assert!(made_alone > 200, "{made_alone}");
    for (missed, made) in missed.into_iter().zip(made) {
        assert!(made > 100 && missed * 3 <= made, "{missed} of {made} missed");
    }
}

/// A random frame by seed, as the first of a row.
pub(super) fn random_frame(seed: u64, passes: u64) -> Declaration {
    script(seed, passes, &|_| None, 0).frame
}
