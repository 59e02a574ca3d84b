//! Without a window: a fixed time step along the scripted flight, so that the same arguments give the same
//! picture.

use std::io::IsTerminal;
use std::time::Instant;

use vasa::vk::{Device, Instance};

use crate::failure::{Failure, Result};
use crate::recovery::Next;
use crate::run::Run;
use crate::stop;

/// Seconds a frame.
pub const TIME_STEP: f32 = 1.0 / 60.0;

/// Draws all frames and writes the files.
///
/// # Errors
/// One line that says what to do; a stop by Ctrl-C, after which nothing is half-written.
pub fn run(mut run: Run) -> Result<()> {
    let mut next = 0;
    loop {
        let Err(failure) = draw(&mut run, &mut next) else { return Ok(()) };
        run.progress.finish();
        match run.losses.handle(failure, &mut run.settings)? {
            Next::Again => {}
            Next::WithoutDrawing => {
                return Err(Failure::failed(format!(
                    "the device was lost in frame {next} and is not made again (--on-device-lost ignore): \
                     there is no picture"
                )));
            }
        }
    }
}

/// Draws from the frame `next` on and writes the files. After a loss of the device it may be called again.
fn draw(run: &mut Run, next: &mut u32) -> Result<()> {
    let instance = Instance::new(run.instance_options())?;
    let device = Device::open(&instance, &run.device_options())?;
    // Which pages are there in a frame must not depend on how long the frames before it took.
    run.settings.vt.is_exact = true;
    let mut engine = run.build(device)?;
    let (size, frames) = (run.args.size.0, run.args.frames.unwrap_or(run.scene.frames()));
    let bar = std::io::stderr().is_terminal();
    if bar {
        run.progress.step("drawing");
    }
    // The picture that is written is drawn by the engine that is asked for it.
    *next = (*next).min(frames.saturating_sub(1));
    for frame in *next..frames {
        let begun = Instant::now();
        let (camera, is_cut) = run.scene.scripted(frame, frames);
        if is_cut {
            engine.cut();
        }
        let view = run.scene.view(&run.settings, camera, frame as f32 * TIME_STEP);
        run.scene.before_frame(&mut engine, &run.settings);
        run.captures.begin_frame(&mut engine)?;
        let drawn = engine.render(&view, size, None);
        run.captures.end_frame(drawn.is_ok().then_some(&engine))?;
        drawn?;
        *next = frame + 1;
        run.losses.frame_drawn();
        run.times.add(begun.elapsed().as_secs_f64() * 1e3);
        run.scene.after_frame(&mut engine, &run.output)?;
        if bar {
            run.progress.share((frame + 1) as f32 / frames as f32);
        }
        stop::check()?;
    }
    run.progress.finish();
    let (camera, _) = run.scene.scripted(frames.saturating_sub(1), frames);
    run.conclude(&mut engine, size, &camera)
}
