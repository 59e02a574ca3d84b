//! What happens when memory is short: whoever can gives something back, and the allocation is tried again.
//!
//! ```text
//! allocation refused -> every registered Reclaim trims -> what the GPU still uses is waited for -> tried once more
//!                                                                                              -> OutOfMemory
//! ```

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use ash::vk;

use super::bytes::Bytes;
use super::device::Device;
use super::error::{Error, Result};
use super::owners::OwnerBytes;

/// A limit that is none.
pub(super) const NO_LIMIT: u64 = u64::MAX;

/// A pool that can give memory back without losing what is needed: caches, chunks that are kept ready, empty ones.
///
/// It is asked on the thread whose allocation was refused, with whatever locks that thread holds: an implementation
/// takes only locks that it gets at once, and allocates no device memory.
pub trait Reclaim: Send + Sync {
    /// Name, as shown.
    fn name(&self) -> &str;

    /// Gives back about `bytes`, as far as it can. Returns the bytes that become free, at once or when the GPU is done
    /// with them.
    fn trim(&self, bytes: u64) -> u64;
}

/// Everybody who can give something back, in the order in which they came.
#[derive(Default)]
pub(super) struct Reclaimers {
    list: Mutex<Vec<Weak<dyn Reclaim>>>,
}

impl Reclaimers {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Weak<dyn Reclaim>>> {
        // Entries are pushed and dropped whole.
        self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn add(&self, reclaim: &Arc<dyn Reclaim>) {
        let mut list = self.lock();
        list.retain(|known| known.strong_count() > 0);
        list.push(Arc::downgrade(reclaim));
    }

    /// Asks one after the other until enough was given.
    fn trim(&self, bytes: u64) -> Trimmed {
        let alive: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        let mut trimmed = Trimmed::default();
        for reclaim in alive {
            let wanted = bytes.saturating_sub(trimmed.bytes());
            if wanted == 0 {
                break;
            }
            let freed = reclaim.trim(wanted);
            if freed > 0 {
                trimmed.by.push((reclaim.name().to_owned(), freed));
            }
        }
        trimmed
    }
}

/// Who gave how much back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Names and bytes, in the order in which they were asked; without those who had nothing.
    pub by: Vec<(String, u64)>,
}

impl Trimmed {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.by.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

impl fmt::Display for Trimmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by.is_empty() {
            return f.write_str("nothing could be trimmed");
        }
        let list: Vec<_> =
            self.by.iter().map(|(name, bytes)| format!("{} of {name}", Bytes(*bytes))).collect();
        write!(f, "{} trimmed", list.join(", "))
    }
}

/// An allocation that was refused, with all that helps to understand it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Name of what it was for.
    pub what: String,
    /// Bytes asked for.
    pub requested: u64,
    /// Index of the memory heap.
    pub heap: u32,
    /// Size of that heap in bytes.
    pub heap_size: u64,
    /// Bytes of it that may be used now: what the driver says, or the limit that was set.
    pub budget: u64,
    /// Bytes that this device's allocations hold of it.
    pub usage: u64,
    /// The five largest owners of memory.
    pub owners: Vec<OwnerBytes>,
    /// What was tried before giving up.
    pub tried: String,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, heap, tried, .. } = self;
        let [requested, size, budget, usage] =
            [self.requested, self.heap_size, self.budget, self.usage].map(Bytes);
        write!(f, "out of memory: {what} needs {requested} of heap {heap} ({size}, budget {budget}, ")?;
        write!(f, "{usage} used by this device)")?;
        if !self.owners.is_empty() {
            let owners: Vec<_> = self.owners.iter().map(ToString::to_string).collect();
            write!(f, "; largest owners: {}", owners.join(", "))?;
        }
        write!(f, "; tried: {tried}; free something, or use a smaller scene or resolution")
    }
}

impl std::error::Error for OutOfMemory {}

impl Device {
    /// Registers a pool that can give memory back. It is forgotten when it is dropped.
    pub fn register_reclaim(&self, reclaim: &Arc<dyn Reclaim>) {
        self.reclaimers.add(reclaim);
    }

    /// Asks the registered pools for about `bytes`, one after the other.
    pub fn trim(&self, bytes: u64) -> Trimmed {
        self.reclaimers.trim(bytes)
    }

    /// Allows this device's own allocations so many bytes of each device-local heap; `None` allows all. An allocation
    /// past the limit is refused as a driver refuses it. What is there already stays.
    pub fn limit_memory(&self, bytes: Option<u64>) {
        self.memory_limit.store(bytes.unwrap_or(NO_LIMIT), Ordering::Release);
    }

    /// The limit of [`Self::limit_memory`].
    pub fn memory_limit(&self) -> Option<u64> {
        Some(self.memory_limit.load(Ordering::Acquire)).filter(|limit| *limit != NO_LIMIT)
    }

    /// Bytes that this device's allocations hold of a heap.
    pub fn heap_bytes(&self, heap: usize) -> u64 {
        u32::try_from(heap).map_or(0, |heap| self.counters.heap_bytes(heap))
    }

