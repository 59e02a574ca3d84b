//! The numbers of virtual textures, as `stats.json` has them.

use serde::Serialize;

/// One pool of pages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolStats {
    /// What it is called.
    pub name: String,
    /// Formats of its layers, joined by ` + `.
    pub format: String,
    /// Texels a side of a page, with its border.
    pub tile: u32,
    /// Pages a side of the atlas.
    pub side: u32,
    /// Pages in all, the reserved one too.
    pub tiles: u32,
    /// Pages that hold something.
    pub allocated: u32,
    /// Pages that may not be taken.
    pub locked: u32,
    /// Bytes of those.
    pub locked_bytes: u64,
    /// Entries of page tables that name a page; several may name one.
    pub mapped: u32,
    /// Bytes of all atlases.
    pub bytes: u64,
    /// Mip bias that it asks for, levels.
    pub mip_bias: f32,
    /// (Locked + used lately) / pages: how full it is.
    pub residency: f32,
}

/// One virtual texture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextureStats {
    /// What it is called.
    pub name: String,
    /// What it stores.
    pub kind: String,
    /// Pages of level 0 along u and v.
    pub tiles: [u32; 2],
    /// Space of its page table.
    pub space: u8,
    /// Pages it holds.
    pub resident: u32,
    /// Of these: locked.
    pub locked: u32,
    /// Pages it holds, by level, the finest first.
    pub resident_per_level: Vec<u32>,
}

