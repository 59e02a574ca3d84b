//! The frame graph on a real driver: what passes wrote is what later ones read, whatever shares memory and in whatever
//! order they run.

use ash::vk::{BufferUsageFlags, Format, ImageUsageFlags};
use vasa::Engine;
use vasa::graph::{
    Access, BufferInfo, Error, Frame, FrameGraph, GraphError, GraphOptions, ImageInfo, ImportState, Order,
    Queue,
};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, BufferCopy, Image, ImageDesc, Location, Site};
use vasa_tests::scenes::{self, EXTENT, add_hills, flight, hills, view};
use vasa_tests::{Harness, on_device};

/// Bytes of a transient: more than any driver's alignment, so that sharing shows.
const BYTES: u64 = 256 << 10;
const STAGES: u64 = 8;

fn readback(h: &Harness, bytes: u64) -> Buffer {
    Buffer::committed(&h.device, "Result", bytes, BufferUsageFlags::TRANSFER_DST, Location::Readback).unwrap()
}

fn words(buffer: &Buffer) -> Vec<u32> {
    bytemuck::cast_slice(buffer.mapped().unwrap()).to_vec()
}

fn run<'f>(graph: &mut FrameGraph, declare: impl FnOnce(&mut Frame<'_, 'f>)) -> Result<(), Error> {
    graph.wait_for_place()?;
    let mut frame = graph.begin();
    declare(&mut frame);
    frame.compile()?.record()?.submit(&[], PresentSync::default())?;
    Ok(())
}

/// Fills one transient after the other and copies a word of each into the result.
fn fill_and_copy<'f>(frame: &mut Frame<'_, 'f>, result: &'f Buffer, round: u32) {
    let mut out = frame.import_buffer(result, Some(Access::HostRead));
    for stage in 0..STAGES {
        let mut stuff = frame.buffer("Stuff", BufferInfo::new(BYTES));
        let fill = frame.pass("Fill", Queue::Graphics).write(&mut stuff, Access::CopyDestination);
        let filled = stuff;
        fill.record(move |pass| {
            let (encoder, resources) = pass.split();
            encoder.fill_buffer(resources.buffer(filled)?, 0, BYTES, round * 100 + stage as u32);
            Ok(())
        });
        let part = vasa::graph::Subresources::Bytes { offset: stage * 4, bytes: 4 };
        let copy = frame.pass("Copy", Queue::Graphics).read(stuff, Access::CopySource).write_part(
            &mut out,
            Access::CopyDestination,
            part,
        );
        copy.record(move |pass| {
            let (encoder, resources) = pass.split();
            // The last word: the first is filled first.
            let copy = BufferCopy { source: BYTES - 4, destination: stage * 4, bytes: 4 };
            encoder.copy_buffer(resources.buffer(stuff)?, result, &[copy]);
            Ok(())
        });
    }
}

#[test]
fn transients_share_memory_and_hold_what_their_frame_wrote() {
    on_device(|h| {
        let orders = (0..6).map(Order::Random).chain([Order::Declared]);
        for (aliasing, order) in orders.flat_map(|order| [(true, order), (false, order)]) {
            let options = GraphOptions { aliasing, order, ..GraphOptions::default() };
            let mut graph = FrameGraph::new(&h.device, 2, options).unwrap();
            let result = readback(h, STAGES * 4);
            for round in 1..4 {
                run(&mut graph, |frame| fill_and_copy(frame, &result, round)).unwrap();
                graph.wait_for_all().unwrap();
                let expected: Vec<u32> = (0..STAGES as u32).map(|stage| round * 100 + stage).collect();
                assert_eq!(words(&result), expected, "{options:?}, round {round}");
            }
            let stats = graph.stats();
            assert_eq!(stats.transient_unaliased_bytes, STAGES * BYTES);
            if order == Order::Declared {
                assert_eq!(stats.transient_bytes, if aliasing { BYTES } else { STAGES * BYTES });
                assert_eq!((stats.compiles, stats.compile_hits > 0), (2, true), "{stats:?}");
            }
        }
    });
}

#[test]
fn a_steady_graph_makes_no_vulkan_object() {
    on_device(|h| {
        let mut graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
        let result = readback(h, STAGES * 4);
        let mut created = Vec::new();
        for round in 0..40 {
            run(&mut graph, |frame| fill_and_copy(frame, &result, round)).unwrap();
            created.push(h.device.object_counts().created);
        }
        graph.wait_for_all().unwrap();
        assert_eq!(created[6], created[39], "{created:?}");
    });
}

