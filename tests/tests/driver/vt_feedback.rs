//! Feedback of virtual textures on a real driver: compacted as the host does it, read back frame by frame.

use std::collections::BTreeMap;

use ash::vk::BufferUsageFlags;
use vasa::graph::{Access, FrameGraph, GraphOptions, Queue};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, BufferCopy, Device, Location, Site};
use vasa::vt::feedback::NONE;
use vasa::vt::feedback_twin::{Compacted, compact};
use vasa::vt::passes::{Feedback, FeedbackLayout};
use vasa_tests::random::Random;
use vasa_tests::{Harness, labels, on_device};

/// A graph, the passes, and what a frame writes as feedback.
struct Frames {
    graph: FrameGraph,
    feedback: Feedback,
    number: u64,
}

impl Frames {
    fn new(device: &std::sync::Arc<Device>, in_flight: usize) -> Self {
        let graph = FrameGraph::new(device, in_flight, GraphOptions::default()).unwrap();
        Self { graph, feedback: Feedback::new(device, in_flight).unwrap(), number: 0 }
    }

    /// A frame that writes these words after the header, as far as they fit, and says that it asked for so many.
    fn run(&mut self, words: &[u32], asked: u32) -> Result<u64, vasa::graph::Error> {
        let Self { graph, feedback, number } = self;
        *number += 1;
        let device = graph.device().clone();
        let fits = words.len().min(feedback.layout().capacity as usize);
        let contents: Vec<u32> = [asked, 0, 0, 0].into_iter().chain(words[..fits].iter().copied()).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&contents);
        let usage = BufferUsageFlags::TRANSFER_SRC;
        let written =
            Buffer::committed(&device, "Written", bytes.len() as u64, usage, Location::Upload).unwrap();
        written.write_mapped(0, bytes).unwrap();
        graph.wait_for_place()?;
        let submitted = submit(graph, feedback, &written);
        match submitted {
            Ok(()) => assert!(feedback.submitted(*number)),
            Err(_) => feedback.keep_unsubmitted(),
        }
        submitted.map(|()| *number)
    }

    fn run_all(&mut self, words: &[u32]) -> u64 {
        self.run(words, words.len() as u32).unwrap()
    }
}

fn submit(graph: &mut FrameGraph, feedback: &Feedback, written: &Buffer) -> Result<(), vasa::graph::Error> {
    let mut frame = graph.begin();
    let mut handles = feedback.declare_clear(&mut frame);
    let write = frame.pass("Write", Queue::Graphics).write(&mut handles.buffer, Access::CopyDestinationOver);
    let buffer = handles.buffer;
    write.record(move |pass| {
        let (encoder, resources) = pass.split();
        // Nothing at all where nothing was asked for: the clear has to be enough.
        if written.bytes() > 16 {
            let all = BufferCopy { source: 0, destination: 0, bytes: written.bytes() };
            encoder.copy_buffer(written, resources.buffer(buffer)?, &[all]);
        }
        Ok(())
    });
    feedback.declare_update(&mut frame, handles);
    frame.compile()?.record()?.submit(&[], PresentSync::default())?;
    Ok(())
}

fn truth(words: &[u32]) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    words.iter().filter(|word| **word != NONE).for_each(|word| *counts.entry(*word).or_insert(0) += 1);
    counts
}

fn twin(words: &[u32], asked: u32, layout: &FeedbackLayout) -> Compacted {
    let buffer: Vec<u32> = [asked, 0, 0, 0].into_iter().chain(words.iter().copied()).collect();
    compact(&buffer, layout)
}

/// Runs a frame and holds what arrives against the twin; returns how many entries were dropped.
fn check(frames: &mut Frames, words: &[u32], asked: u32) -> u32 {
    let number = frames.run(words, asked).unwrap();
    let layout = frames.feedback.layout();
    let expected = twin(words, asked, &layout);
    let arrived = frames.feedback.take(Some(number)).unwrap().expect("the frame's feedback").clone();
    assert_eq!((arrived.frame, arrived.raw, arrived.overflow), (number, asked, expected.overflow));
    assert!(arrived.pairs.is_sorted());
    let kept = &words[..words.len().min(layout.capacity as usize)];
    let counts = truth(kept);
    if expected.dropped == 0 {
        let mut pairs = expected.pairs.clone();
        pairs.sort_unstable();
        assert_eq!(arrived.pairs, pairs);
        assert_eq!(arrived.table_full, 0);
    } else {
        let unique: BTreeMap<u32, u32> = arrived.pairs.iter().copied().collect();
        assert_eq!(unique.len(), arrived.pairs.len(), "a word comes once");
        unique.iter().for_each(|(word, count)| assert_eq!(counts.get(word), Some(count), "{word:#x}"));
        let sum: u32 = unique.values().sum();
        assert_eq!(sum + arrived.table_full, counts.values().sum::<u32>(), "counted and dropped");
        assert!(arrived.table_full > 0);
    }
    arrived.table_full
}

