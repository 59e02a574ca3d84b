//! Images that live across frames: two each, what the last frame wrote and what this one does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::Result;
use crate::graph::{ImageInfo, ImportState, LeftState};
use crate::vk::{Device, Image};

/// One image with history.
#[derive(Debug)]
pub(super) struct Entry {
    info: ImageInfo,
    images: [Option<Image>; 2],
    left: [Option<LeftState>; 2],
    /// Which of the two is the previous frame's.
    previous: usize,
    is_valid: bool,
    frame: u64,
}

/// What a frame finds of an image with history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// How the last frame left it; `None` where it did not write it.
    pub(super) previous: Option<LeftState>,
    pub(super) current: ImportState,
}

#[derive(Debug, Default)]
pub(super) struct History {
    entries: BTreeMap<&'static str, Entry>,
}

impl History {
    /// What there is of an image. One that changes its description, or was not written by the frame before, begins anew.
    pub(super) fn find(&mut self, name: &'static str, info: ImageInfo, frame: u64) -> Found {
        let fresh =
            || Entry { info, images: [None, None], left: [None; 2], previous: 0, is_valid: false, frame };
        let entry = self.entries.entry(name).or_insert_with(fresh);
        if entry.info != info {
            *entry = fresh();
        }
        // Whoever skipped a frame has no last frame.
        entry.is_valid &= entry.frame + 1 >= frame;
        let state = |left: Option<LeftState>| left.map_or(ImportState::Undefined, ImportState::After);
        Found {
            previous: entry.left[entry.previous].filter(|_| entry.is_valid),
            current: state(entry.left[1 - entry.previous]),
        }
    }

    /// Makes the images, once their usage is known. A use that is new makes them anew; what was there is lost then.
    /// Returns whether it was.
    pub(super) fn make(&mut self, device: &Arc<Device>, name: &'static str, used: ImageInfo) -> Result<bool> {
        let Some(entry) = self.entries.get_mut(name) else { return Ok(false) };
        let mut is_new = false;
        for image in &mut entry.images {
            let has_all = image.as_ref().is_some_and(|image| {
                image.desc().usage.contains(ash::vk::ImageUsageFlags::from_raw(used.usage))
            });
            if !has_all {
                // Any queue may read it: which do may change from frame to frame.
                *image = Some(Image::committed_shared(device, name, used.desc())?);
                is_new = true;
            }
        }
        if is_new {
            (entry.left, entry.is_valid) = ([None; 2], false);
        }
        Ok(is_new)
    }

    /// The previous frame's image and this frame's.
    pub(super) fn images(&self, name: &str) -> Option<[&Image; 2]> {
        let entry = self.entries.get(name)?;
        let [first, second] = &entry.images;
        let images = [first.as_ref()?, second.as_ref()?];
        Some(if entry.previous == 0 { images } else { [images[1], images[0]] })
    }

    /// The frame that was submitted left the two so.
    pub(super) fn submitted(
        &mut self,
        name: &'static str,
        previous: Option<LeftState>,
        current: Option<LeftState>,
        frame: u64,
    ) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let at = entry.previous;
        entry.left[at] = previous.or(entry.left[at]);
        entry.left[1 - at] = current.or(entry.left[1 - at]);
        entry.is_valid = current.is_some();
        if current.is_some() {
            entry.previous = 1 - at;
        }
        entry.frame = frame;
    }

    /// Nobody knows what is in it: the next frame begins anew.
    pub(super) fn forget(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Drops what no frame has asked for lately.
    pub(super) fn forget_old(&mut self, frame: u64) {
        const REMEMBERED: u64 = 8;
        self.entries.retain(|_, entry| entry.frame + REMEMBERED > frame);
    }
}
