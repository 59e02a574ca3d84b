//! The worked example, the faults others shipped, and every plan replayed on a naive page table.

use proptest::prelude::*;

use super::*;

const TILE: u64 = DEFAULT_TILE_BYTES;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn watermark(capacity: u64, policy: ChunkPolicy) -> Watermark {
    Watermark::new(Layout::new(capacity, TILE, DEFAULT_CHUNK_BYTES).unwrap(), policy)
}

fn commit(watermark: &mut Watermark, bytes: u64) -> Plan {
    let plan = watermark.plan_commit(bytes).unwrap();
    watermark.apply(&plan).unwrap();
    watermark.check_invariants().unwrap();
    plan
}

fn chunk_sizes(watermark: &Watermark) -> Vec<u64> {
    watermark.chunks().iter().map(|chunk| chunk.tiles).collect()
}

#[test]
fn worked_example() {
    for (policy, chunks, slack) in
        [(ChunkPolicy::Exact, [256, 256, 128], 0), (ChunkPolicy::Whole, [256, 256, 256], 128)]
    {
        let mut w = watermark(2 * GIB, policy);
        assert_eq!(w.layout().capacity_tiles(), 32768);

        commit(&mut w, 40 * MIB);
        assert_eq!((w.committed_tiles(), w.slack_tiles()), (640, slack));
        assert_eq!(chunk_sizes(&w), chunks);

        let plan = commit(&mut w, 300 * TILE);
        assert_eq!(plan.freed_chunks, 2..3);
        assert_eq!((w.committed_tiles(), w.slack_tiles()), (300, 212));
        assert_eq!(chunk_sizes(&w), [256, 256]);

        let plan = commit(&mut w, 400 * TILE);
        assert_eq!(plan.binds, [Bind { tile: 300, count: 100, chunk: 1, chunk_tile: 44 }]);
        assert!(plan.new_chunks.is_empty());
        assert_eq!((w.committed_tiles(), w.slack_tiles()), (400, 112));

        // Counted from one this is the second chunk; chunks are counted from zero here.
        assert_eq!(w.locate(17 * MIB), Some(Location { chunk: 1, chunk_tile: 16, offset: MIB }));
        assert_eq!(w.locate(17 * MIB + 5), Some(Location { chunk: 1, chunk_tile: 16, offset: MIB + 5 }));
        assert_eq!(w.locate(400 * TILE - 1).map(|l| l.offset), Some(144 * TILE - 1));
        assert_eq!(w.locate(400 * TILE), None);
    }
}

