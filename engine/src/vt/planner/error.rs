//! What a caller cannot foresee.

use super::TextureId;
use crate::vt::grid::GridError;
use crate::vt::pool::{PoolError, PoolId};

/// Why the planner refuses. Nothing has changed when one of these comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlannerError {
    /// The grid of a texture cannot be.
    #[error("texture {name}: {source}")]
    Grid {
        /// The texture.
        name: String,
        /// What is wrong with it.
        source: GridError,
    },
    /// A pool cannot be.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// There are too many pools.
    #[error(
        "pool {name}: {asked} pools are asked for beside {count}, of {most} that there may be: share pools between textures of one format"
    )]
    Pools {
        /// The pool.
        name: String,
        /// How many more.
        asked: u32,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A texture has no groups, too many, or baked levels that it does not have.
    #[error(
        "texture {name}: {groups} groups of layers were asked for: 1 to 4 are possible, one a channel of its page table"
    )]
    Groups {
        /// The texture.
        name: String,
        /// What was asked for.
        groups: usize,
    },
    /// A pool is not there.
    #[error("{pool} is named, and there is no such pool: create it first, and destroy it last")]
    NoPool {
        /// What was named.
        pool: PoolId,
    },
    /// A pool is still used.
    #[error("{pool} is to be destroyed, and {textures} textures have pages in it: destroy these first")]
    PoolInUse {
        /// What was named.
        pool: PoolId,
        /// Whose pages are in it.
        textures: usize,
    },
    /// A texture is not there, or not any more.
    #[error("{texture} is named, and there is no such texture (any more)")]
    NoTexture {
        /// What was named.
        texture: TextureId,
    },
    /// There are too many textures.
    #[error(
        "texture {name}: there are {most} virtual textures already, which is the most: destroy some, or put several images into one"
    )]
    Textures {
        /// The texture.
        name: String,
        /// How many there may be.
        most: usize,
    },
    /// There are too many spaces.
    #[error(
        "texture {name}: no page table has room for it, and there are {most} already: raise `vt.space_side`, so that more textures share one"
    )]
    Spaces {
        /// The texture.
        name: String,
        /// How many there may be.
        most: usize,
    },
    /// Two textures that share pages must be cut alike.
    #[error(
        "texture {name}: it shares the pages of {with}, and its tiles, levels or pools are others: they must be the same"
    )]
    Shared {
        /// The texture.
        name: String,
        /// Whose pages it shares.
        with: TextureId,
    },
    /// A texture does not have this page.
    #[error("{texture} has no page {page}: its coarsest level is {max_level}, and level 0 has {} x {} pages", tiles[0], tiles[1])]
    NoPage {
        /// What was named.
        texture: TextureId,
        /// What was named.
        page: String,
        /// Its coarsest level.
        max_level: u8,
        /// Its pages of level 0.
        tiles: [u32; 2],
    },
    /// A pool has no room for another locked page.
    #[error(
        "{pool}: {locked} of its {usable} pages are locked, and another one is to be: unlock some, or raise `vt.pool_mib`"
    )]
    Locked {
        /// The pool.
        pool: PoolId,
        /// Pages that are locked.
        locked: u32,
        /// Pages that can be used.
        usable: u32,
    },
    /// More is to be loaded ahead than fits.
    #[error(
        "{texture}: {asked} pages of level {level} are to be loaded ahead, and its pool has {usable}: ask for a smaller region, or for level {enough}"
    )]
    Preload {
        /// What was named.
        texture: TextureId,
        /// The level that was asked for.
        level: u8,
        /// How many pages that is.
        asked: u64,
        /// Pages that can be used.
        usable: u32,
        /// The finest level of which the region fits.
        enough: u8,
    },
}
