//! Long runs: thousands of random steps over many resources, and thousands of frames, with everything read back and
//! nothing growing.

use ash::vk::{BufferUsageFlags, Format};
use glam::Vec3;
use vasa::scene::Camera;
use vasa::sparse::{
    ChunkedImage, CommitPolicy, Contents, Defragmentation, GrowableBuffer, GrowableDesc, SparseMemory,
};
use vasa::vk::{ImageDesc, Point};
use vasa_tests::growable::waits;
use vasa_tests::images::{Texels, USAGE, all_mips, contents};
use vasa_tests::pattern::Pattern;
use vasa_tests::random::Random;
use vasa_tests::scenes::{self, cube, draw, placed};
use vasa_tests::zoo::{Zoo, image_descs};
use vasa_tests::{Harness, MIB, TILE, on_device};

/// A number from the environment.
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A growable buffer, and how many bytes of it hold its pattern.
struct Growable {
    buffer: GrowableBuffer,
    pattern: Pattern,
    written: u64,
}

/// Ten resources and what they hold: four growable buffers, three paged ones and three images, and a chunked image that
/// is replaced now and then.
struct Everything {
    zoo: Zoo,
    growable: Vec<Growable>,
    chunked: (ChunkedImage, Vec<Texels>),
    wait: Vec<Point>,
    seed: u64,
}

const GROWABLE_BYTES: u64 = 6 * MIB;

impl Everything {
    fn new(h: &Harness, sparse: &SparseMemory) -> Self {
        let zoo = Zoo::new(h, sparse, 3, 48, &image_descs());
        let growable = |index: u32| {
            let usage = BufferUsageFlags::STORAGE_BUFFER;
            let policy = if index == 0 { CommitPolicy::AHEAD } else { CommitPolicy::DIRECT };
            let contents = if index == 1 { Contents::Zeroed } else { Contents::Undefined };
            let name = format!("Growable{index}");
            let desc = GrowableDesc {
                aliased: true,
                policy,
                contents,
                ..GrowableDesc::new(&name, GROWABLE_BYTES, usage)
            };
            let buffer = GrowableBuffer::new(sparse, &desc).unwrap();
            Growable { buffer, pattern: Pattern::new(500 + index), written: 0 }
        };
        let growable = (0..4).map(growable).collect();
        let chunked = chunked(h, sparse, 1);
        Self { zoo, growable, chunked, wait: Vec::new(), seed: 1 }
    }

    /// One random change of one to three resources, and a flush.
    fn step(&mut self, h: &Harness, sparse: &SparseMemory, random: &mut Random) {
        for _ in 0..1 + random.below(3) {
            match random.below(12) {
                0..4 => {
                    let index = random.below(4) as usize;
                    let Growable { buffer, written, .. } = &mut self.growable[index];
                    let bytes = random.below(GROWABLE_BYTES / TILE + 1) * TILE;
                    buffer.commit(bytes).unwrap();
                    *written = (*written).min(bytes);
                }
                4..7 => {
                    let model = &mut self.zoo.buffers[random.below(3) as usize];
                    let tiles: Vec<u64> = (0..model.buffer.tiles()).collect();
                    let gone = random.some(&tiles, 6);
                    model.buffer.unmap_each(&gone).unwrap();
                    model.tiles.retain(|tile, _| !gone.contains(tile));
                    model.buffer.map_each(&random.some(&tiles, 6)).unwrap();
                }
                7..10 => {
                    let model = &mut self.zoo.images[random.below(3) as usize];
                    let tiles = model.movable();
                    let gone = random.some(&tiles, 4);
                    model.image.unmap(&gone).unwrap();
                    model.tiles.retain(|_, (tile, _)| !gone.contains(tile));
                    model.image.map(&random.some(&tiles, 4)).unwrap();
                }
                10 => {
                    let knobs =
                        Defragmentation { bytes_per_frame: (1 + random.below(16)) * TILE, max_fill: 1.0 };
                    sparse.set_defragmentation((!random.once_in(4)).then_some(knobs));
                }
                _ => {
                    self.seed += 1;
                    if self.seed.is_multiple_of(64) {
                        self.chunked = chunked(h, sparse, self.seed);
                    }
                }
            }
        }
        let flushed = sparse.flush(None).unwrap();
        sparse.end_frame();
        self.wait = waits(flushed);
        self.zoo.write_unknown(h, &self.wait);
        for Growable { buffer, pattern, written } in &mut self.growable {
            let end = buffer.requested();
            if end > *written {
                h.write(buffer, *pattern, (*written, end), &self.wait);
                *written = end;
            }
        }
    }

    fn expect_one(&self, h: &Harness, random: &mut Random) {
        let index = random.below(4) as usize;
        let Growable { buffer, pattern, written } = &self.growable[index];
        match random.below(3) {
            0 if *written > 0 => {
                let tile = random.below(written / TILE) * TILE;
                h.expect(buffer, *pattern, (tile, tile + TILE), &self.wait);
            }
            1 => self.zoo.expect_some(h, random, 1, &self.wait),
            _ => {}
        }
    }