const SIDE: u32 = 16;
const TEXELS: u64 = (SIDE * SIDE) as u64 * 4;

/// Puts a colour into this frame's image and copies last frame's into the result. Returns whether there was a last frame.
fn keep_history<'f>(
    frame: &mut Frame<'_, 'f>,
    (source, result): (&'f Buffer, &'f Buffer),
    was_valid: &'f std::cell::Cell<Option<bool>>,
) {
    let info = ImageInfo::new_2d(Format::R8G8B8A8_UNORM, [SIDE; 2]);
    let (previous, mut current) = frame.history_image("Kept", info);
    let write = frame.pass("Write", Queue::Graphics).write(&mut current, Access::CopyDestination);
    let written = current;
    write.side_effects().record(move |pass| {
        let (encoder, resources) = pass.split();
        encoder.copy_buffer_to_image(source, 0, resources.image(written)?, 0);
        Ok(())
    });
    let mut out = frame.import_buffer(result, Some(Access::HostRead));
    let read = frame
        .pass("Read", Queue::Graphics)
        .read(previous, Access::CopySource)
        .write(&mut out, Access::CopyDestination);
    read.record(move |pass| {
        let (encoder, resources) = pass.split();
        was_valid.set(Some(resources.is_valid(previous)));
        if resources.is_valid(previous) {
            encoder.copy_image_to_buffer(resources.image(previous)?, result, 0);
        } else {
            encoder.fill_buffer(result, 0, TEXELS, 0);
        }
        Ok(())
    });
}

#[test]
fn history_is_what_the_last_frame_wrote_and_says_when_there_is_none() {
    on_device(|h| {
        let mut graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
        let upload = |word: u32| {
            let usage = BufferUsageFlags::TRANSFER_SRC;
            let buffer = Buffer::committed(&h.device, "Source", TEXELS, usage, Location::Upload).unwrap();
            buffer.write_mapped(0, &word.to_le_bytes().repeat(TEXELS as usize / 4)).unwrap();
            buffer
        };
        let result = readback(h, TEXELS);
        let nothing = readback(h, 4 * STAGES);
        // A frame without it in the fourth place.
        for (round, skipped) in [(1, false), (2, false), (3, false), (4, true), (5, false), (6, false)] {
            let source = upload(round);
            let was_valid = std::cell::Cell::new(None);
            run(&mut graph, |frame| {
                if skipped {
                    fill_and_copy(frame, &nothing, round);
                } else {
                    keep_history(frame, (&source, &result), &was_valid);
                }
            })
            .unwrap();
            graph.wait_for_all().unwrap();
            let expected = match round {
                2 | 3 | 6 => Some(true),
                4 => None,
                _ => Some(false),
            };
            assert_eq!(was_valid.get(), expected, "round {round}");
            if expected == Some(true) {
                assert!(words(&result).iter().all(|word| *word == round - 1), "round {round}");
            }
        }
    });
}

#[test]
fn what_a_pass_did_not_declare_it_does_not_get() {
    on_device(|h| {
        let mut graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
        let result = readback(h, STAGES * 4);
        let before = h.device.submitted(vasa::vk::Timeline::Graphics);
        let failed = run(&mut graph, |frame| {
            let mut stuff = frame.buffer("Stuff", BufferInfo::new(BYTES));
            let fill = frame.pass("Fill", Queue::Graphics).write(&mut stuff, Access::CopyDestination);
            fill.side_effects().record(|_| Ok(()));
            frame.pass("Peek", Queue::Graphics).side_effects().record(move |pass| {
                pass.resources().buffer(stuff)?;
                Ok(())
            });
        });
        let Err(Error::Graph(error)) = failed else { panic!("{failed:?}") };
        assert!(matches!(error, GraphError::PastLastUse { .. }), "{error}");
        assert!(error.to_string().contains("Peek") && error.to_string().contains("Stuff"), "{error}");
        assert_eq!(h.device.submitted(vasa::vk::Timeline::Graphics), before, "nothing was submitted");
        run(&mut graph, |frame| fill_and_copy(frame, &result, 1)).unwrap();
        graph.wait_for_all().unwrap();
        assert_eq!(words(&result)[0], 100, "the next frame is as if nothing had been");
    });
}

fn picture(h: &Harness, options: GraphOptions) -> Vec<u8> {
    let surface = hills();
    let mut engine: Engine = scenes::engine(&h.device, 2);
    engine.graph_mut().set_options(options);
    add_hills(&mut engine, &surface);
    for frame in 0..4 {
        engine.render(&view(flight(&surface, 0.2 + 0.02 * frame as f32)), EXTENT, None).unwrap();
    }
    engine.read_back().unwrap()
}

