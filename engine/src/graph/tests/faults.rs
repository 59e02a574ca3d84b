//! Faults that other engines shipped, as far as they are in the plan.

use ash::vk::{AccessFlags2, ImageLayout, PipelineStageFlags2};

use super::*;

/// Two images that never live together, the second cleared where the first lay.
fn take_over(is_buffer: bool) -> (Declaration, Compiled, [PassId; 4], [ResourceId; 2]) {
    let mut frame = Declaration::default();
    let mut target = target(&mut frame);
    let mut passes = Vec::new();
    let mut ids = Vec::new();
    for (write, read) in [("write a", "read a"), ("write b", "read b")] {
        let storage = ShaderStages::COMPUTE;
        let writer = frame.pass(write, Queue::Graphics);
        let handle: Handle = if is_buffer {
            let mut buffer = frame.buffer("buffer", buffer_info(64));
            frame.write(writer, &mut buffer, Access::CopyDestination);
            buffer.into()
        } else {
            let mut image = frame.image("image", image_info());
            frame.write(writer, &mut image, COLOUR);
            image.into()
        };
        let reader = frame.pass(read, Queue::Graphics);
        frame.read(reader, handle, if is_buffer { Access::StorageRead(storage) } else { DRAW });
        frame.write(reader, &mut target, if ids.is_empty() { COLOUR } else { Access::ColourAttachmentOver });
        passes.extend([writer, reader]);
        ids.push(handle.resource());
    }
    let compiled = compile(&mut frame, &Options::default());
    (frame, compiled, passes.try_into().unwrap(), ids.try_into().unwrap())
}

#[test]
fn a_clear_comes_after_its_take_over() {
    let (_, compiled, [_, _, clear, _], [a, b]) = take_over(false);
    let place = |id: ResourceId| compiled.placements[id.0 as usize].map(|place| (place.heap, place.offset));
    assert_eq!(place(a), place(b));
    let [barrier] = barriers_of(&compiled, clear) else { panic!("one barrier, before the clear") };
    assert_eq!((barrier.resource, barrier.takes_over), (b, Some(a)));
    // From the last reads of what lay there, and from undefined.
    assert_eq!(barrier.from.stages, PipelineStageFlags2::FRAGMENT_SHADER);
    assert_eq!(barrier.from.layout, ImageLayout::UNDEFINED);
    assert_eq!(barrier.to.stages, PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT);
    assert_eq!(barrier.to.accesses, AccessFlags2::COLOR_ATTACHMENT_WRITE);
}

#[test]
fn aliased_buffers_have_barriers() {
    let (_, compiled, [_, _, write, _], [a, b]) = take_over(true);
    let [barrier] = barriers_of(&compiled, write) else { panic!("one barrier, before the copy") };
    assert_eq!((barrier.resource, barrier.takes_over), (b, Some(a)));
    assert_eq!(barrier.from.stages, PipelineStageFlags2::COMPUTE_SHADER);
    assert_eq!(barrier.to.stages, PipelineStageFlags2::ALL_TRANSFER);
}

#[test]
fn the_end_of_the_last_frame_is_waited_for() {
    let (mut frame, compiled, [write, _, again, _], _) = take_over(true);
    // The host waited: nothing to do at first.
    assert_eq!(barriers_of(&compiled, write), []);
    let after = compiled.heap_after;
    assert_eq!(after.stages, PipelineStageFlags2::COMPUTE_SHADER.as_raw());
    let next = compile(&mut frame, &Options { heap_before: Some(after), ..Options::default() });
    let [barrier] = barriers_of(&next, write) else { panic!("{next:?}") };
    assert_eq!(barrier.from.stages, PipelineStageFlags2::COMPUTE_SHADER);
    assert_eq!(barrier.takes_over, None);
    // Who takes over within the frame waits for its predecessor only.
    assert_eq!(barriers_of(&next, again), barriers_of(&compiled, again));
}

