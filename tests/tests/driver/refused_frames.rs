//! The terrain's frames with each of their binds, and some of their allocations and submissions, refused: a frame is
//! lost at most, and the next ones show what they would have shown.

use vasa::Engine;
use vasa::vk::Site;
use vasa_tests::scenes::{self, EXTENT, add_hills, flight, hills, view};
use vasa_tests::{Harness, on_device};

const FRAMES: u32 = 18;

struct Flown {
    /// Calls at the site while it flew, whoever made them.
    calls: u64,
    /// Frames that ended in an error.
    errors: u64,
    picture: Vec<u8>,
}

/// Flies over the hills with the `nth` call at a site refused.
fn fly(h: &Harness, site: Site, nth: Option<u64>) -> Flown {
    let surface = hills();
    let mut engine: Engine = scenes::engine(&h.device, 2);
    add_hills(&mut engine, &surface);
    let faults = h.device.faults();
    let before = faults.calls(site);
    nth.into_iter().for_each(|nth| faults.refuse(site, nth));
    let mut errors = 0;
    for frame in 0..FRAMES {
        let camera = flight(&surface, frame as f32 / (FRAMES - 1) as f32);
        if let Err(error) = engine.render(&view(camera), EXTENT, None) {
            errors += 1;
            assert!(nth.is_some() && errors == 1, "frame {frame}: {error}");
        }
    }
    faults.clear();
    let calls = faults.calls(site) - before;
    scenes::draw(&mut engine, flight(&surface, 1.0));
    crate::scene::check_buffers(h, &engine);
    let picture = engine.read_back().unwrap();
    Flown { calls, errors, picture }
}

/// Refuses every `stride`th call.
fn refuse(h: &Harness, site: Site, stride: u64) {
    fly(h, site, None);
    h.settle();
    let before = h.device.object_counts();
    let undisturbed = fly(h, site, None);
    h.settle();
    let mut lost = 0;
    let mut tried = 0;
    for nth in (0..undisturbed.calls).step_by(stride as usize) {
        let flown = fly(h, site, Some(nth));
        assert!(flown.picture == undisturbed.picture, "{site:?} {nth}: the picture is another one");
        (lost, tried) = (lost + flown.errors, tried + 1);
        h.settle();
        let after = h.device.object_counts();
        assert_eq!((after.live, after.chunk_allocations), (before.live, before.chunk_allocations), "{nth}");
        assert_eq!(after.memory_bytes, before.memory_bytes, "{nth}");
    }
    println!("{site:?}: {tried} of {} calls refused, {lost} frames lost", undisturbed.calls);
    match site {
        // Binds of the worker are survived.
        Site::Bind => assert_eq!(tried > 1 && lost > 0, h.in_place()),
        // One refusal is made up for within its frame.
        Site::Allocate => assert!(tried > 3 && lost == 0, "{tried} tried, {lost} lost"),
        _ => assert!(tried > 3 && lost > 0, "{tried} tried, {lost} lost"),
    }
}

#[test]
fn a_terrain_survives_each_refused_bind() {
    on_device(|h| refuse(h, Site::Bind, 1));
}

#[test]
fn a_terrain_survives_refused_allocations() {
    on_device(|h| refuse(h, Site::Allocate, 4));
}

#[test]
fn a_terrain_survives_refused_submissions() {
    on_device(|h| refuse(h, Site::Submit, 3));
}
