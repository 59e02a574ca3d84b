//! `demos devices`: what was seen, what would be taken, why not the others.

use serde::Serialize;
use vasa::vk::select::{Candidate, DeviceReport};
use vasa::vk::{self, DeviceOptions, Instance, InstanceOptions, Validation};

use crate::cli::DevicesArgs;
use crate::failure::{Failure, Result, one_line};

/// The JSON form, which other tools read.
#[derive(Debug, Serialize)]
struct Report {
    chosen: Option<usize>,
    devices: Vec<Device>,
    loader_error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Device {
    name: String,
    driver: String,
    api: String,
    #[serde(rename = "type")]
    device_type: vk::capabilities::DeviceType,
    sparse_tier: vk::SparseTier,
    sparse_binding: bool,
    usable: bool,
    reasons: Vec<String>,
}

impl From<&Candidate> for Device {
    fn from(c: &Candidate) -> Self {
        Self {
            name: c.name.clone(),
            driver: c.driver.clone(),
            api: c.api.clone(),
            device_type: c.device_type,
            sparse_tier: c.sparse_tier,
            sparse_binding: c.sparse_binding,
            usable: c.usable,
            reasons: c.reasons.clone(),
        }
    }
}

/// Prints the report.
///
/// # Errors
/// Silently, with exit status 1, when no device is usable: the report said why.
pub fn run(args: &DevicesArgs) -> Result<()> {
    let answer = ask();
    let usable = answer.as_ref().is_ok_and(|report| report.chosen.is_some());
    if args.json {
        let report = match &answer {
            Ok(found) => Report {
                chosen: found.chosen,
                devices: found.devices.iter().map(Device::from).collect(),
                loader_error: None,
            },
            Err(error) => {
                Report { chosen: None, devices: Vec::new(), loader_error: Some(one_line(&error.to_string())) }
            }
        };
        let text = serde_json::to_string_pretty(&report).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        match answer {
            Ok(report) => println!("{}", report.table()),
            Err(error) => return Err(error.into()),
        }
    }
    if usable { Ok(()) } else { Err(Failure::Silent(1)) }
}

fn ask() -> vk::Result<DeviceReport> {
    let options = InstanceOptions {
        application: "vasa demos".into(),
        validation: Validation::Off,
        ..InstanceOptions::default()
    };
    vk::device::report(&*Instance::new(options)?, &DeviceOptions::default())
}
