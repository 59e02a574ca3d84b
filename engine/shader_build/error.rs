//! What can be wrong with a shader, told the way compilers do, so that editors and people find the place.

use std::fmt;
use std::path::PathBuf;

/// One thing wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as shown, for instance `shaders/fill.wgsl`.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The line itself and a marker under the place; empty where there is none.
    pub excerpt: String,
    /// Other places that matter: `file:line:column: note: text`.
    pub notes: Vec<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: error: {}", self.file, self.line, self.column, self.message)?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        for note in &self.notes {
            write!(f, "\n{note}")?;
        }
        Ok(())
    }
}

/// Why a WGSL file gave no SPIR-V.
#[derive(Debug, thiserror::Error)]
pub enum ShaderError {
    /// A file or folder could not be read.
    #[error("{}: error: cannot read it: {source}", path.display())]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An include line that cannot be followed: missing file, bad path, or a circle.
    #[error("{0}")]
    Include(Diagnostic),
    /// Not WGSL.
    #[error("{0}")]
    Parse(Diagnostic),
    /// WGSL, but refused: types, layouts, or an ability that Vulkan 1.3 does not promise.
    #[error("{0}")]
    Validate(Diagnostic),
    /// Valid WGSL that naga cannot put into SPIR-V, or a file without an entry point.
    #[error("{file}:1:1: error: {message}")]
    Write {
        /// The file as shown.
        file: String,
        /// What is in the way.
        message: String,
    },
}