/// One page table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceStats {
    /// Its number.
    pub space: u8,
    /// Format of its images.
    pub format: String,
    /// Texels a side.
    pub side: u32,
    /// Bytes of its images.
    pub bytes: u64,
    /// Textures in it.
    pub textures: u32,
    /// Whether feedback can name it.
    pub is_fed: bool,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VtStats {
    /// Page tables.
    pub spaces: u32,
    /// Bytes of their images.
    pub page_table_bytes: u64,
    /// Pools of pages.
    pub pools: Vec<PoolStats>,
    /// Textures.
    pub textures: Vec<TextureStats>,
    /// Page tables, one by one.
    pub page_tables: Vec<SpaceStats>,
    /// Samples that gave feedback.
    pub feedback_requests: u64,
    /// Pages that they named, each once a frame.
    pub unique_requests: u64,
    /// Of these, those that were there.
    pub resident_hits: u64,
    /// Pages drawn.
    pub pages_drawn: u64,
    /// Of these, those that were there already and were drawn again in place.
    pub pages_redrawn: u64,
    /// Pages read from files.
    pub pages_streamed: u64,
    /// Pages that lost their place: to another page, an edit or a flush.
    pub evicted: u64,
    /// Of these, in the last frame: 0 in a still view where nothing fights for places.
    pub evicted_last_frame: u32,
    /// Wanted pages that were left for a later frame, counted in each.
    pub deferred: u64,
    /// Frames whose feedback was dropped, since the readback ring was full.
    pub lost_feedback: u64,
    /// Samples that found the feedback buffer full, and pairs that its compaction had no room for.
    pub overflow: u64,
    /// Quads painted into page tables.
    pub table_quads: u64,
    /// Largest mip bias of the pools now, levels.
    pub mip_bias: f32,
    /// Largest mip bias so far, levels.
    pub mip_bias_max: f32,
    /// Share of samples of the last feedback that found the level they wished for.
    pub sharpness: f64,
    /// Frames from each cut of the camera until 99% of samples found the level they wished for; nothing where the next cut
    /// came first. The newest 256.
    pub frames_until_sharp: Vec<Option<u32>>,
    /// Times that all pages were thrown away on request.
    pub flushes: u64,
    /// Times that feedback was laid out for another extent of the picture; the first one counts too.
    pub feedback_resizes: u64,
    /// Textures made so far.
    pub textures_created: u64,
    /// Textures destroyed so far.
    pub textures_destroyed: u64,
    /// Frames since the last one that drew a page or painted a page table.
    pub steady_frames: u64,
    /// Frames whose plan was taken back, since they were not submitted or had no memory for it.
    pub withdrawn_frames: u64,
    /// Parts of textures that writers made stale.
    pub invalidations: u64,
    /// Textures whose page table gets no feedback.
    pub unfed_textures: u32,
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl VtStats {
    /// `vt pools`: a line a pool.
    pub fn pools_text(&self) -> String {
        let mut lines = vec![format!(
            "{:<24} {:<18} {:>5} {:>5} {:>6} {:>9} {:>6} {:>10} {:>6} {:>10} {:>5}",
            "pool",
            "format",
            "tile",
            "side",
            "tiles",
            "allocated",
            "locked",
            "locked MiB",
            "mapped",
            "MiB",
            "bias"
        )];
        lines.extend(self.pools.iter().map(|p| {
            format!(
                "{:<24} {:<18} {:>5} {:>5} {:>6} {:>9} {:>6} {:>10.3} {:>6} {:>10.3} {:>5.2}",
                p.name,
                p.format,
                p.tile,
                p.side,
                p.tiles,
                p.allocated,
                p.locked,
                mib(p.locked_bytes),
                p.mapped,
                mib(p.bytes),
                p.mip_bias
            )
        }));
        lines.join("\n")
    }

    /// `vt usage`: which texture holds how many pages.
    pub fn usage_text(&self) -> String {
        let mut lines = vec![format!(
            "{:<24} {:<34} {:>11} {:>5} {:>8} {:>6}  pages by level",
            "texture", "kind", "tiles", "space", "resident", "locked"
        )];
        lines.extend(self.textures.iter().map(|t| {
            let levels: Vec<String> = t.resident_per_level.iter().map(u32::to_string).collect();
            let tiles = format!("{} x {}", t.tiles[0], t.tiles[1]);
            format!(
                "{:<24} {:<34} {:>11} {:>5} {:>8} {:>6}  {}",
                t.name,
                t.kind,
                tiles,
                t.space,
                t.resident,
                t.locked,
                levels.join(" ")
            )
        }));
        lines.join("\n")
    }

    /// `vt counters`: what was asked for and what became of it, over all frames.
    pub fn counters_text(&self) -> String {
        let counts = [
            ("requests", self.feedback_requests, "samples that gave feedback"),
            ("unique", self.unique_requests, "pages that they named, each once a frame"),
            ("resident hits", self.resident_hits, "of these, those that were there"),
            ("made", self.pages_drawn.saturating_sub(self.pages_redrawn), "pages drawn that were not there"),
            ("redrawn", self.pages_redrawn, "pages drawn again in place"),
            ("deferred", self.deferred, "pages left for a later frame, counted in each"),
            ("evicted", self.evicted, "pages that lost their place"),
            ("lost feedback", self.lost_feedback, "frames whose feedback was dropped"),
            ("overflow", self.overflow, "samples and pairs that found no room"),
            ("table quads", self.table_quads, "painted into page tables"),
            ("invalidations", self.invalidations, "parts of textures that writers made stale"),
            ("flushes", self.flushes, "times that all pages were thrown away"),
            ("withdrawn", self.withdrawn_frames, "frames whose plan was taken back"),
            ("steady", self.steady_frames, "frames since the last page or table was drawn"),
        ];
        let lines = counts.map(|(name, count, meaning)| format!("{name:<14} {count:>12}  {meaning}"));
        lines.join("\n")
    }

    /// `vt tables`: page tables, their formats and bytes.
    pub fn tables_text(&self) -> String {
        let mut lines = vec![format!(
            "{:<6} {:<20} {:>6} {:>10} {:>9}  fed",
            "space", "format", "side", "MiB", "textures"
        )];
        lines.extend(self.page_tables.iter().map(|s| {
            let fed = if s.is_fed { "yes" } else { "no: only 16 spaces get feedback" };
            format!(
                "{:<6} {:<20} {:>6} {:>10.3} {:>9}  {fed}",
                s.space,
                s.format,
                s.side,
                mib(s.bytes),
                s.textures
            )
        }));
        lines.join("\n")
    }
}
