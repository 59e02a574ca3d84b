//! Random histories: the shadow says what a naive model says, and holds what it holds.

use proptest::prelude::*;

use super::model::{Byte, Model, ModelResource, Page, TILE, last, lines};
use super::tests::Clocks;
use super::*;

/// A bind in slots: resource, offset, bytes, chunk and offset in it.
type Slots = (usize, u64, u64, Option<(usize, u64)>);

#[derive(Debug, Clone)]
enum Step {
    Bind { batches: Vec<(Vec<Slots>, [u64; 3])> },
    Use { slot: usize, from: u64, bytes: u64, timeline: Timeline, lag: [u64; 3] },
    Free(usize),
    Remove(usize),
    Done([u64; 3]),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lag = || prop::array::uniform3(prop_oneof![4 => Just(0u64), 1 => 0..3u64]);
    let tiles = |most: u64| prop_oneof![12 => (0..most).prop_map(|t| t * TILE), 1 => 0..most * TILE];
    let memory = prop::option::weighted(0.7, (0..3usize, tiles(6)));
    let bind = (0..3usize, tiles(9), tiles(5), memory);
    let batch = (prop::collection::vec(bind, 0..4), lag());
    let timeline = prop_oneof![Just(Timeline::Graphics), Just(Timeline::Transfer)];
    let step = prop_oneof![
        8 => prop::collection::vec(batch, 0..3).prop_map(|batches| Step::Bind { batches }),
        6 => (0..3usize, 0..40u64, 0..40u64, timeline, lag()).prop_map(|(slot, from, bytes, timeline, lag)| {
            Step::Use { slot, from, bytes, timeline, lag }
        }),
        1 => (0..3usize).prop_map(Step::Free),
        1 => (0..3usize).prop_map(Step::Remove),
        2 => lag().prop_map(Step::Done),
    ];
    prop::collection::vec(step, 1..30)
}

/// Plays steps on both. Slots hold live things, and for one step in a while what was just ended.
#[derive(Default)]
struct Player {
    shadow: Shadow,
    model: Model,
    clocks: Clocks,
    submitted: [u64; 3],
    resources: [u64; 3],
    chunks: [u64; 3],
    next: u64,
}

impl Player {
    fn add_resource(&mut self, slot: usize) {
        self.next += 1;
        self.resources[slot] = self.next;
        let (bytes, aliased) = (28 + self.next % 7, slot != 0);
        let tails = if slot == 1 { std::iter::once(20..24).collect() } else { Vec::new() };
        let byte = |o| Byte {
            tail: tails.iter().any(|tail: &std::ops::Range<u64>| tail.contains(&o)),
            ..Byte::default()
        };
        let model = (0..bytes).map(byte).collect();
        let desc = ResourceDesc {
            name: format!("R{}", self.next),
            kind: Kind::TiledImage,
            bytes,
            tile_bytes: TILE,
            aliased,
            tails: tails.clone(),
        };
        self.shadow.add_resource(ResourceId(self.next), desc);
        let resource = ModelResource { aliased, bytes: model, users: Vec::new(), binds: Vec::new() };
        self.model.resources.insert(self.next, resource);
    }

    fn add_chunk(&mut self, slot: usize) {
        self.next += 1;
        self.chunks[slot] = self.next;
        self.shadow.add_chunk(ChunkId(self.next), &format!("C{}", self.next), 20);
        self.model.chunks.insert(self.next, vec![Page::default(); 20]);
    }

    fn submit(&mut self, timeline: Timeline, lag: [u64; 3]) -> Point {
        let waits: Vec<u64> = self.submitted.iter().zip(lag).map(|(s, lag)| s.saturating_sub(lag)).collect();
        self.submitted[timeline as usize] += 1;
        let point = Point { timeline, value: self.submitted[timeline as usize] };
        self.clocks.wait(point, waits.try_into().unwrap());
        point
    }

