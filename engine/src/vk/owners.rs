//! Who holds device memory: live bytes by owner, the part of a debug name before its first point.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use serde::Serialize;

use super::bytes::Bytes;
use super::device::Device;

/// Live bytes of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnerBytes {
    /// The part of its resources' names before the first point: `Terrain` for `Terrain.Slope`. A chunk is booked on whom it
    /// was allocated for, also while it is kept ready or shared.
    pub owner: String,
    /// Bytes of chunks and of ranges of the static heap, those included that wait for the GPU before they are freed.
    pub bytes: u64,
}

impl fmt::Display for OwnerBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.owner, Bytes(self.bytes))
    }
}

/// Number of an owner in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnerId(usize);

/// All owners ever seen, by name: few, since names are those of parts of a program.
#[derive(Debug, Default)]
pub(super) struct Owners {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    ids: HashMap<String, OwnerId>,
    bytes: Vec<u64>,
}

impl Owners {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // Numbers, each changed in one step.
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Books bytes on the owner of a name. A known owner costs no allocation.
    pub(super) fn add(&self, name: &str, bytes: u64) -> OwnerId {
        let owner = name.split('.').next().unwrap_or(name);
        let mut table = self.lock();
        let known = table.ids.get(owner).copied();
        let id = known.unwrap_or_else(|| {
            let id = OwnerId(table.bytes.len());
            table.bytes.push(0);
            table.ids.insert(owner.to_owned(), id);
            id
        });
        if let Some(place) = table.bytes.get_mut(id.0) {
            *place += bytes;
        }
        id
    }

    pub(super) fn remove(&self, id: OwnerId, bytes: u64) {
        if let Some(place) = self.lock().bytes.get_mut(id.0) {
            *place = place.saturating_sub(bytes);
        }
    }

    /// Those who hold something, the largest first, of equals by name.
    fn list(&self) -> Vec<OwnerBytes> {
        let table = self.lock();
        let of = |(owner, id): (&String, &OwnerId)| OwnerBytes {
            owner: owner.clone(),
            bytes: table.bytes.get(id.0).copied().unwrap_or(0),
        };
        let mut list: Vec<_> = table.ids.iter().map(of).filter(|owner| owner.bytes > 0).collect();
        list.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.owner.cmp(&b.owner)));
        list
    }
}

impl Device {
    /// Who holds device memory, the largest first.
    pub fn owners(&self) -> Vec<OwnerBytes> {
        self.owners.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_what_stands_before_the_first_point() {
        let owners = Owners::default();
        let slope = owners.add("Terrain.Slope", 5);
        let light = owners.add("Terrain.Light.Chunk7", 6);
        assert_eq!(slope, light);
        owners.add("Colour", 11);
        let odd = owners.add(".Odd", 20);
        let text = |owners: &Owners| owners.list().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(&owners), [" 20 B", "Colour 11 B", "Terrain 11 B"]);
        owners.remove(light, 6);
        owners.remove(odd, 20);
        assert_eq!(text(&owners), ["Colour 11 B", "Terrain 5 B"]);
    }
}
