//! Budget, usage and degrade level over time, as numbers and as a picture.
//!
//! ```text
//! PressureSample a frame -> pressure_chart -> usage as an area, budget and target as lines
//!                                             the level as bars below, and every step with its reason
//! ```

use serde::Serialize;

use crate::memory::ResidencyManager;
use crate::sparse::shadow::canvas::{Canvas, Colour, Rect};
use crate::sparse::shadow::font;

/// Memory in one frame.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PressureSample {
    /// Frame.
    pub frame: u64,
    /// Bytes that may be used.
    pub budget_bytes: u64,
    /// Of these: those to stay below.
    pub target_bytes: u64,
    /// Bytes in use.
    pub usage_bytes: u64,
    /// Level of the degrade ladder; 0 is the full picture.
    pub level: u32,
    /// The step that was taken in this frame, with the numbers that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl PressureSample {
    /// What a manager knows in a frame.
    pub fn of(frame: u64, manager: &ResidencyManager) -> Self {
        let state = manager.state();
        let step = manager.steps().next_back().filter(|step| step.frame == frame);
        Self {
            frame,
            budget_bytes: state.budget,
            target_bytes: state.target(),
            usage_bytes: state.usage,
            level: manager.ladder().level(),
            step: step.map(ToString::to_string),
        }
    }
}

/// An RGB8 picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Rows from the top, three bytes a pixel.
    pub pixels: Vec<u8>,
}

const WIDTH: u32 = 1280;
const LEFT: u32 = 96;
const RIGHT: u32 = WIDTH - 32;
const TOP: u32 = 84;
const BYTES_HEIGHT: u32 = 360;
const LEVEL_HEIGHT: u32 = 120;
const BOTTOM: u32 = TOP + BYTES_HEIGHT;
const LEVEL_TOP: u32 = BOTTOM + 44;
const LEVEL_BOTTOM: u32 = LEVEL_TOP + LEVEL_HEIGHT;
const MOST_STEPS: usize = 40;

const BACKGROUND: Colour = [16, 19, 25];
const GRID: Colour = [40, 47, 58];
const TEXT: Colour = [230, 234, 240];
const DIM: Colour = [150, 160, 175];
const USAGE: Colour = [58, 124, 196];
const USAGE_EDGE: Colour = [140, 196, 255];
const BUDGET: Colour = [240, 240, 240];
const TARGET: Colour = [226, 160, 48];
const DOWN: Colour = [226, 92, 72];
const UP: Colour = [104, 190, 120];

/// Draws samples in the order of their frames. Without any there is only the frame of the chart.
pub fn pressure_chart(title: &str, samples: &[PressureSample]) -> Chart {
    let mut canvas = Canvas::new(WIDTH, BACKGROUND);
    canvas.extend(LEVEL_BOTTOM + 40);
    canvas.text(LEFT, 20, 3, TEXT, title);
    let mut x = LEFT;
    for (name, colour) in
        [("usage", USAGE_EDGE), ("budget", BUDGET), ("target: budget less what is kept free", TARGET)]
    {
        canvas.fill(Rect { x, y: 58, width: 18, height: 8 }, colour);
        x = canvas.text(x + 26, 58, 1, DIM, name) + 30;
    }
    // A budget far above all usage is cut: it would leave no room for what happens.
    let used = samples.iter().map(|s| s.usage_bytes).max().unwrap_or(0);
    let budget = samples.iter().map(|s| s.budget_bytes).max().unwrap_or(0);
    let most = budget.min(used.saturating_mul(2)).max(used).max(1);
    draw_bytes(&mut canvas, samples, most);
    draw_levels(&mut canvas, samples);
    draw_steps(&mut canvas, samples);
    let (width, height, pixels) = canvas.into_parts();
    Chart { size: [width, height], pixels }
}

/// The sample of a column of pixels.
fn at(samples: &[PressureSample], x: u32) -> Option<&PressureSample> {
    let columns = u64::from(RIGHT - LEFT);
    let index = u64::from(x - LEFT) * samples.len() as u64 / columns;
    samples.get(usize::try_from(index).ok()?)
}

/// The column of a frame.
fn column(samples: &[PressureSample], frame: u64) -> u32 {
    let index = samples.partition_point(|sample| sample.frame < frame) as u64;
    let columns = u64::from(RIGHT - LEFT);
    LEFT + u32::try_from(index * columns / (samples.len() as u64).max(1)).unwrap_or(0).min(RIGHT - LEFT - 1)
}

