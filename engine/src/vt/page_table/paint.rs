//! From changed mappings to quads: as few as show the truth.
//!
//! A quad of a page paints over everything in it, so the mapped pages inside are painted again after it, coarse first.
//! Where the pages inside leave no texel of a mip uncovered, neither they nor the quad are painted there. So a page with
//! nothing mapped inside takes one quad a mip, and none ever takes more than one quad for each mip of itself and of the
//! pages inside it.

use super::nodes::PageTable;
use super::{Entry, TableQuad, TableUpdate};
use crate::vt::SpaceId;
use crate::vt::address::PageAddress;
use crate::vt::map::FrameMap;

/// One page to paint, in the mips `from..=page.level`.
#[derive(Debug, Clone, Copy)]
struct Paint {
    page: PageAddress,
    entry: Entry,
    from: u8,
}

/// Lists of [`PageTable::paint`].
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    kept: FrameMap,
    keys: Vec<u64>,
    paints: Vec<Paint>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { kept: FrameMap::new(), keys: Vec::new(), paints: Vec::new() }
    }
}

impl PageTable {
    /// Turns all changes since the last call into updates of channel `channel` of `space`, coarse mips first; their
    /// lists come out of `spare` where it has some.
    pub fn paint(
        &mut self,
        space: SpaceId,
        channel: u8,
        spare: &mut Vec<Vec<TableQuad>>,
        out: &mut Vec<TableUpdate>,
    ) {
        if self.changed.is_empty() {
            return;
        }
        let mut scratch = self.scratch.take().unwrap_or_default();
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable_by(|a, b| a.coarse_first(*b));
        scratch.kept.clear();
        scratch.keys.clear();
        scratch.paints.clear();
        for page in changed.drain(..) {
            // What lies in a page that is painted in every mip is painted with it.
            if !self.is_inside_kept(page, &scratch) && self.collect(page, &mut scratch.paints) == 0 {
                scratch.keep(page);
            }
        }
        scratch.paints.sort_unstable_by(|a, b| a.page.coarse_first(b.page).then(a.from.cmp(&b.from)));
        scratch.paints.dedup_by_key(|paint| paint.page);
        for mip in (0..=self.top()).rev() {
            let mut quads: Option<Vec<TableQuad>> = None;
            for paint in &scratch.paints {
                if (paint.from..=paint.page.level).contains(&mip) {
                    let quads = quads.get_or_insert_with(|| spare.pop().unwrap_or_default());
                    quads.push(TableQuad::of(paint.page, mip, paint.entry));
                }
            }
            if let Some(quads) = quads {
                out.push(TableUpdate { space, texture: 0, mip, channel, quads });
            }
        }
        self.changed = changed;
        self.scratch = Some(scratch);
    }

    /// Whether a page that was kept holds this one.
    fn is_inside_kept(&self, page: PageAddress, scratch: &Scratch) -> bool {
        let mut at = page;
        loop {
            let key = u64::from(at.pack());
            if scratch.kept.get(key, |index| scratch.keys[index] == key).is_some() {
                return true;
            }
            if at.level >= self.top() {
                return false;
            }
            at = at.parent();
        }
    }

    /// What has to be painted when the texels of `page` have changed; gives the first mip it is painted in itself.
    fn collect(&self, page: PageAddress, paints: &mut Vec<Paint>) -> u8 {
        let first = paints.len();
        let node = self.node(page);
        let covered = if node.below > 0 { self.collect_inside(page, paints) } else { None };
        let from = covered.map_or(0, |mip| mip + 1);
        for paint in &mut paints[first..] {
            paint.from = paint.from.max(from);
        }
        let entry = node.entry.or_else(|| self.nearest(page).map(|(_, entry)| entry)).unwrap_or(Entry::NONE);
        paints.push(Paint { page, entry, from });
        from
    }

    /// Collects the mapped pages strictly inside; gives the coarsest mip in which they leave no texel uncovered (and
    /// so none in all finer ones).
    fn collect_inside(&self, page: PageAddress, paints: &mut Vec<Paint>) -> Option<u8> {
        let mut covered = Some(u8::MAX);
        for child in page.children() {
            let node = self.node(child);
            let inside = if node.below > 0 { self.collect_inside(child, paints) } else { None };
            let of_child = match node.entry {
                Some(entry) => {
                    paints.push(Paint { page: child, entry, from: inside.map_or(0, |mip| mip + 1) });
                    Some(child.level)
                }
                None => inside,
            };
            covered = covered.zip(of_child).map(|(a, b)| a.min(b));
        }
        covered.filter(|_| page.level > 0)
    }
}

impl Scratch {
    fn keep(&mut self, page: PageAddress) {
        let key = u64::from(page.pack());
        let keys = &self.keys;
        if self.kept.get_or_insert(key, keys.len(), |index| keys[index]).is_err() {
            self.keys.push(key);
        }
    }
}