    fn expect_all(&self, h: &Harness) {
        self.zoo.expect_all(h, &self.wait);
        for Growable { buffer, pattern, written } in &self.growable {
            if *written > 0 {
                h.expect(buffer, *pattern, (0, *written), &self.wait);
            }
            if *written > 0 && *written == buffer.committed() {
                h.expect_front_in_chunks(buffer, *pattern, *written);
            }
        }
        h.expect_texels(self.chunked.0.image(), &self.chunked.1, &self.wait);
    }
}

/// A chunked image with texels in it.
fn chunked(h: &Harness, sparse: &SparseMemory, seed: u64) -> (ChunkedImage, Vec<Texels>) {
    let desc = ImageDesc { mips: 3, ..ImageDesc::new_2d(Format::R32_UINT, [600, 500], USAGE) };
    let image = ChunkedImage::new(sparse, "Chunked", desc).unwrap();
    let wait = waits(sparse.flush(None).unwrap());
    h.lay_out(image.image(), &wait);
    let seeds = (seed * 100..).zip(all_mips(image.image()));
    let texels: Vec<Texels> = seeds.map(|(seed, region)| contents(Format::R32_UINT, region, seed)).collect();
    h.write_texels(image.image(), &texels, &[]);
    (image, texels)
}

#[test]
fn ten_thousand_random_steps_keep_every_byte() {
    on_device(|h| {
        let steps = from_environment("VASA_STRESS_STEPS", 10_000);
        let seed = from_environment("VASA_SEED", 20_260_101);
        println!("VASA_SEED={seed} VASA_STRESS_STEPS={steps}");
        let sparse = h.small_chunks();
        let mut all = Everything::new(h, &sparse);
        let mut random = Random::new(seed);
        for step in 0..steps {
            all.step(h, &sparse, &mut random);
            all.expect_one(h, &mut random);
            if step % 250 == 249 {
                all.expect_all(h);
            }
            // Frames bound how far ahead the host runs.
            if step % 4 == 3 {
                h.device.wait_idle().unwrap();
            }
        }
        all.expect_all(h);
        let stats = sparse.stats();
        println!(
            "{} bind calls ({} ahead), {} binds, {} unbinds, {} merged, {} tiles moved, {} bytes freed by that",
            stats.bind_calls,
            stats.bind_calls_ahead,
            stats.binds,
            stats.unbinds,
            stats.merged_binds,
            stats.remapped_tiles,
            stats.defragmented_bytes
        );
        if steps >= 1000 {
            assert_eq!(stats.remapped_tiles > 0, h.in_place(), "defragmentation had nothing to do");
        }
        drop(all);
        sparse.flush(None).unwrap();
        h.settle();
        sparse.end_frame();
        sparse.wait_for_ahead();
        sparse.trim();
        assert_eq!((sparse.stats().chunks, sparse.stats().physical_bytes), (0, 0));
    });
}

/// Frames after which a scene that does not change any more has given back what it kept ready.
const SETTLED: u64 = 2000;

#[test]
fn ten_thousand_small_frames_leave_memory_and_objects_as_they_were() {
    on_device(|h| {
        let frames = from_environment("VASA_SOAK_FRAMES", 10_000);
        let mut engine = scenes::engine(&h.device, 2);
        let mesh = engine.scene_mut().add_mesh(&cube(), [0.5; 3], 0.5).unwrap();
        let primitive = engine.scene().primitive(mesh).unwrap();
        let mut first = None;
        let mut set = None;
        for frame in 0..frames {
            // A few instances that come and go: each frame has something to upload.
            let turn = frame as f32 * 0.05;
            let desc = placed(primitive, Vec3::new(turn.sin() * 4.0, 0.0, turn.cos() * 4.0), 0.5);
            if let Some(old) = set.replace(engine.scene_mut().add_instances(&[desc]).unwrap()) {
                engine.scene_mut().remove_instances(old).unwrap();
            }
            draw(&mut engine, Camera::looking_at(Vec3::new(0.0, 6.0, 14.0), Vec3::ZERO));
            // What is kept ahead of need is given back when growth has stopped for some hundred frames, and its chunks
            // some hundred frames later; from then on nothing may change.
            if frame >= SETTLED && (frame % 1000 == 0 || frame + 1 == frames) {
                engine.wait_idle().unwrap();
                h.device.wait_idle().unwrap();
                let counts = h.device.object_counts();
                let now = (counts.live, counts.chunk_allocations, counts.memory_bytes, h.device.retiring());
                let stats = engine.stats().sparse;
                let sparse = (stats.committed_bytes, stats.physical_bytes, stats.resources.len());
                let first = first.get_or_insert((now, sparse));
                assert_eq!(*first, (now, sparse), "after {frame} frames");
            }
        }
        let (now, sparse) = first.unwrap_or_default();
        println!("{frames} frames: objects, chunks, bytes, retiring {now:?}; committed, physical {sparse:?}");
    });
}
