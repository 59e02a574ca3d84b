//! Feedback comes in: words become places along the Z-curve, if they name a page.

use super::Planner;
use super::texture::{Placement, Texture};
use crate::vt::SpaceId;
use crate::vt::address::PageAddress;
use crate::vt::feedback::{Feedback, Word, sort_key};
use crate::vt::space::Spaces;

/// The texture that the last word named: the next one mostly names the same.
#[derive(Debug, Clone)]
struct Here {
    space: SpaceId,
    codes: std::ops::Range<u32>,
    placement: Placement,
    created: u64,
}

impl Here {
    fn find(spaces: &Spaces, textures: &[Option<Texture>], space: SpaceId, code: u32) -> Option<Self> {
        let square = spaces.get(space)?.texture_at(code)?;
        let texture = textures.get(usize::from(square.texture))?.as_ref()?;
        Some(Self { space, codes: square.codes(), placement: texture.placement, created: texture.created })
    }
}

impl Planner {
    /// Takes feedback that has arrived; one call a view. Words that name nothing, or a texture that was not there yet in
    /// the frame of the feedback, are counted and dropped.
    pub fn feed(&mut self, feedback: &Feedback<'_>) {
        self.counters.overflow += u64::from(feedback.overflow);
        self.counters.dropped += u64::from(feedback.dropped);
        if self.knobs.freeze {
            return;
        }
        self.fed_frame = self.fed_frame.max(Some(feedback.frame));
        let Self { wishes, spaces, textures, counters, .. } = self;
        let mut here: Option<Here> = None;
        for (word, count) in feedback.pairs {
            let count = (*count).max(1);
            counters.requests += u64::from(count);
            let Some(word) = Word::unpack(*word) else {
                counters.invalid += 1;
                continue;
            };
            // Finer than there is: the finest there is, and somebody may want to know.
            counters.finer += if word.level < 0 { u64::from(count) } else { 0 };
            let page = PageAddress { level: word.level.max(0) as u8, x: word.x, y: word.y };
            let code = page.morton();
            if !here.as_ref().is_some_and(|here| here.space == word.space && here.codes.contains(&code)) {
                here = Here::find(spaces, textures, word.space, code);
            }
            match &here {
                Some(here) if !here.placement.grid.has(here.placement.in_texture(page)) => {
                    counters.invalid += 1
                }
                Some(here) if here.created > feedback.frame => counters.stale += 1,
                Some(_) => wishes.push(sort_key(word.space, code, page.level), count),
                None => counters.invalid += 1,
            }
        }
    }
}