#[test]
fn history_is_outside_and_says_when_it_is_not_valid() {
    let build = |previous: Option<LeftState>, current: ImportState| {
        let mut frame = Declaration::default();
        let mut target = target(&mut frame);
        let (old, mut new) = frame.history_image("history", image_info(), previous, current);
        let blend = frame.pass("blend", Queue::Graphics);
        frame.read(blend, old, DRAW);
        frame.write(blend, &mut new, COLOUR);
        let show = frame.pass("show", Queue::Graphics);
        frame.read(show, new, DRAW);
        frame.write(show, &mut target, COLOUR);
        let compiled = compile(&mut frame, &Options::default());
        assert!(compiled.heaps.is_empty());
        assert!(compiled.placements.iter().all(Option::is_none));
        let [old, new] = [old.0.resource.0 as usize, new.0.resource.0 as usize];
        (frame, compiled, blend, [old, new])
    };
    let (frame, compiled, blend, [old, new]) = build(None, ImportState::Undefined);
    assert!(matches!(frame.resources[old].origin, Origin::HistoryPrevious { is_valid: false, .. }));
    assert_eq!(barriers_of(&compiled, blend)[0].from.layout, ImageLayout::UNDEFINED);
    assert_eq!(barriers_of(&compiled, blend)[0].to.layout, ImageLayout::SHADER_READ_ONLY_OPTIMAL);
    // The frames after: what was current is previous, in the layout it was left in.
    let [mut previous, mut current] = [compiled.left[new], compiled.left[old]];
    for _ in 0..3 {
        let (frame, compiled, blend, [old, new]) = build(previous, ImportState::After(current.unwrap()));
        assert!(matches!(frame.resources[old].origin, Origin::HistoryPrevious { is_valid: true, .. }));
        // Left as it was sampled last frame, and seen at that stage: nothing to do. The other is drawn over.
        let [barrier] = barriers_of(&compiled, blend) else { panic!("{compiled:?}") };
        assert_eq!(barrier.resource.0 as usize, new);
        assert_eq!(barrier.from.stages, PipelineStageFlags2::FRAGMENT_SHADER);
        [previous, current] = [compiled.left[new], compiled.left[old]];
    }
}

#[test]
fn depth_is_aliased_only_when_asked_for() {
    let build = |asked: bool, aliasing: bool| {
        let mut frame = Declaration::default();
        let mut target = target(&mut frame);
        for name in ["a", "b"] {
            let mut depth = frame.image(name, ImageInfo { format: D32, ..image_info() });
            if asked {
                frame.may_alias(depth);
            }
            let pass = frame.pass(name, Queue::Graphics);
            frame.write(pass, &mut depth, Access::DepthAttachment);
            frame.write(pass, &mut target, if name == "a" { COLOUR } else { Access::ColourAttachmentOver });
        }
        compile(&mut frame, &Options { aliasing, ..Options::default() }).heaps[0].bytes
    };
    assert_eq!([build(false, true), build(true, true), build(true, false)], [2048, 1024, 2048]);
}

#[test]
fn static_imports_that_are_only_read_cost_nothing() {
    let mut before = ImportState::Undefined;
    for turn in 0..4 {
        let mut frame = Declaration::default();
        let mut target = target(&mut frame);
        let mut scene = frame.import_buffer("scene", buffer_info(64), before, None);
        if turn == 0 {
            let upload = frame.pass("upload", Queue::Graphics);
            frame.write(upload, &mut scene, Access::CopyDestination);
        }
        let cull = frame.pass("cull", Queue::Compute);
        frame.read(cull, scene, Access::StorageRead(ShaderStages::COMPUTE));
        frame.side_effects(cull);
        let draw = frame.pass("draw", Queue::Graphics);
        frame.read(draw, scene, Access::StorageRead(ShaderStages::VERTEX));
        frame.write(draw, &mut target, COLOUR);
        let compiled = compile(&mut frame, &all_queues());
        let id = scene.0.resource;
        if turn > 0 {
            assert!(compiled.barriers.iter().all(|barrier| barrier.resource != id), "{compiled:?}");
            assert!(compiled.submissions.iter().all(|submission| submission.external == 0), "{compiled:?}");
        }
        before = ImportState::After(compiled.left[id.0 as usize].unwrap());
    }
}
