//! From the planner's updates to draws: what is checked, and where the quads lie. Pure.

use super::desc::{PageTableDesc, PageTableQuad};
use super::error::{TableError, TableResult};
use crate::vt::{SpaceId, TableUpdate};

/// Quads that one instance draws: 48 indices.
pub(super) const QUADS_AN_INSTANCE: u32 = 8;

/// One draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) space: SpaceId,
    pub(super) texture: u8,
    pub(super) mip: u8,
    pub(super) channel: u8,
    /// First quad in the buffer.
    pub(super) first: u32,
    pub(super) quads: u32,
}

impl Job {
    /// The image and mip that it draws into.
    pub(super) fn target(&self) -> (SpaceId, u8, u8) {
        (self.space, self.texture, self.mip)
    }

    /// Instances of eight quads.
    pub(super) fn instances(&self) -> u32 {
        self.quads.div_ceil(QUADS_AN_INSTANCE)
    }

    /// Its marker.
    pub(super) fn label(&self) -> String {
        format!("PageTableUpdate (Id: {}, Tex {}, Mip: {})", self.space.0, self.texture, self.mip)
    }
}

/// # Errors
/// A part that the page table does not have, or a quad outside its mip.
pub(super) fn check(desc: &PageTableDesc, update: &TableUpdate) -> TableResult<()> {
    let TableUpdate { space, texture, mip, channel, .. } = *update;
    let channels = desc.channels.saturating_sub(u32::from(texture) * 4).min(4);
    if u32::from(channel) >= channels || u32::from(mip) >= desc.mips() {
        let (channels, mips) = (desc.channels, desc.mips());
        return Err(TableError::NoPart { space, texture, channel, mip, channels, mips });
    }
    let side = desc.mip_side(u32::from(mip));
    for quad in &update.quads {
        let size = 1u32.checked_shl(quad.log2_size.into()).unwrap_or(u32::MAX);
        let fits = |at: u16| u32::from(at).checked_add(size).is_some_and(|end| end <= side);
        if !fits(quad.x) || !fits(quad.y) {
            let (x, y, log2_size) = (quad.x, quad.y, quad.log2_size);
            return Err(TableError::Outside { space, mip, side, x, y, log2_size });
        }
    }
    Ok(())
}

/// Appends the quads of an update; the draw of them, if there is anything to draw.
pub(super) fn encode(
    desc: &PageTableDesc,
    update: &TableUpdate,
    quads: &mut Vec<PageTableQuad>,
) -> Option<Job> {
    let TableUpdate { space, texture, mip, channel, .. } = *update;
    let first = quads.len() as u32;
    quads.extend(update.quads.iter().map(|quad| PageTableQuad::new(quad, mip, desc.format)));
    let count = update.quads.len() as u32;
    (count > 0).then_some(Job { space, texture, mip, channel, first, quads: count })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vt::{Entry, EntryFormat, TableQuad};

    fn update(texture: u8, mip: u8, channel: u8, quads: Vec<TableQuad>) -> TableUpdate {
        TableUpdate { space: SpaceId(3), texture, mip, channel, quads }
    }

    fn quad(x: u16, y: u16, log2_size: u8) -> TableQuad {
        TableQuad { x, y, log2_size, entry: Entry { level: 2, page: [9, 17] } }
    }

    proptest! {
        #[test]
        fn what_is_outside_is_refused(
            log2_side in 0..=12u32, mip: u8, channel in 0..8u8, texture in 0..6u8, channels in 1..=16u32,
            x in 0..5000u16, y in 0..5000u16, log2_size in 0..16u8,
        ) {
            let desc = PageTableDesc { side: 1 << log2_side, channels, format: EntryFormat::Bits16 };
            let mip = mip % 16;
            let is_part = u32::from(mip) <= log2_side
                && channel < 4
                && u32::from(texture) * 4 + u32::from(channel) < channels;
            let side = u64::from(desc.side) >> mip.min(13);
            let end = u64::from(x.max(y)) + (1 << log2_size);
            let checked = check(&desc, &update(texture, mip, channel, vec![quad(x, y, log2_size)]));
            prop_assert_eq!(checked.is_ok(), is_part && end <= side, "{:?}", checked);
        }
    }

    #[test]
    fn quads_of_several_updates_lie_behind_each_other() {
        let desc = PageTableDesc { side: 64, channels: 3, format: EntryFormat::Bits16 };
        let mut quads = Vec::new();
        let first = encode(&desc, &update(0, 1, 2, vec![quad(4, 8, 2), quad(0, 0, 0)]), &mut quads);
        assert_eq!(encode(&desc, &update(0, 0, 0, Vec::new()), &mut quads), None);
        let second = encode(&desc, &update(0, 0, 1, vec![quad(1, 2, 0); 9]), &mut quads);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((first.first, first.quads, first.instances()), (0, 2, 1));
        assert_eq!((second.first, second.quads, second.instances()), (2, 9, 2));
        assert_eq!(first.label(), "PageTableUpdate (Id: 3, Tex 0, Mip: 1)");
        assert_eq!(quads[0].address, 0b1001_0000 | 2 << 24 | 1 << 28);
        assert_eq!(quads[0].entry, 2 | 9 << 4 | 17 << 10);
    }

    #[test]
    fn descriptions() {
        let desc = PageTableDesc { side: 4096, channels: 1, format: EntryFormat::Bits16 };
        assert_eq!((desc.mips(), desc.images(), desc.mip_side(12), desc.mip_side(99)), (13, 1, 1, 1));
        assert_eq!(desc.image_name(0), "VirtualTexture_PageTable (R16_UINT) 1/1");
        assert_eq!(desc.bytes(), (4096u64.pow(2) * 4 - 1) / 3 * 2);
        let desc = PageTableDesc { side: 2, channels: 7, format: EntryFormat::Bits32 };
        assert_eq!(desc.image_name(1), "VirtualTexture_PageTable (R32G32B32A32_UINT) 2/2");
        assert_eq!(desc.bytes(), 5 * 8 * 4);
        for (side, channels) in [(0, 1), (3, 1), (8192, 1), (4, 0), (4, 17)] {
            let desc = PageTableDesc { side, channels, format: EntryFormat::Bits16 };
            assert!(desc.check().is_err(), "{desc:?}");
        }
    }
}
