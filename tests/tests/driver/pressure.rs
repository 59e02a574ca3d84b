//! Memory that is short: something is given up and comes back, contents stay, and an error says all there is to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk::BufferUsageFlags;
use vasa::memory::{
    BudgetKnobs, BudgetSource, HeapKind, HeapReading, LadderKnobs, Priority, ResidencyKnobs, Resident, Use,
    Why,
};
use vasa::render::{RenderOptions, Switch};
use vasa::scene::Camera;
use vasa::sparse::SparseKnobs;
use vasa::vk::{Buffer, Device, Error, Location, Timeline};
use vasa::{Engine, PresentTarget};
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::pattern::Pattern;
use vasa_tests::scenes::{add_hills, flight, hills, view};
use vasa_tests::{MIB, TILE};

const EXTENT: [u32; 2] = [320, 180];

/// A budget that a test sets; usage is what the device counts.
#[derive(Clone)]
struct Injected {
    device: Arc<Device>,
    budget: Arc<AtomicU64>,
}

impl BudgetSource for Injected {
    fn heaps(&self) -> Vec<HeapKind> {
        vec![HeapKind { bytes: u64::MAX, device_local: true }]
    }

    fn query(&mut self) -> Option<Vec<HeapReading>> {
        None
    }

    fn own_bytes(&self, _: usize) -> u64 {
        self.device.object_counts().memory_bytes
    }

    fn limit(&self) -> Option<u64> {
        Some(self.budget.load(Ordering::Relaxed))
    }
}

/// Short hold times, no margin.
fn knobs() -> ResidencyKnobs {
    ResidencyKnobs {
        budget: BudgetKnobs { margin_percent: 0, margin_bytes: 0, ..Default::default() },
        ladder: LadderKnobs { hold_down: 4, hold_up: 4, up_percent: 100, watch: 20 },
        ..Default::default()
    }
}

/// An engine with four samples a pixel, so that there is something to give up.
fn engine(h: &Harness) -> (Engine, Arc<AtomicU64>) {
    let sparse = SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() };
    // Pictures of different moments are compared: nothing of those before may show.
    let render = RenderOptions {
        samples: 4,
        ambient_occlusion: Switch::On,
        bloom: Switch::On,
        ..RenderOptions::PLAIN
    };
    let mut engine = Engine::on_device(h.device.clone(), sparse, render, 2, 4 << 20).unwrap();
    let budget = Arc::new(AtomicU64::new(1 << 40));
    let source = Injected { device: h.device.clone(), budget: budget.clone() };
    engine.watch_memory(Box::new(source), knobs());
    (engine, budget)
}

