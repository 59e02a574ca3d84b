//! A growable buffer on an application's own Vulkan device, without the rest of the engine.
//!
//! The instance, the device, the command pool and the commands are plain `ash`. From the engine come the answer to
//! what must be enabled, the buffer that grows in place, and the order between its binds and the commands.
//!
//! ```text
//! cargo run -p vasa --example growable_buffer
//! ```
//!
//! Where the device cannot bind buffers partly, the same program runs with a buffer that is recreated and copied;
//! `-- --fallback` shows that on any device.

use std::error::Error;

use ash::vk;
use vasa::sparse::{Bytes, GrowableBuffer, GrowableDesc, SparseMemory};
use vasa::vk::queue_policy::{self, QueuePlan, SparseQueuePolicy};
use vasa::vk::{Device, FeatureMask, Instance, Point, Timeline, capabilities, features::feature_chain};

const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    // `--frames N` and the like, which other examples take, mean nothing here and are let through.
    let mask = match std::env::args().any(|argument| argument == "--fallback") {
        true => FeatureMask::fallback(),
        false => FeatureMask::default(),
    };
    // SAFETY: loads the system's Vulkan loader; everything made from it is destroyed below, children first.
    let entry = unsafe { ash::Entry::load()? };
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `info` and what it points to are locals.
    let raw_instance = unsafe { entry.create_instance(&info, None)? };
    // SAFETY: `raw_instance` was made with `entry` and is destroyed after everything wrapped around it is gone:
    // `run` gives nothing back. This function keeps an `entry`, without which the loader would be unloaded first.
    let instance = unsafe { Instance::from_raw(entry.clone(), raw_instance.clone()) };
    let result = run(instance, &mask);
    // SAFETY: see above.
    unsafe { raw_instance.destroy_instance(None) };
    result
}

fn run(instance: std::sync::Arc<Instance>, mask: &FeatureMask) -> Result<(), Box<dyn Error>> {
    // Any way of choosing a device will do; this takes the first that has what the engine needs.
    // SAFETY: a plain query.
    let all = unsafe { instance.raw().enumerate_physical_devices()? };
    let mut refused = String::new();
    let mut chosen = None;
    for physical in all {
        let can = capabilities::query(&instance, physical)?;
        match (can.missing.is_empty(), queue_policy::plan(&can, SparseQueuePolicy::Auto)) {
            (true, Ok(plan)) => {
                println!("device  {} ({}), sparse tier {}", can.name, can.driver, can.sparse.tier());
                plan.reasons.iter().for_each(|reason| println!("queue   {reason}"));
                chosen = Some((physical, plan));
                break;
            }
            (false, _) => refused += &format!("; {} lacks {}", can.name, can.missing.join(", ")),
            (true, Err(why)) => refused += &format!("; {}: {why}", can.name),
        }
    }
    let (physical, plan) = chosen.ok_or(format!("no Vulkan 1.3 device can run this{refused}"))?;
    let raw = create_device(&instance, physical, &plan)?;
    let family = plan.graphics.family;
    // SAFETY: `raw` has the queues of `plan` and the features of `feature_chain`, and is destroyed after `grow` has
    // dropped everything made from the wrapped device.
    let wrapped = unsafe { Device::from_raw(instance, physical, raw.clone(), plan, mask) };
    let result = wrapped.map_err(Into::into).and_then(|device| grow(device, &raw, family));
    // SAFETY: see above. The wrapped device waited for the queues when it was dropped.
    unsafe { raw.destroy_device(None) };
    result
}

/// The application's own device: the queues of the plan, the features of the chain, and whatever else it wants.
fn create_device(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    plan: &QueuePlan,
) -> Result<ash::Device, vk::Result> {
    // SAFETY: a plain query.
    let supported = unsafe { instance.raw().get_physical_device_features(physical) };
    let (core, mut vulkan11, mut vulkan12, mut vulkan13) = feature_chain(&supported);
    let families = plan.families();
    let most = families.iter().map(|(_, count)| *count as usize).max().unwrap_or(1);
    let priorities = vec![1.0; most];
    let queue = |(family, count): &(u32, u32)| {
        vk::DeviceQueueCreateInfo::default()
            .queue_family_index(*family)
            .queue_priorities(&priorities[..*count as usize])
    };
    let queues: Vec<_> = families.iter().map(queue).collect();
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_features(&core)
        .push_next(&mut vulkan11)
        .push_next(&mut vulkan12)
        .push_next(&mut vulkan13);
    // SAFETY: `info` and what it points to are locals; features are those that the device supports.
    unsafe { instance.raw().create_device(physical, &info, None) }
}

