//! Captures of single page draws (`terrain --capture-vt-draws N`), made by RenderDoc through its in-application API.
//!
//! ```text
//! begin_frame   at most one page   start of a capture
//!   the engine draws, and submits everything that a frame records
//! end_frame     Count: exactly one page? -> the capture is kept, named after the page; otherwise it is removed
//! ```
//!
//! Pages are drawn within the submission of a frame, so the capture of one page draw is that of a frame which draws one
//! page. Locked pages are exempt from budgets: a frame may draw several of them, and its capture goes.
//!
//! - `count.rs`: which captures are kept. `drawn.rs`: pages and their names. `tool.rs`: RenderDoc.

mod count;
mod drawn;
mod tool;

use std::path::{Path, PathBuf};

use serde::Serialize;
use vasa::Engine;
use vasa::vt::Options;

use self::count::{Count, Verdict};
use self::drawn::DrawnPage;
use self::tool::Tool;
use crate::failure::{Failure, Result};

/// What captures are called until they are removed.
const UNWANTED: &str = "unwanted";

/// Captures of a run.
pub struct Captures {
    count: Count,
    tool: Option<Tool>,
    /// Where they go.
    folder: PathBuf,
    made: Vec<Capture>,
}

/// One capture, as in `stats.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// The file.
    path: PathBuf,
    /// What it shows.
    #[serde(flatten)]
    page: DrawnPage,
}

impl Captures {
    /// For as many page draws; none needs no RenderDoc. Nothing is written yet.
    ///
    /// # Errors
    /// When RenderDoc is not in the process, with what to do; a folder whose name RenderDoc cannot take.
    pub fn new(wanted: u32, out: &Path) -> Result<Self> {
        // RenderDoc runs programs in a folder of its own choice: only whole paths say where captures are.
        let folder = std::path::absolute(out).unwrap_or_else(|_| out.into()).join("captures");
        let tool = if wanted > 0 { Some(Tool::new()?) } else { None };
        if tool.is_some() && folder.to_str().is_none_or(|text| text.contains('\0')) {
            return Err(Failure::failed(format!(
                "RenderDoc cannot write to {}, since the name is not UTF-8: choose another with --out",
                folder.display()
            )));
        }
        Ok(Self { count: Count::new(wanted), tool, folder, made: Vec::new() })
    }

    /// Where captures go; nothing where none are wanted.
    pub fn folder(&self) -> Option<&Path> {
        self.tool.is_some().then_some(&self.folder)
    }

    /// A frame begins. While captures are wanted it draws one page at most.
    ///
    /// # Errors
    /// When RenderDoc does not see what is drawn.
    pub fn begin_frame(&mut self, engine: &mut Engine) -> Result<()> {
        let Some(tool) = &mut self.tool else { return Ok(()) };
        if !self.count.begin_frame() {
            return Ok(());
        }
        if let Some(textures) = engine.textures_mut() {
            let options = one_page(*textures.options());
            textures.set_options(options);
        }
        tool.start()
    }

    /// The frame is submitted; `None`: it failed.
    ///
    /// # Errors
    /// When RenderDoc wrote no capture.
    pub fn end_frame(&mut self, engine: Option<&Engine>) -> Result<()> {
        let Some(tool) = &mut self.tool else { return Ok(()) };
        let textures = engine.and_then(Engine::textures);
        let pages = textures.map(|textures| textures.plan().pages.as_slice()).unwrap_or_default();
        match (self.count.end_frame(pages.len()), textures, pages) {
            (Verdict::Nothing, ..) => {}
            (Verdict::Keep, Some(textures), [work]) => {
                let page = DrawnPage::of(textures, work);
                let path = tool.keep(&self.folder.join(page.file_name()), &page.to_string())?;
                log::info!("{page}: captured in {}", path.display());
                self.made.push(Capture { path, page });
            }
            // A frame that failed says why itself.
            (_, None, _) => drop(tool.discard(&self.folder.join(UNWANTED))),
            _ => tool.discard(&self.folder.join(UNWANTED))?,
        }
        Ok(())
    }

    /// What was made; nothing where none were wanted.
    pub fn made(&self) -> Option<&[Capture]> {
        self.tool.is_some().then_some(&self.made)
    }

    /// Says where captures are, and whether some are missing.
    pub fn conclude(&self) {
        for capture in &self.made {
            println!("{}", capture.path.display());
        }
        let (made, wanted) = (self.made.len(), self.count.wanted());
        if self.count.missing() > 0 {
            log::warn!(
                "{made} of {wanted} page draws are captured: no more frames drew exactly one page; give more --frames"
            );
        }
    }
}

/// Every frame draws a page, and no frame draws two that are not locked: refreshes get what new pages left over.
fn one_page(mut options: Options) -> Options {
    let planner = &mut options.planner;
    planner.force_continuous_update = true;
    planner.max_continuous_updates_per_frame = 1;
    planner.max_uploads_per_frame = 1;
    planner.max_tiles_produced_per_frame = 1;
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_captures_no_tool_is_needed() {
        let captures = Captures::new(0, Path::new("out")).unwrap();
        assert!(captures.folder().is_none() && captures.made().is_none());
    }

    #[test]
    fn one_page_is_all_that_budgets_allow() {
        let planner = one_page(Options::default()).planner;
        let mut budgets = vasa::vt::schedule::Budgets::new(&planner);
        assert!(budgets.admit_continuous().is_some() && budgets.admit(false).is_none());
        let mut budgets = vasa::vt::schedule::Budgets::new(&planner);
        assert!(budgets.admit(false).is_some() && budgets.admit_continuous().is_none());
        assert!(budgets.admit(true).is_none(), "none from a file beside it");
    }
}
