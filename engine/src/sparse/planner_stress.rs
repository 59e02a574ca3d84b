//! A hundred thousand steps of the planners, without Vulkan: a watermark moves, pages come, go and are moved, and what
//! the batcher makes of it is applied to a model of the driver's page tables, which must end up as the planners think.

use std::collections::BTreeMap;

use super::batch::{BatchOptions, Batcher, Memory, Phase, Place, Request, ResourceBinds};
use super::pages::{DefragOptions, PageAfter, PageOwner, PagePool, PageRef, plan};
use super::watermark::{ChunkPolicy, Layout, Watermark};

const STEPS: u64 = 100_000;
const TILE: u64 = 64 << 10;
const PAGES: u32 = 16;

/// A small generator (Knuth's linear one); the seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// What a driver's page tables hold: by resource and byte, the chunk and the byte in it.
type Tables = BTreeMap<(u64, u64), (u64, u64)>;

fn apply(tables: &mut Tables, binds: &[ResourceBinds]) {
    for r in binds {
        for bind in &r.bytes {
            for at in (0..bind.bytes).step_by(TILE as usize) {
                let key = (r.resource, bind.offset + at);
                match bind.memory {
                    Some(memory) => drop(tables.insert(key, (memory.chunk, memory.offset + at)).is_some()),
                    None => drop(tables.remove(&key).is_some()),
                }
            }
        }
    }
}

/// Requests of a frame, as one bind call applies them.
fn flush(tables: &mut Tables, requests: &[Request], merge: bool) {
    let mut batcher = Batcher::new();
    for request in requests {
        batcher.push(*request).unwrap();
    }
    let plan = batcher.finish(BatchOptions { merge });
    let mut seen = std::collections::BTreeSet::new();
    for r in plan.growth.iter().chain(&plan.shrink) {
        for bind in &r.bytes {
            for at in (0..bind.bytes).step_by(TILE as usize) {
                assert!(
                    seen.insert((r.resource, bind.offset + at)),
                    "a tile appears once in a batch:\n{plan}"
                );
            }
        }
    }
    apply(tables, &plan.growth);
    apply(tables, &plan.shrink);
}

fn request(resource: u64, tile: u64, memory: Option<Memory>, phase: Phase) -> Request {
    let place = Place::Bytes { offset: tile * TILE, bytes: TILE, metadata: false };
    Request { resource, place, memory, phase }
}

fn memory(page: PageRef) -> Memory {
    Memory { chunk: u64::from(page.chunk.0), offset: u64::from(page.page) * TILE }
}