#[test]
fn any_legal_order_and_any_sharing_draw_the_same_picture() {
    on_device(|h| {
        let usual = picture(h, GraphOptions::default());
        for seed in 0..8 {
            for aliasing in [true, false] {
                let order = Order::Random(seed);
                let options = GraphOptions { aliasing, order, ..GraphOptions::default() };
                assert!(picture(h, options) == usual, "{options:?}");
            }
        }
        let apart = GraphOptions { aliasing: false, ..GraphOptions::default() };
        assert!(picture(h, apart) == usual, "{apart:?}");
    });
}

#[test]
fn ten_thousand_small_frames_that_change_their_size_stay_flat() {
    const SIZES: [[u32; 2]; 4] = [[160, 90], [96, 54], [200, 40], [64, 64]];
    on_device(|h| {
        let mut engine: Engine = scenes::engine(&h.device, 2);
        let camera = vasa::scene::Camera::default();
        let (mut after_round, mut made_late) = (Vec::new(), 0);
        for frame in 0..10_000u32 {
            let size = SIZES[(frame / 250) as usize % SIZES.len()];
            let before = h.device.object_counts().created;
            engine.render(&view(camera), size, None).unwrap();
            // Once a size is settled nothing is made, but for a heap that was found too large after a while.
            if frame % 250 > 4 && h.device.object_counts().created != before {
                made_late += 1;
            }
            if frame % 1000 == 999 {
                let counts = h.device.object_counts();
                after_round.push((counts.live, counts.memory_bytes, engine.graph().stats().heap_bytes));
            }
        }
        // At most one heap a settled size and place in flight.
        assert!(made_late <= 2 * 40, "{made_late} frames of settled sizes made something");
        // Every round ends with the same size.
        assert!(after_round.windows(2).skip(1).all(|pair| pair[0] == pair[1]), "{after_round:?}");
        let stats = engine.graph().stats();
        println!("{} compiled, {} found, {after_round:?}", stats.compiles, stats.compile_hits);
        assert!(stats.compiles <= 40 * 8 + 8, "{stats:?}");
    });
}

/// A pass before a commit writes an image, one after it reads it.
fn around_a_commit<'f>(frame: &mut Frame<'_, 'f>, image: &'f Image, source: &'f Buffer, result: &'f Buffer) {
    let mut kept = frame.import_image(image, ImportState::Undefined, None);
    let mut pages = frame.import_buffer(source, None);
    let mut out = frame.import_buffer(result, Some(Access::HostRead));
    let write = frame
        .pass("Write", Queue::Graphics)
        .read(pages, Access::CopySource)
        .write(&mut kept, Access::CopyDestination);
    write.record(move |pass| {
        pass.encoder().copy_buffer_to_image(source, 0, image, 0);
        Ok(())
    });
    frame.pass("Commit", Queue::Commit).write(&mut pages, Access::Commit).commit(|| Ok(None));
    let read = frame
        .pass("Read", Queue::Graphics)
        .read(kept, Access::CopySource)
        .read(pages, Access::CopySource)
        .write(&mut out, Access::CopyDestination);
    read.record(move |pass| {
        pass.encoder().copy_image_to_buffer(image, result, 0);
        Ok(())
    });
}

#[test]
fn a_frame_that_is_refused_half_way_leaves_resources_as_its_first_half_did() {
    on_device(|h| {
        let mut graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
        let usage = ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [SIDE; 2], usage);
        let image = Image::committed(&h.device, "Kept", desc).unwrap();
        let result = readback(h, TEXELS);
        for (round, refused) in [(1u32, None), (2, Some(1)), (3, None), (4, Some(0)), (5, Some(1)), (6, None)]
        {
            let usage = BufferUsageFlags::TRANSFER_SRC;
            let source = Buffer::committed(&h.device, "Source", TEXELS, usage, Location::Upload).unwrap();
            source.write_mapped(0, &round.to_le_bytes().repeat(TEXELS as usize / 4)).unwrap();
            refused.into_iter().for_each(|nth| h.device.faults().refuse(Site::Submit, nth));
            let ran = run(&mut graph, |frame| around_a_commit(frame, &image, &source, &result));
            h.device.faults().clear();
            assert_eq!(ran.is_err(), refused.is_some(), "round {round}: {ran:?}");
            h.device.wait_idle().unwrap();
            if refused.is_none() {
                assert!(words(&result).iter().all(|word| *word == round), "round {round}");
            }
        }
    });
}
