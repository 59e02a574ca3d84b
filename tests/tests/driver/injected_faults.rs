//! Every call of a scripted scene at a choke point is refused once: an error comes out or it is survived, everything
//! written before is intact, nothing leaks, and the same step works when it is tried again.

use ash::vk::{BufferUsageFlags, Format};
use vasa::sparse::{
    ChunkedImage, Contents, Defragmentation, GrowableBuffer, GrowableDesc, Result, SparseMemory,
};
use vasa::vk::{ImageDesc, Point, Site};
use vasa_tests::growable::waits;
use vasa_tests::images::{Texels, USAGE, all_mips, contents};
use vasa_tests::injected::Injector;
use vasa_tests::pattern::Pattern;
use vasa_tests::random::Random;
use vasa_tests::zoo::Zoo;
use vasa_tests::{Harness, MIB, TILE, on_device};

/// A growable buffer and how much of it was written.
struct Growable {
    buffer: GrowableBuffer,
    pattern: Pattern,
    written: u64,
}

/// A chunked image and its texels, once they are written.
struct Chunked {
    image: ChunkedImage,
    texels: Vec<Texels>,
}

/// The scene: everything that has memory, and what it holds.
struct Scene<'a> {
    h: &'a Harness,
    sparse: SparseMemory,
    injector: Injector,
    growable: Vec<Growable>,
    chunked: Vec<Chunked>,
    zoo: Zoo,
    wait: Vec<Point>,
    errors: u64,
    /// Nothing is ready or about to be destroyed when the engine is called: no memory can be had by giving up what is.
    is_lean: bool,
}

const STEPS: usize = 12;

