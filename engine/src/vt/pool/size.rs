//! How many pages a budget gives.

use super::PoolDesc;

/// The largest side of a pool in pages: their ids have 15 bits, and 181 * 181 is the last square below 32768.
pub const MOST_POOL_SIDE: u32 = 181;

/// Why a pool cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// There is nothing to hold: no layers, or pages without texels.
    #[error(
        "pool {name}: {layers} layers and tiles of {tile} texels were asked for: it needs 1 to 4 layers and a tile of \
         at least 1 texel"
    )]
    Empty {
        /// The pool.
        name: String,
        /// What was asked for.
        layers: usize,
        /// What was asked for, in texels.
        tile: u32,
    },
    /// Blocks would lie in two pages.
    #[error(
        "pool {name}: a tile of {tile} texels with a border of {border} makes pages of {physical}, which are no whole \
         blocks of 4: choose a tile and a border whose sum tile + 2 * border is a multiple of 4"
    )]
    Blocks {
        /// The pool.
        name: String,
        /// What was asked for, in texels.
        tile: u32,
        /// What was asked for, in texels.
        border: u32,
        /// A page with its border, in texels.
        physical: u32,
    },
    /// Not even four pages fit: one is reserved, and three are the least that can be worked with.
    #[error(
        "pool {name}: {budget_bytes} bytes and images of {largest_image} texels a side give {side} pages a side, at \
         {page_bytes} bytes and {physical} texels a page: it needs 2; raise `vt.pool_mib`, or use smaller tiles"
    )]
    TooSmall {
        /// The pool.
        name: String,
        /// The budget with its scale, in bytes.
        budget_bytes: u64,
        /// The limit of the device, in texels.
        largest_image: u32,
        /// What comes out.
        side: u32,
        /// Bytes of a page over all layers.
        page_bytes: u64,
        /// A page with its border, in texels.
        physical: u32,
    },
}

/// What a budget gives. A split pool is several atlases of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PoolSize {
    /// How many atlases (each with all layers).
    pub pools: u32,
    /// Pages a side that the budget alone would give, before any limit.
    pub asked_side: u32,
    /// Pages that the budget alone would give: they need not be a square.
    pub asked_pages: u64,
    /// Pages a side of one atlas.
    pub side: u32,
    /// Texels a side of one atlas.
    pub texels: u32,
    /// Bytes of one page over all layers.
    pub page_bytes: u64,
}

impl PoolSize {
    /// `n = floor(sqrt(budget / (pools * bytes of a page)))`, then cut to the device's largest image, to
    /// [`MOST_POOL_SIDE`], and, by more pools, to `split_tiles`.
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn of(desc: &PoolDesc) -> Result<Self, PoolError> {
        let (name, physical, page_bytes) = (&desc.name, desc.physical_tile(), desc.page_bytes());
        if desc.tile == 0 || !(1..=4).contains(&desc.layers.len()) {
            return Err(PoolError::Empty { name: name.clone(), layers: desc.layers.len(), tile: desc.tile });
        }
        if !physical.is_multiple_of(4) && desc.layers.iter().any(|layer| layer.is_block()) {
            let (tile, border) = (desc.tile, desc.border);
            return Err(PoolError::Blocks { name: name.clone(), tile, border, physical });
        }
        let scale = if desc.scale.is_finite() && desc.scale > 0.0 { f64::from(desc.scale) } else { 1.0 };
        let budget_bytes =
            if scale == 1.0 { desc.budget_bytes } else { (desc.budget_bytes as f64 * scale) as u64 };
        let asked_pages = budget_bytes / page_bytes.max(1);
        let largest = MOST_POOL_SIDE.min(desc.largest_image / physical.max(1));
        let mut pools = 1;
        let side_of = |pools: u32| (asked_pages / u64::from(pools)).isqrt().min(u64::from(u32::MAX)) as u32;
        if desc.split_tiles > 0 {
            // One page a side is too small to work with, whatever the knob says.
            let most = desc.split_tiles.min(largest).max(2);
            // pools * (most + 1)^2 > pages, solved for the first count that fits.
            let next = u64::from(most + 1).pow(2);
            pools = (asked_pages / next + 1).clamp(1, MOST_SPLIT) as u32;
        }
        let side = side_of(pools).min(largest);
        if side < 2 {
            let largest_image = desc.largest_image;
            let name = name.clone();
            return Err(PoolError::TooSmall {
                name,
                budget_bytes,
                largest_image,
                side,
                page_bytes,
                physical,
            });
        }
        Ok(Self { pools, asked_side: side_of(1), asked_pages, side, texels: side * physical, page_bytes })
    }

    /// Pages of one atlas, the reserved one too.
    pub fn pages(&self) -> u32 {
        self.side * self.side
    }

    /// Pages of one atlas that can be used: page 0 is reserved.
    pub fn usable(&self) -> u32 {
        self.pages() - 1
    }

    /// Bytes of all layers of one atlas.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pages()) * self.page_bytes
    }
}

/// Atlases that one split pool may become.
const MOST_SPLIT: u64 = 64;
