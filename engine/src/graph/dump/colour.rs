//! Colours of owners: what belongs together by name has one hue, neighbours within differ in lightness.

use std::collections::BTreeMap;

use super::{Declaration, Queue, ResourceId};

/// Red, green, blue in sRGB.
pub(super) type Colour = [u8; 3];

/// Behind everything; the same as in pictures of page tables.
pub(super) const BACKGROUND: Colour = [16, 19, 25];
/// Bytes that nobody owns.
pub(super) const EMPTY: Colour = [28, 33, 42];

/// Colours of all resources of a frame.
pub(super) struct Palette {
    colours: Vec<Colour>,
}

impl Palette {
    /// A hue for every first part of a dotted name, in the order in which they are declared.
    pub(super) fn new(declaration: &Declaration) -> Self {
        let mut groups: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        let colours = declaration.resources.iter().map(|resource| {
            let group = resource.name.split('.').next().unwrap_or_default();
            let next = u32::try_from(groups.len()).unwrap_or(0);
            let (hue, members) = groups.entry(group).or_insert((next, 0));
            let shade = *members % 4;
            *members += 1;
            // The golden angle keeps any number of hues apart.
            let hue = (f64::from(*hue) * 137.508 + 205.0) % 360.0;
            let lightness = [0.58, 0.47, 0.66, 0.52].get(shade as usize).copied().unwrap_or(0.55);
            from_hue(hue, 0.52, lightness)
        });
        Self { colours: colours.collect() }
    }

    pub(super) fn of(&self, id: ResourceId) -> Colour {
        self.colours.get(id.0 as usize).copied().unwrap_or([128, 128, 128])
    }
}

/// Colour of a queue.
pub(super) fn of_queue(queue: Queue) -> Colour {
    match queue {
        Queue::Graphics => [96, 156, 230],
        Queue::Compute => [120, 196, 120],
        Queue::Transfer => [220, 170, 84],
        Queue::Commit => [200, 110, 190],
    }
}

/// `#rrggbb`
pub(super) fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Hue in degrees, saturation and lightness from 0 to 1.
fn from_hue(hue: f64, saturation: f64, lightness: f64) -> Colour {
    let chroma = (1.0 - (2.0 * lightness - 1.0).abs()) * saturation;
    let channel = |offset: f64| {
        let k = (offset + hue / 30.0) % 12.0;
        let value = lightness - chroma / 2.0 * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    };
    [channel(0.0), channel(8.0), channel(4.0)]
}
