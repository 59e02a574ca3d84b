//! Who holds memory, what it is worth, and who goes first.
//!
//! ```text
//! add, touch(frame, distance, point) -> plan(bytes): the least valuable leave -> release(completed): they may be freed
//!                                         touch before that keeps them
//! ```
//!
//! Pure: bytes, frames and timeline values are numbers. Nothing in flight is ever freed: a plan only says who leaves,
//! and who leaves is released when the timeline has passed the last use.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use crate::vk::Bytes;

/// What may be taken away from whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Never: swapchain, targets of frames, constants, atlases in use.
    Pinned,
    /// Can be brought back: texture mips, pages of geometry, of virtual textures and of shadows.
    Streamed,
    /// Lives in one frame; the frame graph's own business.
    Transient,
}

/// A handle of a resident. One that was released names nobody any more, never another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResidentId(u64);

/// What is told of memory when it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Resident {
    /// Debug name.
    pub name: String,
    /// What may be taken away.
    pub priority: Priority,
    /// Bytes of memory.
    pub bytes: u64,
    /// Frame of the last use.
    pub last_use: u64,
    /// How far from the camera it is seen, in any one unit; what is nearer is worth more. NaN counts as farthest.
    pub distance: f32,
    /// Value of the timeline that the last use signals.
    pub point: u64,
}

/// The use of a resident in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Frame.
    pub frame: u64,
    /// As [`Resident::distance`].
    pub distance: f32,
    /// As [`Resident::point`].
    pub point: u64,
}

/// Somebody who leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Eviction {
    /// Who.
    pub id: ResidentId,
    /// Debug name.
    pub name: String,
    /// What it frees.
    pub bytes: u64,
    /// Frame of its last use.
    pub last_use: u64,
    /// Its distance.
    pub distance: f32,
    /// The timeline value after which it may be freed.
    pub after: u64,
}

/// Who leaves, the least valuable first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvictionPlan {
    /// Those who leave by this plan.
    pub evict: Vec<Eviction>,
    /// Bytes asked for.
    pub wanted: u64,
    /// Bytes on their way out, those of earlier plans included.
    pub leaving: u64,
}

impl EvictionPlan {
    /// Bytes that nobody could be found for.
    pub fn short_by(&self) -> u64 {
        self.wanted.saturating_sub(self.leaving)
    }
}

impl fmt::Display for EvictionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wanted, {} leave", Bytes(self.wanted), Bytes(self.leaving))?;
        for e in &self.evict {
            let Eviction { name, bytes, last_use, distance, after, .. } = e;
            writeln!(
                f,
                "  {name}: {}, last used in frame {last_use} at {distance}, free after {after}",
                Bytes(*bytes)
            )?;
        }
        Ok(())
    }
}

/// Bytes by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PriorityBytes {
    /// Pinned.
    pub pinned: u64,
    /// Streamed, those leaving included.
    pub streamed: u64,
    /// Of the streamed: planned to leave.
    pub leaving: u64,
    /// Transient.
    pub transient: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    resident: Resident,
    is_leaving: bool,
}

/// All residents.
#[derive(Debug, Clone, Default)]
pub struct Residents {
    entries: BTreeMap<ResidentId, Entry>,
    next: u64,
    bytes: PriorityBytes,
}

impl Residents {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells of memory that was made.
    pub fn add(&mut self, resident: Resident) -> ResidentId {
        let id = ResidentId(self.next);
        self.next += 1;
        let place = self.place(resident.priority);
        *place = place.saturating_add(resident.bytes);
        self.entries.insert(id, Entry { resident, is_leaving: false });
        id
    }

    /// Tells of a use. Whoever was to leave stays. `false` for one that is gone: it has to be brought back.
    pub fn touch(&mut self, id: ResidentId, used: Use) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        let resident = &mut entry.resident;
        resident.last_use = resident.last_use.max(used.frame);
        resident.point = resident.point.max(used.point);
        resident.distance = used.distance;
        if std::mem::take(&mut entry.is_leaving) {
            self.bytes.leaving = self.bytes.leaving.saturating_sub(resident.bytes);
        }
        true
    }

    /// Forgets somebody whose memory was given back by its owner.
    pub fn remove(&mut self, id: ResidentId) -> Option<Resident> {
        let Entry { resident, is_leaving } = self.entries.remove(&id)?;
        let place = self.place(resident.priority);
        *place = place.saturating_sub(resident.bytes);
        if is_leaving {
            self.bytes.leaving = self.bytes.leaving.saturating_sub(resident.bytes);
        }
        Some(resident)
    }

    fn place(&mut self, priority: Priority) -> &mut u64 {
        match priority {
            Priority::Pinned => &mut self.bytes.pinned,
            Priority::Streamed => &mut self.bytes.streamed,
            Priority::Transient => &mut self.bytes.transient,
        }
    }

    /// Whom it is about, while there.
    pub fn get(&self, id: ResidentId) -> Option<&Resident> {
        self.entries.get(&id).map(|entry| &entry.resident)
    }

    /// Bytes by priority.
    pub fn bytes(&self) -> PriorityBytes {
        self.bytes
    }

    /// Decides who leaves, so that `wanted` bytes become free: streamed ones that were not used since `idle_before`, the
    /// longest unused first, of those the farthest, of those the oldest. What leaves already counts.
    pub fn plan(&mut self, wanted: u64, idle_before: u64) -> EvictionPlan {
        let mut plan = EvictionPlan { wanted, leaving: self.bytes.leaving, ..Default::default() };
        if plan.short_by() == 0 {
            return plan;
        }
        let may_leave = |entry: &Entry| {
            let Resident { priority, last_use, bytes, .. } = entry.resident;
            priority == Priority::Streamed && !entry.is_leaving && last_use < idle_before && bytes > 0
        };
        let mut order: Vec<_> = self
            .entries
            .iter_mut()
            .filter(|(_, entry)| may_leave(entry))
            .map(|(id, entry)| {
                let Resident { last_use, distance, .. } = entry.resident;
                let distance = if distance.is_nan() { f32::INFINITY } else { distance };
                ((last_use, Reverse(Total(distance)), *id), entry)
            })
            .collect();
        order.sort_by_key(|(key, _)| *key);
        for ((_, _, id), entry) in order {
            if plan.short_by() == 0 {
                break;
            }
            let Resident { name, bytes, last_use, distance, point, .. } = &entry.resident;
            entry.is_leaving = true;
            self.bytes.leaving = self.bytes.leaving.saturating_add(*bytes);
            plan.leaving = self.bytes.leaving;
            plan.evict.push(Eviction {
                id,
                name: name.clone(),
                bytes: *bytes,
                last_use: *last_use,
                distance: *distance,
                after: *point,
            });
        }
        plan
    }

    /// Takes out whoever leaves and is not in flight any more, and says who: their owners free them.
    pub fn release(&mut self, completed: u64) -> Vec<(ResidentId, Resident)> {
        if self.bytes.leaving == 0 {
            return Vec::new();
        }
        let done = |entry: &Entry| entry.is_leaving && entry.resident.point <= completed;
        let ids: Vec<_> = self.entries.iter().filter(|(_, e)| done(e)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect()
    }
}

/// A float in its total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Total(f32);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
