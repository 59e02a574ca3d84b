//! Frames in files: a declaration, with what its transients need of memory, as JSON. Read back, it compiles, packs and
//! draws charts without a GPU.
//!
//! ```text
//! Declaration --write--> { "format": "vasa-frame", "version": 1, resources, passes with their uses, orders }
//!             <--read--    a line a resource, a use; indices checked, so that what comes back can be compiled
//! ```
//!
//! Handles and the declaration's serial are not in the file: they belong to the frame that was running.

mod frames;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::declaration::{Declaration, Name, Pass, Queue, Resource, ResourceInfo, Subresources, Use};
use super::handle::PassId;

pub use frames::{CAPTURED, FRAMES, RecordedFrame};

/// What the header says the file is.
const FORMAT: &str = "vasa-frame";
/// Version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

/// Why a recorded frame could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// The file cannot be read.
    #[error("cannot read the recorded frame {}: {source}", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the recorded frame {}: {source}; name a file in a folder you can write to", path.display())]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not JSON, or a field is missing or of the wrong kind.
    #[error("{file}: not a recorded frame: {source}")]
    Json {
        /// Name of the file.
        file: String,
        /// What is wrong, with the field, the line and the column.
        source: serde_json::Error,
    },
    /// It is JSON of something else.
    #[error("{file}: `format` is \"{found}\", not \"{FORMAT}\"; record a frame with --dump-graph")]
    Format {
        /// Name of the file.
        file: String,
        /// What the header says.
        found: String,
    },
    /// It is a recorded frame of another version.
    #[error("{file}: `version` is {found}, and this build reads {VERSION}; record the frame again")]
    Version {
        /// Name of the file.
        file: String,
        /// What the header says.
        found: u32,
    },
    /// A field holds what no frame can have.
    #[error("{file}: `{field}`: {why}")]
    Field {
        /// Name of the file.
        file: String,
        /// Path of the field: `passes[3].uses[1].resource`.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The first fields of a file; all others are left for later.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    resources: Vec<Resource>,
    passes: Vec<FilePass>,
    #[serde(default)]
    orders: Vec<(PassId, PassId)>,
}

/// A pass with its uses: in memory those of all passes stand in one list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePass {
    name: Name,
    queue: Queue,
    has_side_effects: bool,
    is_on: bool,
    uses: Vec<Use>,
}

/// A declaration as the text of a file: the same declaration always gives the same text.
pub fn write(declaration: &Declaration) -> String {
    let mut text = format!("{{\n\"format\": \"{FORMAT}\",\n\"version\": {VERSION},\n\"resources\": [");
    lines(&mut text, declaration.resources.iter().map(line));
    text.push_str("],\n\"passes\": [");
    let passes = declaration.passes.iter().map(|pass| {
        let range = pass.uses.start as usize..pass.uses.end as usize;
        let uses = declaration.uses.get(range).unwrap_or_default();
        let mut text = format!(
            "{{\"name\":{},\"queue\":{},\"has_side_effects\":{},\"is_on\":{},\"uses\":[",
            line(&pass.name),
            line(&pass.queue),
            pass.has_side_effects,
            pass.is_on
        );
        lines(&mut text, uses.iter().map(|one| format!("  {}", line(one))));
        text + "]}"
    });
    lines(&mut text, passes);
    text.push_str("],\n\"orders\": [");
    lines(&mut text, declaration.orders.iter().map(line));
    text.push_str("]\n}\n");
    text
}

/// Puts every element on a line of its own.
fn lines(text: &mut String, elements: impl Iterator<Item = String>) {
    for (index, element) in elements.enumerate() {
        // Writing to a string never fails.
        let _ = write!(text, "{}\n{element}", if index == 0 { "" } else { "," });
    }
}

/// Plain data whose keys are names: it always has a JSON text.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

