//! The command line: names and meanings are an interface, scripts depend on them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use vasa::OnDeviceLost;
use vasa::vk::FeatureMask;

use crate::failure::{Failure, Result, one_line};
use crate::recovery::InjectedLoss;

/// The demos of Vasa, a Vulkan renderer engine built on sparse binding.
#[derive(Debug, Parser)]
#[command(name = "demos", version, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A scene, or the device report.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A real landscape, drawn through buffers that grow in place
    Terrain(Box<TerrainArgs>),
    /// An image of 16384 x 16384 texels, streamed tile by tile into a fraction of its memory
    Residency(Box<ResidencyArgs>),
    /// The same image while the memory that may be used shrinks and comes back
    Pressure(Box<PressureArgs>),
    /// The Vulkan devices: which is taken, and why the others are not (exit status 1 when none is usable)
    Devices(DevicesArgs),
}

/// Arguments of `devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of every scene.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// Draw without a window, along the scripted flight (the default where there is no display)
    #[arg(long, conflicts_with = "window")]
    pub headless: bool,
    /// Open a window, or fail where that cannot be done
    #[arg(long)]
    pub window: bool,
    /// Number of frames, at least 1 [default: 120 without a window, endless in one]
    #[arg(long, value_name = "N", value_parser = frames, allow_hyphen_values = true)]
    pub frames: Option<u32>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", allow_hyphen_values = true)]
    pub size: Size,
    /// Folder for frame.png, stats.json and screenshots [default: target/demo/SCENE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of everything that is scattered
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u32,
    /// Do without sparse binding: buffers are made anew and copied when they grow
    #[arg(long)]
    pub fallback: bool,
    /// Hide features of the device, to see that the rest still works
    #[arg(long, value_name = "FEATURE,...", value_parser = FeatureMask::parse)]
    pub mask: Option<FeatureMask>,
    /// Device memory to use at most; the picture becomes simpler where that is too little
    #[arg(long, value_name = "MIB", value_parser = mebibytes, allow_hyphen_values = true)]
    pub budget: Option<u64>,
    /// Turn the Vulkan validation layer on, and fail at the end if it had anything to say; `gpu` also checks shaders
    /// while they run (slow, and it holds a descriptor set)
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, default_missing_value = "core")]
    pub validate: Option<Validate>,
    /// What to do when the device is lost: draw no more, end with the error, or make everything again
    #[arg(long, value_name = "POLICY", default_value = "recover", value_parser = OnDeviceLost::from_str)]
    pub on_device_lost: OnDeviceLost,
    /// Lose the device on purpose at this submission, for tests; further numbers are for the devices after it
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = InjectedLoss::from_str, hide = true)]
    pub inject_loss: Vec<InjectedLoss>,
    /// Use the device whose name contains this
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Set a knob; `--exec knobs` lists them
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Read knobs from a file, a line of KEY=VALUE each (--set comes after it)
    #[arg(long, value_name = "FILE")]
    pub knobs: Option<PathBuf>,
    /// Run a console command after the last frame; `--exec help` lists them
    #[arg(long = "exec", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Write a line for each bind of sparse memory: frame, resource, range, chunk, time of the call and until usable
    #[arg(long, value_name = "FILE")]
    pub trace_binds: Option<PathBuf>,
    /// Write the last frame's graph into a folder: graph.dot, graph.json, lifetimes.svg, heaps as pictures, and the frame as
    /// recorded for `bench graph`
    #[arg(long, value_name = "DIR")]
    pub dump_graph: Option<PathBuf>,
    /// Ask nothing
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `terrain`.
#[derive(Debug, Clone, Args)]
pub struct TerrainArgs {
    /// Arguments of every scene.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Height map to draw: GeoTIFF, TIFF or PNG [default: the elevation data in assets/]
    #[arg(long, value_name = "FILE")]
    pub dem: Option<PathBuf>,
    /// Evaluate the ground's materials in every pixel of every frame, without virtual textures, to compare
    #[arg(long, conflicts_with_all = ["vt_report", "capture_vt", "capture_vt_draws"])]
    pub direct: bool,
    /// Write what the virtual textures hold and why into a folder, at the end: page tables and atlases as pictures, curves of
    /// residency, pools, usage and the history of pages as text and JSON
    #[arg(long, value_name = "DIR")]
    pub vt_report: Option<PathBuf>,
    /// Settings under which every frame makes pages, one pass after the other, so that a capture of any frame shows all
    /// passes of the virtual textures
    #[arg(long)]
    pub capture_vt: bool,
    /// Capture the next N draws of pages of virtual textures with RenderDoc, one capture each, into `captures` of --out:
    /// until then a frame draws one page at most. Run it under `renderdoccmd capture -w -d .` or from RenderDoc's window
    #[arg(long, value_name = "N", value_parser = page_draws, allow_hyphen_values = true)]
    pub capture_vt_draws: Option<u32>,
    /// Instead of flying, look from one place of the flight for N frames, then from another one far from it: `stats.json`
    /// says how many frames each view takes until it is sharp. In a window along with --frames
    #[arg(long, value_name = "N", value_parser = frames, allow_hyphen_values = true, conflicts_with = "grow")]
    pub cut_every: Option<u32>,
    /// Fly so that buffers grow from the first frame to the last: from far above down to the ground
    #[arg(long)]
    pub grow: bool,
    /// Heights are multiplied by this
    #[arg(long, value_name = "F", default_value_t = vasa::scene::terrain::EXAGGERATION, value_parser = exaggeration, allow_hyphen_values = true)]
    pub exaggerate: f32,
    /// Side of a pixel of the height map in metres, instead of what the file says
    #[arg(long, value_name = "M", value_parser = positive, allow_hyphen_values = true)]
    pub pixel_size: Option<f32>,
}

