//! Device loss: noticed once, remembered with what was known then, and the device is left alone from there on.
//!
//! ```text
//! a call answers DEVICE_LOST -> noticed() -> LossReport: breadcrumbs, device fault, memory     (once)
//! any later call             -> alive()   -> Error::DeviceLost with that report                (no Vulkan call)
//! a dropped handle           -> forgotten: counted as gone, never destroyed
//! ```
//!
//! Waits return at once. Commands of a recording that is open already still go into host memory; it cannot be ended
//! or submitted. Device and instance are not destroyed either, so their memory stays with the process: an engine that
//! is made again opens a device of its own.

use std::ffi::{CStr, FromBytesUntilNulError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;
use serde::Serialize;

use super::breadcrumbs::{PassMark, QueuePasses};
use super::bytes::Bytes;
use super::device::Device;
use super::error::{Error, Result};
use super::faults::Site;
use super::timeline::Timeline;

/// Submissions after a refused allocation within which a loss is put down to memory.
const PRESSURE_SUBMISSIONS: u64 = 240;

/// What was known when a device was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// The call that noticed it.
    pub during: &'static str,
    /// The last pass that each queue began and finished.
    pub queues: Vec<QueuePasses>,
    /// What `VK_EXT_device_fault` says, where the device has it.
    pub fault: Option<String>,
    /// Why the loss may be one of memory; `None` where nothing points to it.
    pub memory_pressure: Option<String>,
}

impl LossReport {
    /// Whether passes were begun and not finished, or anything else is known.
    fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.fault.is_none() && self.memory_pressure.is_none()
    }
}

struct Shown<'a>(&'a Option<PassMark>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(PassMark { pass, number }) => write!(f, "{pass} (pass {number})"),
            None => f.write_str("nothing"),
        }
    }
}

/// Parts joined by `; `, each queue one of them.
impl fmt::Display for LossReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no pass is known to have run");
        }
        let mut parts: Vec<String> = Vec::new();
        for QueuePasses { queue, started, finished } in &self.queues {
            parts.push(match started == finished {
                true => format!("{queue:?}: {} finished, nothing begun after it", Shown(finished)),
                false => format!("{queue:?}: in {}, last finished {}", Shown(started), Shown(finished)),
            });
        }
        parts.extend(self.fault.iter().map(|text| format!("device fault: {text}")));
        parts.extend(self.memory_pressure.iter().map(|text| format!("memory was short: {text}")));
        f.write_str(&parts.join("; "))
    }
}

impl Device {
    /// Whether the device was lost: every call fails and nothing is destroyed any more.
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// What was known when the device was lost; `None` while it is not.
    pub fn loss(&self) -> Option<&Arc<LossReport>> {
        self.lost.get()
    }

