//! The pressure demo: the island of the residency demo, while the memory that may be used shrinks and comes back.
//!
//! ```text
//! script (pure): frame -> budget --Device::limit_memory--> the engine gives up and takes back what it can
//! after each frame: a sample -> pressure.json, pressure.png; pictures before, at the lowest and at the end
//! ```
//!
//! The camera stands still, so that the last picture can be compared with the first.

use serde::Serialize;
use vasa::Engine;
use vasa::inspect::{PressureSample, pressure_chart};
use vasa::memory::{DeviceBudget, LadderKnobs, ResidencyKnobs};
use vasa::render::{Switch, View};
use vasa::scene::Camera;

use super::{ResidencyScene, Scene};
use crate::cli::PressureArgs;
use crate::failure::Result;
use crate::knobs::Settings;
use crate::output::Output;
use crate::progress::Progress;

/// Frames of the script.
const FRAMES: u32 = 360;
/// Where along the flight of the residency demo the camera stands.
const PLACE: f32 = 0.45;
/// The budget in the end, as a share of what is used with nothing given up.
const LEAST: f64 = 0.4;
/// The budget at the start.
const MOST: f64 = 1.75;
/// Shares of the run: the budget begins to fall, is lowest, begins to rise, is back.
const FALLS: f64 = 0.15;
const LOWEST: f64 = 0.38;
const RISES: f64 = 0.48;
const BACK: f64 = 0.58;
/// Hold times of the ladder, shorter than an engine's own, so that a short run shows all of it.
const HOLD: LadderKnobs = LadderKnobs { hold_down: 6, hold_up: 12, up_percent: 95, watch: 120 };

/// `pressure.json`.
#[derive(Serialize)]
struct Series<'a> {
    /// Whether the picture at the end is that before the budget fell, byte by byte.
    same_picture: bool,
    /// The highest level of the ladder.
    level_max: u32,
    /// A sample a frame.
    samples: &'a [PressureSample],
}

/// The island under pressure.
#[derive(Debug)]
pub struct PressureScene {
    island: ResidencyScene,
    frames: u32,
    /// What is used with nothing given up, once it is known; or the budget that was asked for.
    full: Option<u64>,
    asked: Option<u64>,
    samples: Vec<PressureSample>,
    before: Vec<u8>,
    same: bool,
}

impl PressureScene {
    /// The scene that the arguments name.
    pub fn new(args: &PressureArgs) -> Self {
        Self {
            island: ResidencyScene::of_seed(args.common.seed),
            frames: args.common.frames.unwrap_or(FRAMES),
            full: None,
            asked: args.common.budget.map(|mib| mib << 20),
            samples: Vec::new(),
            before: Vec::new(),
            same: false,
        }
    }

    /// The frame at a share of the run.
    fn frame_at(&self, share: f64) -> usize {
        (f64::from(self.frames) * share) as usize
    }
}

/// The budget at a share of the run, between the most and the least.
fn budget(share: f64, most: u64, least: u64) -> u64 {
    let height = if !(FALLS..BACK).contains(&share) {
        1.0
    } else if share < LOWEST {
        1.0 - (share - FALLS) / (LOWEST - FALLS)
    } else if share < RISES {
        0.0
    } else {
        (share - RISES) / (BACK - RISES)
    };
    least + (most.saturating_sub(least) as f64 * height) as u64
}

impl Scene for PressureScene {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn adjust(&self, settings: &mut Settings) {
        // Something to give up on software devices too.
        if settings.render.samples == 0 {
            settings.render.samples = 4;
        }
        // Small pieces, so that one sees what each step gives back; little that never changes.
        settings.sparse.chunk_bytes = 2 << 20;
        settings.upload_bytes = 4 << 20;
        settings.residency_budget = 20 << 20;
        // The picture before and the one after are compared: what came between must not show.
        for switch in [&mut settings.render.temporal, &mut settings.render.auto_exposure] {
            if *switch == Switch::Auto {
                *switch = Switch::Off;
            }
        }
        self.island.adjust(settings);
    }

    fn load(&mut self, progress: &Progress) -> Result<()> {
        self.island.load(progress)
    }

    fn build(&mut self, engine: &mut Engine, settings: &Settings, progress: &Progress) -> Result<()> {
        let knobs = ResidencyKnobs { ladder: HOLD, ..Default::default() };
        let source = DeviceBudget::new(engine.device());
        engine.watch_memory(Box::new(source), knobs);
        self.island.build(engine, settings, progress)
    }

    fn before_frame(&mut self, engine: &mut Engine, settings: &Settings) {
        self.island.before_frame(engine, settings);
        let frame = self.samples.len();
        let share = frame as f64 / f64::from(self.frames.max(1));
        if self.full.is_none() && frame >= self.frame_at(FALLS) {
            self.full = Some(engine.device().object_counts().memory_bytes);
        }
        if let Some(full) = self.full {
            let most = self.asked.unwrap_or((full as f64 * MOST) as u64);
            let least = (full as f64 * LEAST) as u64;
            engine.device().limit_memory(Some(budget(share, most, least)));
        }
    }

    fn after_frame(&mut self, engine: &mut Engine, output: &Output) -> Result<()> {
        let frame = self.samples.len();
        self.samples.push(PressureSample::of(engine.frame().saturating_sub(1), engine.residency()));
        let size = engine.renderer().output().map(|image| image.desc().extent).unwrap_or_default();
        for (share, name) in [(FALLS, "before.png"), (RISES, "lowest.png"), (1.0, "after.png")] {
            if frame + 1 == self.frame_at(share) {
                let pixels = engine.read_back()?;
                output.picture(name, size, &pixels)?;
                self.same = self.before == pixels;
                if self.before.is_empty() {
                    self.before = pixels;
                }
            }
        }
        Ok(())
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    fn flight(&self, _: f32) -> Camera {
        self.island.flight(PLACE)
    }

    fn ground(&self, x: f32, z: f32) -> f32 {
        self.island.ground(x, z)
    }

    fn speed(&self) -> f32 {
        self.island.speed()
    }

    fn view(&self, settings: &Settings, camera: Camera, time: f32) -> View {
        self.island.view(settings, camera, time)
    }

    fn conclude(&self, engine: &Engine, output: &Output, _: &Camera) -> Result<()> {
        let level_max = engine.residency().ladder().level_max();
        let series = Series { same_picture: self.same, level_max, samples: &self.samples };
        let numbers = output.json("pressure.json", &series)?;
        let chart = pressure_chart("Memory under pressure", &self.samples);
        let picture = output.rgb("pressure.png", chart.size, &chart.pixels)?;
        let level = engine.residency().ladder().level();
        println!("{}\n{}", picture.display(), numbers.display());
        println!("up to degrade level {level_max}, back at {level}; same picture as before: {}", self.same);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_falls_and_comes_back() {
        let at = |share| budget(share, 1000, 200);
        assert_eq!((at(0.0), at(0.1), at(FALLS), at(1.0)), (1000, 1000, 1000, 1000));
        assert_eq!((at(LOWEST), at(0.45)), (200, 200));
        assert!((0..100).all(|i| (200..=1000).contains(&at(f64::from(i) / 100.0))));
        assert_eq!(budget(0.4, 100, 200), 200, "a most that is less than the least");
    }
}
