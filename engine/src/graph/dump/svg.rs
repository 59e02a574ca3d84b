//! Shapes and words of a drawing.

use std::fmt::{self, Write as _};

use super::colour::{Colour, hex};

/// Widest average character of the face, as a share of its size.
const CHARACTER: f64 = 0.57;

/// Which end of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    End,
}

/// A drawing in the making. Coordinates are pixels, rounded to a tenth, so that the text is the same everywhere.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    pub(super) fn new() -> Self {
        Self { text: String::new() }
    }

    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: Colour, more: &str, title: &str) {
        let fill = hex(fill);
        self.push(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"{more}",
            width.max(0.0),
            height.max(0.0)
        ));
        match title {
            "" => self.push(format_args!("/>\n")),
            title => self.push(format_args!("><title>{}</title></rect>\n", escape(title))),
        }
    }

    pub(super) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], stroke: Colour, more: &str) {
        let stroke = hex(stroke);
        self.push(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"{more}/>\n"
        ));
    }

    /// A line of text; its baseline is at `y`.
    pub(super) fn text(&mut self, x: f64, y: f64, size: f64, fill: Colour, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{}\"{anchor}>{}</text>\n",
            hex(fill),
            escape(text)
        ));
    }

    /// A line of text that rises to the right from (x, y).
    pub(super) fn slanted(&mut self, x: f64, y: f64, size: f64, fill: Colour, text: &str) {
        self.push(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-60)\" font-size=\"{size}\" fill=\"{}\">{}</text>\n",
            hex(fill),
            escape(text)
        ));
    }

    /// The whole drawing, on a background.
    pub(super) fn finish(self, width: f64, height: f64, background: Colour) -> String {
        let mut text = String::new();
        // Writing to a string never fails.
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"'Inter', 'Segoe UI', 'DejaVu Sans', Helvetica, sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{}</svg>\n",
            hex(background),
            self.text
        );
        text
    }

    fn push(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ = self.text.write_fmt(arguments);
    }
}

/// About how wide a text is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * CHARACTER
}

/// A text that fits into a width; `..` stands for what is cut. `None` where nothing readable is left.
pub(super) fn fitting(text: &str, size: f64, room: f64) -> Option<String> {
    if width(text, size) <= room {
        return Some(text.to_owned());
    }
    let most = (room / (size * CHARACTER)) as usize;
    (most >= 5).then(|| text.chars().take(most - 2).chain("..".chars()).collect())
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