/// Arguments of `residency`.
#[derive(Debug, Clone, Args)]
pub struct ResidencyArgs {
    /// Arguments of every scene.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Write page tables and chunks of reserved memory at the end: pages.png, pages.json, pages.txt
    #[arg(long)]
    pub dump_pages: bool,
}

/// What the validation layer checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Validate {
    /// Calls, with synchronisation validation.
    Core,
    /// GPU-assisted: also what shaders access.
    Gpu,
}

/// Arguments of `pressure`.
#[derive(Debug, Clone, Args)]
pub struct PressureArgs {
    /// Arguments of every scene.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Width and height in pixels, both at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub [u32; 2]);

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', 'X']).and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
        match sides {
            Some(sides) if sides.contains(&0) => Err("give at least 1x1".into()),
            Some(sides) => Ok(Self(sides)),
            None => Err("give width and height in pixels, such as 1280x720".into()),
        }
    }
}

fn frames(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("give at least 1".into()),
        Ok(frames) => Ok(frames),
        Err(_) => Err("give a number of frames, at least 1".into()),
    }
}

fn mebibytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(mib) if (16..=1 << 24).contains(&mib) => Ok(mib),
        _ => Err("give MiB of device memory, at least 16".into()),
    }
}

fn page_draws(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(draws) if (1..=100).contains(&draws) => Ok(draws),
        _ => Err("give a number of captures, from 1 to 100".into()),
    }
}

fn exaggeration(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(factor) if (0.01..=100.0).contains(&factor) => Ok(factor),
        _ => Err("give a factor from 0.01 to 100 (1 is the true relief)".into()),
    }
}

fn positive(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(metres) if (0.001..=1.0e6).contains(&metres) => Ok(metres),
        _ => Err("give metres, from 0.001 to 1000000".into()),
    }
}

/// Reads the program's arguments.
///
/// # Errors
/// One line that says what to do, with exit status 2. Help and version are printed here, with status 0.
pub fn parse() -> Result<Cli> {
    parse_from(std::env::args_os())
}

fn parse_from(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli> {
    Cli::try_parse_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print(); // A closed pipe is nobody's failure.
            Failure::Silent(0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Failure::Silent(2)
        }
        _ => Failure::Usage(first_paragraph(&error.to_string())),
    })
}

/// Clap's message without its tips and usage, as one line.
fn first_paragraph(text: &str) -> String {
    let paragraph: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).collect();
    let line = one_line(&paragraph.join("\n")).replace(":; ", ": ");
    format!("{} (see --help)", line.strip_prefix("error: ").unwrap_or(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terrain(arguments: &[&str]) -> Result<TerrainArgs> {
        let all = ["demos", "terrain"].iter().chain(arguments).map(Into::into);
        match parse_from(all)?.command {
            Command::Terrain(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let args = terrain(&[]).unwrap().common;
        assert_eq!((args.size.0, args.seed, args.frames), ([1280, 720], 1, None));
        assert!(!args.headless && !args.window && !args.fallback && args.validate.is_none());
        assert_eq!((args.on_device_lost, args.inject_loss.len()), (OnDeviceLost::Recover, 0));
    }

    #[test]
    fn bad_values_are_one_line_that_says_what_to_do() {
        for (arguments, says) in [
            (&["--size", "0x0"][..], "at least 1x1"),
            (&["--size", "640"], "such as 1280x720"),
            (&["--size", "-1x5"], "such as 1280x720"),
            (&["--frames", "0"], "at least 1"),
            (&["--frames", "many"], "at least 1"),
            (&["--mask", "everything"], "known: sparse_binding"),
            (&["--budget", "0"], "at least 16"),
            (&["--budget", "all"], "at least 16"),
            (&["--exaggerate", "nan"], "1 is the true relief"),
            (&["--pixel-size", "0"], "metres"),
            (&["--headless", "--window"], "cannot be used with"),
            (&["--capture-vt-draws", "0"], "from 1 to 100"),
            (&["--capture-vt-draws", "101"], "from 1 to 100"),
            (&["--capture-vt-draws", "2", "--direct"], "cannot be used with"),
            (&["--colour"], "unexpected argument"),
            (&["--on-device-lost", "panic"], "give ignore, stop or recover"),
            (&["--inject-loss", "soon"], "number of a submission"),
            (&["--validate", "all"], "core, gpu"),
        ] {
            let failure = terrain(arguments).unwrap_err();
            let text = failure.to_string();
            assert_eq!(failure.status(), 2, "{arguments:?}: {text}");
            assert!(text.contains(says), "{arguments:?}: {text}");
            assert!(!text.contains('\n') && !text.starts_with("error"), "{arguments:?}: {text}");
        }
    }

    #[test]
    fn every_size_from_one_on_is_taken() {
        assert_eq!(terrain(&["--size", "1x1"]).unwrap().common.size.0, [1, 1]);
        assert_eq!(terrain(&["--size", "20000X20000"]).unwrap().common.size.0, [20000, 20000]);
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