/// Three resources of 60 tiles whose pages come and go, with defragmentation between.
#[test]
fn pages_come_go_and_move_and_the_page_tables_follow() {
    let mut random = Random(41);
    let mut pool = PagePool::new(PAGES);
    let mut owned: BTreeMap<PageOwner, PageRef> = BTreeMap::new();
    let mut tables = Tables::new();
    let (mut moved, mut emptied) = (0, 0);
    for step in 0..STEPS {
        let mut requests = Vec::new();
        // The tide comes in and goes out, so that chunks fill and empty.
        let tide = if step / 500 % 2 == 0 { 5 } else { 2 };
        for _ in 0..random.below(6) {
            let owner = PageOwner { resource: random.below(3), tile: random.below(60) };
            if random.below(7) < tide {
                if owned.contains_key(&owner) {
                    continue;
                }
                if pool.free_pages() == 0 {
                    pool.add_chunk();
                }
                let page = pool.allocate_many(&[owner]).unwrap()[0];
                owned.insert(owner, page);
                requests.push(request(owner.resource, owner.tile, Some(memory(page)), Phase::Growth));
            } else if let Some(page) = owned.remove(&owner) {
                assert_eq!(pool.free(page).unwrap().owner, owner);
                requests.push(request(owner.resource, owner.tile, None, Phase::Shrink));
            }
        }
        flush(&mut tables, &requests, step % 2 == 0);
        if step % 7 == 0 {
            let options = DefragOptions { max_fill_of_source: random.below(11) as f64 / 10.0 };
            let begun = pool.apply_begin(&plan(&pool, random.below(12) as u32, options)).unwrap();
            if random.below(5) == 0 {
                let targets = pool.cancel_all(begun, PageAfter::Quarantine);
                targets.iter().for_each(|page| pool.release(page.to).unwrap());
            } else {
                let report = pool.apply_end(begun, PageAfter::Free);
                let mut requests = Vec::new();
                for page in &report.moved {
                    assert_eq!(owned.insert(page.owner, page.to), Some(page.from));
                    let PageOwner { resource, tile } = page.owner;
                    requests.push(request(resource, tile, Some(memory(page.to)), Phase::Shrink));
                }
                flush(&mut tables, &requests, true);
                moved += report.moved.len();
                for chunk in report.emptied {
                    pool.remove_chunk(chunk).unwrap();
                    emptied += 1;
                }
            }
        }
        if step % 50 == 0 {
            let expected: Tables = owned
                .iter()
                .map(|(owner, page)| {
                    let Memory { chunk, offset } = memory(*page);
                    ((owner.resource, owner.tile * TILE), (chunk, offset))
                })
                .collect();
            assert_eq!(tables, expected, "step {step}");
            let places: std::collections::BTreeSet<_> = tables.values().collect();
            assert_eq!(places.len(), tables.len(), "step {step}: two tiles in one place");
            assert_eq!(pool.used_pages(), owned.len() as u64);
        }
    }
    assert!(moved > 1000 && emptied > 100, "{moved} moved, {emptied} emptied");
}

#[test]
fn the_watermark_moves_and_what_stays_keeps_its_mapping() {
    for policy in [ChunkPolicy::Whole, ChunkPolicy::Exact] {
        let mut random = Random(43);
        let layout = Layout::new(400 * TILE, TILE, u64::from(PAGES) * TILE).unwrap();
        let mut watermark = Watermark::new(layout, policy);
        // The chunks by position, as an executor keeps them, with numbers that are never given twice.
        let (mut chunks, mut next): (Vec<u64>, u64) = (Vec::new(), 0);
        let mut tables = Tables::new();
        for step in 0..STEPS {
            let target = match random.below(40) {
                0 => 0,
                1 => u64::MAX,
                _ => {
                    let by = random.below(24) * TILE;
                    let now = watermark.committed_bytes();
                    if random.below(2) == 0 { now.saturating_sub(by) } else { (now + by).min(400 * TILE) }
                }
            };
            let plan = watermark.plan_commit(target).unwrap();
            watermark.apply(&plan).unwrap();
            chunks.drain(plan.freed_chunks.clone());
            for _ in &plan.new_chunks {
                chunks.push(next);
                next += 1;
            }
            let kept = tables.clone();
            let mut requests = Vec::new();
            for bind in &plan.binds {
                for tile in 0..bind.count {
                    let memory =
                        Memory { chunk: chunks[bind.chunk], offset: (bind.chunk_tile + tile) * TILE };
                    requests.push(request(9, bind.tile + tile, Some(memory), Phase::Growth));
                }
            }
            for tile in plan.unbound_tiles().into_iter().flatten() {
                requests.push(request(9, tile, None, Phase::Shrink));
            }
            flush(&mut tables, &requests, true);
            let stays = plan.from_tiles.min(plan.target_tiles) * TILE;
            assert!(kept.range(..(9, stays)).eq(tables.range(..(9, stays))), "step {step}");
            assert_eq!(tables.len() as u64, watermark.committed_tiles(), "step {step}");
            if step % 50 == 0 {
                watermark.check_invariants().unwrap();
                for ((_, byte), (chunk, offset)) in &tables {
                    let place = watermark.locate(*byte).unwrap();
                    assert_eq!((chunks[place.chunk], place.offset), (*chunk, *offset), "step {step}");
                }
            }
        }
    }
}
