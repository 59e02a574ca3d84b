//! The lifetime chart: passes across, bytes down, a rectangle a transient.
//!
//! ```text
//! title, totals, queues
//!            pass names
//! heap    0 [==============]      at its offset, from its first to its last use
//!           [====]  [==========]
//!   height ------------------------ high-water mark, and where the bound is
//!           .:|||:.:||:.            bytes alive at every pass
//! ```

use super::colour::{BACKGROUND, Colour, EMPTY, Palette, of_queue};
use super::svg::{Anchor, Svg, fitting, width};
use super::{Compiled, Declaration, Laid, Queue, alive, laid_in, pass_name, queue_name};
use crate::graph::compiled::HeapPlan;
use crate::graph::declaration::ResourceInfo;
use crate::vk::Bytes;

const MARGIN: f64 = 28.0;
/// Room for sizes before the first pass.
const GUTTER: f64 = 84.0;
/// Room for the marks behind the last pass.
const RIGHT: f64 = 132.0;
/// Height of the largest heap; smaller ones take their share, and never less than the least.
const TALLEST: f64 = 620.0;
const LEAST: f64 = 110.0;
/// Height of the bytes alive.
const PROFILE: f64 = 56.0;

const TEXT: Colour = [230, 234, 240];
const DIM: Colour = [150, 160, 175];
const RULE: Colour = [52, 60, 74];
const INK: Colour = [12, 14, 18];
const BOUND: Colour = [240, 180, 70];

/// The lifetime chart of all heaps as an SVG: passes across in their order, bytes down, one rectangle a transient at its
/// offset, from its first to its last use; the high-water mark of each heap, its lower bound, and below it the bytes that
/// are alive at every pass. Rectangles and passes tell more when pointed at.
pub fn lifetime_chart_svg(declaration: &Declaration, compiled: &Compiled) -> String {
    let mut svg = Svg::new();
    let places = compiled.order.len();
    // Few passes are drawn wide enough for names, many narrow enough for a page.
    let column = (1240.0 / places.max(1) as f64).clamp(11.0, 64.0);
    let chart = Chart { declaration, compiled, palette: Palette::new(declaration), column };
    let right = MARGIN + GUTTER + column * places as f64;
    let longest = compiled.order.iter().map(|plan| width(pass_name(declaration, plan.pass), 9.0));
    let names = longest.fold(0.0, f64::max);
    let mut y = chart.head(&mut svg, right + RIGHT);
    // Names rise at 60 degrees.
    y += names * 0.87 + 8.0;
    chart.passes(&mut svg, y);
    y += 14.0;
    let largest = compiled.heaps.iter().map(|heap| heap.bytes).max().unwrap_or(0).max(1);
    for (index, heap) in (0u32..).zip(&compiled.heaps) {
        let share = heap.bytes as f64 / largest as f64;
        y = chart.heap(&mut svg, index, heap, y + 34.0, (TALLEST * share).max(LEAST));
    }
    let last_name = if places == 0 { 0.0 } else { names * 0.5 };
    svg.finish((right + RIGHT.max(last_name) + MARGIN).max(760.0), y + MARGIN, BACKGROUND)
}

struct Chart<'a> {
    declaration: &'a Declaration,
    compiled: &'a Compiled,
    palette: Palette,
    column: f64,
}

