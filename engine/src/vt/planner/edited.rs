//! Which baked pages an edit has reached: their data is stale for good, so they are drawn at run time from then on.

use std::collections::BTreeSet;

use crate::vt::address::{MOST_LEVEL, PageAddress};

/// Pages a level that are remembered one by one; past that the whole level counts as edited.
const MOST_PAGES: usize = 1 << 14;

/// Edited pages by level.
#[derive(Debug, Clone, Default)]
pub(crate) struct EditedPages {
    levels: [Edited; MOST_LEVEL as usize + 1],
}

#[derive(Debug, Clone)]
enum Edited {
    Pages(BTreeSet<(u16, u16)>),
    All,
}

impl Default for Edited {
    fn default() -> Self {
        Self::Pages(BTreeSet::new())
    }
}

impl EditedPages {
    pub(crate) fn has(&self, page: PageAddress) -> bool {
        match self.levels.get(usize::from(page.level)) {
            Some(Edited::Pages(pages)) => pages.contains(&(page.y, page.x)),
            Some(Edited::All) => true,
            None => false,
        }
    }

    /// Adds all pages of `level` from `first` to `last`, inclusive.
    pub(crate) fn add(&mut self, level: u8, [first, last]: [[u16; 2]; 2]) {
        let Some(edited) = self.levels.get_mut(usize::from(level)) else { return };
        let Edited::Pages(pages) = edited else { return };
        let side = |axis: usize| usize::from(last[axis].saturating_sub(first[axis])) + 1;
        if side(0) * side(1) + pages.len() > MOST_PAGES {
            *edited = Edited::All;
            return;
        }
        for y in first[1]..=last[1] {
            pages.extend((first[0]..=last[0]).map(|x| (y, x)));
        }
    }
}
