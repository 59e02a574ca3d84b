//! The copies of a step: from the resource's tiles to the twin's.

use std::sync::Arc;

use ash::vk::ImageLayout;

use super::Move;
use crate::sparse::batch::Place;
use crate::sparse::flush::{ALL, TRANSFER};
use crate::sparse::resource::Target;
use crate::sparse::tiles::TileLocation;
use crate::vk::{BufferCopy, CommandEncoder, Image, ImageRegion};

/// One image and its twin, with what is copied between them.
struct ImageCopies<'a> {
    from: &'a Arc<Image>,
    to: &'a Arc<Image>,
    rest: ImageLayout,
    regions: Vec<ImageRegion>,
}

/// Copies every move's tile to its twin.
///
/// A twin ends in the layout that its image rests in: two images of one description agree about what memory holds as
/// long as they are in the same layout.
pub(super) fn record(encoder: &mut CommandEncoder, moves: &[Move]) {
    encoder.begin_label("DefragmentReservedResource");
    encoder.memory_barrier(ALL, TRANSFER);
    for m in moves {
        let (Target::Buffer(from), Target::Buffer(to)) = (&m.owner.target, &m.twin.target) else { continue };
        let Place::Bytes { offset: destination, bytes, .. } = m.twin_place else { continue };
        let source = m.page.owner.tile * m.owner.tile_bytes;
        encoder.copy_buffer(from, to, &[BufferCopy { source, destination, bytes }]);
    }
    let (source, destination) = (ImageLayout::TRANSFER_SRC_OPTIMAL, ImageLayout::TRANSFER_DST_OPTIMAL);
    for ImageCopies { from, to, rest, regions } in images(moves) {
        let aspect = from.desc().aspect();
        encoder.image_barrier(from.raw(), aspect, (rest, source), ALL, TRANSFER);
        // Nothing that a twin held before is needed.
        encoder.image_barrier(to.raw(), aspect, (ImageLayout::UNDEFINED, destination), ALL, TRANSFER);
        encoder.copy_regions((from, source), (to, destination), &regions);
        encoder.image_barrier(from.raw(), aspect, (source, rest), TRANSFER, ALL);
        encoder.image_barrier(to.raw(), aspect, (destination, rest), TRANSFER, ALL);
    }
    encoder.memory_barrier(TRANSFER, ALL);
    encoder.end_label();
}

/// The moves of images, those of one image together.
fn images(moves: &[Move]) -> Vec<ImageCopies<'_>> {
    let mut all: Vec<ImageCopies<'_>> = Vec::new();
    for m in moves {
        let (Target::Image(from), Target::Image(to)) = (&m.owner.target, &m.twin.target) else { continue };
        let Some(region) = region(m) else { continue };
        match all.iter_mut().find(|copies| Arc::ptr_eq(copies.from, from)) {
            Some(copies) => copies.regions.push(region),
            None => all.push(ImageCopies { from, to, rest: m.owner.rest_layout, regions: vec![region] }),
        }
    }
    all
}

fn region(m: &Move) -> Option<ImageRegion> {
    let layout = m.owner.layout.as_ref()?;
    let TileLocation::Tile(coord) = layout.locate(m.page.owner.tile)? else { return None };
    let region = layout.region(coord)?;
    let (mip, layer) = (coord.mip, coord.layer);
    Some(ImageRegion { mip, layer, offset: region.offset, extent: region.extent })
}
