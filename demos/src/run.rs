//! A run of a scene: from arguments to files.

use std::path::PathBuf;

use serde::Serialize;
use vasa::inspect::Stats;
use vasa::scene::Camera;
use vasa::vk::{DeviceOptions, FeatureMask, InstanceOptions, Validation};
use vasa::{Engine, default_cache_folder};

#[cfg(feature = "hot-reload")]
use crate::assets;
use crate::captures::{Capture, Captures};
use crate::cli::{CommonArgs, Validate};
use crate::console;
use crate::failure::{Failure, Result};
use crate::frame_times::{FrameTimes, Summary};
use crate::graph_dump;
use crate::knobs::Settings;
use crate::output::Output;
use crate::progress::Progress;
use crate::recovery::Losses;
use crate::scenes::Scene;
use crate::{headless, stop, window};

/// Everything that a run needs, window or not.
pub struct Run {
    /// The command line.
    pub args: CommonArgs,
    /// Knobs.
    pub settings: Settings,
    /// Where files go.
    pub output: Output,
    /// Where the last frame's graph goes, if anywhere.
    pub graph_output: Option<Output>,
    /// What is drawn.
    pub scene: Box<dyn Scene>,
    /// Shown while loading.
    pub progress: Progress,
    /// Times of frames so far.
    pub times: FrameTimes,
    /// Losses of the device.
    pub losses: Losses,
    /// Captures of page draws.
    pub captures: Captures,
}

/// `stats.json`.
#[derive(Serialize)]
struct StatsFile<'a> {
    scene: &'a str,
    version: &'a str,
    commit: &'a str,
    size: [u32; 2],
    frames: u64,
    device_losses: u64,
    seed: u32,
    frame_ms: Summary,
    vt_captures: Option<&'a [Capture]>,
    #[serde(flatten)]
    engine: &'a Stats,
}

/// Runs a scene.
///
/// # Errors
/// One line that says what to do.
pub fn run(scene: Box<dyn Scene>, common: CommonArgs) -> Result<()> {
    let mut settings = settings(&common)?;
    scene.adjust(&mut settings);
    for line in &common.commands {
        console::find(line).map_err(Failure::Usage)?;
    }
    let folder = common.out.clone().unwrap_or_else(|| PathBuf::from("target/demo").join(scene.name()));
    let captures = Captures::new(scene.page_draws(), &folder)?;
    let output = Output::open(&folder)?;
    captures.folder().map(Output::open).transpose()?;
    let graph_output =
        common.dump_graph.as_deref().map(|dir| Output::open_by(dir, "--dump-graph")).transpose()?;
    stop::listen()?;
    let progress = Progress::new();
    let losses = Losses::new(common.on_device_lost, &common.inject_loss);
    let times = FrameTimes::default();
    let mut run =
        Run { args: common, settings, output, graph_output, scene, progress, times, losses, captures };
    let wanted = window::wanted(&run.args);
    if let Err(why) = &wanted {
        refuse_or_say(&run.args, why)?;
    }
    run.scene.load(&run.progress)?;
    stop::check()?;
    if wanted == Ok(true) {
        match window::run(run)? {
            window::Outcome::Done => return Ok(()),
            window::Outcome::NoWindow(given_back, why) => {
                refuse_or_say(&given_back.args, &why)?;
                run = *given_back;
            }
        }
    }
    headless::run(run)
}

/// Without a window there is still a picture, unless the window was what was asked for.
fn refuse_or_say(args: &CommonArgs, why: &str) -> Result<()> {
    if args.window {
        return Err(Failure::failed(format!("no window can be opened ({why}): leave --window out")));
    }
    eprintln!("no window can be opened ({why}): running headless");
    Ok(())
}

fn settings(args: &CommonArgs) -> Result<Settings> {
    let mut settings = Settings::default();
    if let Some(file) = &args.knobs {
        settings.read_file(file).map_err(Failure::failed)?;
    }
    for assignment in &args.sets {
        settings.set(assignment, false).map_err(Failure::Usage)?;
    }
    Ok(settings)
}

impl Run {
    /// How to make the instance, without a display.
    pub fn instance_options(&self) -> InstanceOptions {
        let validation = match self.args.validate {
            Some(_) => Validation::Required,
            // RenderDoc gives empty lists of binds a pointer, at which validation layer 1.3.239 crashes.
            None if self.captures.folder().is_some() => Validation::Off,
            None => Validation::Debug,
        };
        InstanceOptions {
            application: format!("vasa demos: {}", self.scene.name()),
            validation,
            gpu_assisted: self.args.validate == Some(Validate::Gpu),
            ..InstanceOptions::default()
        }
    }