#[test]
fn plans_print_their_reasons() {
    let mut w = watermark(2 * GIB, ChunkPolicy::Exact);
    let mut text = commit(&mut w, 40 * MIB).to_string();
    text += &commit(&mut w, 300 * TILE).to_string();
    text += &commit(&mut w, 600 * TILE).to_string();
    text += &commit(&mut w, 600 * TILE).to_string();
    let mut w = watermark(20 * MIB, ChunkPolicy::Whole);
    text += &commit(&mut w, 17 * MIB).to_string();
    text += &commit(&mut w, 0).to_string();
    insta::assert_snapshot!(text, @r"
    grow 0 -> 640 tiles: 640 more requested
      allocate chunk 0, 256 tiles: a full chunk
      allocate chunk 1, 256 tiles: a full chunk
      allocate chunk 2, 128 tiles: all that is missing
      bind 0..256 to chunk 0 at tile 0: new memory
      bind 256..512 to chunk 1 at tile 0: new memory
      bind 512..640 to chunk 2 at tile 0: new memory
      slack 0 tiles
    shrink 640 -> 300 tiles: 340 fewer requested
      unbind 512..640 from chunk 2 at tile 0: all of it goes
      unbind 300..512 from chunk 1 at tile 44: becomes slack
      free chunk 2: no tile uses it
      slack 212 tiles
    grow 300 -> 600 tiles: 300 more requested
      allocate chunk 2, 88 tiles: all that is missing
      bind 300..512 to chunk 1 at tile 44: slack of the last chunk
      bind 512..600 to chunk 2 at tile 0: new memory
      slack 0 tiles
    keep 600 tiles: as requested already
    grow 0 -> 272 tiles: 272 more requested
      allocate chunk 0, 256 tiles: a full chunk
      allocate chunk 1, 64 tiles: all that is left to the capacity
      bind 0..256 to chunk 0 at tile 0: new memory
      bind 256..272 to chunk 1 at tile 0: new memory
      slack 48 tiles
    shrink 272 -> 0 tiles: 272 fewer requested
      unbind 256..272 from chunk 1 at tile 0: all of it goes
      unbind 0..256 from chunk 0 at tile 0: all of it goes
      free chunk 0: no tile uses it
      free chunk 1: no tile uses it
      slack 0 tiles
    ");
}

#[test]
fn sizes_past_four_gibibytes_do_not_wrap() {
    for policy in [ChunkPolicy::Whole, ChunkPolicy::Exact] {
        let mut w = watermark(1 << 40, policy);
        let plan = commit(&mut w, u64::MAX);
        assert_eq!((plan.new_chunks.len(), plan.binds.len()), (65536, 65536));
        assert_eq!((w.committed_bytes(), w.slack_tiles()), (1 << 40, 0));
        let at = (1u64 << 40) - 1;
        assert_eq!(
            w.locate(at),
            Some(Location { chunk: 65535, chunk_tile: 255, offset: DEFAULT_CHUNK_BYTES - 1 })
        );
        let plan = commit(&mut w, 4 * GIB + 1);
        assert_eq!(plan.unbound_tiles(), Some(65537..1 << 24));
        assert_eq!(w.sizes(4 * GIB + 1).physical, 4 * GIB + DEFAULT_CHUNK_BYTES);
        assert_eq!(w.sizes(0).uncommitted, (1 << 40) - 4 * GIB - TILE);
    }
}

#[test]
fn capacities_round_up_and_limits_round_down() {
    assert_eq!(clamp_capacity(4 * GIB - 1, 4 * GIB - 1, TILE), 65535 * TILE);
    assert_eq!(clamp_capacity(2 * GIB, 128 * MIB, TILE), 128 * MIB);
    assert_eq!(clamp_capacity(2 * GIB, 4 * GIB - 1, TILE), 2 * GIB);
    assert_eq!(clamp_capacity(1, 4 * GIB - 1, TILE), TILE);
    assert_eq!(clamp_capacity(u64::MAX, u64::MAX, TILE), u64::MAX - (TILE - 1));
    assert_eq!(clamp_capacity(5 * TILE, TILE - 1, TILE), 0);

    let layout = Layout::new(3 * TILE + 1, TILE, DEFAULT_CHUNK_BYTES).unwrap();
    assert_eq!((layout.capacity_tiles(), layout.capacity_bytes()), (4, 4 * TILE));
    assert_eq!(Layout::new(0, TILE, TILE), Err(PlanError::ZeroCapacity));
    assert_eq!(Layout::new(1, 0, TILE), Err(PlanError::BadTile { tile_bytes: 0 }));
    assert_eq!(Layout::new(1, 3, 3), Err(PlanError::BadTile { tile_bytes: 3 }));
    for chunk_bytes in [0, 1, TILE + 1] {
        let expected = Err(PlanError::BadChunk { chunk_bytes, tile_bytes: TILE });
        assert_eq!(Layout::new(1, TILE, chunk_bytes), expected);
    }
    let expected = Err(PlanError::CapacityTooLarge { asked: u64::MAX, tile_bytes: TILE });
    assert_eq!(Layout::new(u64::MAX, TILE, TILE), expected);
}

#[test]
fn refused_commits_change_nothing_and_say_why() {
    let mut w = watermark(64 * MIB, ChunkPolicy::Whole);
    commit(&mut w, 5 * MIB);
    let before = w.clone();
    let error = w.plan_commit(64 * MIB + 1).unwrap_err();
    assert_eq!(w, before);
    assert_eq!(
        error.to_string(),
        "a commit of 67108865 bytes was requested, but the capacity is 67108864 bytes (5242880 committed, \
         unchanged): reserve more at creation, or pass u64::MAX to commit all"
    );

    let first = w.plan_commit(6 * MIB).unwrap();
    let second = w.plan_commit(9 * MIB).unwrap();
    w.apply(&first).unwrap();
    assert_eq!(w.apply(&second), Err(PlanError::StalePlan { planned: 1, current: 2 }));
    assert_eq!(w.committed_bytes(), 6 * MIB);
}

/// What a driver would know: for each tile of the buffer, the memory behind it; and the live chunks.
#[derive(Clone, Default, PartialEq, Debug)]
struct PageTable {
    /// (identity of the chunk, tile inside it)
    tiles: Vec<Option<(u64, u64)>>,
    /// (identity, size); the index is the planner's.
    chunks: Vec<(u64, u64)>,
    next_identity: u64,
}

impl PageTable {
    /// Executes a plan bind by bind and checks each against the rules of sparse binding.
    fn execute(&mut self, plan: &Plan) {
        for new in &plan.new_chunks {
            assert_eq!(new.chunk, self.chunks.len(), "chunks are appended");
            self.chunks.push((self.next_identity, new.tiles));
            self.next_identity += 1;
        }
        let mut touched = std::collections::BTreeSet::new();
        let mut last_end = None;
        for bind in &plan.binds {
            assert!(bind.count > 0, "empty bind");
            assert!(
                last_end != Some((bind.tile, bind.chunk, bind.chunk_tile)),
                "adjacent binds into one chunk were not merged"
            );
            last_end = Some((bind.tile + bind.count, bind.chunk, bind.chunk_tile + bind.count));
            let (identity, size) = self.chunks[bind.chunk];
            assert!(bind.chunk_tile + bind.count <= size, "bind past the end of its chunk");
            for i in 0..bind.count {
                assert!(touched.insert(bind.tile + i), "a tile appears twice in one batch");
                let memory = Some((identity, bind.chunk_tile + i));
                assert!(!self.tiles.contains(&memory), "one tile of memory behind two tiles");
                let slot = &mut self.tiles[(bind.tile + i) as usize];
                assert!(slot.is_none(), "a mapped tile was bound again");
                *slot = memory;
            }
        }
        for unbind in &plan.unbinds {
            assert!(unbind.count > 0, "empty unbind");
            for i in 0..unbind.count {
                assert!(touched.insert(unbind.tile + i), "a tile appears twice in one batch");
                let memory = (self.chunks[unbind.chunk].0, unbind.chunk_tile + i);
                let old = self.tiles[(unbind.tile + i) as usize].take();
                assert_eq!(old, Some(memory), "unbind of what is not there");
            }
        }
        assert_eq!(plan.freed_chunks.end, self.chunks.len() - plan.new_chunks.len(), "the last ones go");
        for &(identity, _) in &self.chunks[plan.freed_chunks.clone()] {
            assert!(!self.tiles.iter().flatten().any(|(owner, _)| *owner == identity), "freed while mapped");
        }
        self.chunks.drain(plan.freed_chunks.clone());
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Commit(u64),
    Abandon(u64),
    All,
    Nothing,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..=1000u64).prop_map(Step::Commit),
        1 => (0..=1000u64).prop_map(Step::Abandon),
        1 => Just(Step::All),
        1 => Just(Step::Nothing),
    ];
    prop::collection::vec(step, 1..40)
}

