//! The device is lost on purpose at every call that can say so: an error that tells what ran, nothing destroyed and
//! everything counted, no call after it, and an engine made again that draws the same picture.

use std::sync::Arc;
use std::time::Instant;

use ash::vk::BufferUsageFlags;
use vasa::sparse::SparseKnobs;
use vasa::vk::{
    Buffer, CommandPool, Device, DeviceOptions, Error, Location, PassMark, PassTimer, Site, Timeline,
};
use vasa_tests::scenes;
use vasa_tests::{Harness, on_device};

const FRAMES: u32 = 5;

fn knobs(commit_ahead: bool) -> SparseKnobs {
    SparseKnobs { check: true, commit_ahead, ..Default::default() }
}

/// The same device again, with breadcrumbs whatever the tests run with.
fn open(h: &Harness) -> Arc<Device> {
    let options = DeviceOptions { no_breadcrumbs: false, ..h.device_options() };
    Device::open(h.device.instance(), &options).unwrap()
}

fn mark(pass: &str, number: u32) -> Option<PassMark> {
    Some(PassMark { pass: pass.into(), number })
}

#[test]
fn breadcrumbs_tell_the_last_pass_that_each_queue_began_and_finished() {
    on_device(|h| {
        let device = open(h);
        assert_eq!(device.breadcrumbs(), []);
        let mut timer = PassTimer::new(&device).unwrap();
        for timeline in [Timeline::Graphics, Timeline::Transfer] {
            let mut pool = CommandPool::new(&device, timeline).unwrap();
            let mut encoder = pool.begin("Passes").unwrap();
            if timeline == Timeline::Graphics {
                timer.begin(&mut encoder, "Timed");
                timer.end(&mut encoder, "Timed");
            }
            for name in ["One", "Two", "One", "Three"] {
                encoder.begin_pass(name);
                encoder.end_pass();
            }
            encoder.begin_pass("Unfinished");
            let done = device.submit(timeline, vec![encoder.finish().unwrap()], &[]).unwrap();
            device.wait(&[done]).unwrap();
        }
        let queues = device.breadcrumbs();
        assert_eq!(queues.len(), 2);
        for (queue, first) in queues.iter().zip([1, 0]) {
            assert_eq!(queue.finished, mark("Three", first + 4), "{queue:?}");
            assert_eq!(queue.started, mark("Unfinished", first + 5), "{queue:?}");
        }
        timer.discard();
        device.faults().refuse(Site::Lose, 0);
        let error = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("Graphics: in Unfinished (pass 6), last finished Three (pass 5)"),
            "what ran is not told: {text}"
        );
        assert!(
            text.contains("Transfer: in Unfinished (pass 5)") && text.contains("vkQueueSubmit2"),
            "{text}"
        );
    });
}

#[test]
fn without_breadcrumbs_a_loss_says_what_it_knows() {
    on_device(|h| {
        let options = DeviceOptions { no_breadcrumbs: true, ..h.device_options() };
        let device = Device::open(h.device.instance(), &options).unwrap();
        let mut pool = CommandPool::new(&device, Timeline::Graphics).unwrap();
        let mut encoder = pool.begin("Passes").unwrap();
        encoder.begin_pass("One");
        encoder.end_pass();
        device.submit(Timeline::Graphics, vec![encoder.finish().unwrap()], &[]).unwrap();
        device.faults().refuse(Site::Lose, 0);
        let text = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap_err().to_string();
        assert!(text.contains("no pass is known to have run"), "{text}");
    });
}

