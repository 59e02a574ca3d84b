//! Files of a run: complete or not there.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::stop;

/// The folder of `--out`. That it can be written is known before the first frame is drawn.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    screenshots: u32,
}

impl Output {
    /// Makes the folder where it is missing, and tries to write into it.
    ///
    /// # Errors
    /// When that fails, with the reason and what to do.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_by(folder, "--out")
    }

    /// [`Output::open`], for the folder of another flag.
    ///
    /// # Errors
    /// When that fails, with the reason and what to do.
    pub fn open_by(folder: &Path, flag: &str) -> Result<Self> {
        let refuse = |error: std::io::Error| {
            Failure::failed(format!(
                "the folder {} cannot be written ({error}): choose another with {flag}",
                folder.display()
            ))
        };
        fs::create_dir_all(folder).map_err(refuse)?;
        let probe = temporary(folder, "probe");
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(refuse)?;
        Ok(Self { folder: folder.into(), screenshots: 0 })
    }

    /// Writes a picture of RGBA pixels, rows from the top. Gives back its path.
    ///
    /// # Errors
    /// When the disk is full or the picture is not of that size.
    pub fn picture(&self, name: &str, size: [u32; 2], pixels: &[u8]) -> Result<PathBuf> {
        // The alpha channel says nothing, and viewers would blend with it.
        let rgb: Vec<u8> = pixels.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
        self.rgb(name, size, &rgb)
    }

    /// Writes a picture of RGB pixels, rows from the top. Gives back its path.
    ///
    /// # Errors
    /// When the disk is full or the picture is not of that size.
    pub fn rgb(&self, name: &str, size: [u32; 2], rgb: &[u8]) -> Result<PathBuf> {
        self.write(name, |file| {
            use image::ImageEncoder;
            if rgb.len() as u64 != u64::from(size[0]) * u64::from(size[1]) * 3 {
                return Err(std::io::Error::other("the frame that was read has another size"));
            }
            image::codecs::png::PngEncoder::new(file)
                .write_image(rgb, size[0], size[1], image::ExtendedColorType::Rgb8)
                .map_err(std::io::Error::other)
        })
    }

    /// Writes the next `screenshot-N.png` that does not exist yet.
    ///
    /// # Errors
    /// As [`Output::picture`].
    pub fn screenshot(&mut self, size: [u32; 2], pixels: &[u8]) -> Result<PathBuf> {
        loop {
            self.screenshots += 1;
            let name = format!("screenshot-{}.png", self.screenshots);
            if !self.folder.join(&name).exists() {
                return self.picture(&name, size, pixels);
            }
        }
    }

    /// Writes a text. Gives back its path.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn text(&self, name: &str, text: &str) -> Result<PathBuf> {
        self.write(name, |file| file.write_all(text.as_bytes()))
    }

    /// Writes a value as indented JSON. Gives back its path.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn json(&self, name: &str, value: &impl serde::Serialize) -> Result<PathBuf> {
        self.write(name, |file| {
            serde_json::to_writer_pretty(&mut *file, value)?;
            file.write_all(b"\n")
        })
    }

    /// Writes to a temporary name in the same folder, and renames when everything is on the disk.
    fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<PathBuf> {
        let (path, part) = (self.folder.join(name), temporary(&self.folder, name));
        let written = stop::without_interruption(|| {
            let mut file = BufWriter::new(File::create(&part)?);
            fill(&mut file)?;
            file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
            fs::rename(&part, &path)
        });
        match written {
            Ok(()) => Ok(path),
            Err(error) => {
                let _ = fs::remove_file(&part); // It may never have been made.
                Err(Failure::failed(format!("{} cannot be written: {error}", path.display())))
            }
        }
    }
}

fn temporary(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_complete_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::open(&folder.path().join("a/b")).unwrap();
        assert!(names(&folder.path().join("a/b")).is_empty(), "the probe is gone");
        let wrong = output.picture("frame.png", [2, 2], &[0; 12]);
        assert!(wrong.unwrap_err().to_string().contains("another size"));
        assert!(names(&folder.path().join("a/b")).is_empty(), "nothing half-written");
        let pixels = [10, 20, 30, 0, 40, 50, 60, 255];
        let path = output.picture("frame.png", [2, 1], &pixels).unwrap();
        assert_eq!(image::open(path).unwrap().to_rgb8().into_raw(), [10, 20, 30, 40, 50, 60]);
        assert_eq!(names(&folder.path().join("a/b")), ["frame.png"]);
    }

    #[test]
    fn screenshots_overwrite_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("screenshot-1.png"), "mine").unwrap();
        let mut output = Output::open(folder.path()).unwrap();
        let path = output.screenshot([1, 1], &[1, 2, 3, 4]).unwrap();
        assert!(path.ends_with("screenshot-2.png"), "{path:?}");
        assert_eq!(fs::read(folder.path().join("screenshot-1.png")).unwrap(), b"mine");
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = Output::open(&file.join("out")).unwrap_err();
        assert_eq!(refused.status(), 1);
        assert!(refused.to_string().contains("--out"), "{refused}");
    }
}