impl<'a> Scene<'a> {
    fn new(h: &'a Harness, injector: Injector, is_lean: bool) -> Self {
        let sparse = h.small_chunks();
        let image = ImageDesc { mips: 3, ..ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [700, 500], USAGE) };
        let zoo = Zoo::new(h, &sparse, 1, 64, &[image]);
        let (growable, chunked, wait) = Default::default();
        Self { h, sparse, injector, growable, chunked, zoo, wait, errors: 0, is_lean }
    }

    /// Everything that was written is there, through the resources and in their chunks.
    fn expect_intact(&self) {
        self.zoo.expect_contents(self.h, &self.wait);
        for Growable { buffer, pattern, written } in &self.growable {
            let bytes = (*written).min(buffer.committed());
            assert_eq!(bytes, *written, "{} lost bytes", buffer.name());
            if bytes > 0 {
                self.h.expect(buffer, *pattern, (0, bytes), &self.wait);
                if bytes == buffer.committed() {
                    self.h.expect_in_chunks(buffer, *pattern);
                }
            }
        }
        for Chunked { image, texels } in &self.chunked {
            self.h.expect_texels(image.image(), texels, &self.wait);
        }
    }

    /// A step, tried until it works: at most one call is refused, so at most twice.
    fn step(&mut self, number: usize) {
        for attempt in 0..2 {
            match self.attempt(number) {
                Ok(()) => return self.written(number),
                Err(error) => {
                    assert_eq!(attempt, 0, "step {number} fails again: {error}");
                    self.errors += 1;
                    assert!(!self.injector.is_armed(), "an error before anything was refused: {error}");
                    let text = error.to_string();
                    assert!(!text.is_empty());
                    // A copy of the fallback that was not submitted comes with the next flush.
                    if self.h.in_place() {
                        if self.injector.site() == Site::Bind {
                            // Everything that the flush was to do is taken back.
                            self.zoo.expect_mapped();
                        }
                        self.expect_intact();
                    }
                }
            }
        }
        unreachable!("the second attempt has returned");
    }

    fn watched<T>(&mut self, run: impl FnOnce(&SparseMemory) -> Result<T>) -> Result<T> {
        self.make_lean();
        self.injector.watch(&self.h.device, || run(&self.sparse))
    }

    fn make_lean(&self) {
        if self.is_lean {
            self.sparse.trim();
            self.h.settle();
        }
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.watched(|sparse| sparse.flush(None))?;
        self.sparse.end_frame();
        self.wait = waits(flushed);
        Ok(())
    }

    /// What a step asks of the engine. May be asked for again after an error.
    fn attempt(&mut self, number: usize) -> Result<()> {
        match number {
            0 | 5 if self.growable.len() <= number / 5 => {
                let usage = BufferUsageFlags::STORAGE_BUFFER;
                let desc = GrowableDesc {
                    aliased: true,
                    contents: if number == 0 { Contents::Zeroed } else { Contents::Undefined },
                    ..GrowableDesc::new("Growable", 8 * MIB, usage)
                };
                let buffer = self.watched(|sparse| GrowableBuffer::new(sparse, &desc))?;
                let pattern = Pattern::new(number as u32 + 90);
                self.growable.push(Growable { buffer, pattern, written: 0 });
            }
            1 | 8 if self.chunked.len() <= number / 8 => {
                let desc = ImageDesc { mips: 2, ..ImageDesc::new_2d(Format::R32_UINT, [900, 600], USAGE) };
                let image = self.watched(|sparse| ChunkedImage::new(sparse, "Chunked", desc))?;
                self.chunked.push(Chunked { image, texels: Vec::new() });
            }
            _ => {}
        }
        match number {
            0 | 1 | 8 => {}
            2 => self.commit(&[2 * MIB])?,
            3 => self.map(0..64, true)?,
            5 => self.commit(&[5 * MIB, MIB + 3 * TILE])?,
            6 => {
                self.commit(&[MIB + 5 * TILE, 4 * MIB])?;
                self.unmap(4);
            }
            7 => {
                let knobs = Defragmentation { bytes_per_frame: 12 * TILE, max_fill: 1.0 };
                self.sparse.set_defragmentation(Some(knobs));
                for _ in 0..8 {
                    self.flush()?;
                }
            }
            9 => self.map(10..40, true)?,
            10 => self.commit(&[0, 8 * MIB])?,
            _ => {}
        }
        self.flush()
    }

    fn commit(&mut self, bytes: &[u64]) -> Result<()> {
        for (index, bytes) in bytes.iter().enumerate() {
            self.make_lean();
            let Self { injector, growable, h, .. } = self;
            injector.watch(&h.device, || growable[index].buffer.commit(*bytes))?;
            growable[index].written = growable[index].written.min(*bytes);
        }
        Ok(())
    }

    fn map(&mut self, tiles: std::ops::Range<u64>, images: bool) -> Result<()> {
        self.make_lean();
        let Self { injector, zoo, h, .. } = self;
        injector.watch(&h.device, || zoo.buffers[0].buffer.map(tiles))?;
        if images {
            self.make_lean();
            let Self { injector, zoo, h, .. } = self;
            let tiles = zoo.images[0].movable();
            injector.watch(&h.device, || zoo.images[0].image.map(&tiles))?;
        }
        Ok(())
    }

    /// Leaves every `n`th tile. The model still knows them: an error brings them back.
    fn unmap(&mut self, n: u64) {
        let buffer = &mut self.zoo.buffers[0].buffer;
        let gone: Vec<u64> = (0..64).filter(|tile| tile % n > 0).collect();
        buffer.unmap_each(&gone).unwrap();
        let tiles = self.zoo.images[0].movable();
        let gone: Vec<_> = tiles.into_iter().filter(|tile| u64::from(tile.x + tile.y) % n > 0).collect();
        self.zoo.images[0].image.unmap(&gone).unwrap();
    }

    /// Brings the model up to date after a step, and writes what is new.
    fn written(&mut self, number: usize) {
        let (h, wait) = (self.h, self.wait.clone());
        self.zoo.forget_unmapped();
        self.zoo.write_unknown(h, &wait);
        for Growable { buffer, pattern, written } in &mut self.growable {
            let committed = buffer.committed();
            if committed > *written {
                h.write(buffer, *pattern, (*written, committed), &wait);
            }
            *written = committed;
        }
        for (index, Chunked { image, texels }) in self.chunked.iter_mut().enumerate() {
            if texels.is_empty() {
                h.lay_out(image.image(), &wait);
                let seeds = (1000 * (index as u64 + 1)..).zip(all_mips(image.image()));
                *texels = seeds.map(|(seed, region)| contents(Format::R32_UINT, region, seed)).collect();
                h.write_texels(image.image(), texels, &wait);
            }
        }
        if number == 11 {
            self.chunked.pop();
            self.growable.pop();
        }
    }
}

