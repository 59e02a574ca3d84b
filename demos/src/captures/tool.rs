//! RenderDoc, as it is in the process: it puts itself there when it launches a program.

use crate::failure::Failure;

/// What is said where there is no RenderDoc.
fn absent(why: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!(
        "--capture-vt-draws needs RenderDoc in the process, and there is none ({why}): run \
         `renderdoccmd capture -w -d . PROGRAM terrain --capture-vt-draws N`, or launch the program from RenderDoc's window"
    ))
}

#[cfg(any(windows, all(unix, not(any(target_os = "macos", target_os = "ios")))))]
mod system {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::ptr;

    use renderdoc::{RenderDoc, V112, V120};

    use super::absent;
    use crate::failure::{Failure, Result};

    /// The oldest interface that gives captures comments.
    type Api = RenderDoc<V120>;

    /// RenderDoc in this process. There is one Vulkan device in it, so that none needs to be named.
    pub struct Tool(Api);

    impl Tool {
        /// RenderDoc, if it is there.
        ///
        /// # Errors
        /// When it is not, or is too old.
        pub fn new() -> Result<Self> {
            Ok(Self(Api::new().map_err(|error| absent(&error))?))
        }

        /// A capture begins.
        ///
        /// # Errors
        /// When RenderDoc does not see the device.
        pub fn start(&mut self) -> Result<()> {
            self.0.start_frame_capture(ptr::null(), ptr::null());
            if self.0.is_frame_capturing() {
                return Ok(());
            }
            Err(Failure::failed(
                "RenderDoc is in the process, and does not see the Vulkan device: its layer must be registered and \
                 enabled (`renderdoccmd vulkanlayer --explain`)",
            ))
        }

        /// The capture ends and is written. Its name is `stem` and what RenderDoc adds. Gives back its path.
        ///
        /// # Errors
        /// When it was not written.
        pub fn keep(&mut self, stem: &Path, comment: &str) -> Result<PathBuf> {
            let path = self.end(stem)?;
            self.0.set_capture_file_comments(path.to_str(), comment);
            Ok(path)
        }

        /// The capture ends and its file goes. `DiscardFrameCapture` would not write it at all, but RenderDoc 1.24 uses a
        /// null pointer in it: of a chunk that only the other end of a capture makes.
        ///
        /// # Errors
        /// When the file stays.
        pub fn discard(&mut self, stem: &Path) -> Result<()> {
            let path = self.end(stem)?;
            fs::remove_file(&path)
                .map_err(|error| Failure::failed(format!("{} cannot be removed: {error}", path.display())))
        }

        fn end(&mut self, stem: &Path) -> Result<PathBuf> {
            let before = self.0.get_num_captures();
            RenderDoc::<V112>::set_capture_file_path_template(&mut self.0, stem);
            self.0.end_frame_capture(ptr::null(), ptr::null());
            let newest = self.0.get_num_captures().checked_sub(1).filter(|newest| *newest >= before);
            let newest = newest.and_then(|newest| self.0.get_capture(newest));
            newest.map(|(path, _)| path).ok_or_else(|| {
                Failure::failed(format!(
                    "RenderDoc wrote no capture {}: is there room on the disk?",
                    stem.display()
                ))
            })
        }
    }
}

#[cfg(not(any(windows, all(unix, not(any(target_os = "macos", target_os = "ios"))))))]
mod system {
    use std::path::{Path, PathBuf};

    use super::absent;
    use crate::failure::Result;

    /// There is no RenderDoc for this system.
    pub enum Tool {}

    impl Tool {
        /// Always fails.
        ///
        /// # Errors
        /// That there is no RenderDoc.
        pub fn new() -> Result<Self> {
            Err(absent(&"it does not run on this system"))
        }

        pub fn start(&mut self) -> Result<()> {
            match *self {}
        }

        pub fn keep(&mut self, _: &Path, _: &str) -> Result<PathBuf> {
            match *self {}
        }

        pub fn discard(&mut self, _: &Path) -> Result<()> {
            match *self {}
        }
    }
}

pub use system::Tool;
