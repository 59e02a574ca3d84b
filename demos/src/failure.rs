//! How a run ends when it does not end well: one line, and an exit status.

use std::sync::Arc;

use vasa::vk::LossReport;

/// Result of everything in this program.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a run ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Wrong usage: exit status 2.
    #[error("{0}")]
    Usage(String),
    /// What was asked could not be done: exit status 1.
    #[error("{0}")]
    Failed(String),
    /// The Vulkan device was lost: exit status 1, unless the run begins again.
    #[error("{text}")]
    DeviceLost {
        /// What is said.
        text: String,
        /// What is known of it.
        report: Arc<LossReport>,
    },
    /// Ctrl-C: a clean stop, exit status 130 as shells have it.
    #[error("stopped")]
    Stopped,
    /// Everything was said already.
    #[error("")]
    Silent(u8),
}

impl Failure {
    /// A failure with a text.
    pub fn failed(text: impl std::fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }

    /// The program's exit status.
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) | Self::DeviceLost { .. } => 1,
            Self::Stopped => 130,
            Self::Silent(status) => *status,
        }
    }

    /// Prints the one line.
    pub fn print(&self) {
        match self {
            Self::Silent(_) => {}
            Self::Stopped => eprintln!("stopped"),
            other => eprintln!("error: {}", one_line(&other.to_string())),
        }
    }
}

/// Lines become parts of one line, runs of spaces one space.
pub fn one_line(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

macro_rules! from_errors {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let error = vasa::Error::from(error);
                match error.device_loss() {
                    Some(report) => Self::DeviceLost { report: report.clone(), text: error.to_string() },
                    None => Self::failed(error),
                }
            }
        }
    )*};
}

from_errors!(vasa::Error, vasa::vk::Error, vasa::scene::Error, vasa::streaming::Error);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_many_lines_is_printed_as_one() {
        assert_eq!(
            one_line("no device:\n  a: too old\n\n  b: lacks x\n"),
            "no device:; a: too old; b: lacks x"
        );
    }

    #[test]
    fn statuses_are_those_of_the_documentation() {
        let all = [Failure::Usage("x".into()), Failure::failed("x"), Failure::Stopped, Failure::Silent(1)];
        assert_eq!(all.map(|f| f.status()), [2, 1, 130, 1]);
    }
}
