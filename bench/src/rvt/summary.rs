//! What was measured, condensed: a row for each number of layers and size.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::run::{Measured, Sharp, Times, steady};
use super::{Plan, Variant};
use crate::ground::CANARY_TOLERANCE;
use crate::report::{Table, figure, spread};
use crate::stats::Spread;

/// One variant over the kept rounds.
#[derive(Debug, Clone, Serialize)]
struct Figures {
    variant: &'static str,
    base_ms: Option<Spread>,
    textures_ms: Option<Spread>,
    frame_ms: Option<Spread>,
    /// Direct evaluation / this, round by round: the whole base pass.
    direct_over_this: Option<Spread>,
    /// The same with what virtual textures take in a steady frame.
    direct_over_this_and_textures: Option<Spread>,
    /// (direct - plain) / (this - plain).
    direct_over_this_less_plain: Option<Spread>,
    /// Mean FLIP error to what is evaluated directly.
    flip: Option<f64>,
}

/// A number of layers at a size.
#[derive(Debug, Clone, Serialize)]
struct Row {
    layers: u32,
    extent: [u32; 2],
    rounds: usize,
    thrown_away: usize,
    canary_ms: Option<Spread>,
    /// Pages drawn while it was measured: none, in a steady view.
    pages_in_rounds: usize,
    variants: Vec<Figures>,
    measured: Measured,
}

/// The whole measurement.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    plan: Plan,
    rows: Vec<Row>,
    sharp: Vec<Sharp>,
}

impl Summary {
    /// Throws away the rounds in which the clock moved, and condenses the rest.
    pub(super) fn of(plan: Plan, measured: Vec<Measured>, sharp: Vec<Sharp>) -> Self {
        Self { plan, rows: measured.into_iter().map(row).collect(), sharp }
    }

    /// The bench's object in the JSON document.
    pub(super) fn json(&self) -> Value {
        json!({
            "plan": self.plan,
            "canary_tolerance": CANARY_TOLERANCE,
            "rows": self.rows,
            "frames_until_sharp": self.sharp,
        })
    }
}

/// Two figures of a round that are divided.
type Pair<'a> = dyn Fn(&[Times]) -> Option<(f64, f64)> + 'a;

fn place(variant: Variant) -> usize {
    Variant::ALL.iter().position(|other| *other == variant).unwrap_or(0)
}

fn row(measured: Measured) -> Row {
    let kept: Vec<&Vec<Times>> = measured
        .rounds
        .iter()
        .zip(steady(&measured.rounds))
        .filter(|(_, kept)| *kept)
        .map(|(r, _)| r)
        .collect();
    // A figure of every round; those that make no sense (a difference below nothing) are left out.
    let over = |of: &dyn Fn(&[Times]) -> Option<f64>| {
        Spread::of(&kept.iter().filter_map(|round| of(round)).collect::<Vec<_>>())
    };
    let base = |round: &[Times], variant| round.get(place(variant)).map(|times| times.base_ms);
    let figures = |variant: Variant| {
        let at = place(variant);
        let is_rvt = Variant::RVT.contains(&variant);
        let ratio = |of: &Pair<'_>| {
            let positive = |(a, b): (f64, f64)| (a > 0.0 && b > 0.0).then(|| a / b);
            over(&|round| of(round).and_then(positive)).filter(|_| is_rvt)
        };
        Figures {
            variant: variant.name(),
            base_ms: over(&|round| Some(round.get(at)?.base_ms)),
            textures_ms: over(&|round| Some(round.get(at)?.textures_ms)),
            frame_ms: over(&|round| Some(round.get(at)?.frame_ms)),
            direct_over_this: ratio(&|r| Some((base(r, Variant::Direct)?, base(r, variant)?))),
            direct_over_this_and_textures: ratio(&|r| {
                Some((base(r, Variant::Direct)?, base(r, variant)? + r.get(at)?.textures_ms))
            }),
            direct_over_this_less_plain: ratio(&|r| {
                let plain = base(r, Variant::Plain)?;
                Some((base(r, Variant::Direct)? - plain, base(r, variant)? - plain))
            }),
            flip: Variant::RVT
                .iter()
                .zip(&measured.flip)
                .find(|(v, _)| **v == variant)
                .map(|(_, flip)| *flip),
        }
    };
    let canaries: Vec<f64> =
        kept.iter().flat_map(|round| round.iter().map(|times| times.canary_ms)).collect();
    Row {
        layers: measured.layers,
        extent: measured.extent,
        rounds: kept.len(),
        thrown_away: measured.rounds.len() - kept.len(),
        canary_ms: Spread::of(&canaries),
        pages_in_rounds: measured.rounds.iter().flatten().map(|times| times.pages).sum(),
        variants: Variant::ALL.into_iter().map(figures).collect(),
        measured,
    }
}