/// A declaration from the text of a file. `file` is only named in errors.
///
/// # Errors
/// When it is no recorded frame of this version, or a field points nowhere; the error names the field.
pub fn read(file: &str, text: &str) -> Result<Declaration, RecordedError> {
    let json = |source| RecordedError::Json { file: file.into(), source };
    let header: Header = serde_json::from_str(text).map_err(json)?;
    if header.format != FORMAT {
        return Err(RecordedError::Format { file: file.into(), found: header.format });
    }
    if header.version != VERSION {
        return Err(RecordedError::Version { file: file.into(), found: header.version });
    }
    let read: File = serde_json::from_str(text).map_err(json)?;
    check(&read).map_err(|(field, why)| RecordedError::Field { file: file.into(), field, why })?;
    let mut declaration = Declaration::default();
    for pass in read.passes {
        // `check` has counted them.
        let start = declaration.uses.len() as u32;
        declaration.uses.extend(pass.uses);
        declaration.passes.push(Pass {
            name: pass.name,
            queue: pass.queue,
            has_side_effects: pass.has_side_effects,
            is_on: pass.is_on,
            uses: start..declaration.uses.len() as u32,
        });
    }
    declaration.resources = read.resources;
    declaration.orders = read.orders;
    Ok(declaration)
}

/// The first field that holds what no frame can have, and why.
fn check(file: &File) -> Result<(), (String, String)> {
    let counts = [file.passes.len(), file.resources.len(), file.passes.iter().map(|p| p.uses.len()).sum()];
    if counts.iter().any(|count| u32::try_from(*count).is_err()) {
        return Err((
            "passes".into(),
            format!("{counts:?} passes, resources and uses are more than 32 bits count"),
        ));
    }
    for (i, resource) in file.resources.iter().enumerate() {
        let needs = resource.needs.filter(|needs| !needs.alignment.is_power_of_two());
        if let Some(needs) = needs {
            let why = format!("{} of \"{}\" is no power of two", needs.alignment, resource.name);
            return Err((format!("resources[{i}].needs.alignment"), why));
        }
    }
    for (p, pass) in file.passes.iter().enumerate() {
        for (u, one) in pass.uses.iter().enumerate() {
            let field = |name: &str| format!("passes[{p}].uses[{u}].{name}");
            let Some(resource) = file.resources.get(one.resource.0 as usize) else {
                let why = format!(
                    "{} of {} resources, used by \"{}\"",
                    one.resource.0,
                    file.resources.len(),
                    pass.name
                );
                return Err((field("resource"), why));
            };
            if one.version > resource.versions {
                let why =
                    format!("{} of \"{}\", which has {}", one.version, resource.name, resource.versions);
                return Err((field("version"), why));
            }
            let fits = match (resource.info, one.part) {
                (_, Subresources::All) => true,
                (ResourceInfo::Image(_), Subresources::Image { .. }) => true,
                (ResourceInfo::Buffer(_), Subresources::Bytes { .. }) => true,
                (ResourceInfo::Image(_) | ResourceInfo::Buffer(_), _) => false,
            };
            if !fits {
                return Err((
                    field("part"),
                    format!("bytes of an image, or mips of a buffer: \"{}\"", resource.name),
                ));
            }
        }
    }
    for (i, (before, after)) in file.orders.iter().enumerate() {
        if let Some(pass) = [before, after].into_iter().find(|pass| pass.0 as usize >= file.passes.len()) {
            return Err((format!("orders[{i}]"), format!("pass {} of {}", pass.0, file.passes.len())));
        }
    }
    Ok(())
}

/// Writes a declaration to a file.
///
/// # Errors
/// When the file cannot be written.
pub fn save(declaration: &Declaration, path: &Path) -> Result<(), RecordedError> {
    std::fs::write(path, write(declaration))
        .map_err(|source| RecordedError::Write { path: path.into(), source })
}

/// Reads a declaration from a file.
///
/// # Errors
/// When the file cannot be read, and those of [`read`].
pub fn load(path: &Path) -> Result<Declaration, RecordedError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| RecordedError::Read { path: path.into(), source })?;
    read(&path.display().to_string(), &text)
}