fn draw(engine: &mut Engine, camera: Camera, frames: u32) {
    for _ in 0..frames {
        engine.render(&view(camera), EXTENT, None::<PresentTarget<'_>>).unwrap();
    }
}

#[test]
fn a_budget_that_shrinks_and_recovers_brings_the_same_picture_back() {
    on_device(|h| {
        let surface = hills();
        let (mut engine, budget) = engine(h);
        add_hills(&mut engine, &surface);
        let mut buffer = storage(engine.sparse(), "Kept", 8 * MIB);
        let wait = waits(resize(engine.sparse(), &mut buffer, 3 * MIB));
        h.write(&buffer, Pattern::new(7), (0, 3 * MIB), &wait);
        let camera = flight(&surface, 0.4);
        draw(&mut engine, camera, 12);
        let full = engine.read_back().unwrap();
        draw(&mut engine, camera, 30);
        assert_eq!(engine.residency().ladder().level(), 0, "there is room for everything");
        let used = h.device.object_counts().memory_bytes;

        // Less and less, down to what cannot be given up at all.
        let mut levels = Vec::new();
        for least in [used - MIB / 2, MIB] {
            budget.store(least, Ordering::Relaxed);
            for _ in 0..40 {
                let before = engine.residency().ladder().level();
                draw(&mut engine, camera, 1);
                let after = engine.residency().ladder().level();
                assert!(after == before || after == before + 1, "{before} to {after} in one frame");
            }
            levels.push(engine.residency().ladder().level());
            crate::scene::check_buffers(h, &engine);
        }
        assert_eq!(levels, [1, 5], "samples, then two effects, then twice the resolution");
        assert!(engine.residency().ladder().is_exhausted());
        let quality = engine.renderer().quality();
        assert_eq!((quality.samples, quality.scale), (1, 0.5));
        let least = engine.read_back().unwrap();
        assert_eq!(least.len(), full.len(), "the picture keeps its size");
        assert!(least != full, "nothing can be seen of it");
        assert!(h.device.object_counts().memory_bytes < used, "nothing was given back");
        h.expect(&buffer, Pattern::new(7), (0, 3 * MIB), &[]);

        budget.store(1 << 40, Ordering::Relaxed);
        draw(&mut engine, camera, 60);
        let ladder = engine.residency().ladder();
        assert_eq!((ladder.level(), ladder.level_max()), (0, 5));
        assert!(engine.read_back().unwrap() == full, "the picture that came back is another one");
        crate::scene::check_buffers(h, &engine);
        h.expect_in_chunks(&buffer, Pattern::new(7));
        let stats = engine.stats().memory;
        assert_eq!((stats.degrade_level, stats.degrade_level_max), (Some(0), Some(5)));
        assert!(stats.degrade_reason.is_some_and(|reason| reason.contains("degrade level 0")));
        assert_eq!(stats.owners.iter().map(|owner| owner.bytes).sum::<u64>(), stats.usage_bytes);
        let (down, up): (Vec<&vasa::memory::Step>, Vec<&vasa::memory::Step>) =
            engine.residency().steps().partition(|step| step.is_down());
        assert_eq!(down.len(), up.len());
        assert!(up.iter().all(|step| step.why == Why::Room));
    });
}

#[test]
fn residents_leave_once_the_gpu_is_done_and_the_others_keep_their_contents() {
    on_device(|h| {
        let (mut engine, budget) = engine(h);
        let camera = Camera::default();
        draw(&mut engine, camera, 12);
        let mut pages: Vec<_> = (0..8u64)
            .map(|i| {
                let mut buffer = storage(engine.sparse(), &format!("Page{i}"), MIB);
                let wait = waits(resize(engine.sparse(), &mut buffer, MIB));
                let done = h.write(&buffer, Pattern::new(i as u32), (0, MIB), &wait);
                let frame = engine.frame();
                let id = engine.residency_mut().add(Resident {
                    name: format!("Page{i}"),
                    priority: if i == 0 { Priority::Pinned } else { Priority::Streamed },
                    bytes: MIB,
                    last_use: frame,
                    distance: i as f32,
                    point: done.value,
                });
                (i, id, buffer)
            })
            .collect();
        h.settle();
        let used = h.device.object_counts().memory_bytes;
        // Too much by three pages and a bit. Page 7 is in use, 0 is pinned: the farthest of the others go.
        budget.store(used - 3 * MIB - TILE, Ordering::Relaxed);
        let mut gone = Vec::new();
        for _ in 0..20 {
            let (frame, point) = (engine.frame(), h.device.submitted(Timeline::Graphics).value);
            assert!(
                engine.residency_mut().touch(pages.last().unwrap().1, Use { frame, distance: 7.0, point })
            );
            draw(&mut engine, camera, 1);
            for (id, resident) in engine.take_evicted() {
                assert!(resident.point <= h.device.completed(Timeline::Graphics).unwrap(), "in flight");
                let at = pages.iter().position(|(_, known, _)| *known == id).unwrap();
                gone.push(pages.remove(at).0);
            }
        }
        gone.sort_unstable();
        assert_eq!(gone, [3, 4, 5, 6]);
        assert_eq!(engine.residency().ladder().level_max(), 0, "who leaves is enough");
        for (i, _, buffer) in &pages {
            h.expect(buffer, Pattern::new(*i as u32), (0, MIB), &[]);
        }
    });
}

fn report_of(error: &Error) -> &vasa::vk::OutOfMemory {
    error.out_of_memory().unwrap_or_else(|| panic!("another error: {error}"))
}

#[test]
fn out_of_memory_says_who_holds_what_and_what_was_tried() {
    on_device(|h| {
        let buffer = |name: &str, bytes: u64| {
            Buffer::committed(&h.device, name, bytes, BufferUsageFlags::STORAGE_BUFFER, Location::Device)
        };
        let held: Vec<_> =
            (1..=7u64).map(|i| buffer(&format!("Owner{i}.Part"), i * 64 * TILE).unwrap()).collect();
        let more = buffer("Owner3.Other", 200 * TILE).unwrap();
        let used = h.device.object_counts().memory_bytes;
        let limit = used + MIB;
        h.device.limit_memory(Some(limit));
        let error = buffer("Big.Thing", 4 * MIB).unwrap_err();
        let report = report_of(&error);
        assert_eq!((report.what.as_str(), report.budget), ("Big.Thing", limit));
        assert!(report.requested >= 4 * MIB && report.usage > 0 && report.usage <= used, "{report}");
        let names: Vec<_> = report.owners.iter().map(|owner| owner.owner.as_str()).collect();
        assert_eq!(names, ["Owner7", "Owner3", "Owner6", "Owner5", "Owner4"]);
        assert!(report.owners.windows(2).all(|pair| pair[0].bytes >= pair[1].bytes));
        let text = error.to_string();
        for part in [
            "Big.Thing needs",
            "heap",
            "budget",
            "used by this device",
            "Owner7",
            "tried: nothing could be trimmed",
        ] {
            assert!(text.contains(part), "`{part}` is missing: {text}");
        }
        assert!(buffer("Small", 64 * 1024).is_ok(), "what fits is given");
        h.device.limit_memory(None);
        assert!(buffer("Big.Thing", 4 * MIB).is_ok());
        drop((held, more));
        h.settle();
        assert!(
            h.device.owners().iter().all(|owner| !owner.owner.starts_with("Owner")),
            "freed, and still booked"
        );
    });
}

/// Grows past a limit; returns what was committed.
fn grow_past_a_limit(h: &Harness) {
    let sparse = h.small_chunks();
    let mut buffer = storage(&sparse, "Grows", 64 * MIB);
    let wait = waits(resize(&sparse, &mut buffer, 4 * MIB));
    h.write(&buffer, Pattern::new(3), (0, 4 * MIB), &wait);
    let limit = h.device.object_counts().memory_bytes + 9 * MIB;
    h.device.limit_memory(Some(limit));
    let error = buffer.commit(40 * MIB).unwrap_err();
    let report = error.out_of_memory().unwrap_or_else(|| panic!("another error: {error}"));
    assert!(report.budget == limit && report.what.starts_with("Grows"), "{report}");
    assert_eq!(buffer.committed(), 4 * MIB);
    h.device.wait_idle().unwrap();
    // The fallback needs both buffers while it copies.
    let wait = waits(resize(&sparse, &mut buffer, 8 * MIB));
    assert!(h.device.object_counts().memory_bytes <= limit);
    h.write(&buffer, Pattern::new(3), (4 * MIB, 8 * MIB), &wait);
    h.device.limit_memory(None);
    h.expect_in_chunks(&buffer, Pattern::new(3));
    resize(&sparse, &mut buffer, 40 * MIB);
    h.device.wait_idle().unwrap();
    h.expect(&buffer, Pattern::new(3), (0, 8 * MIB), &[]);
}

#[test]
fn growing_obeys_the_budget_in_place_and_in_the_fallback() {
    on_device(grow_past_a_limit);
}

#[test]
fn ready_chunks_are_given_up_for_an_ordinary_buffer() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Shrinks", 16 * MIB);
        resize(&sparse, &mut buffer, 4 * MIB);
        resize(&sparse, &mut buffer, 0);
        h.settle();
        let ready = sparse.stats().cached_bytes;
        assert_eq!(ready > 0, h.in_place());
        h.device.limit_memory(Some(h.device.object_counts().memory_bytes + MIB / 2));
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let made = Buffer::committed(&h.device, "Ordinary", 2 * MIB, usage, Location::Device);
        assert_eq!(made.is_ok(), h.in_place(), "{made:?}");
        assert_eq!(sparse.stats().cached_bytes, 0);
        h.device.limit_memory(None);
    });
}

