//! Whole frames: the same picture every time, whatever backs the buffers and however many frames are in flight.

use vasa::Engine;
use vasa::sparse::{ChunkPolicy, SparseKnobs};
use vasa::vk::FeatureMask;
use vasa::vk::quirks::Switch;
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::scenes::{self, EXTENT, add_hills, draw, flight, hills};

/// The last picture of a short flight.
fn picture(engine: &mut Engine, frames: u32) -> Vec<u8> {
    let surface = hills();
    add_hills(engine, &surface);
    for frame in 0..frames {
        draw(engine, flight(&surface, 0.05 + 0.3 * frame as f32 / frames as f32));
    }
    engine.read_back().unwrap()
}

fn assert_same(a: &[u8], b: &[u8], what: &str) {
    assert_eq!(a.len(), b.len());
    let different = a.iter().zip(b).filter(|(a, b)| a != b).count();
    assert_eq!(different, 0, "{what}: {different} of {} bytes differ", a.len());
}

/// A picture is worth comparing only if it shows something: many colours, sky above, ground below.
fn assert_shows_something(picture: &[u8]) {
    let colours: std::collections::HashSet<&[u8]> = picture.chunks_exact(4).collect();
    assert!(colours.len() > 500, "{} colours", colours.len());
    let row = |y: u32| &picture[(y * EXTENT[0] * 4) as usize..((y + 1) * EXTENT[0] * 4) as usize];
    let blue = |row: &[u8]| {
        row.chunks_exact(4).map(|p| i32::from(p[2]) - i32::from(p[0])).sum::<i32>() / EXTENT[0] as i32
    };
    assert!(blue(row(2)) > blue(row(EXTENT[1] - 3)), "the sky is not bluer than the ground");
}

#[test]
fn the_same_flight_gives_the_same_bits() {
    on_device(|h| {
        let first = picture(&mut scenes::engine(&h.device, 2), 12);
        assert_shows_something(&first);
        let second = picture(&mut scenes::engine(&h.device, 2), 12);
        assert_same(&first, &second, "two runs");
    });
}

#[test]
fn frames_in_flight_do_not_change_the_picture() {
    on_device(|h| {
        let one = picture(&mut scenes::engine(&h.device, 1), 12);
        let three = picture(&mut scenes::engine(&h.device, 3), 12);
        assert_same(&one, &three, "one and three frames in flight");
    });
}

#[test]
fn sparse_and_fallback_give_the_same_bits() {
    on_device(|h: &Harness| {
        let here = picture(&mut scenes::engine(&h.device, 2), 20);
        let fallback = h.open_fallback();
        assert!(!fallback.capabilities().sparse.growable_buffers());
        let there = picture(&mut scenes::engine(&fallback, 2), 20);
        assert_same(&here, &there, "sparse and fallback");
    });
}

#[test]
fn a_device_without_any_one_feature_gives_the_same_bits() {
    on_device(|h: &Harness| {
        let here = picture(&mut scenes::engine(&h.device, 2), 8);
        for name in FeatureMask::NAMES {
            // What pictures are made with, not what backs them.
            if *name == "anisotropy" {
                continue;
            }
            let device = h.open_masked(name);
            let there = picture(&mut scenes::engine(&device, 2), 8);
            assert_same(&here, &there, name);
        }
    });
}

#[test]
fn quirks_and_knobs_of_reserved_memory_change_no_bit() {
    on_device(|h: &Harness| {
        let here = picture(&mut scenes::engine(&h.device, 2), 8);
        let render = scenes::STILL;
        let variants = [
            (
                "exact chunks",
                SparseKnobs { check: true, chunk_policy: ChunkPolicy::Exact, ..Default::default() },
            ),
            ("no worker", SparseKnobs { check: true, commit_ahead: false, ..Default::default() }),
            ("graphics queue", SparseKnobs { check: true, bind_on_graphics: true, ..Default::default() }),
            ("poison", SparseKnobs { check: true, poison: true, ..Default::default() }),
            ("captures", SparseKnobs { check: true, capture_friendly: true, ..Default::default() }),
            ("no checker", SparseKnobs { check: false, ..Default::default() }),
        ];
        for (name, knobs) in variants {
            let mut engine = Engine::on_device(h.device.clone(), knobs, render, 2, 8 << 20).unwrap();
            assert_same(&here, &picture(&mut engine, 8), name);
        }
        for switch in [Switch::NoMergedBinds, Switch::NoNullUnbind] {
            let device = h.open_with_switch(switch);
            let there = picture(&mut scenes::engine(&device, 2), 8);
            assert_same(&here, &there, &format!("{switch:?}"));
        }
    });
}

#[test]
fn a_still_view_creates_nothing_and_binds_nothing() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let camera = flight(&surface, 0.3);
        // Until chunks are made, idle ones are gone and hysteresis has passed.
        for _ in 0..90 {
            draw(&mut engine, camera);
        }
        // What is committed ahead of need is asked for while the view changed.
        engine.sparse().wait_for_ahead();
        let before = (engine.device().object_counts().created, engine.stats().sparse.bind_calls);
        let uploaded = engine.scene().gpu().uploaded_bytes();
        for _ in 0..30 {
            draw(&mut engine, camera);
        }
        let after = (engine.device().object_counts().created, engine.stats().sparse.bind_calls);
        assert_eq!(before, after, "objects created, bind calls");
        assert_eq!(uploaded, engine.scene().gpu().uploaded_bytes(), "bytes uploaded in a still view");
    });
}

#[test]
fn the_size_may_change_every_frame() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        for extent in [[160, 90], [1, 1], [333, 17], [64, 200], [160, 90]] {
            engine.render(&scenes::view(flight(&surface, 0.2)), extent, None).unwrap();
            assert_eq!(engine.read_back().unwrap().len(), (extent[0] * extent[1] * 4) as usize);
        }
        let limit = h.device.capabilities().limits.max_image_2d;
        let error = engine.render(&scenes::view(flight(&surface, 0.2)), [limit + 1, 8], None).unwrap_err();
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
        // The camera of the pictures above, which are known to show something.
        draw(&mut engine, flight(&surface, 0.05 + 0.3 * 11.0 / 12.0));
        assert_shows_something(&engine.read_back().unwrap());
    });
}
