//! Scenes: what each demo draws, and where its camera flies.

mod pressure;
mod residency;
mod terrain;
mod terrain_flight;

pub use pressure::PressureScene;
pub use residency::ResidencyScene;
pub use terrain::TerrainScene;

use glam::Vec3;
use vasa::Engine;
use vasa::render::View;
use vasa::scene::Camera;

use crate::failure::Result;
use crate::knobs::Settings;
use crate::output::Output;
use crate::progress::Progress;

/// One demo's world.
pub trait Scene {
    /// Name, as on the command line and in `stats.json`.
    fn name(&self) -> &'static str;

    /// Changes knobs that an argument of the scene's own implies.
    fn adjust(&self, _settings: &mut Settings) {}

    /// Reads files and prepares what needs no device, so that bad input is known before a window opens.
    ///
    /// # Errors
    /// A line that names the file and says what to do.
    fn load(&mut self, progress: &Progress) -> Result<()>;

    /// Puts everything into the engine's scene.
    ///
    /// # Errors
    /// When the device has no memory.
    fn build(&mut self, engine: &mut Engine, settings: &Settings, progress: &Progress) -> Result<()>;

    /// Takes over live knobs, before each frame.
    fn before_frame(&mut self, _engine: &mut Engine, _settings: &Settings) {}

    /// Looks at a frame that was drawn.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn after_frame(&mut self, _engine: &mut Engine, _output: &Output) -> Result<()> {
        Ok(())
    }

    /// Draws of pages of virtual textures that are captured, one capture each.
    fn page_draws(&self) -> u32 {
        0
    }

    /// Frames of a run without a window that does not say how many.
    fn frames(&self) -> u32 {
        120
    }

    /// The scripted camera at a share of the flight, from 0 to 1.
    fn flight(&self, share: f32) -> Camera;

    /// The scripted camera at a frame of so many, and whether it has nothing to do with the one before.
    fn scripted(&self, frame: u32, frames: u32) -> (Camera, bool) {
        (self.flight(share_of(frame, frames)), false)
    }

    /// Height of the ground in metres, for cameras flown by hand.
    fn ground(&self, x: f32, z: f32) -> f32;

    /// The page of a virtual texture that the ground shows at a place, and why it is there.
    fn page_at(&self, _engine: &Engine, _place: Vec3) -> Option<String> {
        None
    }

    /// A good speed for flying by hand, metres a second.
    fn speed(&self) -> f32;

    /// What is seen by a camera at a time in seconds.
    fn view(&self, settings: &Settings, camera: Camera, time: f32) -> View;

    /// Writes files of its own beside picture and numbers, after the last frame, which `camera` saw.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn conclude(&self, _engine: &Engine, _output: &Output, _camera: &Camera) -> Result<()> {
        Ok(())
    }
}

/// Share of the flight at a frame: the last frame ends it, whatever the number of frames.
pub fn share_of(frame: u32, frames: u32) -> f32 {
    if frames <= 1 { 1.0 } else { frame as f32 / (frames - 1) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_is_the_end_of_the_flight() {
        assert_eq!(share_of(0, 1), 1.0);
        assert_eq!((share_of(0, 120), share_of(119, 120)), (0.0, 1.0));
    }
}
