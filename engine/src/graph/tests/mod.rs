//! Tests of the graph as a whole: small frames by hand, faults of other engines, and random frames against a model.

mod errors;
mod faults;
mod model;
mod plain;
mod random;
mod steady;

use super::*;

const DRAW: Access = Access::Sampled(ShaderStages::FRAGMENT);
const COLOUR: Access = Access::ColourAttachment;
const R8G8B8A8: i32 = 37;
const D32: i32 = 126;

fn image_info() -> ImageInfo {
    ImageInfo { format: R8G8B8A8, extent: [64, 64, 1], mips: 1, layers: 1, samples: 1, usage: 0 }
}

fn buffer_info(bytes: u64) -> BufferInfo {
    BufferInfo { bytes, usage: 0 }
}

/// Gives every transient `bytes`.
fn give_needs(frame: &mut Declaration, bytes: u64) {
    let ids: Vec<(ResourceId, bool)> = frame
        .transients()
        .map(|(id, resource)| (id, matches!(resource.info, ResourceInfo::Buffer(_))))
        .collect();
    for (id, is_linear) in ids {
        let heap = HeapKey { memory_type: 0, is_linear };
        frame.set_needs(id, MemoryNeeds { bytes, alignment: 256, heap });
    }
}

/// A swapchain image as it is handed to a frame.
fn target(frame: &mut Declaration) -> ImageHandle {
    frame.import_image("target", image_info(), ImportState::Undefined, Some(Access::Present))
}

fn compile(frame: &mut Declaration, options: &Options) -> Compiled {
    give_needs(frame, 1024);
    Compiler::new().compile(frame, options).unwrap().clone()
}

fn all_queues() -> Options {
    Options { queues: Queues { compute: true, transfer: true, commit: true }, ..Options::default() }
}

/// Passes by submission, as names.
fn batches(frame: &Declaration, compiled: &Compiled) -> Vec<String> {
    let name = |at: u32| frame.passes[compiled.order[at as usize].pass.0 as usize].name.to_string();
    let waits = |range: std::ops::Range<u32>| -> Vec<u32> {
        compiled.waits[range.start as usize..range.end as usize].iter().map(|wait| wait.submission).collect()
    };
    compiled
        .submissions
        .iter()
        .map(|submission| {
            let names: Vec<String> = submission.passes.clone().map(name).collect();
            let waits = waits(submission.waits.clone());
            format!("{:?}: {} waits {waits:?}", submission.queue, names.join(" "))
        })
        .collect()
}

/// Barriers before a pass.
fn barriers_of(compiled: &Compiled, pass: PassId) -> &[Barrier] {
    let plan = compiled.order.iter().find(|plan| plan.pass == pass).unwrap();
    &compiled.barriers[plan.barriers.start as usize..plan.barriers.end as usize]
}
