//! What virtual textures hold and why, as pictures and texts. Pure: data in, pixels and words out.
//!
//! ```text
//! FrameRecord a frame --------------> curves.rs       residency, locked pages and bias over time
//! Planner::lookup of every pixel ---> page_table.rs   which level is mapped where
//! Planner::owner of every slot -----> atlas.rs        who is in an atlas, and what to draw to see the pages themselves
//! Planner::page, history, lookup ---> page.rs         one page: where it is, and why it was made
//! ```

mod atlas;
mod curves;
mod legend;
mod page;
mod page_table;
#[cfg(test)]
mod tests;

pub use atlas::{AtlasPicture, AtlasSlot};
pub use curves::residency_curves;
pub use legend::level_colour;
pub use page::{events_text, page_text};
pub use page_table::page_table_picture;

use crate::sparse::shadow::canvas::{Canvas, Colour};

use super::Chart;

const BACKGROUND: Colour = [16, 19, 25];
const EMPTY: Colour = [41, 48, 60];
const TEXT: Colour = [230, 234, 240];
const DIM: Colour = [150, 160, 175];
const WHITE: Colour = [255, 255, 255];

fn finish(canvas: Canvas) -> Chart {
    let (width, height, pixels) = canvas.into_parts();
    Chart { size: [width, height], pixels }
}
