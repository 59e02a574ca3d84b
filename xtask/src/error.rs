//! What can go wrong, each with the next step in its text.

use std::path::PathBuf;

/// Why a command failed. `Display` is one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line asked for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file or folder could not be read or written.
    #[error("{doing} {}: {source}; check that the path is right, writable and that the disk is not full", path.display())]
    Io {
        /// What was being done, as in "cannot write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A program could not be started at all.
    #[error("cannot start {program}: {source}; install it or check PATH")]
    Start {
        /// The program.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// `cargo build` failed; its messages are above.
    #[error("{what} could not be built; the compiler's messages are above")]
    Build {
        /// What was asked of cargo.
        what: String,
    },
    /// A program that was started answered in a way that cannot be used.
    #[error("{program}: {problem}")]
    Answer {
        /// The program.
        program: String,
        /// What is wrong with its answer, and the next step.
        problem: String,
    },
    /// The system's driver was asked for, or set by hand, and cannot be used.
    #[error("{0}")]
    Driver(String),
    /// The software driver cannot be set up here.
    #[error("{reason}; {next}")]
    SetUp {
        /// What stopped it.
        reason: String,
        /// What to do.
        next: String,
    },
    /// Tests failed; the lines above say which.
    #[error("{0}")]
    Tests(String),
    /// Ctrl-C or a request to end.
    #[error("interrupted; nothing half-done was kept, run the command again to start over")]
    Interrupted,
}

impl Error {
    /// The exit status of the command.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Interrupted => 130,
            _ => 1,
        }
    }

    /// For `map_err` on file operations: `std::fs::read(&path).map_err(Error::io("cannot read", &path))`.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { doing, path, source }
    }
}
