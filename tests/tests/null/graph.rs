//! The frame graph on a device with several queues, which the software drivers do not have: what runs where, and what
//! waits for what.

use ash::vk::BufferUsageFlags;
use vasa::graph::{Access, BufferInfo, Done, FrameGraph, GraphOptions, Queue, ShaderStages};
use vasa::vk::null::{NullConfig, NullDevice, NullDriver};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, Device, DeviceOptions, Location, Timeline};

use crate::devices::open;

const BYTES: u64 = 64 << 10;

/// Graphics fills, compute reads and writes beside, graphics reads both.
fn frame(graph: &mut FrameGraph, result: &Buffer, beside: Queue) -> Done {
    graph.wait_for_place().unwrap();
    let mut frame = graph.begin();
    let (mut source, mut made) =
        (frame.buffer("Source", BufferInfo::new(BYTES)), frame.buffer("Made", BufferInfo::new(BYTES)));
    let mut out = frame.import_buffer(result, None);
    let fill = frame.pass("Fill", Queue::Graphics).write(&mut source, Access::CopyDestination);
    fill.record(|_| Ok(()));
    let compute = Access::StorageWrite(ShaderStages::COMPUTE);
    let make = frame
        .pass("Make", beside)
        .read(source, Access::StorageRead(ShaderStages::COMPUTE))
        .write(&mut made, compute);
    make.record(|_| Ok(()));
    let other = frame.pass("Other", Queue::Graphics).read(source, Access::CopySource);
    other.side_effects().record(|_| Ok(()));
    let join = frame
        .pass("Join", Queue::Graphics)
        .read(made, Access::StorageRead(ShaderStages::COMPUTE))
        .write(&mut out, compute);
    join.record(|_| Ok(()));
    frame.compile().unwrap().record().unwrap().submit(&[], PresentSync::default()).unwrap()
}

fn run(driver: &NullDriver, options: GraphOptions, beside: Queue, check: impl Fn(&Device, &[Done])) {
    {
        let device = open(driver, &DeviceOptions::default()).unwrap();
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let result = Buffer::committed(&device, "Result", BYTES, usage, Location::Device).unwrap();
        let mut graph = FrameGraph::new(&device, 2, options).unwrap();
        let frames: Vec<Done> = (0..5).map(|_| frame(&mut graph, &result, beside)).collect();
        check(&device, &frames);
        device.wait_idle().unwrap();
    }
    driver.assert_clean();
}

#[test]
fn compute_beside_rendering_waits_and_is_waited_for() {
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]));
    run(&driver, GraphOptions::default(), Queue::Compute, |device, frames| {
        assert_eq!(device.submitted(Timeline::Compute).value, 5, "one submission a frame");
        for done in frames {
            let compute = done.beside[0].expect("it ran beside");
            assert!(device.is_ordered(compute, done.graphics), "the frame is done when it is");
            // What it reads is filled by the first of the three submissions.
            let filled = vasa::vk::Point { value: done.graphics.value - 2, ..done.graphics };
            assert!(device.is_ordered(filled, compute), "{done:?}");
        }
        // Fill, so that compute may begin; what runs beside it; the join.
        assert_eq!(device.submitted(Timeline::Graphics).value, 3 * 5);
    });
}

#[test]
fn without_a_queue_for_it_compute_runs_where_everything_does() {
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]));
    let options = GraphOptions { async_compute: false, ..GraphOptions::default() };
    run(&driver, options, Queue::Compute, |device, frames| {
        assert_eq!(device.submitted(Timeline::Compute).value, 0);
        assert!(frames.iter().all(|done| done.beside == [None, None]));
        assert_eq!(device.submitted(Timeline::Graphics).value, 5, "one submission a frame");
    });
}