fn pages(random: &mut Random, count: usize, different: u64) -> Vec<u32> {
    let page = |n: u64| (n & 63) as u32 | ((n >> 6 & 63) as u32) << 12 | ((n >> 12) as u32 & 7) << 24;
    (0..count).map(|_| page(random.below(different))).collect()
}

#[test]
fn random_feedback_is_compacted_as_the_host_does_it() {
    on_device(|h| {
        for in_flight in 1..=3 {
            let mut frames = Frames::new(&h.device, in_flight);
            frames.feedback.resize([1280, 720], 16, 2).unwrap();
            let layout = frames.feedback.layout();
            assert_eq!((layout.capacity, layout.pairs), (7200, 512));
            let random = &mut Random::new(7 + in_flight as u64);
            let capacity = layout.capacity as usize;
            assert_eq!(check(&mut frames, &[], 0), 0, "nothing");
            assert_eq!(check(&mut frames, &[0x0400_1002], 1), 0, "one");
            assert_eq!(check(&mut frames, &vec![0x0400_1002; capacity], capacity as u32), 0, "one often");
            assert_eq!(check(&mut frames, &vec![NONE; 300], 300), 0, "nothing written");
            for different in [2, 40, 300, 500] {
                let mut words = pages(random, capacity - 3, different);
                (0..50).for_each(|_| words[random.below(capacity as u64 - 3) as usize] = NONE);
                assert_eq!(check(&mut frames, &words, words.len() as u32), 0, "{different} pages");
            }
            // The list is full, then the table.
            for different in [700, 20_000] {
                let words = pages(random, capacity, different);
                assert!(check(&mut frames, &words, words.len() as u32) > 0, "{different} pages");
            }
            // More was asked for than there is room.
            let words = pages(random, capacity, 200);
            check(&mut frames, &words, capacity as u32 + 12_345);
            assert_eq!(check(&mut frames, &[], 0), 0, "nothing is left of the frames before");
            let stats = frames.feedback.stats();
            assert_eq!((stats.taken, stats.lost_feedback, stats.overflow), (12, 0, 12_345));
        }
    });
}

#[test]
fn more_entries_than_an_axis_has_workgroups_are_all_counted() {
    on_device(|h| {
        let mut frames = Frames::new(&h.device, 1);
        frames.feedback.resize([4096, 4200], 1, 1).unwrap();
        // 65535 groups of 256, and some.
        let words: Vec<u32> =
            (0..65_535 * 256 + 300_001u32).map(|at| at.wrapping_mul(0x9e37_79b9) >> 19).collect();
        assert_eq!(check(&mut frames, &words, words.len() as u32), 0);
    });
}

#[test]
fn a_full_ring_loses_the_oldest_and_counts_it() {
    on_device(|h| {
        let mut frames = Frames::new(&h.device, 2);
        frames.feedback.resize([64, 64], 16, 2).unwrap();
        for number in 1..=7u32 {
            assert_eq!(frames.run_all(&[number; 3]), u64::from(number));
        }
        assert_eq!(frames.feedback.stats().lost_feedback, 3);
        for lost in [0, 1, 2, 3, 8] {
            assert_eq!(frames.feedback.take(Some(lost)).unwrap(), None, "frame {lost}");
        }
        let pairs = |arrived: Option<&vasa::vt::passes::Arrived>| arrived.map(|a| a.pairs.clone());
        assert_eq!(pairs(frames.feedback.take(Some(5)).unwrap()), Some(vec![(5, 3)]));
        assert_eq!(frames.feedback.take(Some(4)).unwrap(), None, "older than what was taken");
        frames.graph.wait_for_all().unwrap();
        let newest = frames.feedback.take(None).unwrap();
        assert_eq!(newest.map(|a| (a.frame, a.pairs.clone())), Some((7, vec![(7, 3)])));
        assert_eq!(frames.feedback.take(None).unwrap(), None);
        let stats = frames.feedback.stats();
        assert_eq!((stats.taken, stats.lost_feedback, stats.superseded), (2, 3, 2));
    });
}