    /// Stands before every call that reaches the device.
    pub(super) fn alive(&self, during: &'static str) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(report) => Err(Error::DeviceLost { during, last_passes: report.clone() }),
        }
    }

    /// Remembers a device loss that an error reports, and hands the error on with what is known.
    pub(super) fn noticed(&self, error: Error) -> Error {
        match error {
            Error::DeviceLost { during, .. } => self.lose(during, true),
            other => other,
        }
    }

    /// Counts a call that may lose the device on purpose. The driver does not know of such a loss, so it is not asked
    /// about it.
    pub(super) fn lose_on_purpose(&self, site: Site, during: &'static str) -> Result<()> {
        self.faults.call(site).map_err(|_| {
            // The device works: with what it has done, the report is the same each time.
            let submitted = Timeline::ALL.map(|timeline| self.submitted(timeline));
            let _ = self.wait(&submitted);
            self.lose(during, false)
        })
    }

    fn lose(&self, during: &'static str, ask_driver: bool) -> Error {
        let report = self.lost.get_or_init(|| {
            let report = LossReport {
                during,
                queues: self.breadcrumbs(),
                fault: if ask_driver { self.device_fault() } else { None },
                memory_pressure: self.memory_pressure(),
            };
            log::error!("{} was lost during {during}: {report}", self.capabilities().name);
            Arc::new(report)
        });
        Error::DeviceLost { during, last_passes: report.clone() }
    }

    /// Notes that an allocation was refused.
    pub(super) fn note_pressure(&self) {
        let now = self.submitted(Timeline::Graphics).value + 1;
        self.pressure.store(now, Ordering::Release);
    }

    fn memory_pressure(&self) -> Option<String> {
        let refused = self.pressure.load(Ordering::Acquire);
        let now = self.submitted(Timeline::Graphics).value + 1;
        if refused > 0 && now.saturating_sub(refused) <= PRESSURE_SUBMISSIONS {
            return Some(format!("an allocation was refused {} submissions before", now - refused));
        }
        let heaps = self.capabilities().heaps.iter().enumerate().filter(|(_, heap)| heap.device_local);
        heaps.map(|(index, heap)| (index, heap.bytes, self.counters.heap_bytes(index as u32))).find_map(
            |(index, size, used)| {
                let full = used >= size / 10 * 9 && size > 0;
                full.then(|| format!("heap {index} of {} was used to {}", Bytes(size), Bytes(used)))
            },
        )
    }

    /// Asks `VK_EXT_device_fault`: the one call that is meant for a lost device.
    fn device_fault(&self) -> Option<String> {
        let functions = self.fault.as_ref()?;
        let ask = functions.fp().get_device_fault_info_ext;
        let mut counts = vk::DeviceFaultCountsEXT::default();
        // SAFETY: the extension and its feature are enabled, the device has just answered that it is lost, and the
        // null pointer asks for counts only.
        let answer = unsafe { ask(functions.device(), &mut counts, std::ptr::null_mut()) };
        if !matches!(answer, vk::Result::SUCCESS | vk::Result::INCOMPLETE) {
            return Some(format!("none can be told ({answer})"));
        }
        let mut addresses =
            vec![vk::DeviceFaultAddressInfoEXT::default(); counts.address_info_count as usize];
        let mut vendor = vec![vk::DeviceFaultVendorInfoEXT::default(); counts.vendor_info_count as usize];
        // The binary dump is another feature, which is not enabled.
        counts.vendor_binary_size = 0;
        let mut info = vk::DeviceFaultInfoEXT {
            p_address_infos: addresses.as_mut_ptr(),
            p_vendor_infos: vendor.as_mut_ptr(),
            ..Default::default()
        };
        // SAFETY: as above; the arrays have the lengths that `counts` says and outlive the call.
        let answer = unsafe { ask(functions.device(), &mut counts, &mut info) };
        if !matches!(answer, vk::Result::SUCCESS | vk::Result::INCOMPLETE) {
            return Some(format!("none can be told ({answer})"));
        }
        addresses.truncate(counts.address_info_count as usize);
        vendor.truncate(counts.vendor_info_count as usize);
        let text = |text: Result<&CStr, FromBytesUntilNulError>| {
            text.unwrap_or_default().to_string_lossy().trim().to_owned()
        };
        let mut parts = vec![text(info.description_as_c_str())];
        parts.extend(addresses.iter().map(|a| {
            let kind = fault_kind(a.address_type);
            // The precision is a power of two: the address may be anywhere in the block of that size.
            format!("{kind} {:#x} (within {} bytes)", a.reported_address, a.address_precision)
        }));
        parts.extend(vendor.iter().map(|v| {
            let words = text(v.description_as_c_str());
            format!("{words} (code {:#x}, data {:#x})", v.vendor_fault_code, v.vendor_fault_data)
        }));
        parts.retain(|part| !part.is_empty());
        Some(if parts.is_empty() { "the driver knows nothing".into() } else { parts.join(", ") })
    }
}

fn fault_kind(kind: vk::DeviceFaultAddressTypeEXT) -> &'static str {
    match kind {
        vk::DeviceFaultAddressTypeEXT::READ_INVALID => "invalid read at",
        vk::DeviceFaultAddressTypeEXT::WRITE_INVALID => "invalid write at",
        vk::DeviceFaultAddressTypeEXT::EXECUTE_INVALID => "invalid execution at",
        vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_UNKNOWN
        | vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_INVALID
        | vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_FAULT => "instruction pointer",
        _ => "address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(pass: &str, number: u32) -> Option<PassMark> {
        Some(PassMark { pass: pass.into(), number })
    }

    #[test]
    fn a_report_reads_as_one_line() {
        let report = LossReport {
            during: "vkQueueSubmit2",
            queues: vec![
                QueuePasses {
                    queue: Timeline::Graphics,
                    started: mark("BasePass", 12),
                    finished: mark("Culling", 11),
                },
                QueuePasses {
                    queue: Timeline::Transfer,
                    started: mark("Upload", 3),
                    finished: mark("Upload", 3),
                },
            ],
            fault: Some("invalid write at 0x10 (within 4096 bytes)".into()),
            memory_pressure: None,
        };
        insta::assert_snapshot!(report, @"Graphics: in BasePass (pass 12), last finished Culling (pass 11); Transfer: Upload (pass 3) finished, nothing begun after it; device fault: invalid write at 0x10 (within 4096 bytes)");
        insta::assert_snapshot!(LossReport::default(), @"no pass is known to have run");
    }
}