#[test]
fn a_frame_without_any_memory_is_an_error_and_the_next_one_draws() {
    on_device(|h| {
        let surface = hills();
        let (mut engine, _) = engine(h);
        add_hills(&mut engine, &surface);
        let camera = flight(&surface, 0.4);
        draw(&mut engine, camera, 12);
        let full = engine.read_back().unwrap();
        h.device.limit_memory(Some(0));
        let larger = EXTENT.map(|side| side * 4);
        let error = engine.render(&view(camera), larger, None).unwrap_err();
        let report = error.out_of_memory().unwrap_or_else(|| panic!("another error: {error}"));
        assert_eq!(report.budget, 0);
        assert_eq!(engine.renderer().quality().scale, 0.5, "everything was tried");
        h.device.limit_memory(None);
        draw(&mut engine, camera, 1);
        assert_eq!(engine.read_back().unwrap().len(), full.len());
        draw(&mut engine, camera, 60);
        assert_eq!(engine.residency().ladder().level(), 0);
        assert!(engine.read_back().unwrap() == full);
        crate::scene::check_buffers(h, &engine);
    });
}

#[test]
fn a_small_budget_starts_lower_and_rises_when_there_is_more() {
    on_device(|h| {
        let (mut engine, budget) = engine(h);
        let used = h.device.object_counts().memory_bytes;
        let quality = vasa::render::Quality::FULL;
        budget.store(used + engine.renderer().target_bytes(EXTENT, &quality) / 2, Ordering::Relaxed);
        draw(&mut engine, Camera::default(), 1);
        let first = engine.residency().steps().next().cloned().unwrap();
        assert_eq!((first.why, first.rung.as_str(), first.level), (Why::Start, "samples", 1));
        assert_eq!(engine.renderer().quality().samples, 1, "before anything was made");
        assert_eq!(engine.residency().ladder().level_max(), 1);
        budget.store(1 << 40, Ordering::Relaxed);
        draw(&mut engine, Camera::default(), 12);
        assert_eq!(engine.residency().ladder().level(), 0);
    });
}
