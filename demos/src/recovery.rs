//! After the device is lost: what the run does, and with how much less it begins again.

use std::collections::VecDeque;
use std::str::FromStr;

use vasa::ash::vk::BufferUsageFlags;
use vasa::vk::{Buffer, Device, Location, LossReport, Site};
use vasa::{AfterLoss, OnDeviceLost, Recovery};

use crate::failure::{Failure, Result};
use crate::knobs::Settings;

/// Losses so far, and those that are still to be had on purpose.
pub struct Losses {
    policy: OnDeviceLost,
    recovery: Recovery,
    /// Steps by which the settings are lowered already.
    lowered: u32,
    count: u64,
    on_purpose: VecDeque<InjectedLoss>,
}

/// `--inject-loss`: which submission of an engine loses the device; after `memory:` an allocation is refused first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectedLoss {
    submission: u64,
    by_memory: bool,
}

impl FromStr for InjectedLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (by_memory, number) = match text.strip_prefix("memory:") {
            Some(number) => (true, number),
            None => (false, text),
        };
        match number.parse() {
            Ok(submission) => Ok(Self { submission, by_memory }),
            Err(_) => Err("give the number of a submission, from 0, or memory:NUMBER".into()),
        }
    }
}

/// How a run goes on after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Make everything again.
    Again,
    /// Go on without drawing.
    WithoutDrawing,
}

impl Losses {
    /// None yet.
    pub fn new(policy: OnDeviceLost, on_purpose: &[InjectedLoss]) -> Self {
        Self {
            policy,
            recovery: Recovery::new(policy),
            lowered: 0,
            count: 0,
            on_purpose: on_purpose.iter().copied().collect(),
        }
    }

    /// How often the device was lost.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A frame was drawn.
    pub fn frame_drawn(&mut self) {
        self.recovery.frame_drawn();
    }

    /// Arms the next loss on purpose, if there is one.
    pub fn arm(&mut self, device: &std::sync::Arc<Device>) {
        let Some(next) = self.on_purpose.pop_front() else { return };
        if next.by_memory {
            device.faults().refuse(Site::Allocate, 0);
            let usage = BufferUsageFlags::STORAGE_BUFFER;
            // Refused, which is what it is for.
            let _ = Buffer::committed(device, "Refused", 64, usage, Location::Device);
        }
        device.faults().refuse(Site::Lose, next.submission);
    }

    /// The device was lost. Says on standard error what is done.
    ///
    /// # Errors
    /// The failure, where the run ends with it.
    pub fn handle(&mut self, failure: Failure, settings: &mut Settings) -> Result<Next> {
        let Failure::DeviceLost { report, .. } = &failure else { return Err(failure) };
        self.count += 1;
        match self.recovery.decide(report) {
            AfterLoss::Stop => {
                let tries = self.recovery.tries();
                if self.policy == OnDeviceLost::Recover {
                    eprintln!(
                        "the device was lost {tries} times in a row after being opened again: no more tries"
                    );
                }
                Err(failure)
            }
            AfterLoss::GoOn => {
                eprintln!("{failure}: going on without drawing");
                Ok(Next::WithoutDrawing)
            }
            AfterLoss::Recreate { load } => {
                let steps = load - self.lowered;
                lower(settings, steps);
                self.lowered = load;
                self.say(report, steps);
                Ok(Next::Again)
            }
        }
    }

    fn say(&self, report: &LossReport, steps: u32) {
        let less = if steps > 0 { ", with a lower load" } else { "" };
        eprintln!(
            "the device was lost during {} ({report}): everything is made again{less} (try {} of {})",
            report.during,
            self.recovery.tries(),
            Recovery::MOST_TRIES
        );
    }
}

/// Asks for less memory, step by step, where the eye sees it least first.
fn lower(settings: &mut Settings, steps: u32) {
    for _ in 0..steps {
        settings.sparse.cached_chunks = 0;
        settings.upload_bytes = (settings.upload_bytes / 2).max(4 << 20);
        settings.residency_budget = (settings.residency_budget / 2).max(8 << 20);
        settings.terrain_rocks /= 2.0;
        settings.terrain_reach = (settings.terrain_reach * 0.8).max(1.5);
        settings.render.samples = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(by_memory: bool) -> Failure {
        let report =
            LossReport { memory_pressure: by_memory.then(|| "full".into()), ..LossReport::default() };
        Failure::DeviceLost { text: "lost".into(), report: report.into() }
    }

    #[test]
    fn the_load_is_lowered_only_where_memory_was_short() {
        let mut settings = Settings::default();
        let mut losses = Losses::new(OnDeviceLost::Recover, &[]);
        assert_eq!(losses.handle(lost(false), &mut settings).ok(), Some(Next::Again));
        assert_eq!(settings, Settings::default());
        assert_eq!(losses.handle(lost(true), &mut settings).ok(), Some(Next::Again));
        let once = settings.clone();
        assert!(once.residency_budget < Settings::default().residency_budget);
        assert_eq!(losses.handle(lost(false), &mut settings).ok(), Some(Next::Again));
        assert_eq!(settings, once, "not again for the same loss");
        assert!(losses.handle(lost(false), &mut settings).is_err(), "no fourth try");
        assert_eq!(losses.count(), 4);
    }

    #[test]
    fn lowered_settings_stay_in_the_ranges_of_their_knobs() {
        let mut settings = Settings::default();
        lower(&mut settings, 40);
        assert!(settings.upload_bytes >= 1 << 20 && settings.residency_budget >= 1 << 20);
        assert!(settings.terrain_reach >= 1.5 && settings.terrain_rocks >= 0.0);
    }

    #[test]
    fn other_failures_are_handed_on() {
        let mut losses = Losses::new(OnDeviceLost::Recover, &[]);
        assert!(losses.handle(Failure::Stopped, &mut Settings::default()).is_err());
        assert_eq!(losses.count(), 0);
    }

    #[test]
    fn losses_on_purpose_are_read() {
        assert_eq!("7".parse(), Ok(InjectedLoss { submission: 7, by_memory: false }));
        assert_eq!("memory:0".parse(), Ok(InjectedLoss { submission: 0, by_memory: true }));
        assert!("soon".parse::<InjectedLoss>().unwrap_err().contains("from 0"));
    }
}