fn layouts() -> impl Strategy<Value = Layout> {
    (prop_oneof![Just(4096u64), Just(65536), Just(262144)], 1..=9u64, 1..=100u64, 0..4096u64).prop_map(
        |(tile, chunk_tiles, tiles, ragged)| {
            Layout::new(tiles * tile - ragged, tile, chunk_tiles * tile).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_plan_obeys_the_page_table(
        layout in layouts(),
        policy in prop_oneof![Just(ChunkPolicy::Whole), Just(ChunkPolicy::Exact)],
        steps in steps(),
    ) {
        let mut w = Watermark::new(layout, policy);
        let mut table = PageTable { tiles: vec![None; layout.capacity_tiles() as usize], ..Default::default() };
        for step in steps {
            // A permille of the capacity, in bytes: seldom a whole number of tiles.
            let part = |permille: u64| layout.capacity_bytes() * permille / 1000;
            let (requested, kept) = match step {
                Step::Commit(p) => (part(p), true),
                Step::Abandon(p) => (part(p), false),
                Step::All => (u64::MAX, true),
                Step::Nothing => (0, true),
            };
            let before = (w.clone(), table.clone());
            let plan = w.plan_commit(requested).unwrap();
            if !kept {
                drop(plan);
                prop_assert_eq!(&w, &before.0);
                continue;
            }
            table.execute(&plan);
            w.apply(&plan).unwrap();
            w.check_invariants().unwrap();

            let wanted = requested.min(layout.capacity_bytes());
            let committed = w.committed_tiles();
            prop_assert_eq!(committed, wanted.div_ceil(layout.tile_bytes()));
            let mapped: Vec<bool> = table.tiles.iter().map(Option::is_some).collect();
            let expected: Vec<bool> = (0..layout.capacity_tiles()).map(|tile| tile < committed).collect();
            prop_assert_eq!(mapped, expected, "mapped tiles are [0, committed)");
            let prefix = committed.min(before.0.committed_tiles()) as usize;
            prop_assert_eq!(&table.tiles[..prefix], &before.1.tiles[..prefix], "the prefix keeps its mapping");

            // The state tells the same story as the page table.
            prop_assert_eq!(chunk_sizes(&w), table.chunks.iter().map(|c| c.1).collect::<Vec<_>>());
            for (tile, memory) in table.tiles.iter().enumerate() {
                let byte = tile as u64 * layout.tile_bytes() + 7;
                let located = w.locate(byte).map(|l| {
                    assert_eq!(l.offset, l.chunk_tile * layout.tile_bytes() + 7);
                    (table.chunks[l.chunk].0, l.chunk_tile)
                });
                prop_assert_eq!(located, *memory);
            }
            let runs: u64 = w.mapping().map(|run| run.count).sum();
            prop_assert_eq!(runs, committed);
            for run in w.mapping() {
                let first = table.tiles[run.tile as usize];
                prop_assert_eq!(first, Some((table.chunks[run.chunk].0, run.chunk_tile)));
            }

            let sizes = w.sizes(requested);
            prop_assert_eq!(sizes.reserved, sizes.committed + sizes.uncommitted);
            prop_assert_eq!(sizes.physical, sizes.committed + sizes.slack);
            let owned: u64 = table.chunks.iter().map(|c| c.1 * layout.tile_bytes()).sum();
            prop_assert_eq!(sizes.physical, owned);
            prop_assert!(sizes.requested <= sizes.committed);
        }
    }

    #[test]
    fn the_governor_grows_at_once_and_falls_late(
        step in prop_oneof![Just(0u64), Just(1), Just(4), Just(7)],
        headroom in 0..6u64,
        hysteresis in 0..5u32,
        capacity in 1..60u64,
        requests in prop::collection::vec(0..=60u64, 1..60),
    ) {
        let layout = Layout::new(capacity * TILE, TILE, 4 * TILE).unwrap();
        let policy = CommitPolicy {
            step_bytes: step * TILE,
            headroom_bytes: headroom * TILE,
            shrink_hysteresis: hysteresis,
            ahead: false,
        };
        let mut governor = Governor::new(policy, &layout);
        let need = |request: u64| match request {
            0 => 0,
            r => (r + headroom).div_ceil(step.max(1)).saturating_mul(step.max(1)).min(capacity) * TILE,
        };
        let requests: Vec<u64> = requests.into_iter().map(|r| r.min(capacity)).collect();
        for (frame, &request) in requests.iter().enumerate() {
            let before = governor.target();
            let target = governor.update(request * TILE, frame as u64).unwrap();
            let recent = &requests[frame.saturating_sub(hysteresis as usize)..=frame];
            let peak = recent.iter().map(|&r| need(r)).max().unwrap();
            prop_assert!(target >= request * TILE && target <= capacity * TILE);
            prop_assert!(target >= peak, "nothing used within the hysteresis is dropped");
            if target > before {
                prop_assert_eq!(target, need(request), "growth is the need, no more");
            }
            if target < before {
                prop_assert!(recent.len() > hysteresis as usize, "a fall takes all frames of the hysteresis");
            }
            if hysteresis == 0 {
                prop_assert_eq!(target, need(request));
            }
        }
        // Whatever came before, a constant request settles at its need within two hysteresis spans.
        let last = *requests.last().unwrap();
        let mut frame = requests.len() as u64;
        for _ in 0..2 * hysteresis + 2 {
            governor.update(last * TILE, frame).unwrap();
            frame += 1;
        }
        prop_assert_eq!(governor.target(), need(last));
        governor.update(u64::MAX, frame).unwrap();
        prop_assert_eq!(governor.target(), capacity * TILE);
        governor.trim();
        prop_assert_eq!(governor.update(last * TILE, frame).unwrap(), need(last));
        prop_assert!(governor.update((capacity + 1) * TILE, frame).is_err());
        prop_assert_eq!(governor.target(), need(last));
    }
}
