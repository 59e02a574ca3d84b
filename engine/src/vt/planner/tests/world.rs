//! A planner, a GPU that does what plans say and nothing else, and what must hold after every frame.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::vt::page_table::TableImage;

pub(super) fn page(level: u8, x: u16, y: u16) -> PageAddress {
    PageAddress { level, x, y }
}

/// What the producer answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mood {
    Always(Availability),
    /// Every other request is being fetched.
    Halting,
}

#[derive(Debug)]
pub(super) struct Making {
    pub(super) mood: Mood,
    pub(super) asked: Vec<PageRequest>,
}

impl Producer for Making {
    fn request(&mut self, request: &PageRequest) -> Availability {
        self.asked.push(*request);
        match self.mood {
            Mood::Always(answer) => answer,
            Mood::Halting if self.asked.len().is_multiple_of(2) => Availability::Pending,
            Mood::Halting => Availability::Available(Quality::FULL),
        }
    }
}

/// What lies in a place of an atlas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drawn {
    pub(super) family: usize,
    pub(super) group: u8,
    pub(super) page: PageAddress,
    pub(super) frame: u64,
    pub(super) baked: bool,
}

/// A texture that is or was; textures that share pages are one family.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) id: TextureId,
    pub(super) family: usize,
    pub(super) desc: TextureDesc,
    pub(super) placement: Placement,
    pub(super) alive: bool,
}

pub(super) struct World {
    pub(super) planner: Planner,
    pub(super) making: Making,
    pub(super) textures: Vec<Known>,
    pub(super) tables: BTreeMap<(SpaceId, u8), TableImage>,
    pub(super) atlas: BTreeMap<PhysicalPage, Drawn>,
    /// Edits by family: region and frame.
    pub(super) edits: Vec<(usize, Region, u64)>,
    pub(super) plan: FramePlan,
    fed: Vec<(TextureId, PageAddress)>,
}

use crate::vt::SpaceId;

/// Pools of pages of 136 texels that have `side` pages a side.
pub(super) fn pool_desc(side: u32) -> PoolDesc {
    let bytes = u64::from(side * side) * 9248;
    PoolDesc { budget_bytes: bytes, ..PoolDesc::new("ground", 128, 4, &[LayerFormat::Bc1]) }
}

impl World {
    pub(super) fn new(knobs: Knobs) -> Self {
        let making = Making { mood: Mood::Always(Availability::Available(Quality::FULL)), asked: Vec::new() };
        Self {
            planner: Planner::new(Knobs { space_side: 16, ..knobs }),
            making,
            textures: Vec::new(),
            tables: BTreeMap::new(),
            atlas: BTreeMap::new(),
            edits: Vec::new(),
            plan: FramePlan::default(),
            fed: Vec::new(),
        }
    }

    /// One texture of `tiles` in a pool of `side` pages a side.
    pub(super) fn one(knobs: Knobs, side: u32, tiles: [u32; 2]) -> (Self, TextureId) {
        let mut world = Self::new(knobs);
        let pool = world.planner.create_pools(&pool_desc(side)).unwrap()[0];
        let id = world.create(TextureDesc::new("ground", tiles, pool));
        (world, id)
    }

    pub(super) fn create(&mut self, desc: TextureDesc) -> TextureId {
        let id = self.planner.create_texture(&desc).unwrap();
        let placement = self.planner.placement(id).unwrap();
        let shared = desc.shares.and_then(|with| self.textures.iter().find(|known| known.id == with));
        let family = shared.map_or(self.textures.len(), |known| known.family);
        for usage in self.planner.usage().spaces {
            for channel in 0..usage.layout.channels {
                let image = || TableImage::new(usage.side.trailing_zeros() as u8);
                self.tables.entry((usage.space, channel)).or_insert_with(image);
            }
        }
        self.textures.push(Known { id, family, desc, placement, alive: true });
        id
    }

    pub(super) fn destroy(&mut self, id: TextureId) {
        self.planner.destroy_texture(id).unwrap();
        self.textures.iter_mut().find(|known| known.id == id).unwrap().alive = false;
        let spaces: BTreeSet<SpaceId> = self.planner.usage().spaces.iter().map(|usage| usage.space).collect();
        self.tables.retain(|(space, _), _| spaces.contains(space));
    }

    pub(super) fn known(&self, id: TextureId) -> &Known {
        self.textures.iter().find(|known| known.id == id).unwrap()
    }

    pub(super) fn word(&self, id: TextureId, page: PageAddress) -> u32 {
        self.known(id).placement.word(page)
    }

