//! What is refused, and how it reads.

use super::*;

fn refusal(frame: &mut Declaration) -> String {
    give_needs(frame, 1024);
    Compiler::new().compile(frame, &Options::default()).unwrap_err().to_string()
}

#[test]
fn stale_handles() {
    let mut frame = Declaration::default();
    let mut image = frame.image("image", image_info());
    let first = frame.pass("first", Queue::Graphics);
    frame.write(first, &mut image, COLOUR);
    let old = image;
    let second = frame.pass("second", Queue::Graphics);
    frame.write(second, &mut image, Access::ColourAttachmentOver);
    let third = frame.pass("third", Queue::Graphics);
    frame.read(third, old, DRAW);
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'third' uses version 1 of 'image', but pass 'second' wrote version 2: use the handle that was given to that write");
    frame.reset();
    frame.image("other", image_info());
    let pass = frame.pass("pass", Queue::Graphics);
    frame.read(pass, image, DRAW);
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'pass' uses a handle (resource 0) of another frame: declare resources anew after every reset and keep no handles");
}

#[test]
fn uses_out_of_turn() {
    let mut frame = Declaration::default();
    let mut image = frame.image("image", image_info());
    let first = frame.pass("first", Queue::Graphics);
    frame.pass("second", Queue::Graphics);
    frame.write(first, &mut image, COLOUR);
    insta::assert_snapshot!(refusal(&mut frame), @"a use of 'image' was declared for pass 'first' after pass 'second' had been declared: declare all uses of a pass before the next pass");
    frame.reset();
    frame.side_effects(PassId(3));
    insta::assert_snapshot!(refusal(&mut frame), @"pass 3 does not exist, 0 passes are declared: use ids of this frame only");
}

