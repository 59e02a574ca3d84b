//! What to do when the device is lost: a policy, and how often it may be tried again. Pure.
//!
//! ```text
//! Engine::render -> Err -> Error::device_loss() -> Recovery::decide -> drop the engine, then
//!                                                                        GoOn: nothing is drawn any more
//!                                                                        Recreate { load }: make it again
//!                                                                        Stop: end with the error
//! ```
//!
//! An engine is made again by dropping the old one with its device, swapchain and whatever else was made from them,
//! and calling [`Engine::new`](crate::Engine::new) or opening a device anew: in the same process, on the same window.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;
use crate::vk::{self, LossReport};
use crate::{graph, render, scene, sparse, streaming, vt};

/// What a program does when its device is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDeviceLost {
    /// Goes on without drawing.
    Ignore,
    /// Ends with the error.
    Stop,
    /// Makes the engine again, a few times.
    #[default]
    Recover,
}

impl fmt::Display for OnDeviceLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignore => "ignore",
            Self::Stop => "stop",
            Self::Recover => "recover",
        })
    }
}

impl FromStr for OnDeviceLost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Ignore, Self::Stop, Self::Recover];
        let found = all.into_iter().find(|policy| policy.to_string() == text);
        found.ok_or_else(|| "give ignore, stop or recover".into())
    }
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLoss {
    /// Nothing: the program goes on and draws nothing.
    GoOn,
    /// End with the error.
    Stop,
    /// Make the engine again.
    Recreate {
        /// Steps by which the load is to be lowered first: one more with every loss that memory explains.
        load: u32,
    },
}

/// Counts losses, so that one that comes back at once does not repeat for ever.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    policy: OnDeviceLost,
    tries: u32,
    load: u32,
    calm_frames: u32,
}

impl Recovery {
    /// Tries in a row before it ends with the error.
    pub const MOST_TRIES: u32 = 3;
    /// Frames drawn after which a loss counts as the first again.
    pub const CALM_FRAMES: u32 = 600;

    /// Nothing was lost yet.
    pub fn new(policy: OnDeviceLost) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Tries since the program was last calm.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// A frame was drawn.
    pub fn frame_drawn(&mut self) {
        self.calm_frames = self.calm_frames.saturating_add(1);
        if self.calm_frames >= Self::CALM_FRAMES {
            self.tries = 0;
        }
    }

    /// The device was lost. The load stays lowered for good: what was too much once is too much again.
    pub fn decide(&mut self, loss: &LossReport) -> AfterLoss {
        self.calm_frames = 0;
        match self.policy {
            OnDeviceLost::Ignore => AfterLoss::GoOn,
            OnDeviceLost::Stop => AfterLoss::Stop,
            OnDeviceLost::Recover if self.tries >= Self::MOST_TRIES => AfterLoss::Stop,
            OnDeviceLost::Recover => {
                self.tries += 1;
                self.load += u32::from(loss.memory_pressure.is_some());
                AfterLoss::Recreate { load: self.load }
            }
        }
    }
}

fn of_sparse(error: &sparse::Error) -> Option<&Arc<LossReport>> {
    match error {
        sparse::Error::Vulkan(error) => error.loss(),
        _ => None,
    }
}

fn of_scene(error: &scene::Error) -> Option<&Arc<LossReport>> {
    match error {
        scene::Error::Sparse(error) => of_sparse(error),
        scene::Error::Vulkan(error) => error.loss(),
        _ => None,
    }
}

impl Error {
    /// What is known of the loss of the device, if that is what this is, from whichever layer.
    pub fn device_loss(&self) -> Option<&Arc<LossReport>> {
        match self {
            Error::Vulkan(error) => vk::Error::loss(error),
            Error::Sparse(error) => of_sparse(error),
            Error::Scene(error) => of_scene(error),
            Error::Streaming(streaming::Error::Sparse(error)) => of_sparse(error),
            Error::Streaming(streaming::Error::Vulkan(error)) => error.loss(),
            Error::Textures(vt::VtError::Sparse(error)) => of_sparse(error),
            Error::Textures(error) => error.vulkan().and_then(vk::Error::loss),
            Error::Render(render::Error::Scene(error)) => of_scene(error),
            Error::Render(render::Error::Sparse(error)) => of_sparse(error),
            Error::Render(render::Error::Vulkan(error)) => error.loss(),
            Error::Graph(graph::Error::Pass { source, .. }) => {
                let scene = source.downcast_ref().and_then(of_scene);
                scene.or_else(|| source.downcast_ref().and_then(of_sparse))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn loss(by_memory: bool) -> LossReport {
        LossReport { memory_pressure: by_memory.then(|| "x".into()), ..LossReport::default() }
    }

    #[test]
    fn policies_have_names() {
        for policy in [OnDeviceLost::Ignore, OnDeviceLost::Stop, OnDeviceLost::Recover] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert!("panic".parse::<OnDeviceLost>().unwrap_err().contains("recover"));
    }

    #[test]
    fn losses_in_a_row_end_with_the_error() {
        let mut recovery = Recovery::new(OnDeviceLost::Recover);
        for _ in 0..3 {
            assert_eq!(recovery.decide(&loss(false)), AfterLoss::Recreate { load: 0 });
            (0..100).for_each(|_| recovery.frame_drawn());
        }
        assert_eq!(recovery.decide(&loss(false)), AfterLoss::Stop);
    }

    #[test]
    fn calm_makes_a_loss_the_first_again_and_keeps_the_load_low() {
        let mut recovery = Recovery::new(OnDeviceLost::Recover);
        for round in 1..10 {
            assert_eq!(recovery.decide(&loss(true)), AfterLoss::Recreate { load: round });
            (0..Recovery::CALM_FRAMES).for_each(|_| recovery.frame_drawn());
        }
        assert_eq!(recovery.decide(&loss(false)), AfterLoss::Recreate { load: 9 });
    }

    #[test]
    fn the_others_decide_at_once() {
        assert_eq!(Recovery::new(OnDeviceLost::Stop).decide(&loss(true)), AfterLoss::Stop);
        assert_eq!(Recovery::new(OnDeviceLost::Ignore).decide(&loss(true)), AfterLoss::GoOn);
    }

    proptest! {
        /// However losses and frames come: never a fourth try without calm between.
        #[test]
        fn there_are_no_more_tries_than_allowed(
            steps in prop::collection::vec((0..900u32, any::<bool>()), 1..40),
        ) {
            let mut recovery = Recovery::new(OnDeviceLost::Recover);
            let (mut in_a_row, mut load) = (0, 0);
            for (frames, by_memory) in steps {
                (0..frames).for_each(|_| recovery.frame_drawn());
                if frames >= Recovery::CALM_FRAMES {
                    in_a_row = 0;
                }
                let expected = if in_a_row == 3 {
                    AfterLoss::Stop
                } else {
                    in_a_row += 1;
                    load += u32::from(by_memory);
                    AfterLoss::Recreate { load }
                };
                prop_assert_eq!(recovery.decide(&loss(by_memory)), expected);
            }
        }
    }
}