    pub(super) fn invalidate(&mut self, id: TextureId, region: Region, priority: Priority) {
        self.planner.invalidate(id, region, priority).unwrap();
        let (family, frame) = (self.known(id).family, self.planner.frame());
        self.edits.push((family, region, frame));
    }

    /// Begins a frame and feeds it with pages that were sampled in it.
    pub(super) fn feed(&mut self, pages: &[(TextureId, PageAddress, u32)]) {
        let frame = self.planner.frame() + 1;
        self.planner.begin_frame(frame);
        self.feed_more(frame, pages);
    }

    pub(super) fn feed_more(&mut self, frame: u64, pages: &[(TextureId, PageAddress, u32)]) {
        let pairs: Vec<_> = pages.iter().map(|(id, page, count)| (self.word(*id, *page), *count)).collect();
        self.planner.feed(&Feedback { frame, pairs: &pairs, overflow: 0, dropped: 0 });
        self.fed.extend(pages.iter().map(|(id, page, _)| (*id, *page)));
    }

    /// Plans, lets the GPU do it, and looks at everything.
    pub(super) fn plan(&mut self) -> &FramePlan {
        let kept: Vec<_> = self.fed_and_there();
        let before = *self.planner.knobs();
        self.plan = self.planner.plan(&mut self.making);
        self.execute();
        self.check_budgets(&before);
        for (id, page, group, physical) in kept {
            let now = self.planner.page(id, group, page).map(|info| info.physical);
            assert_eq!(now, Some(physical), "{id} {page} was used in this frame and went");
        }
        self.check();
        &self.plan
    }

    /// Plans a frame that is not submitted.
    pub(super) fn lose(&mut self) {
        self.fed.clear();
        self.plan = self.planner.plan(&mut self.making);
        self.check_budgets(&self.planner.knobs().clone());
        self.planner.withdrawn(&self.plan);
    }

    pub(super) fn frame(&mut self, pages: &[(TextureId, PageAddress, u32)]) -> &FramePlan {
        self.feed(pages);
        self.plan()
    }

    fn fed_and_there(&mut self) -> Vec<(TextureId, PageAddress, u8, PhysicalPage)> {
        let mut kept = Vec::new();
        for (id, page) in std::mem::take(&mut self.fed) {
            if !self.known(id).alive {
                continue;
            }
            for group in 0..self.known(id).desc.groups.len() as u8 {
                if let Some(info) = self.planner.page(id, group, page) {
                    kept.push((id, page, group, info.physical));
                }
            }
        }
        // What a flush throws away, or a lost frame, was asked to go.
        kept.retain(|(id, page, group, _)| {
            let lost = self
                .planner
                .page(*id, *group, *page)
                .is_some_and(|info| info.dirty == Some(Cause::Withdrawn));
            !lost && !self.planner.is_flushed
        });
        kept
    }

    pub(super) fn execute(&mut self) {
        let mut written = BTreeSet::new();
        for work in &self.plan.pages {
            assert!(work.physical.index > 0, "page 0 is reserved");
            assert!(written.insert(work.physical), "{} is written twice", work.physical);
            let (texture, frame) = (work.texture, self.plan.frame);
            let known = self.textures.iter().find(|known| known.id == texture && known.alive).unwrap();
            let drawn =
                Drawn { family: known.family, group: work.group, page: work.page, frame, baked: work.baked };
            let before = self.atlas.insert(work.physical, drawn);
            if work.redraw {
                let before = before.unwrap();
                assert_eq!(
                    (before.family, before.group, before.page),
                    (drawn.family, drawn.group, drawn.page)
                );
            }
        }
        for update in &self.plan.updates {
            let image = self.tables.get_mut(&(update.space, update.channel)).unwrap();
            assert!(image.apply(update) > 0);
        }
    }

    /// Pages by the budget that let them through, counted by hand.
    fn check_budgets(&self, knobs: &Knobs) {
        let count =
            |is: &dyn Fn(&PageWork) -> bool| self.plan.pages.iter().filter(|work| is(work)).count() as i64;
        let within =
            |count: i64, limit: i32| assert!(limit < 0 || count <= i64::from(limit), "{count} of {limit}");
        let exempt = |work: &PageWork| work.reason.budget == Budget::Exempt;
        let refresh = |work: &PageWork| work.reason.cause == Cause::Continuous;
        let free = |work: &PageWork| knobs.max_continuous_updates_per_frame < 0 && refresh(work);
        within(count(&|work| !exempt(work) && !free(work) && !work.baked), knobs.max_uploads_per_frame);
        within(count(&|work| !exempt(work) && work.baked), knobs.max_uploads_per_frame_streaming);
        within(count(&|work| !exempt(work) && !free(work)), knobs.max_tiles_produced_per_frame);
        within(count(&refresh), knobs.max_continuous_updates_per_frame);
        for work in self.plan.pages.iter().filter(|work| exempt(work)) {
            let info = self.planner.page(work.texture, work.group, work.page).unwrap();
            assert!(info.locks > 0, "only locked pages are exempt");
        }
    }

