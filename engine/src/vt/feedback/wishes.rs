//! Words of all views of a frame, merged: each page once, with the sum of its counts.

use crate::vt::map::FrameMap;

/// A page that was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The word, of level 0 or coarser.
    pub(crate) word: u32,
    /// How often it was written.
    pub(crate) count: u32,
    /// The page in the texture's own grid, packed.
    pub(crate) page: u32,
    /// Slot of the texture; [`NO_TEXTURE`] where the word names nothing.
    pub(crate) texture: u16,
}

/// Unique pages of one frame, in the order in which they came.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    map: FrameMap,
    list: Vec<Wish>,
}

impl Wishes {
    pub(crate) fn new() -> Self {
        Self { map: FrameMap::new(), list: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.map.clear();
        self.list.clear();
    }

    pub(crate) fn list(&self) -> &[Wish] {
        &self.list
    }

    /// How often a word was written, where it was and names a page.
    pub(crate) fn count(&self, word: u32) -> Option<u32> {
        let index = self.map.get(u64::from(word), |index| self.list[index].word == word)?;
        Some(self.list[index]).filter(|wish| wish.texture != NO_TEXTURE).map(|wish| wish.count)
    }

    /// Adds to the wish with this word, or makes one out of the texture and page that `resolve` finds. Whether it names
    /// a page.
    #[inline]
    pub(crate) fn add(
        &mut self,
        word: u32,
        count: u32,
        resolve: impl FnOnce() -> Option<(u16, u32)>,
    ) -> bool {
        let list = &self.list;
        let index = match self.map.get_or_insert(u64::from(word), list.len(), |at| u64::from(list[at].word)) {
            Ok(index) if self.list[index].texture != NO_TEXTURE => {
                let sum = &mut self.list[index].count;
                *sum = sum.saturating_add(count);
                return true;
            }
            Ok(index) | Err(index) => index,
        };
        // Words that name nothing are kept as such: one may name something for another view.
        let (texture, page) = resolve().unwrap_or((NO_TEXTURE, 0));
        let wish = Wish { word, count, page, texture };
        match self.list.get_mut(index) {
            Some(known) => *known = wish,
            None if index < FrameMap::MOST => self.list.push(wish),
            None => return false,
        }
        texture != NO_TEXTURE
    }

    /// Forgets what was wished of a texture: it is gone.
    pub(crate) fn forget(&mut self, texture: u16) {
        for wish in self.list.iter_mut().filter(|wish| wish.texture == texture) {
            wish.texture = NO_TEXTURE;
        }
    }
}

/// The texture of a wish that names nothing, or nothing any more.
pub(crate) const NO_TEXTURE: u16 = u16::MAX;
