//! `cargo xtask driver`: what was seen, why each device was taken or refused, and what would be used.

use super::cache::{self, Installed};
use super::decide::{self, Decision, Explicit};
use super::env::ChildEnv;
use super::report::{self, Report};
use super::{Wanted, prepare};
use crate::cli::{DriverArgs, DriverChoice};
use crate::error::Error;
use crate::workspace;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Runs `cargo xtask driver`.
///
/// # Errors
///
/// As [`prepare`] with `env`; without it only if the demos cannot be built or asked.
pub fn show(env: bool, json: bool, args: &DriverArgs) -> Result<u8, Error> {
    let demos = workspace::demos()?;
    if env {
        let prepared = prepare(&demos, Wanted { choice: args.driver, yes: args.yes, layers: true })?;
        let device = format!("# {} ({})\n", prepared.device.name, prepared.device.driver);
        print(&(device + &prepared.env.exports()));
        return Ok(0);
    }
    let seen = Seen::look(&demos, args.driver)?;
    print(&if json { format!("{:#}\n", seen.json()) } else { seen.text() });
    Ok(0)
}

/// To stdout; a reader that has gone (`| head`) has what it wanted.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Everything there is to tell.
struct Seen {
    system: Report,
    cached: Option<(Installed, Report)>,
    decision: Result<Decision, String>,
}

impl Seen {
    fn look(demos: &Path, choice: DriverChoice) -> Result<Self, Error> {
        let system = report::ask(demos, &ChildEnv::default())?;
        let cached = match cache::find() {
            Some(installed) => {
                let report = report::ask(demos, &ChildEnv::software(&installed.files()))?;
                Some((installed, report))
            }
            None => None,
        };
        let explicit = Explicit::from_env();
        let checked = match &explicit {
            Some(explicit) if choice != DriverChoice::Software => explicit.check(),
            _ => Ok(()),
        };
        let decision = checked.and_then(|()| decide::decide(choice, explicit.as_ref(), &system));
        Ok(Self { system, cached, decision: decision.map_err(|error| error.to_string()) })
    }

    fn json(&self) -> serde_json::Value {
        let (takes, why) = match &self.decision {
            Ok(Decision::System(why)) => ("system", why),
            Ok(Decision::Software(why)) => ("software", why),
            Err(why) => ("none", why),
        };
        let software = self.cached.as_ref().map(|(installed, report)| {
            json!({ "folder": installed.folder, "mesa": installed.stamp.mesa, "report": report })
        });
        let places: Vec<_> = cache::bases().into_iter().map(|base| base.join(cache::key())).collect();
        json!({ "takes": takes, "why": why, "system": self.system, "software": software, "places": places })
    }

    fn text(&self) -> String {
        let mut text = "The system's devices:\n".to_owned();
        describe(&mut text, &self.system);
        match &self.cached {
            Some((installed, report)) => {
                text.push_str(&format!(
                    "The software driver, Mesa {} in {}:\n",
                    installed.stamp.mesa,
                    installed.folder.display()
                ));
                describe(&mut text, report);
            }
            None => {
                let base = cache::bases().into_iter().next().unwrap_or_default();
                text.push_str(&format!(
                    "The software driver: not fetched yet; it would be in {}\n",
                    base.join(cache::key()).display()
                ));
            }
        }
        text.push_str(&match &self.decision {
            Ok(Decision::System(why)) => format!("Used: the system's driver ({why})\n"),
            Ok(Decision::Software(why)) if self.cached.is_some() => format!("Used: the software driver ({why})\n"),
            Ok(Decision::Software(why)) => format!(
                "Used: the software driver, once it is fetched ({why}); demo, test and bench do so, and so does \
                 `cargo xtask driver --env`\n"
            ),
            Err(why) => format!("Used: none: {why}\n"),
        });
        text
    }
}

/// One line a device, its reasons under it.
fn describe(text: &mut String, report: &Report) {
    if let Some(error) = &report.loader_error {
        text.push_str(&format!("  none: {error}\n"));
    } else if report.devices.is_empty() {
        text.push_str("  none: the Vulkan loader is there, and no driver\n");
    }
    for (index, device) in report.devices.iter().enumerate() {
        let mark = if report.chosen == Some(index) {
            "taken"
        } else if device.usable {
            "usable"
        } else {
            "refused"
        };
        text.push_str(&format!(
            "  {mark}: {} ({}), Vulkan {}, {}, sparse tier {}\n",
            device.name,
            device.driver,
            device.api,
            format!("{:?}", device.kind).to_lowercase(),
            device.sparse_tier,
        ));
        for reason in &device.reasons {
            text.push_str(&format!("    {reason}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::{Device, DeviceKind};
    use super::*;

    fn seen() -> Seen {
        let device = |name: &str, usable, reason: &str| Device {
            name: name.to_owned(),
            kind: DeviceKind::Discrete,
            usable,
            sparse_tier: "none".to_owned(),
            reasons: vec![reason.to_owned()],
            ..Device::default()
        };
        let devices = vec![device("Old", false, "Vulkan 1.2"), device("New", true, "score 9")];
        let system = Report { chosen: Some(1), devices, loader_error: None };
        Seen { system, cached: None, decision: Ok(Decision::System("New is a GPU".to_owned())) }
    }

    #[test]
    fn every_device_and_its_reasons_are_shown() {
        let text = seen().text();
        for part in
            ["refused: Old", "Vulkan 1.2", "taken: New", "score 9", "not fetched yet", "Used: the system's"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn the_json_says_what_is_taken() {
        let json = seen().json();
        assert_eq!(json["takes"], "system");
        assert_eq!(json["system"]["devices"][0]["usable"], false);
        assert!(json["software"].is_null());
    }
}
