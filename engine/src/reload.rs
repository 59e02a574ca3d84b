//! The engine watches its shaders (feature `hot-reload`).

use std::path::Path;

use crate::engine::Engine;
use crate::error::Result;
use crate::vk::reload::{Reloaded, ShaderReload};

impl Engine {
    /// Watches a folder of shaders: a changed file is compiled and its pipelines are made again before the next frame.
    /// An error keeps the pipelines, is logged, and stands in [`Engine::shader_errors`] until it is mended.
    ///
    /// # Errors
    /// When a shader of the engine is not in the folder.
    pub fn watch_shaders(&mut self, folder: &Path) -> Result<()> {
        self.reload = Some(ShaderReload::new(self.device(), folder)?);
        Ok(())
    }

    /// The watcher, to be asked more often or for what it found.
    pub fn shader_reload(&mut self) -> Option<&mut ShaderReload> {
        self.reload.as_mut()
    }

    /// What is wrong with shaders now: a text each with file, line and column.
    pub fn shader_errors(&self) -> Vec<String> {
        self.reload.iter().flat_map(ShaderReload::errors).map(str::to_owned).collect()
    }

    /// Between frames.
    pub(crate) fn reload_shaders(&mut self) -> Vec<Reloaded> {
        self.reload.as_mut().map(ShaderReload::poll).unwrap_or_default()
    }
}