#[test]
fn a_lost_device_answers_everything_at_once_and_takes_nothing() {
    on_device(|h| {
        let device = open(h);
        let before = device.object_counts();
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let buffer = Buffer::committed(&device, "Kept", 1 << 20, usage, Location::Upload).unwrap();
        let mut pool = CommandPool::new(&device, Timeline::Graphics).unwrap();
        let open = pool.begin("Open").unwrap();
        device.faults().refuse(Site::Lose, 1);
        let done = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap();
        let first = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap_err();
        assert!(device.is_lost() && first.loss() == device.loss());
        let lost = |what: &str, result: Result<(), Error>| match result {
            Err(Error::DeviceLost { last_passes, .. }) => {
                assert_eq!(Some(&last_passes), device.loss(), "{what}")
            }
            other => panic!("{what}: {other:?}"),
        };
        let begun = Instant::now();
        let later = vasa::vk::Point { timeline: Timeline::Graphics, value: done.value + 100 };
        lost("wait for what never comes", device.wait(&[later]));
        lost("wait", device.wait(&[done]));
        lost("wait for nothing", device.wait(&[]));
        lost("wait idle", device.wait_idle());
        lost("submit", device.submit(Timeline::Transfer, Vec::new(), &[]).map(drop));
        lost("finish", open.finish().map(drop));
        lost("begin", pool.begin("Late").map(drop));
        lost("reset", pool.reset());
        lost("buffer", Buffer::committed(&device, "Late", 64, usage, Location::Device).map(drop));
        lost("pool", CommandPool::new(&device, Timeline::Graphics).map(drop));
        lost("timer", PassTimer::new(&device).map(drop));
        lost("memory", device.allocate_memory("Late", 1 << 20, 0, false).map(drop));
        lost("slot", device.bind_buffer(&buffer, 64).map(drop));
        // Thirty seconds is what a wait takes that hangs.
        assert!(begun.elapsed().as_secs() < 10);
        drop((buffer, pool));
        let after = device.object_counts();
        assert_eq!(
            (after.live, after.memory_bytes),
            (before.live, before.memory_bytes),
            "forgotten, and counted"
        );
        assert_eq!(device.retiring(), 0);
    });
}

/// Loses the device at every call of a site that a scene reaches.
fn lose_at_each(h: &Harness, site: Site, commit_ahead: bool) -> u64 {
    let device = open(h);
    let (before, first) = (device.faults().calls(site), device.object_counts());
    let picture = scenes::fly(&device, knobs(commit_ahead), FRAMES).unwrap();
    let calls = device.faults().calls(site) - before;
    device.wait_idle().unwrap();
    drop(device);
    for nth in 0..calls {
        let device = open(h);
        device.faults().refuse(site, nth);
        let error = match scenes::fly(&device, knobs(commit_ahead), FRAMES) {
            Err(error) => error,
            // The worker lost it, and everything was submitted before.
            Ok(_) if site == Site::LoseInBind && commit_ahead => continue,
            Ok(_) => panic!("{site:?} {nth} of {calls} was not noticed"),
        };
        let loss = error.device_loss().unwrap_or_else(|| panic!("{site:?} {nth}: {error}"));
        assert_eq!(Some(loss), device.loss());
        assert!(!error.to_string().contains("not supported"), "{error}");
        let (_, after) = (device.collect(), device.object_counts());
        assert_eq!((after.live, after.chunk_allocations), (first.live, 0), "{site:?} {nth}");
        assert_eq!(after.memory_bytes, first.memory_bytes, "{site:?} {nth}");
        assert_eq!(device.retiring(), 0);
        drop(device);
        // In the same process: the next frames draw the same picture.
        let again = open(h);
        let drawn = scenes::fly(&again, knobs(commit_ahead), FRAMES).unwrap();
        assert!(drawn == picture, "{site:?} {nth}: another picture after the loss");
    }
    println!("{site:?}: lost at each of {calls} calls");
    calls
}

#[test]
fn a_device_lost_at_any_submission_is_followed_by_an_engine_that_draws_the_same() {
    on_device(|h| assert!(lose_at_each(h, Site::Lose, false) >= u64::from(FRAMES)));
}

#[test]
fn a_device_lost_at_any_bind_is_followed_by_an_engine_that_draws_the_same() {
    on_device(|h| assert_eq!(lose_at_each(h, Site::LoseInBind, false) > 0, h.in_place()));
}

#[test]
fn a_device_lost_by_the_worker_is_noticed_by_the_frame() {
    on_device(|h| {
        lose_at_each(h, Site::LoseInBind, true);
    });
}

#[test]
fn a_loss_soon_after_a_refused_allocation_is_put_down_to_memory() {
    on_device(|h| {
        for refused in [false, true] {
            let device = open(h);
            if refused {
                device.faults().refuse(Site::Allocate, 0);
                let usage = BufferUsageFlags::STORAGE_BUFFER;
                Buffer::committed(&device, "Refused", 64, usage, Location::Device).unwrap_err();
            }
            device.faults().refuse(Site::Lose, 0);
            let error = device.submit(Timeline::Graphics, Vec::new(), &[]).unwrap_err();
            assert_eq!(error.loss().unwrap().memory_pressure.is_some(), refused, "{error}");
        }
    });
}
