//! Faults on purpose: the choke points count their calls and can be told to refuse one.
//!
//! For tests of an application's own: whatever it does when memory runs out or a bind is refused can be tried on
//! any machine, for every call that it makes.
//!
//! ```no_run
//! # fn example(device: &vasa::vk::Device, mut scene: impl FnMut() -> Result<(), vasa::Error>) {
//! use vasa::vk::faults::Site;
//! let before = device.faults().calls(Site::Allocate);
//! scene().unwrap();
//! for nth in 0..device.faults().calls(Site::Allocate) - before {
//!     device.faults().refuse(Site::Allocate, nth);
//!     assert!(scene().is_err());
//! }
//! # }
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

/// A choke point that can be told to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Site {
    /// Device memory: chunks and ranges of the static heap. Fails with out of device memory.
    Allocate = 0,
    /// `vkQueueBindSparse`. Fails with out of device memory.
    Bind = 1,
    /// `vkQueueSubmit2`. Fails with out of host memory.
    Submit = 2,
    /// `vkQueueSubmit2` again: the device is lost, and stays so.
    Lose = 3,
    /// `vkQueueBindSparse` again: the device is lost, and stays so.
    LoseInBind = 4,
}

impl Site {
    /// All of them.
    pub const ALL: [Site; 5] = [Site::Allocate, Site::Bind, Site::Submit, Site::Lose, Site::LoseInBind];

    fn result(self) -> vk::Result {
        match self {
            Site::Allocate | Site::Bind => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
            Site::Submit => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            Site::Lose | Site::LoseInBind => vk::Result::ERROR_DEVICE_LOST,
        }
    }
}

/// Never: calls are counted from 1.
const NEVER: u64 = 0;

/// Counts calls and refuses the one that it was told to.
#[derive(Debug, Default)]
pub struct Faults {
    calls: [AtomicU64; Site::ALL.len()],
    refuse: [AtomicU64; Site::ALL.len()],
}

impl Faults {
    /// Calls at a site so far, refused ones included.
    pub fn calls(&self, site: Site) -> u64 {
        self.calls[site as usize].load(Ordering::Acquire)
    }

    /// Refuses one call at a site: the next one for `nth` = 0, the one after it for 1, and so on. Replaces what was
    /// asked for before.
    pub fn refuse(&self, site: Site, nth: u64) {
        let call = self.calls(site).saturating_add(nth).saturating_add(1);
        self.refuse[site as usize].store(call, Ordering::Release);
    }

    /// Refuses nothing any more. Returns whether something was still to be refused.
    pub fn clear(&self) -> bool {
        let left = Site::ALL.map(|site| {
            let refused = self.refuse[site as usize].swap(NEVER, Ordering::AcqRel);
            refused > self.calls(site)
        });
        left.contains(&true)
    }

    /// Counts a call; the answer that it gets instead of the driver's, if it is refused.
    pub(super) fn call(&self, site: Site) -> Result<(), vk::Result> {
        let call = self.calls[site as usize].fetch_add(1, Ordering::AcqRel) + 1;
        if self.refuse[site as usize].load(Ordering::Acquire) == call { Err(site.result()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_call_that_was_named_is_refused() {
        let faults = Faults::default();
        assert!(faults.call(Site::Bind).is_ok());
        faults.refuse(Site::Bind, 1);
        assert!(faults.call(Site::Allocate).is_ok(), "another site");
        assert!(faults.call(Site::Bind).is_ok());
        assert_eq!(faults.call(Site::Bind), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        assert!(faults.call(Site::Bind).is_ok(), "once");
        assert_eq!(faults.calls(Site::Bind), 4);
        assert!(!faults.clear(), "nothing was left");
        faults.refuse(Site::Submit, 0);
        assert!(faults.clear());
        assert!(faults.call(Site::Submit).is_ok());
    }
}
