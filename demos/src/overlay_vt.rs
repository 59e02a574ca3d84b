//! The panel's part on virtual textures: residency curves, pools, what the last frame did, and a picked page.

use egui::{Color32, RichText, Stroke, pos2, vec2};
use vasa::vt::{Borders, FrameRecord, VirtualTextures, VtStats};

/// Frames in the curves.
const FRAMES: usize = 240;
/// Lines of a page's history, the newest.
const MOST_LINES: usize = 14;
const WIDTH: f32 = 300.0;
const HEIGHT: f32 = 56.0;

const RED: Color32 = Color32::from_rgb(232, 68, 60);
const YELLOW: Color32 = Color32::from_rgb(240, 208, 64);
const GREEN: Color32 = Color32::from_rgb(92, 208, 100);

/// What the panel shows of virtual textures.
pub struct VtPanel {
    records: Vec<FrameRecord>,
    borders: Borders,
    is_frozen: bool,
    page: Option<String>,
}

impl VtPanel {
    /// What there is now; `page` is the text of a page that was picked.
    pub fn of(textures: &VirtualTextures, page: Option<String>) -> Self {
        let left_out = textures.records().count().saturating_sub(FRAMES);
        Self {
            records: textures.records().skip(left_out).copied().collect(),
            borders: textures.options().borders,
            is_frozen: textures.options().planner.freeze,
            page,
        }
    }

    /// Lays it out.
    pub fn show(&self, ui: &mut egui::Ui, stats: Option<&VtStats>) {
        let label = |ui: &mut egui::Ui, text: &str, size: f32, colour: Color32| {
            ui.label(RichText::new(text).monospace().size(size).color(colour));
        };
        stats.iter().flat_map(|stats| self.lines(stats)).for_each(|line| {
            label(ui, &line, 11.0, Color32::WHITE);
        });
        self.curves(ui);
        label(ui, "red residency, yellow locked, green bias", 9.0, Color32::LIGHT_GRAY);
        if let Some(page) = &self.page {
            let all: Vec<&str> = page.lines().collect();
            // The first line names the page.
            let newest = all.len().saturating_sub(MOST_LINES).max(1);
            all.iter().take(1).chain(all.iter().skip(newest)).for_each(|line| {
                label(ui, line, 10.0, Color32::LIGHT_YELLOW);
            });
        }
    }

    /// Pools, and what the last frame did.
    fn lines(&self, stats: &VtStats) -> Vec<String> {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let pool = |pool: &vasa::vt::stats::PoolStats| {
            let first = format!(
                "{}: {} of {}, {} locked, bias {:.1}",
                pool.format.replace(" + ", "+"),
                pool.allocated,
                pool.tiles,
                pool.locked,
                pool.mip_bias
            );
            let second = format!(
                "  {} mapped, {:.1} MiB, {:.1} of them locked",
                pool.mapped,
                mib(pool.bytes),
                mib(pool.locked_bytes)
            );
            [first, second]
        };
        let texture = |texture: &vasa::vt::stats::TextureStats| {
            format!("{}: {} pages, {} locked", texture.name, texture.resident, texture.locked)
        };
        let table = |table: &vasa::vt::stats::SpaceStats| {
            format!("table {}: {} {}, {:.1} MiB", table.space, table.format, table.side, mib(table.bytes))
        };
        let last = self.records.last().copied().unwrap_or_default();
        let drawn = last.made.saturating_add(last.redrawn);
        let mut lines: Vec<String> = stats.pools.iter().flat_map(pool).collect();
        lines.extend(stats.textures.iter().map(texture));
        lines.extend(stats.page_tables.iter().map(table));
        lines.push(format!("{} requests, {} pages, {} there", last.requests, last.unique, last.resident));
        lines.push(format!("{} lost feedback, {} overflow", stats.lost_feedback, stats.overflow));
        lines.push(format!(
            "pages +{drawn} -{} {} deferred, {:.1}% sharp",
            last.evicted,
            last.deferred,
            100.0 * last.sharpness
        ));
        lines.push(format!(
            "in all +{} -{}, borders {}{}",
            stats.pages_drawn,
            stats.evicted,
            match self.borders {
                Borders::Off => "off",
                Borders::On => "on",
                Borders::Level => "by level",
            },
            if self.is_frozen { ", frozen" } else { "" }
        ));
        lines
    }

    fn curves(&self, ui: &mut egui::Ui) {
        let (response, painter) = ui.allocate_painter(vec2(WIDTH, HEIGHT), egui::Sense::hover());
        let rect = response.rect;
        painter.rect_filled(rect, 2.0, Color32::from_black_alpha(120));
        type Curve = (Color32, fn(&FrameRecord) -> f32);
        let curves: [Curve; 3] = [(GREEN, |r| r.bias), (YELLOW, |r| r.locked), (RED, |r| r.residency)];
        for (colour, value) in curves {
            let point = |(index, record): (usize, &FrameRecord)| {
                let x = rect.left() + rect.width() * index as f32 / (FRAMES - 1) as f32;
                pos2(x, rect.bottom() - (rect.height() - 2.0) * value(record).clamp(0.0, 1.0))
            };
            let points: Vec<_> = self.records.iter().enumerate().map(point).collect();
            if points.len() > 1 {
                painter.line(points, Stroke::new(1.5, colour));
            }
        }
    }
}

/// The next of off, on, by level.
pub fn next_borders(borders: Borders) -> Borders {
    match borders {
        Borders::Off => Borders::On,
        Borders::On => Borders::Level,
        Borders::Level => Borders::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panel_says_what_the_last_frame_did() {
        let last = FrameRecord {
            frame: 9,
            requests: 900,
            unique: 30,
            resident: 25,
            made: 3,
            redrawn: 2,
            evicted: 4,
            deferred: 1,
            sharpness: 0.987,
            ..Default::default()
        };
        let records = vec![FrameRecord::default(), last];
        let panel = VtPanel { records, borders: Borders::Level, is_frozen: true, page: None };
        let stats = VtStats { pages_drawn: 70, evicted: 30, overflow: 2, ..Default::default() };
        let expected = [
            "900 requests, 30 pages, 25 there",
            "0 lost feedback, 2 overflow",
            "pages +5 -4 1 deferred, 98.7% sharp",
            "in all +70 -30, borders by level, frozen",
        ];
        assert_eq!(panel.lines(&stats), expected);
    }

    #[test]
    fn borders_come_round() {
        let all = [Borders::Off, Borders::On, Borders::Level];
        for (index, borders) in all.into_iter().enumerate() {
            assert_eq!(next_borders(borders), all[(index + 1) % 3]);
        }
    }
}
