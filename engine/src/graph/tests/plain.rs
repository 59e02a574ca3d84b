//! Small frames whose plans can be told by hand.

use ash::vk::{AccessFlags2, ImageLayout, PipelineStageFlags2};

use super::*;

#[test]
fn passes_that_nobody_needs_go() {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut used = frame.image("used", image_info());
    let mut unused = frame.image("unused", image_info());
    let mut overdrawn = frame.image("overdrawn", image_info());
    let first = frame.pass("first", Queue::Graphics);
    frame.write(first, &mut used, COLOUR);
    let dead = frame.pass("dead", Queue::Graphics);
    frame.read(dead, used, DRAW);
    frame.write(dead, &mut unused, COLOUR);
    let lost = frame.pass("lost", Queue::Graphics);
    frame.write(lost, &mut overdrawn, COLOUR);
    let again = frame.pass("again", Queue::Graphics);
    frame.write(again, &mut overdrawn, COLOUR);
    let effect = frame.pass("effect", Queue::Graphics);
    frame.side_effects(effect);
    let last = frame.pass("last", Queue::Graphics);
    frame.read(last, used, DRAW);
    frame.read(last, overdrawn, DRAW);
    frame.write(last, &mut target, COLOUR);
    let compiled = compile(&mut frame, &Options::default());
    assert_eq!(batches(&frame, &compiled), ["Graphics: first again effect last waits []"]);
    assert_eq!(compiled.culled, [(dead, CullReason::Unused), (lost, CullReason::Unused)]);
    assert_eq!(compiled.lifetimes[unused.0.resource.0 as usize], None);
    assert_eq!(compiled.placements[unused.0.resource.0 as usize], None);
}

#[test]
fn one_barrier_covers_all_readers_in_a_layout() {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut image = frame.image("image", image_info());
    let first = frame.pass("first", Queue::Graphics);
    frame.write(first, &mut image, COLOUR);
    let second = frame.pass("second", Queue::Graphics);
    frame.read(second, image, DRAW);
    frame.write(second, &mut target, COLOUR);
    let third = frame.pass("third", Queue::Graphics);
    frame.read(third, image, Access::Sampled(ShaderStages::COMPUTE));
    frame.write(third, &mut target, Access::ColourAttachmentOver);
    let compiled = compile(&mut frame, &Options::default());
    let [change, clear] = barriers_of(&compiled, second) else { panic!("{compiled:?}") };
    assert_eq!(change.resource, image.0.resource);
    assert_eq!(change.from.stages, PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT);
    assert_eq!(change.from.accesses, AccessFlags2::COLOR_ATTACHMENT_WRITE);
    assert_eq!(change.from.layout, ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
    assert_eq!(change.to.stages, PipelineStageFlags2::FRAGMENT_SHADER | PipelineStageFlags2::COMPUTE_SHADER);
    assert_eq!(change.to.layout, ImageLayout::SHADER_READ_ONLY_OPTIMAL);
    assert_eq!((clear.resource, clear.from.layout), (target.0.resource, ImageLayout::UNDEFINED));
    // The image is covered; only the target is drawn over.
    assert_eq!(barriers_of(&compiled, third).len(), 1);
    let after = &compiled.submissions[0].barriers_after;
    let after = &compiled.barriers[after.start as usize..after.end as usize];
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].to.layout, ImageLayout::PRESENT_SRC_KHR);
    let left = compiled.left[target.0.resource.0 as usize].unwrap();
    assert_eq!(left.layout, ImageLayout::PRESENT_SRC_KHR.as_raw());
}

#[test]
fn a_mip_chain_has_a_barrier_a_mip() {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut chain = frame.image("chain", ImageInfo { mips: 4, ..image_info() });
    let mip = |first_mip, mips| Subresources::Image { first_mip, mips, first_layer: 0, layers: 1 };
    let start = frame.pass("start", Queue::Graphics);
    frame.write_part(start, &mut chain, COLOUR, mip(0, 1));
    let mut passes = Vec::new();
    for level in 1..4 {
        let pass = frame.pass(format!("down {level}"), Queue::Graphics);
        frame.read_part(pass, chain, DRAW, mip(level - 1, 1));
        frame.write_part(pass, &mut chain, COLOUR, mip(level, 1));
        passes.push(pass);
    }
    let last = frame.pass("last", Queue::Graphics);
    frame.read(last, chain, DRAW);
    frame.write(last, &mut target, COLOUR);
    let compiled = compile(&mut frame, &Options::default());
    for (level, &pass) in (1..).zip(&passes) {
        let parts: Vec<Subresources> =
            barriers_of(&compiled, pass).iter().map(|barrier| barrier.part).collect();
        assert_eq!(parts, [mip(level - 1, 1), mip(level, 1)]);
    }
    // Mips 0 to 2 can be sampled already.
    assert_eq!(barriers_of(&compiled, last)[0].part, mip(3, 1));
}

