//! Steady frames: found in the cache, and equal to what compiling gives.

use proptest::prelude::*;

use super::random::{Dice, random_frame};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// One compiler sees many frames, some again, in any order; another is new for each.
    #[test]
    fn cached_equals_rebuilt(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let frames: Vec<Declaration> = (0..6).map(|at| random_frame(seed.wrapping_add(at), 8)).collect();
        let mut kept = Compiler::new();
        for _ in 0..20 {
            let mut frame = frames[dice.next(6) as usize].clone();
            // The number of the declaration is no part of the key.
            frame.serial = dice.next(9) as u32;
            match dice.next(4) {
                0 => frame.passes[0].has_side_effects ^= true,
                1 => if let Some(needs) = frame.resources.iter_mut().find_map(|resource| resource.needs.as_mut()) {
                    needs.bytes += 256;
                },
                _ => {}
            }
            let order = if dice.next(2) == 0 { Order::Declared } else { Order::Random(dice.next(3)) };
            let options = Options { aliasing: dice.next(3) > 0, order, ..all_queues() };
            let rebuilt = Compiler::new().compile(&frame, &options).cloned();
            prop_assert_eq!(kept.compile(&frame, &options).cloned(), rebuilt);
        }
        let CompileStats { compiles, hits } = kept.stats();
        prop_assert_eq!(compiles + hits, 20);
    }
}

#[test]
fn every_part_of_a_declaration_is_in_the_key() {
    let base = || {
        let mut frame = Declaration::default();
        let mut target = target(&mut frame);
        let mut image = frame.image("image", image_info());
        let (_, mut current) = frame.history_image("history", image_info(), None, ImportState::Undefined);
        let first = frame.pass("first", Queue::Graphics);
        frame.write(first, &mut image, COLOUR);
        frame.write(first, &mut current, COLOUR);
        let last = frame.pass("last", Queue::Graphics);
        frame.read(last, image, DRAW);
        frame.write(last, &mut target, COLOUR);
        give_needs(&mut frame, 1024);
        frame
    };
    let changes: [fn(&mut Declaration, &mut Options); 13] = [
        |frame, _| frame.passes[0].queue = Queue::Compute,
        |frame, _| frame.passes[0].is_on = false,
        |frame, _| frame.passes[0].has_side_effects = true,
        |frame, _| frame.passes[0].name = "other".into(),
        |frame, _| frame.uses[2].access = Access::Sampled(ShaderStages::VERTEX),
        |frame, _| frame.uses[2].is_optional = true,
        |frame, _| frame.before(PassId(0), PassId(1)),
        |frame, _| give_needs(frame, 2048),
        |frame, _| {
            frame.resources[0].origin = Origin::Imported { before: ImportState::Undefined, after: None }
        },
        |_, options| options.aliasing = false,
        |_, options| options.order = Order::Random(0),
        |_, options| options.granularity = 64,
        |_, options| options.heap_before = Some(LeftState::default()),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let (mut frame, mut options) = (base(), Options::default());
        let mut compiler = Compiler::new();
        compiler.compile(&frame, &options).unwrap();
        frame.serial = 7;
        compiler.compile(&frame, &options).unwrap();
        assert_eq!(compiler.stats(), CompileStats { compiles: 1, hits: 1 });
        change(&mut frame, &mut options);
        let _ = compiler.compile(&frame, &options);
        assert_eq!(compiler.stats(), CompileStats { compiles: 2, hits: 1 }, "change {at}");
    }
}

#[test]
fn the_last_few_frames_are_kept_and_no_more() {
    let frames: Vec<Declaration> = (0..5).map(|seed| random_frame(seed, 8)).collect();
    let mut compiler = Compiler::new();
    let options = Options::default();
    for frame in &frames[..4] {
        compiler.compile(frame, &options).unwrap();
    }
    for frame in &frames[..4] {
        compiler.compile(frame, &options).unwrap();
    }
    assert_eq!(compiler.stats(), CompileStats { compiles: 4, hits: 4 });
    compiler.compile(&frames[4], &options).unwrap();
    // The oldest had to go, the others are there.
    compiler.compile(&frames[1], &options).unwrap();
    assert_eq!(compiler.stats(), CompileStats { compiles: 5, hits: 5 });
    compiler.compile(&frames[0], &options).unwrap();
    assert_eq!(compiler.stats(), CompileStats { compiles: 6, hits: 5 });
}

#[test]
fn a_mistake_is_never_answered_from_the_cache() {
    let mut frame = random_frame(3, 8);
    let mut compiler = Compiler::new();
    compiler.compile(&frame, &Options::default()).unwrap();
    frame.side_effects(PassId(99));
    assert!(matches!(compiler.compile(&frame, &Options::default()), Err(GraphError::UnknownPass { .. })));
}