impl Chart<'_> {
    fn x(&self, place: f64) -> f64 {
        MARGIN + GUTTER + place * self.column
    }

    /// Title, totals and the colours of queues; returns the lower edge.
    fn head(&self, svg: &mut Svg, right: f64) -> f64 {
        let heaps = &self.compiled.heaps;
        let sum = |of: fn(&HeapPlan) -> u64| heaps.iter().map(of).fold(0, u64::saturating_add);
        let (bytes, bound, unaliased) = (sum(|h| h.bytes), sum(|h| h.bound), sum(|h| h.unaliased));
        svg.text(MARGIN, MARGIN + 16.0, 20.0, TEXT, Anchor::Start, "Lifetimes of transients");
        let count = self.compiled.placements.iter().flatten().count();
        let mut line = format!(
            "{count} transients in {} passes: {} without sharing, {} packed",
            self.compiled.order.len(),
            short(unaliased),
            short(bytes)
        );
        if let Some(saved) = (unaliased > 0).then(|| 100.0 - 100.0 * bytes as f64 / unaliased as f64) {
            line += &format!(" ({saved:.0}% saved)");
        }
        if bound > 0 {
            line += &format!("; lower bound {}, {:.3}x", short(bound), bytes as f64 / bound as f64);
        }
        svg.text(MARGIN, MARGIN + 38.0, 13.0, DIM, Anchor::Start, &line);
        let mut x = right.max(760.0 - MARGIN) - 62.0;
        for queue in [Queue::Commit, Queue::Transfer, Queue::Compute, Queue::Graphics] {
            if self.compiled.submissions.iter().any(|submission| submission.queue == queue) {
                svg.text(x, MARGIN + 14.0, 12.0, DIM, Anchor::Start, queue_name(queue));
                svg.rect([x - 17.0, MARGIN + 4.0, 11.0, 11.0], of_queue(queue), " rx=\"2\"", "");
                x -= 88.0;
            }
        }
        MARGIN + 52.0
    }

    /// Names of passes, which end at `y`, and a strip in the colour of their queue.
    fn passes(&self, svg: &mut Svg, y: f64) {
        for submission in &self.compiled.submissions {
            let range = submission.passes.start as usize..submission.passes.end as usize;
            let plans = self.compiled.order.get(range.clone()).unwrap_or_default();
            for (place, plan) in range.zip(plans) {
                let name = pass_name(self.declaration, plan.pass);
                let x = self.x(place as f64);
                svg.slanted(x + self.column / 2.0 + 3.0, y - 5.0, 9.0, DIM, name);
                let title =
                    format!("{name}: {}, {} barriers", queue_name(submission.queue), plan.barriers.len());
                svg.rect([x + 0.5, y, self.column - 1.0, 8.0], of_queue(submission.queue), "", &title);
            }
        }
    }

    /// One heap with its marks and the bytes alive; returns the lower edge.
    fn heap(&self, svg: &mut Svg, index: u32, heap: &HeapPlan, top: f64, height: f64) -> f64 {
        let laid = laid_in(self.declaration, self.compiled, index);
        let (left, right) = (self.x(0.0), self.x(self.compiled.order.len() as f64));
        let is_buffer = |one: &Laid<'_>| matches!(one.resource.info, ResourceInfo::Buffer(_));
        let kind = match laid.iter().filter(|one| is_buffer(one)).count() {
            0 => "images",
            count if count == laid.len() => "buffers",
            _ => "images and buffers",
        };
        let title = format!("Heap {index}: {kind}, memory type {}", heap.key.memory_type);
        svg.text(MARGIN, top - 10.0, 13.0, TEXT, Anchor::Start, &title);
        let used = format!("{} transients, {} without sharing", laid.len(), short(heap.unaliased));
        svg.text(MARGIN + width(&title, 13.0) + 14.0, top - 10.0, 12.0, DIM, Anchor::Start, &used);
        svg.rect([left, top, right - left, height], EMPTY, "", "");
        let scale = height / heap.bytes.max(1) as f64;
        self.ticks(svg, heap.bytes, top, scale, [left, right]);
        for one in &laid {
            self.transient(svg, one, top, scale);
        }
        self.marks(svg, heap, top, scale, right);
        let profile = top + height + 12.0;
        self.profile(svg, &laid, heap, profile);
        profile + PROFILE
    }

    /// Sizes at the left, with faint rules.
    fn ticks(&self, svg: &mut Svg, bytes: u64, top: f64, scale: f64, [left, right]: [f64; 2]) {
        // Some 40 pixels apart, in powers of two.
        let wanted = (40.0 / scale.max(f64::MIN_POSITIVE)) as u64;
        let step = wanted.max(1).checked_next_power_of_two().unwrap_or(1 << 63);
        let mut at = 0u64;
        while at < bytes {
            let y = top + at as f64 * scale;
            svg.line([left, y, right, y], RULE, "");
            svg.text(left - 8.0, y + 4.0, 10.5, DIM, Anchor::End, &short(at));
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
    }

    fn transient(&self, svg: &mut Svg, one: &Laid<'_>, top: f64, scale: f64) {
        let (first, last) = (f64::from(one.lifetime.first), f64::from(one.lifetime.last) + 1.0);
        let (x, y) = (self.x(first), top + one.placement.offset as f64 * scale);
        let (across, down) = ((last - first) * self.column, one.placement.bytes as f64 * scale);
        let pass = |place: u32| {
            let plan = self.compiled.order.get(place as usize);
            plan.map_or("?", |plan| pass_name(self.declaration, plan.pass))
        };
        let title = format!(
            "{}: {} at {}, from {} to {}",
            one.resource.name,
            Bytes(one.placement.bytes),
            Bytes(one.placement.offset),
            pass(one.lifetime.first),
            pass(one.lifetime.last)
        );
        // A gap of a pixel around each, while there is anything left of it.
        let inset = |size: f64| if size > 3.0 { size - 1.0 } else { size.max(0.6) };
        let corner = if down > 6.0 && across > 6.0 { " rx=\"2\"" } else { "" };
        svg.rect([x + 0.5, y, inset(across), inset(down)], self.palette.of(one.id), corner, &title);
        let size = if down >= 15.0 { 10.5 } else { 8.5 };
        if down < 10.0 {
            return;
        }
        let room = across - 8.0;
        if let Some(name) = fitting(&one.resource.name, size, room) {
            let size_text = short(one.placement.bytes);
            let has_two = down >= 30.0 && width(&size_text, 9.0) <= room;
            let middle = y + down / 2.0 + size * 0.35 - if has_two { 6.0 } else { 0.5 };
            svg.text(x + 5.0, middle, size, INK, Anchor::Start, &name);
            if has_two {
                svg.text(x + 5.0, middle + 12.0, 9.0, [38, 44, 54], Anchor::Start, &size_text);
            }
        }
    }

    /// The high-water mark and the bound, with words at the right that do not meet.
    fn marks(&self, svg: &mut Svg, heap: &HeapPlan, top: f64, scale: f64, right: f64) {
        let left = self.x(0.0);
        let (height, bound) = (top + heap.bytes as f64 * scale, top + heap.bound as f64 * scale);
        svg.line([left - 6.0, height, right + 6.0, height], TEXT, " stroke-width=\"1.5\"");
        svg.line(
            [left - 6.0, bound, right + 6.0, bound],
            BOUND,
            " stroke-width=\"1.5\" stroke-dasharray=\"7 4\"",
        );
        let ratio = if heap.bound > 0 { heap.bytes as f64 / heap.bound as f64 } else { 1.0 };
        let above = (height - 20.0).min(bound);
        svg.text(
            right + 10.0,
            above - 4.0,
            11.0,
            BOUND,
            Anchor::Start,
            &format!("bound {}", short(heap.bound)),
        );
        svg.text(
            right + 10.0,
            height - 4.0,
            11.0,
            TEXT,
            Anchor::Start,
            &format!("height {}", short(heap.bytes)),
        );
        svg.text(right + 10.0, height + 10.0, 11.0, DIM, Anchor::Start, &format!("{ratio:.3}x"));
    }

    /// Bytes alive at every pass.
    fn profile(&self, svg: &mut Svg, laid: &[Laid<'_>], heap: &HeapPlan, top: f64) {
        let scale = (PROFILE - 6.0) / heap.bytes.max(1) as f64;
        let base = top + PROFILE;
        svg.text(self.x(0.0) - 8.0, base - PROFILE / 2.0 + 4.0, 10.5, DIM, Anchor::End, "alive");
        let alive = alive(laid, self.compiled.order.len());
        for (place, (plan, &bytes)) in self.compiled.order.iter().zip(&alive).enumerate() {
            let is_peak = bytes == heap.bound && bytes > 0;
            let colour = if is_peak { BOUND } else { [84, 98, 120] };
            let down = bytes as f64 * scale;
            let title = format!("{}: {} alive", pass_name(self.declaration, plan.pass), Bytes(bytes));
            svg.rect([self.x(place as f64) + 0.5, base - down, self.column - 1.0, down], colour, "", &title);
        }
        svg.line([self.x(0.0), base, self.x(self.compiled.order.len() as f64), base], RULE, "");
        let bound = base - heap.bound as f64 * scale;
        let right = self.x(self.compiled.order.len() as f64);
        svg.line(
            [self.x(0.0), bound, right, bound],
            BOUND,
            " stroke-dasharray=\"3 4\" stroke-opacity=\"0.7\"",
        );
    }
}

/// `1.5 GiB`: at most one decimal.
fn short(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let text = format!("{:.1}", bytes as f64 / unit as f64);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}
