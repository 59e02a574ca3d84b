//! The input of a picture: plain numbers, built here from a shadow, or by anyone from anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::dump::{ChunkMap, RowState};
use super::report::tiles;
use super::{ChunkId, ResourceId, Shadow};

/// One resource to draw. Counts are tiles of `tile_bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceView {
    /// Its name.
    pub name: String,
    /// What it is, in words: `growable buffer`.
    pub kind: String,
    /// Its size in tiles.
    pub tiles: u64,
    /// One tile in bytes.
    pub tile_bytes: u64,
    /// Mapped tiles, each run with the index of its chunk in [`PageView::chunks`].
    pub runs: Vec<(Range<u64>, usize)>,
    /// Tiles of mip tails.
    pub tails: Vec<Range<u64>>,
}

/// One chunk to draw. Counts are pages of `page_bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkView {
    /// Its name.
    pub name: String,
    /// Its size in pages.
    pub pages: u64,
    /// One page in bytes.
    pub page_bytes: u64,
    /// Mapped pages, each run with the index of who lies there in [`PageView::resources`]. A chunk where one
    /// resource lies is owned by it, and the rest of it is slack; with none or several the rest is free.
    pub runs: Vec<(Range<u64>, usize)>,
    /// Its pages are a pool's: what nobody has is free, and no resource's slack.
    pub pooled: bool,
}

impl ChunkView {
    /// The only resource in it, whose slack the rest is; `None` where there is none or more than one, and for a chunk of
    /// a pool.
    pub fn owner(&self) -> Option<usize> {
        let mut owners = self.owners().into_iter();
        owners.next().filter(|_| owners.next().is_none() && !self.pooled)
    }

    /// The resources in it.
    pub fn owners(&self) -> BTreeSet<usize> {
        self.runs.iter().map(|(_, resource)| *resource).collect()
    }

    /// Mapped pages, counted once where they are shared.
    pub fn mapped_pages(&self) -> u64 {
        covered(&self.runs, self.pages)
    }
}

impl ResourceView {
    /// Mapped tiles.
    pub fn mapped_tiles(&self) -> u64 {
        covered(&self.runs, self.tiles)
    }
}

/// How many of `0..limit` lie in any run. Runs may overlap and stand in any order.
fn covered(runs: &[(Range<u64>, usize)], limit: u64) -> u64 {
    let mut ranges: Vec<Range<u64>> =
        runs.iter().map(|(run, _)| run.start.min(limit)..run.end.min(limit)).collect();
    ranges.sort_by_key(|range| range.start);
    let (mut total, mut end) = (0, 0);
    for range in ranges {
        total += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    total
}

/// Page tables to draw: resources, and the chunks they lie in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageView {
    /// What the picture is called.
    pub title: String,
    /// The resources, in drawing order.
    pub resources: Vec<ResourceView>,
    /// The chunks, in drawing order.
    pub chunks: Vec<ChunkView>,
}

impl PageView {
    /// Everything a shadow knows.
    pub fn of_shadow(shadow: &Shadow) -> Self {
        let resources: Vec<ResourceId> = shadow.resources().map(|(id, _)| id).collect();
        Self::build("Page tables", shadow, &resources, shadow.chunk_map())
    }

    /// One resource, the chunks it lies in, and all that shares chunks with it, directly or through others;
    /// `None` when it is not known.
    pub fn of_resource(shadow: &Shadow, id: ResourceId) -> Option<Self> {
        shadow.page_table(id)?;
        let mut resources = vec![id];
        let mut chunks = BTreeMap::new();
        let mut next = 0;
        while let Some(id) = resources.get(next) {
            next += 1;
            let rows = shadow.page_table(*id).map(|table| table.rows).unwrap_or_default();
            for row in rows {
                let RowState::Mapped { chunk, .. } = row.state else { continue };
                let Some(map) = shadow.map_of(chunk).filter(|_| !chunks.contains_key(&chunk)) else {
                    continue;
                };
                for owner in map.runs.iter().flat_map(|run| &run.owners) {
                    if !resources.contains(&owner.resource) {
                        resources.push(owner.resource);
                    }
                }
                chunks.insert(chunk, map);
            }
        }
        Some(Self::build("Page table", shadow, &resources, chunks.into_values().collect()))
    }

    fn build(title: &str, shadow: &Shadow, resources: &[ResourceId], chunks: Vec<ChunkMap>) -> Self {
        let chunk_index: BTreeMap<ChunkId, usize> =
            chunks.iter().map(|map| map.chunk).zip(0usize..).collect();
        let resource_index: BTreeMap<ResourceId, usize> = resources.iter().copied().zip(0usize..).collect();
        let resource = |id: &ResourceId| {
            let table = shadow.page_table(*id)?;
            let run = |row: &super::TableRow| match &row.state {
                RowState::Mapped { chunk, .. } => Some((row.tiles.clone(), *chunk_index.get(chunk)?)),
                RowState::Reserved { .. } => None,
            };
            let tail = |tail: &Range<u64>| tiles(tail, table.tile_bytes);
            let tails = shadow.resources.get(id).map_or(&[][..], |resource| &resource.desc.tails[..]);
            Some(ResourceView {
                name: table.name.clone(),
                kind: table.kind.to_string(),
                tiles: table.bytes.div_ceil(table.tile_bytes),
                tile_bytes: table.tile_bytes,
                runs: table.rows.iter().filter_map(run).collect(),
                tails: tails.iter().map(tail).collect(),
            })
        };
        let chunk = |map: ChunkMap| {
            let owners = |run: &super::ChunkRun| -> Vec<(Range<u64>, usize)> {
                let index = |owner: &super::Sharer| resource_index.get(&owner.resource).copied();
                run.owners.iter().filter_map(index).map(|index| (run.pages.clone(), index)).collect()
            };
            let is_pooled =
                |id: &ResourceId| shadow.resources.get(id).is_some_and(|r| r.desc.kind.is_pooled());
            ChunkView {
                pooled: map.runs.iter().flat_map(|run| &run.owners).any(|owner| is_pooled(&owner.resource)),
                pages: map.bytes.div_ceil(map.page_bytes),
                page_bytes: map.page_bytes,
                runs: map.runs.iter().flat_map(owners).collect(),
                name: map.name,
            }
        };
        Self {
            title: title.to_owned(),
            resources: resources.iter().filter_map(resource).collect(),
            chunks: chunks.into_iter().map(chunk).collect(),
        }
    }
}
