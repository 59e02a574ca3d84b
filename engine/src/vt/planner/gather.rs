//! What is wanted besides what was sampled: locked pages, and those that were asked for ahead.

use super::{Planner, TextureId, key};
use crate::vt::address::PageAddress;
use crate::vt::map::FrameMap;
use crate::vt::schedule::{Candidate, Class, Kind};

/// What a frame learns of what is wanted.
#[derive(Debug, Clone)]
pub(super) struct Gather {
    /// Pages that are candidates already, for another reason than having been sampled.
    extra: FrameMap,
    extra_keys: Vec<u64>,
    /// All that is wanted, packed.
    pub(super) candidates: Vec<u64>,
}

impl Gather {
    pub(super) fn new() -> Self {
        Self { extra: FrameMap::new(), extra_keys: Vec::new(), candidates: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.extra.clear();
        self.extra_keys.clear();
        self.candidates.clear();
    }

    #[inline]
    pub(super) fn has_extra(&self, key: u64) -> bool {
        !self.extra.is_empty() && self.extra.get(key, |index| self.extra_keys[index] == key).is_some()
    }

    /// Notes a page as wanted; whether it was not yet.
    pub(super) fn add_extra(&mut self, key: u64) -> bool {
        let keys = &self.extra_keys;
        let is_new = self.extra.get_or_insert(key, keys.len(), |index| keys[index]).is_err();
        if is_new {
            self.extra_keys.push(key);
        }
        is_new
    }
}

impl Planner {
    /// Locked pages that are not there come first, whatever was sampled.
    pub(super) fn gather_locked(&mut self) {
        for (id, page, _) in &self.lock_list {
            let Some(texture) = self.textures.get(id.index()).and_then(Option::as_ref) else { continue };
            let first =
                self.sources[usize::from(texture.source)].as_ref().map_or(0, |source| source.users[0]);
            for group in 0..texture.groups {
                let key = key::pack(texture.source, group, *page);
                if self.residency.get(key).is_none() && self.gather.add_extra(key) {
                    let candidate = Candidate {
                        class: Class::Locked,
                        page: *page,
                        count: 0,
                        texture: first,
                        group,
                        kind: Kind::Lock,
                    };
                    self.gather.candidates.push(candidate.pack());
                }
            }
        }
    }

    /// What the application asked for ahead; what has arrived is forgotten.
    pub(super) fn gather_preloads(&mut self) {
        let mut preloads = std::mem::take(&mut self.preloads);
        preloads.retain(|(id, page)| self.gather_preload(*id, *page));
        self.preloads = preloads;
    }

    fn gather_preload(&mut self, id: TextureId, page: PageAddress) -> bool {
        let Some(texture) = self.textures.get(id.index()).and_then(Option::as_ref).filter(|t| t.id == id)
        else {
            return false;
        };
        let (source, groups, pools, priority) =
            (texture.source, texture.groups, texture.pools, texture.priority);
        let mut is_missing = false;
        for group in 0..groups {
            let key = key::pack(source, group, page);
            if let Some(place) = self.residency.get(key) {
                // The other groups may have to wait.
                if let Some(state) = &mut self.pools[usize::from(pools[usize::from(group)])] {
                    state.pool.touch(key::pool_and_slot(place).1, self.frame);
                }
                continue;
            }
            is_missing = true;
            if self.is_wished(key) || !self.gather.add_extra(key) {
                continue;
            }
            let Some(first) = self.first_user(source) else { continue };
            let class = Class::Of(priority);
            let kind = Kind::Preload;
            self.gather
                .candidates
                .push(Candidate { class, page, count: 0, texture: first, group, kind }.pack());
        }
        is_missing
    }

    pub(super) fn first_user(&self, source: u16) -> Option<u16> {
        self.sources.get(usize::from(source))?.as_ref()?.users.first().copied()
    }

    /// Samples of a page, by all textures that show it.
    pub(super) fn samples(&self, key: u64) -> u32 {
        let source = self.sources.get(usize::from(key::source(key))).and_then(Option::as_ref);
        let users = source.map_or(&[][..], |source| &source.users);
        let counts = users.iter().filter_map(|user| {
            let texture = self.textures[usize::from(*user)].as_ref()?;
            self.wishes.count(texture.placement.space, texture.placement.in_space(key::page(key)))
        });
        counts.fold(0, u32::saturating_add)
    }

    fn is_wished(&self, key: u64) -> bool {
        self.samples(key) > 0
    }
}