    fn play(&mut self, step: Step) -> Vec<Report> {
        match step {
            Step::Bind { batches } => {
                let bind = |player: &Self, (slot, offset, bytes, memory): Slots| BindRange {
                    resource: ResourceId(player.resources[slot]),
                    offset,
                    bytes,
                    memory: memory.map(|(chunk, offset)| (ChunkId(player.chunks[chunk]), offset)),
                };
                let mut told = Vec::new();
                for (binds, lag) in batches {
                    let at = self.submit(Timeline::Bind, lag);
                    told.push((at, binds.into_iter().map(|slots| bind(self, slots)).collect::<Vec<_>>()));
                }
                let call: Vec<_> = told.iter().map(|(at, binds)| Batch { at: *at, binds }).collect();
                if call.is_empty() {
                    self.model.say("empty_batch".to_owned());
                }
                for batch in &call {
                    self.model.bind(batch.at.value, batch.binds, &self.clocks);
                }
                self.shadow.bind(&call, &self.clocks)
            }
            Step::Use { slot, from, bytes, timeline, lag } => {
                let at = self.submit(timeline, lag);
                let id = self.resources[slot];
                self.model.use_range(id, from..from + bytes, at, &self.clocks);
                self.shadow.use_range(ResourceId(id), from..from + bytes, at, &self.clocks)
            }
            Step::Free(slot) if !self.model.chunks.contains_key(&self.chunks[slot]) => {
                self.model.free(self.chunks[slot], &self.clocks);
                let reports = self.shadow.free_chunk(ChunkId(self.chunks[slot]), &self.clocks);
                self.add_chunk(slot);
                reports
            }
            Step::Free(slot) => {
                self.model.free(self.chunks[slot], &self.clocks);
                self.shadow.free_chunk(ChunkId(self.chunks[slot]), &self.clocks)
            }
            Step::Remove(slot) => {
                let (id, was_live) =
                    (self.resources[slot], self.model.resources.contains_key(&self.resources[slot]));
                self.model.remove(id, &self.clocks);
                let reports = self.shadow.remove_resource(ResourceId(id), &self.clocks);
                if !was_live {
                    self.add_resource(slot);
                }
                reports
            }
            Step::Done(lag) => {
                let reached = self.submitted.iter().zip(lag).map(|(value, lag)| value.saturating_sub(lag));
                for (done, reached) in self.clocks.done.iter_mut().zip(reached) {
                    *done = reached.max(*done);
                }
                Vec::new()
            }
        }
    }

    /// Page tables byte by byte, and that runs are as few as they can be.
    fn compare_tables(&self) {
        for (id, resource) in &self.model.resources {
            let held = &self.shadow.resources[&ResourceId(*id)];
            let mut runs = 0;
            let mut before: Option<(u64, super::state::Tile)> = None;
            for (range, tile) in held.tiles.pieces(0..resource.bytes.len() as u64) {
                for o in range.clone() {
                    let byte = &resource.bytes[o as usize];
                    assert_eq!(tile.is_some(), byte.ever, "{id} {o}");
                    let Some(tile) = &tile else { continue };
                    let memory = tile.memory.map(|(chunk, m)| (chunk.0, m + (o - range.start)));
                    assert_eq!((memory, tile.since.value), (byte.memory, byte.since), "{id} {o}");
                    let users = last(&byte.users, |_| true).unwrap_or_else(|| "none".to_owned());
                    assert_eq!(tile.users.to_string(), users, "{id} {o}");
                }
                if let (Some((length, earlier)), Some(tile)) = (&before, &tile) {
                    assert_ne!(super::runs::Slide::slid(earlier, *length), *tile, "{id}: runs not merged");
                }
                runs += usize::from(tile.is_some());
                before = tile.map(|tile| (range.end - range.start, tile));
            }
            assert_eq!(runs, held.tiles.iter().count());
        }
        for map in self.shadow.chunk_map() {
            let mapped = (0..20).filter(|m| !self.model.owners(map.chunk.0, *m).is_empty()).count() as u64;
            assert_eq!((map.mapped_bytes, map.free_bytes), (mapped, 20 - mapped));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_shadow_says_what_a_naive_model_says(steps in steps()) {
        let mut player = Player::default();
        for slot in 0..3 {
            player.add_resource(slot);
            player.add_chunk(slot);
        }
        let mut total = 0;
        for step in steps {
            let text = format!("{step:?}");
            let reports = player.play(step);
            total += reports.len() as u64;
            let mut said: Vec<String> = reports.iter().flat_map(lines).collect();
            let mut expected = std::mem::take(&mut player.model.said);
            said.sort();
            expected.sort();
            // The same thing wrong twice in the same place is one report.
            said.dedup();
            expected.dedup();
            prop_assert_eq!(said, expected, "{}", text);
            player.compare_tables();
        }
        prop_assert_eq!(player.shadow.reports_total(), total);
    }
}
