//! Page tables and chunks of reserved memory: as text, as JSON, as a picture.

use serde::Serialize;
use vasa::sparse::Checker;
use vasa::sparse::shadow::{ChunkMap, PageTable};

use crate::failure::Result;
use crate::output::Output;

/// `pages.json`.
#[derive(Serialize)]
struct Pages {
    page_tables: Vec<PageTable>,
    chunks: Vec<ChunkMap>,
}

/// Every page table, then every chunk, as text. Says how to turn the checker on where it is off.
pub fn text(checker: &Checker) -> String {
    if !checker.is_on() {
        return "page tables are kept by the checker, which is off: build without --release, or run \
                `residency --dump-pages`"
            .into();
    }
    let tables = checker.page_tables().iter().map(ToString::to_string).collect::<Vec<_>>();
    let chunks = checker.chunk_maps().iter().map(ToString::to_string).collect::<Vec<_>>();
    tables.into_iter().chain(chunks).map(|part| part.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Writes `pages.png`, `pages.json` and `pages.txt`, and says where.
///
/// # Errors
/// When a file cannot be written.
pub fn write(checker: &Checker, output: &Output) -> Result<()> {
    let pages = Pages { page_tables: checker.page_tables(), chunks: checker.chunk_maps() };
    let mut written =
        vec![output.json("pages.json", &pages)?, output.text("pages.txt", &(text(checker) + "\n"))?];
    if let Some(picture) = checker.picture() {
        written.push(output.rgb("pages.png", [picture.width, picture.height], &picture.pixels)?);
    }
    written.iter().for_each(|path| println!("{}", path.display()));
    Ok(())
}
