//! Random frames, in the declared and in random order, on one queue and on several: the model finds no fault, and finds
//! one when something is left out.

use ash::vk::{AccessFlags2, PipelineStageFlags2};
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
                let [old, new] =
                    if turn % 2 == 0 { [100 + index, 200 + index] } else { [200 + index, 100 + index] };
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

/// Two frames, the second on what the first left. `fault` is made in the second.
struct Pair {
    scripts: [Script; 2],
    compiled: [Compiled; 2],
    options: [Options; 2],
}

fn pair(seed: u64, passes: u64) -> Pair {
    let first = script(seed, passes, &|_| None, 0);
    let first_options = options(seed);
    let a = Compiler::new()
        .compile(&first.frame, &first_options)
        .unwrap_or_else(|error| panic!("{error}"))
        .clone();
    let before = |id: usize| {
        let at = first.physical.iter().position(|&physical| physical == Some(id))?;
        Some(match (a.left[at], first.frame.resources[at].origin) {
            (Some(left), _) => ImportState::After(left),
            (None, Origin::Imported { before, .. } | Origin::HistoryCurrent { before }) => before,
            (None, Origin::HistoryPrevious { before, .. }) => before,
            (None, Origin::Transient { .. }) => ImportState::Undefined,
        })
    };
    let second = script(seed, passes, &before, 1);
    let mut second_options = options(seed.rotate_left(7));
    second_options.queues = first_options.queues;
    if seed % 3 == 0 {
        second_options.heap_before = Some(a.heap_after);
    }
    let b = Compiler::new()
        .compile(&second.frame, &second_options)
        .unwrap_or_else(|error| panic!("{error}"))
        .clone();
    Pair { scripts: [first, second], compiled: [a, b], options: [first_options, second_options] }
}

/// A pair as text, for when a test fails.
fn describe(pair: &Pair) -> String {
    let mut text = String::new();
    for turn in 0..2 {
        let (Script { frame, physical }, compiled) = (&pair.scripts[turn], &pair.compiled[turn]);
        text += &format!("frame {turn} {:?}\n", pair.options[turn]);
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

fn run(pair: &Pair, fault: Option<Fault>) -> Result<(), String> {
    let mut model = Model::new();
    for turn in 0..2 {
        let Script { frame, physical } = &pair.scripts[turn];
        let fault = fault.filter(|_| turn == 1);
        model.run(frame, physical, &pair.compiled[turn], &pair.options[turn], fault)?;
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
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_finds_no_fault(seed in any::<u64>(), passes in 1u64..14) {
        let pair = pair(seed, passes);
        check_order(&pair.scripts[0].frame, &pair.compiled[0]);
        let result = run(&pair, None);
        prop_assert!(result.is_ok(), "{:?}\n{}", result, describe(&pair));
    }
}

/// Leaves one thing out at a time; the model has to notice nearly all of it. What it may miss is said where it is counted.
#[test]
fn the_model_notices_what_is_left_out() {
    let mut missed: [Vec<String>; 5] = Default::default();
    let mut made = [0; 5];
    for seed in 0..120u64 {
        let pair = pair(seed.wrapping_mul(0x1234_5678_9abc_def1), 10);
        assert_eq!(run(&pair, None), Ok(()), "seed {seed}\n{}", describe(&pair));
        let plan = &pair.compiled[1];
        let mut faults: Vec<(usize, Fault)> = Vec::new();
        for (at, barrier) in plan.barriers.iter().enumerate() {
            faults.push((0, Fault::NoBarrier(at)));
            if !barrier.from.stages.is_empty() && barrier.from.stages != PipelineStageFlags2::ALL_COMMANDS {
                faults.push((3, Fault::FewerStages(at)));
            }
            if barrier.from.accesses != AccessFlags2::NONE {
                faults.push((4, Fault::NoAccesses(at)));
            }
        }
        faults.extend((0..plan.waits.len()).map(|at| (1, Fault::NoWait(at))));
        let external = plan.submissions.iter().enumerate().filter(|(_, submission)| submission.external != 0);
        faults.extend(external.map(|(at, _)| (2, Fault::NoExternal(at))));
        for (kind, fault) in faults {
            made[kind] += 1;
            if run(&pair, Some(fault)).is_ok() {
                missed[kind].push(format!("seed {seed}: {fault:?}"));
            }
        }
    }
    let counts: Vec<(usize, usize)> = missed.iter().map(Vec::len).zip(made).collect();
    println!("missed of made, by kind: {counts:?}");
    for list in &missed {
        println!("{:?}", &list[..list.len().min(12)]);
    }
}