#[test]
fn a_frame_that_is_asked_for_is_waited_for() {
    on_device(|h| {
        for in_flight in 1..=3 {
            let mut frames = Frames::new(&h.device, in_flight);
            frames.feedback.resize([640, 360], 8, 2).unwrap();
            let random = &mut Random::new(11);
            let written: Vec<Vec<u32>> = (0..12).map(|_| pages(random, 500, 100)).collect();
            for (at, words) in written.iter().enumerate() {
                let number = at as u64 + 1;
                // What a deterministic run does: the feedback of three frames ago, at the start of a frame.
                let wanted = number.checked_sub(3).filter(|wanted| *wanted > 0);
                if let Some(wanted) = wanted {
                    let arrived = frames.feedback.take(Some(wanted)).unwrap().expect("three frames ago");
                    let expected: Vec<_> = truth(&written[wanted as usize - 1]).into_iter().collect();
                    assert_eq!(arrived.pairs, expected, "frame {wanted}");
                }
                assert_eq!(frames.run_all(words), number);
            }
            let stats = frames.feedback.stats();
            assert_eq!((stats.taken, stats.lost_feedback, stats.superseded), (9, 0, 0));
        }
    });
}

#[test]
fn feedback_in_flight_survives_another_size() {
    on_device(|h| {
        let mut frames = Frames::new(&h.device, 3);
        frames.feedback.resize([320, 200], 4, 1).unwrap();
        let first = frames.run_all(&[1, 2, 2]);
        frames.feedback.resize([1920, 1080], 16, 2).unwrap();
        let second = frames.run_all(&(0..1000).collect::<Vec<u32>>());
        frames.feedback.resize([16, 16], 16, 1).unwrap();
        assert_eq!(frames.feedback.layout().capacity, 1);
        let third = frames.run(&[9], 3).unwrap();
        let arrived = frames.feedback.take(Some(first)).unwrap().unwrap();
        assert_eq!(arrived.pairs, [(1, 1), (2, 2)]);
        let arrived = frames.feedback.take(Some(second)).unwrap().unwrap();
        assert_eq!(arrived.pairs, (0..1000).map(|word| (word, 1)).collect::<Vec<_>>());
        let arrived = frames.feedback.take(Some(third)).unwrap().unwrap();
        assert_eq!((arrived.pairs.as_slice(), arrived.overflow), ([(9, 1)].as_slice(), 2));
    });
}

#[test]
fn a_steady_frame_makes_nothing_and_a_refused_one_leaves_nothing() {
    on_device(|h| {
        let mut frames = Frames::new(&h.device, 2);
        frames.feedback.resize([640, 360], 16, 2).unwrap();
        let mut created = Vec::new();
        for _ in 0..20 {
            frames.run_all(&[5, 6, 6]);
            created.push(h.device.object_counts().created);
            frames.feedback.take(None).unwrap();
        }
        // The buffer that the test writes with is the only one.
        assert_eq!(created[19] - created[9], 10, "{created:?}");
        h.device.faults().refuse(Site::Submit, 0);
        frames.run(&[7, 7], 2).unwrap_err();
        let refused = frames.number;
        assert_eq!(frames.feedback.take(Some(refused)).unwrap(), None);
        assert!(!frames.feedback.submitted(refused), "nothing was told");
        assert_eq!(frames.feedback.take(Some(refused)).unwrap(), None, "and nothing is in the ring");
        let next = frames.run_all(&[8]);
        assert_eq!(frames.feedback.take(Some(next)).unwrap().unwrap().pairs, [(8, 1)]);
    });
}

#[test]
fn a_lost_device_is_said_and_nothing_is_taken() {
    on_device(|h: &Harness| {
        let device = Device::open(h.device.instance(), &h.device_options()).unwrap();
        let mut frames = Frames::new(&device, 2);
        let number = frames.run_all(&[1]);
        device.faults().refuse(Site::Lose, 0);
        frames.run(&[2], 1).unwrap_err();
        assert!(frames.feedback.take(Some(number)).is_err());
        assert!(frames.feedback.take(None).is_err());
        assert!(!frames.feedback.submitted(number));
    });
}

#[test]
fn a_capture_shows_the_passes_and_buffers_by_name() {
    on_device(|h| {
        let mut frames = Frames::new(&h.device, 1);
        labels::take();
        frames.run_all(&[1]);
        let seen = labels::take();
        if seen.is_empty() {
            h.skip("markers are not to be had");
        } else {
            let before = ["VirtualTextureClear", "Write"];
            assert_eq!(seen, before.into_iter().chain(labels::FEEDBACK).collect::<Vec<_>>());
        }
        let names: Vec<&str> = frames.feedback.buffers().map(Buffer::name).collect();
        assert_eq!(
            names,
            [
                "VirtualTexture_FeedbackBuffer",
                "VirtualTexture.HashTableKeys",
                "VirtualTexture.HashTableElementIndices",
                "VirtualTexture.HashTableElementCounts",
                "VirtualTexture.CompactedFeedback",
                "VirtualTexture.BuildHashTableIndirectArgs",
            ]
        );
    });
}
