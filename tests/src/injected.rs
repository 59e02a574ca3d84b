//! Refusing one call of those that the engine makes, and none of those that the test makes.

use vasa::vk::{Device, Site};

/// Refuses the `nth` call at a site, counted over everything that runs [under it](Injector::watch).
#[derive(Debug)]
pub struct Injector {
    site: Site,
    /// Calls to let through; `None` once it has refused, or where it only counts.
    left: Option<u64>,
    calls: u64,
}

impl Injector {
    /// Refuses nothing, counts calls.
    pub fn counting(site: Site) -> Self {
        Self { site, left: None, calls: 0 }
    }

    /// Refuses the `nth` call (from 0).
    pub fn refusing(site: Site, nth: u64) -> Self {
        Self { site, left: Some(nth), calls: 0 }
    }

    /// Runs something of the engine's.
    pub fn watch<T>(&mut self, device: &Device, run: impl FnOnce() -> T) -> T {
        let faults = device.faults();
        let before = faults.calls(self.site);
        if let Some(left) = self.left {
            faults.refuse(self.site, left);
        }
        let result = run();
        faults.clear();
        let made = faults.calls(self.site) - before;
        self.calls += made;
        self.left = self.left.and_then(|left| left.checked_sub(made));
        result
    }

    /// Where it refuses.
    pub fn site(&self) -> Site {
        self.site
    }

    /// Calls seen.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether it has still to refuse something.
    pub fn is_armed(&self) -> bool {
        self.left.is_some()
    }
}