    /// Every entry of every texture shows data of its own page or of the nearest ancestor that is there.
    pub(super) fn check(&self) {
        let mut owners = BTreeMap::new();
        for known in self.textures.iter().filter(|known| known.alive) {
            for group in 0..known.desc.groups.len() as u8 {
                let image = &self.tables[&(known.placement.space, group)];
                for level in 0..=known.placement.grid.max_level() {
                    let [across, down] = known.placement.grid.pages(level);
                    for (x, y) in (0..across as u16).flat_map(|x| (0..down as u16).map(move |y| (x, y))) {
                        let asked = page(level, x, y);
                        self.check_entry(known, group, asked, image);
                        if let Some(info) = self.planner.page(known.id, group, asked) {
                            let key = (level, x, y);
                            let owner = owners.insert(info.physical, (known.family, group, key));
                            assert!(
                                owner.is_none_or(|owner| owner == (known.family, group, key)),
                                "two owners"
                            );
                            let owner = self.planner.owner(info.physical).unwrap();
                            assert_eq!((owner.1, owner.2), (group, asked));
                            let shares = self
                                .textures
                                .iter()
                                .filter(|other| other.alive && other.family == known.family);
                            assert_eq!(info.mappings as usize, shares.count());
                        }
                    }
                }
            }
        }
        let allocated: u32 = self.planner.pool_usage().iter().map(|pool| pool.allocated).sum();
        assert_eq!(allocated as usize, owners.len(), "no page is taken by nobody");
    }

    fn check_entry(&self, known: &Known, group: u8, asked: PageAddress, image: &TableImage) {
        let entry = image.get(known.placement.in_space(asked));
        let max_level = known.placement.grid.max_level();
        let nearest = (asked.level..=max_level)
            .map(|level| asked.ancestor(level))
            .find_map(|page| Some((page, self.planner.page(known.id, group, page)?.physical)));
        assert_eq!(self.planner.lookup(known.id, group, asked), nearest);
        let Some((page, physical)) = nearest else {
            assert!(entry.is_none(), "{} {asked} shows {entry}, and nothing is there", known.id);
            return;
        };
        assert!(!entry.is_none(), "{} {asked} shows nothing, and {page} is there", known.id);
        assert_eq!(entry.level, page.level, "{} {asked}", known.id);
        let side = self.planner.pool(physical.pool).unwrap().size.side;
        assert_eq!(entry.page, physical.at(side));
        let drawn = self.atlas[&physical];
        assert_eq!(
            (drawn.family, drawn.group, drawn.page),
            (known.family, group, page),
            "{} {asked}",
            known.id
        );
    }

    /// No page that is there shows what was before an edit; pages drawn after one did not come from baked data.
    pub(super) fn check_current(&self) {
        for known in self.textures.iter().filter(|known| known.alive) {
            for group in 0..known.desc.groups.len() as u8 {
                for level in 0..=known.placement.grid.max_level() {
                    let [across, down] = known.placement.grid.pages(level);
                    for (x, y) in (0..across as u16).flat_map(|x| (0..down as u16).map(move |y| (x, y))) {
                        let Some(info) = self.planner.page(known.id, group, page(level, x, y)) else {
                            continue;
                        };
                        let drawn = self.atlas[&info.physical];
                        for (family, region, frame) in &self.edits {
                            if *family == known.family && shows(known, page(level, x, y), *region) {
                                assert!(drawn.frame >= *frame, "{} level {level} {x},{y} is stale", known.id);
                                assert!(
                                    !drawn.baked,
                                    "{} level {level} {x},{y} is baked, and edited",
                                    known.id
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn is_there(&self, id: TextureId, page: PageAddress) -> bool {
        (0..self.known(id).desc.groups.len() as u8).all(|group| self.planner.page(id, group, page).is_some())
    }
}

/// Whether a page with its border shows something of the inside of a region.
fn shows(known: &Known, page: PageAddress, region: Region) -> bool {
    let grid = known.placement.grid;
    (0..2).all(|axis| {
        let span = f64::from(1u32 << page.level) / f64::from(grid.tiles()[axis]);
        let border = span * 4.0 / 128.0;
        let first = f64::from([page.x, page.y][axis]) * span;
        f64::from(region.min[axis]) < first + span + border && f64::from(region.max[axis]) > first - border
    })
}
