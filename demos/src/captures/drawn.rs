//! A page that a frame drew, and what its capture is called.

use serde::Serialize;
use vasa::vt::planner::PageWork;
use vasa::vt::{PageAddress, VirtualTextures};

/// A page that was drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawnPage {
    /// The frame that drew it.
    pub frame: u64,
    /// Name of its texture.
    pub texture: String,
    /// Its level; 0 is the finest.
    pub level: u8,
    /// Its column and row in the texture's grid.
    pub page: [u16; 2],
    /// Why it was drawn.
    pub reason: String,
}

impl DrawnPage {
    /// The page of a frame that was just submitted.
    pub fn of(textures: &VirtualTextures, work: &PageWork) -> Self {
        let named = textures.writers().texture(work.texture);
        let PageAddress { level, x, y } = work.page;
        Self {
            frame: textures.plan().frame,
            texture: named.map_or_else(|| work.texture.to_string(), |texture| texture.name.clone()),
            level,
            page: [x, y],
            reason: work.reason.to_string(),
        }
    }

    /// The file's name, without what RenderDoc adds. Everything but letters and digits becomes a dash, since texture
    /// names are anything.
    pub fn file_name(&self) -> String {
        let dashes = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let texture: String = self.texture.chars().map(dashes).collect();
        let [x, y] = self.page;
        format!("frame-{}-{texture}-level-{}-page-{x}-{y}", self.frame, self.level)
    }
}

impl std::fmt::Display for DrawnPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { frame, texture, level, page: [x, y], reason } = self;
        write!(f, "frame {frame}: VirtualTextureDraw ({texture}, level {level}, page {x},{y}), {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_frame_texture_level_and_page() {
        let page = DrawnPage {
            frame: 12,
            texture: "Terrain.Height ../x".into(),
            level: 3,
            page: [4, 7],
            reason: "locked; exempt".into(),
        };
        assert_eq!(page.file_name(), "frame-12-terrain-height----x-level-3-page-4-7");
        assert_eq!(
            page.to_string(),
            "frame 12: VirtualTextureDraw (Terrain.Height ../x, level 3, page 4,7), locked; exempt"
        );
    }
}