/// Runs the scene; returns the injector and the errors that came out.
fn run(h: &Harness, injector: Injector, is_lean: bool) -> (Injector, u64) {
    let mut scene = Scene::new(h, injector, is_lean);
    for number in 0..STEPS {
        scene.step(number);
    }
    scene.zoo.expect_mapped();
    scene.expect_intact();
    (scene.injector, scene.errors)
}

/// Refuses each call once; returns how many there are, and how many of them were survived.
fn refuse_each(h: &Harness, site: Site, is_lean: bool) -> (u64, u64) {
    run(h, Injector::counting(site), is_lean);
    h.settle();
    let before = h.device.object_counts();
    let (counted, errors) = run(h, Injector::counting(site), is_lean);
    assert_eq!(errors, 0);
    let mut survived = 0;
    for nth in 0..counted.calls() {
        let (injector, errors) = run(h, Injector::refusing(site, nth), is_lean);
        assert!(!injector.is_armed(), "{site:?} {nth} of {} was not reached", counted.calls());
        assert!(errors <= 1);
        survived += 1 - errors;
        h.settle();
        let after = h.device.object_counts();
        assert_eq!((after.live, after.chunk_allocations), (before.live, before.chunk_allocations), "{nth}");
        assert_eq!(after.memory_bytes, before.memory_bytes, "{nth}");
    }
    println!("{site:?}: {} calls refused, {survived} of them survived", counted.calls());
    (counted.calls(), survived)
}

#[test]
fn a_refused_allocation_is_an_error_when_nothing_can_be_given_up() {
    on_device(|h| {
        let (calls, survived) = refuse_each(h, Site::Allocate, true);
        assert!(calls > 3);
        assert_eq!(survived, 0);
    });
}

#[test]
fn a_refused_allocation_is_survived_by_waiting_for_what_is_about_to_go() {
    on_device(|h| {
        let (calls, survived) = refuse_each(h, Site::Allocate, false);
        // Test and engine have just dropped something at each of them; how often it is not gone yet is the GPU's speed.
        assert!(survived > 0, "{survived} of {calls}");
    });
}

#[test]
fn every_refused_bind_is_an_error() {
    on_device(|h| {
        let (calls, survived) = refuse_each(h, Site::Bind, false);
        assert_eq!((calls > 10, survived), (h.in_place(), 0));
    });
}

#[test]
fn a_refused_submission_is_an_error_unless_only_defragmentation_needs_it() {
    on_device(|h| {
        let (calls, survived) = refuse_each(h, Site::Submit, false);
        assert!(calls > survived);
        assert_eq!(survived > 0, h.in_place());
    });
}

#[test]
fn the_script_reaches_what_it_is_about() {
    on_device(|h| {
        let mut scene = Scene::new(h, Injector::counting(Site::Bind), false);
        let mut random = Random::new(1);
        for number in 0..STEPS {
            scene.step(number);
            scene.zoo.expect_some(h, &mut random, 5, &scene.wait.clone());
        }
        let stats = scene.sparse.stats();
        assert_eq!(stats.remapped_tiles > 0, h.in_place(), "pages were moved");
        assert!(stats.grows > 4 && stats.shrinks > 2);
        assert_eq!((scene.growable.len(), scene.chunked.len()), (1, 1));
    });
}
