//! Where the data of the repository lies: beside the program when it was made to run elsewhere, in the
//! source tree otherwise.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// Finds a file of `assets/`.
///
/// # Errors
/// When it is nowhere, with the places that were looked at.
pub fn find(name: &str) -> Result<PathBuf> {
    let places = places();
    places.iter().map(|place| place.join(name)).find(|path| path.is_file()).ok_or_else(|| {
        let looked: Vec<_> = places.iter().map(|p| p.display().to_string()).collect();
        Failure::failed(format!(
            "the file {name} is in none of {}: set VASA_ASSETS to the repository's assets folder, or name a \
             file with --dem",
            looked.join(", ")
        ))
    })
}

fn places() -> Vec<PathBuf> {
    if let Some(folder) = std::env::var_os("VASA_ASSETS").filter(|folder| !folder.is_empty()) {
        return vec![folder.into()];
    }
    let program = std::env::current_exe().ok();
    let folder = program.as_ref().and_then(|program| program.parent());
    // Beside the program, or beside the `bin` folder it lies in.
    let beside = folder.map(|folder| folder.join("assets"));
    let above = folder.and_then(Path::parent).map(|folder| folder.join("assets"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.join("assets"));
    [beside, above, Some("assets".into()), source].into_iter().flatten().collect()
}

/// The folder of shaders to watch: in debug builds, where `VASA_SHADERS` says or in the source tree, if it is there.
#[cfg(feature = "hot-reload")]
pub fn shaders() -> Option<PathBuf> {
    let asked = std::env::var_os("VASA_SHADERS").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let source = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.join("shaders"));
    asked.or_else(source).filter(|folder| cfg!(debug_assertions) && folder.is_dir())
}
