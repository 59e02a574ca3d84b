//! The demos of Vasa: one binary, a subcommand a scene, in a window or without one.
//!
//! ```text
//! cli -> Settings (knobs) -> Output (folder checked) -> scene.load -> window or headless
//!                                                                        |  engine, scene.build
//!                                                                        |  frames along the flight, or by hand
//!                                                                        `> frame.png, stats.json, --exec
//! ```

mod assets;
mod captures;
mod cli;
mod console;
mod devices;
mod failure;
mod fly_camera;
mod frame_times;
mod graph_dump;
mod headless;
mod knobs;
mod output;
mod overlay;
mod overlay_vt;
mod pages;
mod pick;
mod progress;
mod recovery;
mod run;
mod scenes;
mod stop;
mod vt_console;
mod vt_pictures;
mod vt_report;
mod window;

use std::process::ExitCode;

use scenes::{PressureScene, ResidencyScene, TerrainScene};

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let done = cli::parse().and_then(|cli| match cli.command {
        cli::Command::Devices(args) => devices::run(&args),
        cli::Command::Terrain(args) => run::run(Box::new(TerrainScene::new(&args)), args.common),
        cli::Command::Pressure(args) => run::run(Box::new(PressureScene::new(&args)), args.common),
        cli::Command::Residency(args) => run::run(Box::new(ResidencyScene::new(&args)), args.common),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.status())
        }
    }
}