impl Row {
    fn name(&self) -> String {
        format!("{} x {}, {} layers", self.extent[0], self.extent[1], self.layers)
    }

    fn rvt(&self) -> impl Iterator<Item = &Figures> {
        self.variants.iter().filter(|figures| Variant::RVT.iter().any(|rvt| rvt.name() == figures.variant))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "rvt: a terrain of the elevation data from 300 m above it; {} frames a variant and round, variants in turn; rounds are thrown away where sky and tone mapping moved by more than {:.0}%\n",
            self.plan.frames,
            CANARY_TOLERANCE * 100.0,
        )?;
        writeln!(f, "{}\n{}", self.times(), self.ratios())?;
        for sharp in &self.sharp {
            let frames = sharp
                .frames
                .map_or_else(|| format!("more than {}", self.plan.sharp_frames), |frames| frames.to_string());
            writeln!(
                f,
                "frames until sharp after a cut to a view without pages ({} layers, {} pages a frame): {frames}",
                self.plan.sharp_layers, sharp.budget,
            )?;
        }
        for row in self.rows.iter().filter(|row| !row.measured.settled.is_settled || row.pages_in_rounds > 0)
        {
            writeln!(
                f,
                "not steady: {} drew {} pages while it was measured",
                row.name(),
                row.pages_in_rounds
            )?;
        }
        writeln!(
            f,
            "GPU times. plain: the same geometry with one material. RVT: the surface alone, as direct evaluation has it. anisotropy: its pages sampled along the footprint too, as direct evaluation samples its layers on a GPU. near detail: closer than its finest page the layers are evaluated. displaced: with height and displacement too. ratios: direct / RVT of the same round; with VT passes: RVT and all that virtual textures do in a steady frame; less plain: (direct - plain) / (RVT - plain). FLIP: mean error to the direct picture. three figures: min / median / max over rounds."
        )
    }
}

impl Summary {
    fn times(&self) -> Table {
        let mut headings = vec!["base pass, ms"];
        headings.extend(Variant::ALL.map(Variant::name));
        headings.extend(["VT passes", "canary", "pages", "rounds", "thrown away"]);
        let mut table = Table::new(&headings);
        for row in &self.rows {
            let mut cells = vec![row.name()];
            cells.extend(row.variants.iter().map(|figures| spread(figures.base_ms, 3)));
            let textures = row.variants.last().and_then(|figures| figures.textures_ms);
            cells.extend([
                figure(textures.map(|s| s.median), 3),
                figure(row.canary_ms.map(|s| s.median), 3),
                row.measured.settled.pages.to_string(),
                row.rounds.to_string(),
                row.thrown_away.to_string(),
            ]);
            table.row(cells);
        }
        table
    }

    fn ratios(&self) -> Table {
        let mut table = Table::new(&["direct / RVT", "whole pass", "with VT passes", "less plain", "FLIP"]);
        for row in &self.rows {
            for figures in row.rvt() {
                table.row(vec![
                    format!("{}, {}", row.name(), figures.variant),
                    spread(figures.direct_over_this, 2),
                    spread(figures.direct_over_this_and_textures, 2),
                    spread(figures.direct_over_this_less_plain, 2),
                    figure(figures.flip, 4),
                ]);
            }
        }
        table
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