#[test]
fn accesses_that_do_not_fit() {
    let mut text = String::new();
    let mut frame = Declaration::default();
    let mut attempt = |access: Access, queue: Queue, is_buffer: bool| {
        frame.reset();
        let mut image = frame.import_image("image", image_info(), ImportState::Undefined, None);
        let mut buffer = frame.import_buffer("buffer", buffer_info(64), ImportState::Undefined, None);
        let pass = frame.pass("pass", queue);
        match is_buffer {
            true => frame.write(pass, &mut buffer, access),
            false => frame.write(pass, &mut image, access),
        }
        text += &refusal(&mut frame);
        text += "\n";
    };
    attempt(Access::ColourAttachment, Queue::Graphics, true);
    attempt(Access::ColourAttachment, Queue::Compute, false);
    attempt(Access::StorageWrite(ShaderStages::COMPUTE), Queue::Transfer, true);
    attempt(Access::CopyDestination, Queue::Commit, true);
    attempt(Access::Commit, Queue::Graphics, true);
    attempt(Access::Indirect, Queue::Graphics, true);
    insta::assert_snapshot!(text, @r"
    pass 'pass' touches the buffer 'buffer' by ColourAttachment: choose an access that buffers have
    pass 'pass' on the Compute queue touches 'image' by ColourAttachment: choose another queue for the pass, or an access that the queue has
    pass 'pass' on the Transfer queue touches 'buffer' by StorageWrite(ShaderStages(4)): choose another queue for the pass, or an access that the queue has
    pass 'pass' on the Commit queue touches 'buffer' by CopyDestination: choose another queue for the pass, or an access that the queue has
    pass 'pass' on the Graphics queue touches 'buffer' by Commit: choose another queue for the pass, or an access that the queue has
    pass 'pass' writes 'buffer' by Indirect, which only reads: declare a read
    ");
}

#[test]
fn parts_outside_and_conflicts() {
    let mut frame = Declaration::default();
    let mut buffer = frame.buffer("buffer", buffer_info(64));
    let part = |offset, bytes| Subresources::Bytes { offset, bytes };
    let storage = Access::StorageWrite(ShaderStages::COMPUTE);
    let pass = frame.pass("pass", Queue::Graphics);
    frame.write_part(pass, &mut buffer, storage, part(32, u64::MAX));
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'pass' touches 18446744073709551615 bytes from 32 of 'buffer', which has 64 bytes: name a part inside, at least one");
    frame.reset();
    let mut buffer = frame.buffer("buffer", buffer_info(64));
    let pass = frame.pass("pass", Queue::Graphics);
    frame.write_part(pass, &mut buffer, storage, part(0, 32));
    frame.write_part(pass, &mut buffer, Access::CopyDestination, part(32, 32));
    frame.side_effects(pass);
    give_needs(&mut frame, 64);
    assert!(Compiler::new().compile(&frame, &Options::default()).is_ok());
    let pass = frame.pass("second", Queue::Graphics);
    frame.read_part(pass, buffer, Access::CopySource, part(0, 33));
    frame.write_part(pass, &mut buffer, storage, part(32, 8));
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'second' touches the same part of 'buffer' by CopySource and by StorageWrite(ShaderStages(4)): split the pass, name parts that do not overlap, or declare one access that does both");
}

#[test]
fn reads_of_what_is_not_there() {
    let mut frame = Declaration::default();
    let image = frame.image("image", image_info());
    let early = frame.pass("early", Queue::Graphics);
    frame.read(early, image, DRAW);
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'early' reads 'image' by Sampled(ShaderStages(2)), but no pass before wrote that part: write it first, by an access that covers it");
    frame.reset();
    let (_, current) = frame.history_image("history", image_info(), None, ImportState::Undefined);
    let pass = frame.pass("pass", Queue::Graphics);
    frame.read(pass, current, DRAW);
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'pass' reads 'history' by Sampled(ShaderStages(2)), but no pass before wrote that part: write it first, by an access that covers it");
    frame.reset();
    let (mut previous, _) = frame.history_image("history", image_info(), None, ImportState::Undefined);
    let pass = frame.pass("pass", Queue::Graphics);
    frame.write(pass, &mut previous, COLOUR);
    insta::assert_snapshot!(refusal(&mut frame), @"pass 'pass' writes 'history', the history of the last frame: write the current one");
}

#[test]
fn switched_off_passes_leave_what_was_there() {
    let mut frame = Declaration::default();
    let mut build = |is_on: bool, has_before: bool, is_optional: bool| {
        frame.reset();
        let mut target = target(&mut frame);
        let mut image = frame.image("image", image_info());
        if has_before {
            let clear = frame.pass("clear", Queue::Graphics);
            frame.write(clear, &mut image, COLOUR);
        }
        let draw = frame.pass("draw", Queue::Graphics);
        frame.write(draw, &mut image, if has_before { Access::ColourAttachmentOver } else { COLOUR });
        frame.when(draw, is_on);
        let last = frame.pass("last", Queue::Graphics);
        match is_optional {
            true => frame.read_optional(last, image, DRAW),
            false => frame.read(last, image, DRAW),
        }
        frame.write(last, &mut target, COLOUR);
        give_needs(&mut frame, 1024);
        let compiled = Compiler::new().compile(&frame, &Options::default()).cloned();
        compiled.map(|compiled| (batches(&frame, &compiled).join("; "), compiled.absent))
    };
    let passes = |names: &str| format!("Graphics: {names} waits []");
    assert_eq!(build(true, false, false), Ok((passes("draw last"), vec![])));
    assert_eq!(build(false, true, false), Ok((passes("clear last"), vec![])));
    assert_eq!(build(true, false, true), Ok((passes("draw last"), vec![])));
    assert_eq!(build(false, false, true), Ok((passes("last"), vec![1])));
    insta::assert_snapshot!(build(false, false, false).unwrap_err(), @"pass 'last' reads 'image', but pass 'draw' that writes it is switched off and nothing was there before: read it by read_optional, or switch the reader off too");
}

#[test]
fn cycles_name_all_their_passes() {
    let mut frame = Declaration::default();
    let mut image = frame.image("image", image_info());
    let first = frame.pass("first", Queue::Graphics);
    frame.write(first, &mut image, COLOUR);
    let second = frame.pass("second", Queue::Graphics);
    frame.read(second, image, DRAW);
    frame.side_effects(second);
    let third = frame.pass("third", Queue::Graphics);
    frame.side_effects(third);
    frame.before(second, third);
    frame.before(third, first);
    insta::assert_snapshot!(refusal(&mut frame), @"passes wait for each other: second -> third -> first -> second: remove one of the explicit orders");
}

#[test]
fn needs_have_to_be_known() {
    let mut frame = Declaration::default();
    let mut image = frame.image("image", image_info());
    let pass = frame.pass("pass", Queue::Graphics);
    frame.write(pass, &mut image, COLOUR);
    frame.side_effects(pass);
    let error = Compiler::new().compile(&frame, &Options::default()).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"the transient 'image', used by pass 'pass', has no memory needs: ask the driver and call set_needs before compiling");
}

#[test]
fn declarations_from_files_may_be_nonsense() {
    let mut frame = Declaration::default();
    let mut image = frame.image("image", image_info());
    let pass = frame.pass("pass", Queue::Graphics);
    frame.write(pass, &mut image, COLOUR);
    let good = frame.clone();
    frame.passes[0].uses = 0..7;
    assert!(matches!(Compiler::new().compile(&frame, &Options::default()), Err(GraphError::Broken { .. })));
    frame = good.clone();
    frame.uses[0].resource = ResourceId(9);
    assert!(matches!(Compiler::new().compile(&frame, &Options::default()), Err(GraphError::Broken { .. })));
    frame = good;
    frame.orders.push((PassId(0), PassId(4)));
    assert!(matches!(
        Compiler::new().compile(&frame, &Options::default()),
        Err(GraphError::UnknownPass { .. })
    ));
}
