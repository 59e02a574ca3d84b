//! Bytes as people read them.

use std::fmt;

/// A number of bytes that prints itself in the largest binary unit that fits (`40 MiB`, `1.5 GiB`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| self.0 >= *unit) else {
            return write!(f, "{} B", self.0);
        };
        if self.0.is_multiple_of(unit) {
            write!(f, "{} {name}", self.0 / unit)
        } else {
            // A display of one part in a thousand: the precision an f64 loses above 2^53 cannot show.
            write!(f, "{:.3} {name}", self.0 as f64 / unit as f64)
        }
    }
}