fn draw_bytes(canvas: &mut Canvas, samples: &[PressureSample], most: u64) {
    // Lines every 1, 2 or 5 times a power of ten MiB.
    let mib = most.div_ceil(1 << 20);
    let steps = (0..18u32).flat_map(|power| [1, 2, 5].map(|n| n * 10u64.pow(power)));
    let step = steps.into_iter().find(|step| mib / step <= 8).unwrap_or(mib.max(1));
    let bytes = |mib: u64| mib.min(u64::MAX >> 20) << 20;
    let top = bytes(mib.div_ceil(step).saturating_mul(step).max(1));
    let row = |bytes: u64| {
        let height = u128::from(bytes.min(top)) * u128::from(BYTES_HEIGHT) / u128::from(top.max(1));
        BOTTOM - height as u32
    };
    for line in (0..=mib.div_ceil(step)).map(|n| n * step) {
        let y = row(bytes(line));
        canvas.fill(Rect { x: LEFT, y, width: RIGHT - LEFT, height: 1 }, GRID);
        let label = format!("{line} MiB");
        canvas.text((LEFT - 10).saturating_sub(font::width(&label)), y - 3, 1, DIM, &label);
    }
    let mut before: Option<&PressureSample> = None;
    for x in LEFT..RIGHT {
        let Some(sample) = at(samples, x) else { break };
        let last = before.unwrap_or(sample);
        let y = row(sample.usage_bytes);
        canvas.fill(Rect { x, y, width: 1, height: BOTTOM - y }, USAGE);
        let mut line = |from: u64, to: u64, colour: Colour, thick: u32| {
            let (a, b) = (row(from), row(to));
            canvas.fill(Rect { x, y: a.min(b), width: 1, height: a.abs_diff(b) + thick }, colour);
        };
        line(last.usage_bytes, sample.usage_bytes, USAGE_EDGE, 2);
        line(last.target_bytes, sample.target_bytes, TARGET, 1);
        line(last.budget_bytes, sample.budget_bytes, BUDGET, 2);
        before = Some(sample);
    }
    for tenth in 0..=10u32 {
        let x = LEFT + (RIGHT - LEFT - 1) * tenth / 10;
        canvas.fill(Rect { x, y: BOTTOM, width: 1, height: 5 }, DIM);
        let label = at(samples, x).map_or_else(String::new, |sample| sample.frame.to_string());
        canvas.text(x.saturating_sub(font::width(&label) / 2), BOTTOM + 10, 1, DIM, &label);
    }
    canvas.text(LEFT, BOTTOM + 26, 1, DIM, "frame");
}

fn draw_levels(canvas: &mut Canvas, samples: &[PressureSample]) {
    let most = samples.iter().map(|s| s.level).max().unwrap_or(0).max(1);
    let height = |level: u32| (u64::from(level) * u64::from(LEVEL_HEIGHT) / u64::from(most)) as u32;
    for level in (0..=most).step_by(most as usize / 16 + 1) {
        let y = LEVEL_BOTTOM - height(level);
        canvas.fill(Rect { x: LEFT, y, width: RIGHT - LEFT, height: 1 }, GRID);
        let label = if level == 0 { "level 0".to_owned() } else { level.to_string() };
        canvas.text((LEFT - 10).saturating_sub(font::width(&label)), y - 3, 1, DIM, &label);
    }
    for x in LEFT..RIGHT {
        let Some(sample) = at(samples, x) else { break };
        let height = height(sample.level);
        canvas.fill(Rect { x, y: LEVEL_BOTTOM - height, width: 1, height: height + 1 }, TARGET);
    }
    for sample in samples.iter().filter(|sample| sample.step.is_some()) {
        let (x, colour) = (column(samples, sample.frame), colour_of(sample));
        canvas.fill(Rect { x, y: LEVEL_TOP - 8, width: 2, height: 6 }, colour);
    }
}

fn colour_of(sample: &PressureSample) -> Colour {
    let is_up = sample.step.as_ref().is_some_and(|step| step.contains(", costs "));
    if is_up { UP } else { DOWN }
}

fn draw_steps(canvas: &mut Canvas, samples: &[PressureSample]) {
    let steps: Vec<_> = samples.iter().filter_map(|s| Some((s.step.as_ref()?, colour_of(s)))).collect();
    let mut y = LEVEL_BOTTOM + 28;
    for (step, colour) in steps.iter().take(MOST_STEPS) {
        canvas.fill(Rect { x: LEFT, y, width: 6, height: 7 }, *colour);
        canvas.text(LEFT + 16, y, 1, TEXT, step);
        y += 15;
    }
    if steps.len() > MOST_STEPS {
        canvas.text(LEFT + 16, y, 1, DIM, &format!("and {} more steps", steps.len() - MOST_STEPS));
        y += 15;
    }
    canvas.extend(y + 24);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(chart: &Chart, x: u32, y: u32) -> Colour {
        let at = (y * chart.size[0] + x) as usize * 3;
        [chart.pixels[at], chart.pixels[at + 1], chart.pixels[at + 2]]
    }

    #[test]
    fn usage_is_an_area_below_its_budget_and_the_level_a_bar() {
        let sample = |frame: u64| PressureSample {
            frame,
            budget_bytes: 400 << 20,
            target_bytes: 300 << 20,
            usage_bytes: 200 << 20,
            level: u32::from(frame >= 50),
            step: (frame == 50).then(|| "frame 50: saves".into()),
        };
        let samples: Vec<_> = (0..100).map(sample).collect();
        let chart = pressure_chart("Memory", &samples);
        assert_eq!(chart.pixels.len(), (chart.size[0] * chart.size[1] * 3) as usize);
        let middle = (LEFT + RIGHT) / 2 + 40;
        assert_eq!(pixel(&chart, middle, BOTTOM - BYTES_HEIGHT / 4), USAGE, "100 of 400 MiB");
        assert_eq!(pixel(&chart, middle, BOTTOM - BYTES_HEIGHT / 2 - 20), BACKGROUND, "above the usage");
        assert_eq!(pixel(&chart, middle, TOP), BUDGET);
        assert_eq!(pixel(&chart, middle, TOP + BYTES_HEIGHT / 4), TARGET);
        assert_eq!(pixel(&chart, middle, LEVEL_TOP + 2), TARGET, "level 1");
        assert_eq!(pixel(&chart, LEFT + 30, LEVEL_TOP + 2), BACKGROUND, "level 0");
        assert_eq!(pixel(&chart, LEFT + (RIGHT - LEFT) / 2, LEVEL_TOP - 5), DOWN);
    }

    #[test]
    fn any_samples_can_be_drawn() {
        let odd = PressureSample {
            budget_bytes: u64::MAX,
            usage_bytes: u64::MAX,
            level: u32::MAX,
            ..Default::default()
        };
        for samples in [vec![], vec![PressureSample::default()], vec![odd.clone(), odd]] {
            assert!(pressure_chart("x", &samples).size[1] > LEVEL_BOTTOM);
        }
    }
}