    /// How to open the device.
    pub fn device_options(&self) -> DeviceOptions {
        let mask = if self.args.fallback { FeatureMask::fallback() } else { FeatureMask::default() };
        DeviceOptions {
            name: self.args.device.clone(),
            mask: mask.and(self.args.mask.clone().unwrap_or_default()),
            sparse_queue: self.settings.sparse_queue,
            cache_folder: default_cache_folder(),
            ..DeviceOptions::default()
        }
    }

    /// Makes the engine on an open device, and builds the scene.
    ///
    /// # Errors
    /// A size past the device's limit; no memory.
    pub fn build(&mut self, device: std::sync::Arc<vasa::vk::Device>) -> Result<Engine> {
        let limit = device.capabilities().limits.max_image_2d;
        let [width, height] = self.args.size.0;
        if width.max(height) > limit {
            return Err(Failure::failed(format!(
                "--size {width}x{height} is more than {} can draw: give at most {limit}x{limit}",
                device.capabilities().name
            )));
        }
        self.losses.arm(&device);
        device.limit_memory(self.args.budget.map(|mib| mib << 20));
        self.progress.step("compiling pipelines");
        let s = &self.settings;
        let mut engine =
            Engine::on_device(device, s.sparse.clone(), s.render, s.frames_in_flight, s.upload_bytes)?;
        stop::check()?;
        if let Some(path) = &self.args.trace_binds {
            let failed = |error| {
                Failure::failed(format!("{}: {error}: give a file that can be written", path.display()))
            };
            engine.sparse().trace_binds(path).map_err(failed)?;
        }
        #[cfg(feature = "hot-reload")]
        if let Some(folder) = assets::shaders() {
            engine.watch_shaders(&folder)?;
            log::info!("watching {}", folder.display());
        }
        self.scene.build(&mut engine, &self.settings, &self.progress)?;
        self.progress.finish();
        stop::check()?;
        Ok(engine)
    }

    /// Writes picture and numbers of the last frame, which `camera` saw, runs the console commands, and judges the validation messages.
    ///
    /// # Errors
    /// When a file cannot be written, a command fails, or `--validate` found something.
    pub fn conclude(&mut self, engine: &mut Engine, size: [u32; 2], camera: &Camera) -> Result<()> {
        engine.wait_idle()?;
        if let Some(path) = &self.args.trace_binds {
            let failed =
                |error| Failure::failed(format!("{}: the trace is not whole: {error}", path.display()));
            engine.sparse().end_trace().map_err(failed)?;
        }
        let pixels = engine.read_back()?;
        let stats = engine.stats();
        let picture = self.output.picture("frame.png", size, &pixels)?;
        let frame_ms = self.times.summary();
        let numbers = self.output.json(
            "stats.json",
            &StatsFile {
                scene: self.scene.name(),
                version: env!("CARGO_PKG_VERSION"),
                commit: env!("VASA_COMMIT"),
                size,
                frames: engine.frame(),
                device_losses: self.losses.count(),
                seed: self.args.seed,
                frame_ms,
                vt_captures: self.captures.made(),
                engine: &stats,
            },
        )?;
        println!(
            "{} frames of {}x{} on {}, {:.2} ms each (median)",
            engine.frame(),
            size[0],
            size[1],
            stats.device.name,
            frame_ms.median
        );
        println!("{}\n{}", picture.display(), numbers.display());
        self.captures.conclude();
        let device = engine.device().clone();
        self.scene.conclude(engine, &self.output, camera)?;
        if let Some(output) = &self.graph_output {
            graph_dump::write(engine.graph_mut(), output)?;
        }
        for line in self.args.commands.clone() {
            let mut context = console::Context { stats: &stats, engine, settings: &mut self.settings };
            let text = console::run(&line, &mut context).map_err(Failure::failed)?;
            println!("\n> {line}\n{text}");
        }
        if let Some(reports @ 1..) = stats.checker_messages {
            let first = device.instance().messages().checker_texts().into_iter().next().unwrap_or_default();
            return Err(Failure::failed(format!(
                "the checker of sparse memory had {reports} reports (`--exec messages` prints them), the first: {first}"
            )));
        }
        if self.args.validate.is_some() && stats.validation_messages > 0 {
            let first = device.instance().messages().failure_texts().into_iter().next().unwrap_or_default();
            return Err(Failure::failed(format!(
                "validation had {} messages (`--exec messages` prints them), the first: {first}",
                stats.validation_messages
            )));
        }
        Ok(())
    }
}
