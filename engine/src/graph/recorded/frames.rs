//! Frames to measure on, without a GPU: captured from the demos, and written after large renderers.

use super::{Declaration, RecordedError, read};

/// A frame that comes with the engine.
#[derive(Debug, Clone, Copy)]
pub struct RecordedFrame {
    /// Short name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    pub(super) text: &'static str,
}

impl RecordedFrame {
    /// The declaration, with what its transients need.
    ///
    /// # Errors
    /// When the file does not fit this build.
    pub fn declaration(&self) -> Result<Declaration, RecordedError> {
        read(self.name, self.text)
    }
}

/// Frames of the demos, by `--dump-graph`, with what their drivers asked for.
pub const CAPTURED: &[RecordedFrame] = &[
    RecordedFrame {
        name: "vasa-terrain",
        about: "the terrain demo at 1280 x 720 with all effects, recorded on an NVIDIA H200, async compute",
        text: include_str!("vasa_terrain.json"),
    },
    RecordedFrame {
        name: "vasa-residency",
        about: "the residency demo at 1280 x 720 with all effects, recorded on lavapipe, tiles being streamed",
        text: include_str!("vasa_residency.json"),
    },
];

/// Frames written after large renderers. Sizes and alignments are those that drivers commonly ask for.
pub const FRAMES: &[RecordedFrame] = &[
    RecordedFrame {
        name: "deferred",
        about: "deferred shading at 2560 x 1440, ambient occlusion, reflections, a full post chain, async compute",
        text: include_str!("deferred.json"),
    },
    RecordedFrame {
        name: "terrain",
        about: "forward terrain at 1920 x 1080 with four samples, erosion and mesh building in compute",
        text: include_str!("terrain.json"),
    },
    RecordedFrame {
        name: "virtual-texturing",
        about: "a visibility buffer at 3840 x 2160 over virtual textures: feedback, transcoding, uploads, commits",
        text: include_str!("virtual_texturing.json"),
    },
    RecordedFrame {
        name: "shadows",
        about: "1920 x 1080 with cascades, 24 spot lights and 6 point lights, filtered and blurred maps",
        text: include_str!("shadows.json"),
    },
    RecordedFrame {
        name: "two-views",
        about: "two views of 2064 x 2208 one after the other, shared shadows, foveated post chain",
        text: include_str!("two_views.json"),
    },
];