    /// What `VK_EXT_memory_budget` says of each heap, budget and usage of this process in bytes. `None` without the
    /// extension, or where it counts only touched pages. May take milliseconds: not for every frame.
    pub fn query_memory_budget(&self) -> Option<Vec<(u64, u64)>> {
        let counts_touched = self.quirks().has(super::quirks::Switch::BudgetCountsTouchedPages);
        if !self.capabilities().optional.memory_budget || counts_touched {
            return None;
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the device has the extension, and the chain is of locals that outlive the call.
        unsafe { self.instance.raw().get_physical_device_memory_properties2(self.physical, &mut memory) };
        let heaps = self.capabilities().heaps.len();
        Some(budget.heap_budget.into_iter().zip(budget.heap_usage).take(heaps).collect())
    }

    /// Whether `bytes` more of a heap pass the limit.
    pub(super) fn is_past_limit(&self, heap: u32, bytes: u64) -> bool {
        let Some(limit) = self.memory_limit() else { return false };
        let kind = self.capabilities().heaps.get(heap as usize);
        kind.is_some_and(|kind| kind.device_local)
            && self.counters.heap_bytes(heap).saturating_add(bytes) > limit
    }

    pub(super) fn out_of_memory(&self, name: &str, bytes: u64, heap: u32) -> Error {
        self.note_pressure();
        let heap_size = self.capabilities().heaps.get(heap as usize).map_or(0, |h| h.bytes);
        let told = self.query_memory_budget().and_then(|all| all.get(heap as usize).copied());
        let budget = told.map_or(heap_size, |(budget, _)| budget);
        let local = self.capabilities().heaps.get(heap as usize).is_some_and(|h| h.device_local);
        let limit = self.memory_limit().filter(|_| local).unwrap_or(NO_LIMIT);
        let mut owners = self.owners();
        owners.truncate(5);
        Error::OutOfMemory(Box::new(OutOfMemory {
            what: name.into(),
            requested: bytes,
            heap,
            heap_size,
            budget: budget.min(limit),
            usage: self.counters.heap_bytes(heap),
            owners,
            tried: "nothing".into(),
        }))
    }

    /// After an allocation was refused: has memory given back and waits until the GPU is done with it. `given` bytes were
    /// given back by the caller. Returns whether another try makes sense, and what was done.
    pub(crate) fn relieve(&self, bytes: u64, given: u64) -> Result<(bool, String)> {
        let trimmed = self.trim(bytes.saturating_sub(given));
        let mut tried = trimmed.to_string();
        if given > 0 {
            tried = format!("{} kept ready given up, {tried}", Bytes(given));
        }
        let retiring = self.retiring();
        if given == 0 && trimmed.bytes() == 0 && retiring == 0 {
            return Ok((false, tried));
        }
        self.wait_idle()?;
        Ok((true, format!("{tried}, {retiring} dropped objects waited for")))
    }

    /// Makes an allocation; when it is refused, has memory given back and tries once more.
    pub(super) fn with_relief<T>(&self, bytes: u64, mut allocate: impl FnMut() -> Result<T>) -> Result<T> {
        let refused = match allocate() {
            Err(error) if error.is_out_of_memory() => error,
            made => return made,
        };
        let (again, tried) = self.relieve(bytes, 0)?;
        if !again {
            return Err(refused.tried(&tried));
        }
        refused.say_trying_again(&tried);
        allocate().map_err(|error| error.tried(&tried))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    struct Pool(&'static str, AtomicU64);

    impl Reclaim for Pool {
        fn name(&self) -> &str {
            self.0
        }

        fn trim(&self, bytes: u64) -> u64 {
            let have = self.1.load(Ordering::Relaxed);
            self.1.store(have - have.min(bytes), Ordering::Relaxed);
            have.min(bytes)
        }
    }

    #[test]
    fn pools_are_asked_in_order_until_it_is_enough() {
        let reclaimers = Reclaimers::default();
        let pools: Vec<Arc<dyn Reclaim>> = [("A", 10), ("B", 0), ("C", 30), ("D", 7)]
            .map(|(name, bytes)| Arc::new(Pool(name, AtomicU64::new(bytes))) as Arc<dyn Reclaim>)
            .into();
        pools.iter().for_each(|pool| reclaimers.add(pool));
        let trimmed = reclaimers.trim(25);
        assert_eq!(trimmed.to_string(), "10 B of A, 15 B of C trimmed");
        assert_eq!((trimmed.bytes(), reclaimers.trim(u64::MAX).bytes()), (25, 22));
        drop(pools);
        assert_eq!(
            reclaimers.trim(1).to_string(),
            "nothing could be trimmed",
            "who was dropped is forgotten"
        );
    }

    #[test]
    fn the_report_says_everything() {
        let owner = |owner: &str, mib: u64| OwnerBytes { owner: owner.into(), bytes: mib << 20 };
        let report = OutOfMemory {
            what: "Terrain.Slope".into(),
            requested: 64 << 20,
            heap: 1,
            heap_size: 8 << 30,
            budget: 512 << 20,
            usage: 500 << 20,
            owners: vec![owner("Ground", 300), owner("Colour", 120)],
            tried: "nothing could be trimmed".into(),
        };
        insta::assert_snapshot!(report, @"out of memory: Terrain.Slope needs 64 MiB of heap 1 (8 GiB, budget 512 MiB, 500 MiB used by this device); largest owners: Ground 300 MiB, Colour 120 MiB; tried: nothing could be trimmed; free something, or use a smaller scene or resolution");
    }
}