#[test]
fn work_beside_rendering_starts_early_and_is_waited_for_late() {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut depth = frame.image("depth", ImageInfo { format: D32, ..image_info() });
    let mut colour = frame.image("colour", image_info());
    let mut occlusion = frame.image("occlusion", image_info());
    let compute = ShaderStages::COMPUTE;
    let pre = frame.pass("pre", Queue::Graphics);
    frame.write(pre, &mut depth, Access::DepthAttachment);
    let base = frame.pass("base", Queue::Graphics);
    frame.write(base, &mut colour, COLOUR);
    let ao = frame.pass("ao", Queue::Compute);
    frame.read(ao, depth, Access::Sampled(compute));
    frame.write(ao, &mut occlusion, Access::StorageWrite(compute));
    let last = frame.pass("last", Queue::Graphics);
    frame.read(last, colour, DRAW);
    frame.read(last, occlusion, DRAW);
    frame.write(last, &mut target, COLOUR);
    let compiled = compile(&mut frame, &all_queues());
    assert_eq!(
        batches(&frame, &compiled),
        [
            "Graphics: pre waits []",
            "Compute: ao waits [0]",
            "Graphics: base waits []",
            "Graphics: last waits [1]"
        ]
    );
    assert!(
        compiled.is_shared[depth.0.resource.0 as usize]
            && compiled.is_shared[occlusion.0.resource.0 as usize]
    );
    // The depth image is changed where it is received, after the wait.
    let [change, _] = barriers_of(&compiled, ao) else { panic!("{compiled:?}") };
    assert_eq!(change.from.stages, PipelineStageFlags2::ALL_COMMANDS);
    // 'base' may run beside 'ao', so what 'ao' writes lives until 'base' is over, and 'base' writes elsewhere.
    assert_eq!(compiled.lifetimes[occlusion.0.resource.0 as usize], Some(Lifetime { first: 1, last: 3 }));
    // Without a compute queue all is one submission.
    let compiled = compile(&mut frame, &Options::default());
    assert_eq!(batches(&frame, &compiled), ["Graphics: pre base ao last waits []"]);
}

#[test]
fn a_commit_is_a_cut() {
    let mut frame = Declaration::default();
    let mut pages = frame.import_buffer("pages", buffer_info(4096), ImportState::Undefined, None);
    let fill = frame.pass("fill", Queue::Graphics);
    frame.write(fill, &mut pages, Access::CopyDestination);
    let commit = frame.pass("commit", Queue::Commit);
    frame.write(commit, &mut pages, Access::Commit);
    let second = frame.pass("second commit", Queue::Commit);
    frame.write(second, &mut pages, Access::Commit);
    let mut other = frame.import_buffer("other", buffer_info(64), ImportState::Undefined, None);
    let free = frame.pass("free", Queue::Graphics);
    frame.write(free, &mut other, Access::CopyDestination);
    let draw = frame.pass("draw", Queue::Graphics);
    frame.read(draw, pages, Access::StorageRead(ShaderStages::VERTEX));
    frame.side_effects(draw);
    let compiled = compile(&mut frame, &Options::default());
    assert_eq!(
        batches(&frame, &compiled),
        [
            "Graphics: fill waits []",
            "Commit: commit waits [0]",
            "Commit: second commit waits [1]",
            "Graphics: free waits []",
            "Graphics: draw waits [2]"
        ]
    );
    assert!(compiled.barriers.is_empty(), "semaphores cover all: {:?}", compiled.barriers);
    assert!(!compiled.is_shared[0]);
}

#[test]
fn explicit_orders_move_passes() {
    let mut frame = Declaration::default();
    let ids: Vec<PassId> = ["a", "b", "c"].map(|name| frame.pass(name, Queue::Graphics)).into();
    for &id in &ids {
        frame.side_effects(id);
    }
    frame.before(ids[2], ids[0]);
    let compiled = compile(&mut frame, &Options::default());
    assert_eq!(batches(&frame, &compiled), ["Graphics: b c a waits []"]);
}

#[test]
fn buffers_and_images_share_a_heap_only_without_granularity() {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut image = frame.image("image", image_info());
    let mut buffer = frame.buffer("buffer", buffer_info(64));
    let first = frame.pass("first", Queue::Graphics);
    frame.write(first, &mut image, COLOUR);
    frame.write(first, &mut buffer, Access::StorageWrite(ShaderStages::FRAGMENT));
    let last = frame.pass("last", Queue::Graphics);
    frame.read(last, image, DRAW);
    frame.read(last, buffer, Access::StorageRead(ShaderStages::FRAGMENT));
    frame.write(last, &mut target, COLOUR);
    let one = compile(&mut frame, &Options::default());
    assert_eq!((one.heaps.len(), one.heaps[0].bytes, one.heaps[0].bound), (1, 2048, 2048));
    let two = compile(&mut frame, &Options { granularity: 1024, ..Options::default() });
    assert_eq!(two.heaps.len(), 2);
}
