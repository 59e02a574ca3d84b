//! The checker once more, as simply as it can be said: every byte by itself, with its memory, its binds and
//! all of its users; sharers are found by searching everything. For tests.

use std::collections::BTreeSet;

use super::tests::{Clocks, bind_point};
use super::*;

pub(super) const TILE: u64 = 4;

#[derive(Debug, Clone, Default)]
pub(super) struct Byte {
    pub(super) ever: bool,
    pub(super) memory: Option<(u64, u64)>,
    pub(super) since: u64,
    pub(super) users: Vec<Point>,
    pub(super) tail: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) released: Option<u64>,
    pub(super) users: Vec<Point>,
}

#[derive(Debug, Clone)]
pub(super) struct ModelResource {
    pub(super) aliased: bool,
    pub(super) bytes: Vec<Byte>,
    pub(super) users: Vec<Point>,
    pub(super) binds: Vec<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) resources: BTreeMap<u64, ModelResource>,
    pub(super) chunks: BTreeMap<u64, Vec<Page>>,
    pub(super) removed: BTreeSet<u64>,
    pub(super) freed: BTreeSet<u64>,
    pub(super) said: Vec<String>,
}

/// The last of those that `pick` takes on each timeline, as text.
pub(super) fn last(users: &[Point], pick: impl Fn(Point) -> bool) -> Option<String> {
    let of = |timeline| users.iter().filter(|p| p.timeline == timeline && pick(**p)).map(|p| p.value).max();
    let parts: Vec<_> = Timeline::ALL.into_iter().filter_map(|t| Some(format!("{t:?} {}", of(t)?))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

impl Model {
    pub(super) fn say(&mut self, text: String) {
        self.said.push(text);
    }

    /// Everyone whose address leads to a byte of a chunk.
    pub(super) fn owners(&self, chunk: u64, at: u64) -> Vec<(u64, u64)> {
        if self.chunks.get(&chunk).is_none_or(|pages| at as usize >= pages.len()) {
            return Vec::new();
        }
        let all =
            self.resources.iter().flat_map(|(id, r)| (0..).zip(&r.bytes).map(move |(o, b)| (*id, o, b)));
        all.filter(|(_, _, b)| b.memory == Some((chunk, at))).map(|(id, o, _)| (id, o)).collect()
    }

    fn page(&mut self, memory: Option<(u64, u64)>) -> Option<&mut Page> {
        let (chunk, at) = memory?;
        self.chunks.get_mut(&chunk)?.get_mut(usize::try_from(at).ok()?)
    }

    pub(super) fn bind(&mut self, at: u64, binds: &[BindRange], clocks: &Clocks) {
        let here = bind_point(at);
        let before = |value: u64| value == at || clocks.is_before(bind_point(value), here);
        if binds.is_empty() {
            self.say(format!("empty_batch {at}"));
        }
        let mut touched = BTreeSet::new();
        for b in binds {
            let id = b.resource.0;
            let Some(size) = self.resources.get(&id).map(|r| r.bytes.len() as u64) else {
                self.say(format!("unknown_resource {id} {}", self.removed.contains(&id)));
                continue;
            };
            if b.bytes == 0 {
                self.say(format!("empty_bind {id} {}", b.offset));
                continue;
            }
            let past_end = b.offset + b.bytes > size;
            let size_ok = b.bytes % TILE == 0 || b.offset + b.bytes == size;
            if b.offset % TILE != 0 || !size_ok || b.memory.is_some_and(|(_, o)| o % TILE != 0) {
                self.say(format!("misaligned {id} {}", b.offset));
            }
            if past_end {
                self.say(format!("past_resource_end {id} {}", b.offset));
            }
            if let Some((chunk, offset)) = b.memory {
                match self.chunks.get(&chunk.0).map(Vec::len) {
                    Some(len) if offset + b.bytes > len as u64 => {
                        self.say(format!("past_chunk_end {id} {}", b.offset.min(size)));
                    }
                    Some(_) => {}
                    None => {
                        let kind =
                            if self.freed.contains(&chunk.0) { "freed_chunk" } else { "unknown_chunk" };
                        for o in b.offset..(b.offset + b.bytes).min(size) {
                            self.say(format!("{kind} {id} {o}"));
                        }
                    }
                }
            }
            // All checks of a bind see the state before it.
            let range = b.offset..(b.offset + b.bytes).min(size);
            let memory = |o: u64| b.memory.map(|(c, m)| (c.0, m + (o - b.offset)));
            for o in range.clone() {
                let byte = self.resources[&id].bytes[o as usize].clone();
                if touched.contains(&(id, o)) {
                    self.say(format!("tile_twice {id} {o}"));
                }
                let running = last(&byte.users, |user| !clocks.is_before(user, here));
                if let Some(users) = running.filter(|_| byte.memory.is_some()) {
                    self.say(format!("running_reader {id} {o} {users}"));
                }
                if byte.ever && !before(byte.since) {
                    self.say(format!("unordered_bind {id} {o} {}", byte.since));
                }
                if let Some(released) = self.page(memory(o)).and_then(|page| page.released)
                    && !before(released)
                {
                    self.say(format!("memory_not_released {id} {o} {released}"));
                }
            }
            for o in range.clone() {
                let byte = self.resources[&id].bytes[o as usize].clone();
                if let Some(page) = self.page(byte.memory) {
                    page.released = Some(at);
                    page.users.extend(byte.users);
                }
                let resource = self.resources.get_mut(&id).unwrap();
                resource.binds.push(at);
                let tail = byte.tail;
                let new = Byte { ever: true, memory: memory(o), since: at, users: Vec::new(), tail };
                resource.bytes[o as usize] = new;
                touched.insert((id, o));
            }
            for o in range {
                if let Some(page) = self.page(memory(o)) {
                    page.released = None;
                    page.users.retain(|user| !clocks.is_before(*user, here));
                }
            }
        }
        let mut pairs = BTreeSet::new();
        for &(id, o) in &touched {
            let Some((chunk, m)) = self.resources[&id].bytes[o as usize].memory else { continue };
            for (other, p) in self.owners(chunk, m).into_iter().filter(|owner| *owner != (id, o)) {
                let (a, b) = (&self.resources[&id], &self.resources[&other]);
                let tail = a.bytes[o as usize].tail || b.bytes[p as usize].tail;
                if (a.aliased && b.aliased && !tail) || !pairs.insert(BTreeSet::from([(id, o), (other, p)])) {
                    continue;
                }
                // Of two new ones the higher address is the one that is told of.
                let swap = touched.contains(&(other, p)) && (other, p) > (id, o);
                let ((x, y), z) = if swap { ((other, p), id) } else { ((id, o), other) };
                self.said.push(format!("memory_twice {x} {y} R{z} {tail}"));
            }
        }
    }

    pub(super) fn use_range(&mut self, id: u64, range: std::ops::Range<u64>, at: Point, clocks: &Clocks) {
        if range.is_empty() {
            return;
        }
        let Some(mut resource) = self.resources.remove(&id) else {
            return self.say(format!("unknown_resource {id} {}", self.removed.contains(&id)));
        };
        if range.end > resource.bytes.len() as u64 {
            self.say(format!("past_resource_end {id} {}", range.start));
        }
        for (o, byte) in (0..).zip(&mut resource.bytes).filter(|(o, _)| range.contains(o)) {
            match byte.memory {
                None if byte.ever => self.say(format!("unmapped_use {id} {o} {}", byte.since)),
                None => self.say(format!("unmapped_use {id} {o} 0")),
                Some((chunk, _)) => {
                    if self.freed.contains(&chunk) {
                        self.say(format!("freed_memory_use {id} {o}"));
                    }
                    if !clocks.is_before(bind_point(byte.since), at) {
                        self.say(format!("unordered_use {id} {o} {}", byte.since));
                    }
                    byte.users.push(at);
                }
            }
        }
        resource.users.push(at);
        self.resources.insert(id, resource);
    }

    pub(super) fn free(&mut self, id: u64, clocks: &Clocks) {
        let Some(pages) = self.chunks.get(&id).cloned() else {
            let kind = if self.freed.contains(&id) { "freed_chunk" } else { "unknown_chunk" };
            return self.say(format!("{kind} free {id}"));
        };
        for (m, page) in (0..).zip(&pages) {
            for (resource, o) in self.owners(id, m) {
                self.say(format!("freed_while_mapped {m} {resource} {o}"));
            }
            if let Some(released) = page.released.filter(|value| !clocks.is_done(bind_point(*value))) {
                self.say(format!("freed_while_unbinding {m} {released}"));
            }
            if let Some(users) = last(&page.users, |user| !clocks.is_done(user)) {
                self.say(format!("freed_while_used {m} {users}"));
            }
        }
        self.chunks.remove(&id);
        self.freed.insert(id);
    }

    pub(super) fn remove(&mut self, id: u64, clocks: &Clocks) {
        let Some(resource) = self.resources.remove(&id) else {
            return self.say(format!("unknown_resource {id} {}", self.removed.contains(&id)));
        };
        let binds: Vec<_> = resource.binds.iter().map(|value| bind_point(*value)).collect();
        if let Some(binds) = last(&binds, |point| !clocks.is_done(point)) {
            self.say(format!("destroyed_while_binding {id} {binds}"));
        }
        if let Some(users) = last(&resource.users, |user| !clocks.is_done(user)) {
            self.say(format!("destroyed_while_used {id} {users}"));
        }
        for byte in resource.bytes {
            if let Some(page) = self.page(byte.memory) {
                if !clocks.is_done(bind_point(byte.since)) {
                    page.released = Some(byte.since);
                }
                page.users.extend(byte.users.into_iter().filter(|user| !clocks.is_done(*user)));
            }
        }
        self.removed.insert(id);
    }
}

/// A report in the model's words: a line for each byte it speaks of.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let name = report.kind.name();
    let each = |detail: String| -> Vec<String> {
        let place = report.place.as_ref().unwrap();
        let line = |o| format!("{name} {} {o} {detail}", place.resource.0).trim_end().to_owned();
        place.bytes.clone().map(line).collect()
    };
    let whole = |offset: u64| match &report.place {
        Some(place) => vec![format!("{name} {} {offset}", place.resource.0)],
        None => vec![name.to_owned()],
    };
    let pages = |detail: String| -> Vec<String> {
        report.memory.as_ref().unwrap().bytes.clone().map(|m| format!("{name} {m} {detail}")).collect()
    };
    match &report.kind {
        ReportKind::EmptyBatch => match report.during {
            Operation::Bind(at) => vec![format!("{name} {}", at.value)],
            _ => vec![name.to_owned()],
        },
        ReportKind::UnknownResource { id, name: known } => {
            vec![format!("{name} {} {}", id.0, known.is_some())]
        }
        ReportKind::FreedChunk { id, .. } | ReportKind::UnknownChunk { id }
            if report.during == Operation::FreeChunk =>
        {
            vec![format!("{name} free {}", id.0)]
        }
        ReportKind::PastChunkEnd { .. } => whole(report.place.as_ref().unwrap().bytes.start),
        ReportKind::EmptyBind { offset }
        | ReportKind::Misaligned { offset, .. }
        | ReportKind::PastResourceEnd { offset, .. } => whole(*offset),
        ReportKind::FreedChunk { .. }
        | ReportKind::UnknownChunk { .. }
        | ReportKind::TileTwice
        | ReportKind::FreedMemoryUse => each(String::new()),
        ReportKind::RunningReader { users } => each(users.to_string()),
        ReportKind::UnorderedBind { since } | ReportKind::UnorderedUse { since } => {
            each(since.value.to_string())
        }
        ReportKind::MemoryNotReleased { released } => each(released.value.to_string()),
        ReportKind::UnmappedUse { unbound } => each(unbound.map_or(0, |at| at.value).to_string()),
        ReportKind::MemoryTwice { other, tail, .. } => each(format!("{other} {tail}")),
        ReportKind::FreedWhileMapped => {
            let (place, memory) = (report.place.as_ref().unwrap(), report.memory.as_ref().unwrap());
            let both = memory.bytes.clone().zip(place.bytes.clone());
            both.map(|(m, o)| format!("{name} {m} {} {o}", place.resource.0)).collect()
        }
        ReportKind::FreedWhileUnbinding { released } => pages(released.value.to_string()),
        ReportKind::FreedWhileUsed { users } => pages(users.to_string()),
        ReportKind::DestroyedWhileBinding { binds: users } | ReportKind::DestroyedWhileUsed { users } => {
            vec![format!("{name} {} {users}", report.place.as_ref().unwrap().resource.0)]
        }
    }
}