fn grow(device: std::sync::Arc<Device>, raw: &ash::Device, family: u32) -> Result<(), Box<dyn Error>> {
    let sparse = SparseMemory::new(&device, Default::default());
    // A gibibyte of addresses costs nothing. As a storage buffer it would be cut to what one descriptor reaches.
    let usage = vk::BufferUsageFlags::VERTEX_BUFFER;
    let desc = GrowableDesc::new("Example.Vertices", 1024 * MIB, usage);
    let mut buffer = GrowableBuffer::new(&sparse, &desc)?;
    println!("buffer  {} reserved, grows in place: {}", Bytes(buffer.capacity()), buffer.in_place());

    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: the family was made with the device; the pool is destroyed below, when its commands are done.
    let pool = unsafe { raw.create_command_pool(&info, None)? };
    let result = steps(&device, raw, pool, &sparse, &mut buffer);
    device.wait_idle()?;
    // SAFETY: nothing runs any more.
    unsafe { raw.destroy_command_pool(pool, None) };
    result
}

fn steps(
    device: &Device,
    raw: &ash::Device,
    pool: vk::CommandPool,
    sparse: &SparseMemory,
    buffer: &mut GrowableBuffer,
) -> Result<(), Box<dyn Error>> {
    let handle = buffer.buffer().raw();
    let mut written = 0;
    // Up in steps, down, and up again. What stays is never copied where the buffer grows in place.
    for mib in [4, 20, 64, 100, 24, 48] {
        buffer.commit(mib * MIB)?;
        // At a submission boundary: one `vkQueueBindSparse` for everything that grew or shrank.
        let flushed = sparse.flush(None)?;
        let waits: Vec<Point> = flushed.wait.into_iter().collect();
        let end = buffer.committed();
        if end > written {
            let commands = record_fill(raw, pool, buffer, written, end - written)?;
            // SAFETY: just recorded for this queue's family, and kept until the pool is destroyed; the buffer lives
            // longer than this call.
            unsafe { device.submit_raw(Timeline::Graphics, &[commands], &waits, &[], &[])? };
        }
        written = end;
        let sizes = buffer.sizes();
        println!(
            "commit  {:>9} committed, {:>9} of memory in {} chunks, {} uncommitted",
            Bytes(sizes.committed).to_string(),
            Bytes(sizes.physical).to_string(),
            sizes.chunks,
            Bytes(sizes.uncommitted)
        );
        device.collect()?;
    }
    let stats = sparse.stats();
    println!(
        "done    {} vkQueueBindSparse calls, {} ranges bound, {} unbound; the handle {}",
        stats.bind_calls,
        stats.binds,
        stats.unbinds,
        if buffer.buffer().raw() == handle { "never changed" } else { "changed: recreated and copied" }
    );
    Ok(())
}

/// The application's own commands, on the buffer's own handle. Asked for anew each time: the fallback changes it.
fn record_fill(
    raw: &ash::Device,
    pool: vk::CommandPool,
    buffer: &GrowableBuffer,
    offset: u64,
    bytes: u64,
) -> Result<vk::CommandBuffer, vk::Result> {
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    let once = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
    // SAFETY: the pool and the buffer are alive, and the range is committed.
    unsafe {
        let commands = raw.allocate_command_buffers(&info)?[0];
        raw.begin_command_buffer(commands, &once)?;
        raw.cmd_fill_buffer(commands, buffer.buffer().raw(), offset, bytes, 0x5646_5341);
        raw.end_command_buffer(commands)?;
        Ok(commands)
    }
}
