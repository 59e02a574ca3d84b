//! Address space is a budget: the sum of all live reservations against the device's limit.
//!
//! The limit is `sparseAddressSpaceSize`. Drivers need not enforce it, so this does, and it knows who
//! holds what: a refusal names the holders, largest first.

use std::collections::BTreeMap;
use std::fmt;

use super::bytes::Bytes;
use super::device::Device;
use super::error::Result as VkResult;
use super::retire::Garbage;

/// Reservations past this total are reported once: most likely something leaks.
pub const DEFAULT_ADDRESS_WARNING: u64 = 256 << 30;

/// How many holders an error's text lists; the error itself carries all of them.
const LISTED: usize = 12;

/// One live reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressHolder {
    /// The debug name of the resource.
    pub name: String,
    /// Its addresses in bytes.
    pub bytes: u64,
}

/// Names one reservation for its release. Never reused within a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReservationId(u64);

/// The total has passed the warning threshold for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressWarning {
    /// All live reservations, in bytes.
    pub reserved: u64,
    /// The threshold, in bytes.
    pub threshold: u64,
    /// How many reservations live.
    pub holders: usize,
}

impl fmt::Display for AddressWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of sparse address space are reserved by {} resources, past the warning threshold of {}: is \
             something never released?",
            Bytes(self.reserved),
            self.holders,
            Bytes(self.threshold)
        )
    }
}

/// Why a reservation or a release was refused. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressBudgetError {
    /// The reservation would pass the limit.
    #[error(
        "`{name}` asked for {} of sparse address space, but the device's limit is {} and {} are reserved \
         (by {}): reserve less, or release one of these first",
        Bytes(*asked), Bytes(*limit), Bytes(*reserved), List(holders)
    )]
    Exceeded {
        /// Who asked.
        name: String,
        /// What was asked for, in bytes.
        asked: u64,
        /// The limit, in bytes.
        limit: u64,
        /// All live reservations, in bytes.
        reserved: u64,
        /// Who holds them, largest first, by name where sizes are equal.
        holders: Vec<AddressHolder>,
    },
    /// A reservation of nothing.
    #[error("`{name}` asked for zero bytes of sparse address space: a reservation needs at least one byte")]
    Zero {
        /// Who asked.
        name: String,
    },
    /// The reservation was released before, or belongs to another budget.
    #[error("reservation {0:?} is not live: it was released before, or belongs to another device")]
    NotLive(ReservationId),
}

struct List<'a>(&'a [AddressHolder]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nobody");
        }
        for (index, holder) in self.0.iter().take(LISTED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{}` {}", holder.name, Bytes(holder.bytes))?;
        }
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, ", and {more} smaller ones"),
        }
    }
}

/// The sum of live reservations of one device against its limit.
#[derive(Debug, Clone)]
pub struct AddressBudget {
    limit: u64,
    warn_past: u64,
    warned: bool,
    reserved: u64,
    next: u64,
    live: BTreeMap<ReservationId, AddressHolder>,
}

impl AddressBudget {
    /// A budget of `limit` bytes that warns when the total first passes `warn_past` bytes
    /// ([`DEFAULT_ADDRESS_WARNING`] unless a knob says otherwise).
    pub fn new(limit: u64, warn_past: u64) -> Self {
        Self { limit, warn_past, warned: false, reserved: 0, next: 0, live: BTreeMap::new() }
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// All live reservations in bytes.
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Live reservations, largest first, by name where sizes are equal.
    pub fn holders(&self) -> Vec<AddressHolder> {
        let mut holders: Vec<_> = self.live.values().cloned().collect();
        holders.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        holders
    }

    /// Whether a reservation of so many bytes would pass the limit now; `None` for one of nothing.
    pub fn would_fit(&self, bytes: u64) -> Option<bool> {
        let fits = self.reserved.checked_add(bytes).is_some_and(|total| total <= self.limit);
        (bytes > 0).then_some(fits)
    }

    /// Takes `bytes` for `name`. The warning comes back once in the life of the budget; the caller logs
    /// it.
    ///
    /// # Errors
    /// [`AddressBudgetError::Exceeded`] when the total would pass the limit,
    /// [`AddressBudgetError::Zero`] for zero bytes.
    pub fn reserve(
        &mut self,
        name: &str,
        bytes: u64,
    ) -> Result<(ReservationId, Option<AddressWarning>), AddressBudgetError> {
        if bytes == 0 {
            return Err(AddressBudgetError::Zero { name: name.to_owned() });
        }
        let Some(total) = self.reserved.checked_add(bytes).filter(|total| *total <= self.limit) else {
            return Err(AddressBudgetError::Exceeded {
                name: name.to_owned(),
                asked: bytes,
                limit: self.limit,
                reserved: self.reserved,
                holders: self.holders(),
            });
        };
        let id = ReservationId(self.next);
        self.next += 1;
        self.reserved = total;
        self.live.insert(id, AddressHolder { name: name.to_owned(), bytes });
        let warns = total > self.warn_past && !self.warned;
        self.warned |= warns;
        let warning = AddressWarning { reserved: total, threshold: self.warn_past, holders: self.live.len() };
        Ok((id, warns.then_some(warning)))
    }

    /// Gives a reservation back.
    ///
    /// # Errors
    /// [`AddressBudgetError::NotLive`] when it was given back before.
    pub fn release(&mut self, id: ReservationId) -> Result<AddressHolder, AddressBudgetError> {
        let holder = self.live.remove(&id).ok_or(AddressBudgetError::NotLive(id))?;
        self.reserved -= holder.bytes;
        Ok(holder)
    }
}

impl AddressBudget {
    /// Warn when the total passes this from now on, once.
    pub fn set_warning(&mut self, bytes: u64) {
        self.warned &= bytes == self.warn_past;
        self.warn_past = bytes;
    }
}

impl Device {
    fn addresses(&self) -> std::sync::MutexGuard<'_, AddressBudget> {
        // A reservation is made or given back in one call that leaves the sums right.
        self.addresses.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Bytes of addresses that live reserved resources hold, those included whose destruction still waits for the GPU.
    pub fn reserved_addresses(&self) -> u64 {
        self.addresses().reserved()
    }

    /// Who holds addresses, largest first.
    pub fn address_holders(&self) -> Vec<AddressHolder> {
        self.addresses().holders()
    }

    /// Says once when reservations pass this many bytes: a leak detector.
    pub fn warn_past_addresses(&self, bytes: u64) {
        self.addresses().set_warning(bytes);
    }

    pub(super) fn reserve_addresses(&self, name: &str, bytes: u64) -> VkResult<ReservationId> {
        // What was dropped and is done holds no addresses any more.
        let refused = |bytes| matches!(self.addresses().would_fit(bytes), Some(false));
        if refused(bytes) && self.retiring() > 0 {
            self.collect()?;
        }
        let (reservation, warning) = self.addresses().reserve(name, bytes)?;
        if let Some(warning) = warning {
            log::warn!("{warning}");
        }
        Ok(reservation)
    }

    pub(super) fn release_addresses(&self, reservation: ReservationId) {
        if let Err(error) = self.addresses().release(reservation) {
            log::error!("{error}");
        }
    }

    pub(super) fn retire_addresses(&self, reservation: ReservationId) {
        self.retire(Garbage::Addresses(reservation));
    }
}
