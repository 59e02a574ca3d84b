//! What can stop a measurement.

use std::path::PathBuf;

/// What can stop a measurement.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The Vulkan floor said no.
    #[error(transparent)]
    Vulkan(#[from] vasa::vk::Error),
    /// A reserved resource said no.
    #[error(transparent)]
    Sparse(#[from] vasa::sparse::Error),
    /// The frame graph said no.
    #[error(transparent)]
    Graph(#[from] vasa::graph::GraphError),
    /// A frame could not be run.
    #[error(transparent)]
    Frame(#[from] vasa::graph::Error),
    /// A recorded frame cannot be read.
    #[error(transparent)]
    Recorded(#[from] vasa::graph::recorded::RecordedError),
    /// The planner of virtual textures said no.
    #[error(transparent)]
    VirtualTextures(#[from] vasa::vt::PlannerError),
    /// A whole engine said no.
    #[error(transparent)]
    WholeEngine(#[from] vasa::Error),
    /// A part of the engine that is measured said no.
    #[error("{0}")]
    Engine(String),
    /// The JSON file cannot be written.
    #[error("cannot write {}: {source}; name a file in a folder you can write to", path.display())]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The JSON file holds something else than measurements.
    #[error("{} is not a file of measurements ({why}), so nothing is added to it; name another file", path.display())]
    NotMeasurements {
        /// The file asked for.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// The message as one line: a device report has a line a device.
    pub(crate) fn one_line(&self) -> String {
        self.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether the device has too little memory for what was measured.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Vulkan(error) | Self::Sparse(vasa::sparse::Error::Vulkan(error)) => {
                error.is_out_of_memory()
            }
            _ => false,
        }
    }

    /// Whether the device cannot do what was measured, by a feature or a limit.
    pub(crate) fn is_refusal(&self) -> bool {
        use vasa::vk::Error as VulkanError;
        let (Self::Vulkan(error) | Self::Sparse(vasa::sparse::Error::Vulkan(error))) = self else {
            return false;
        };
        matches!(
            error,
            VulkanError::Unsupported { .. } | VulkanError::Limit { .. } | VulkanError::Addresses(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_several_lines_becomes_one() {
        let error = Error::from(vasa::vk::Error::NoDevice { report: "-> a: taken\n   b: refused".into() });
        assert_eq!(error.one_line(), "no Vulkan device can run this: -> a: taken b: refused");
    }
}
