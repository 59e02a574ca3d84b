//! Frames of so many passes: recorded ones one after the other, and ones with the counts of somebody else's.

use vasa::graph::pack::Numbers;
use vasa::graph::{
    Access, BufferInfo, Declaration, HeapKey, MemoryNeeds, Name, Origin, Pass, PassId, Queue, Resource,
    ResourceId, ResourceInfo, ShaderStages, Subresources, Use, recorded,
};

use crate::error::Error;

/// The first `passes` passes of the recorded frames, one frame after the other and over again. No pass is culled: each
/// has side effects.
pub(super) fn chained(passes: usize) -> Result<Declaration, Error> {
    let mut frames: Vec<Declaration> =
        recorded::FRAMES.iter().map(|frame| frame.declaration()).collect::<Result<_, _>>()?;
    for frame in &mut frames {
        frame.passes.iter_mut().for_each(|pass| keep(&mut pass.name));
        frame.resources.iter_mut().for_each(|resource| keep(&mut resource.name));
    }
    let mut chain = Declaration::default();
    for frame in frames.iter().cycle() {
        if chain.passes.len() >= passes || frame.passes.is_empty() {
            break;
        }
        append(&mut chain, frame, passes);
    }
    Ok(chain)
}

/// Programs name passes by literals; names of a file are kept for good, so that they are compared and copied the same way.
fn keep(name: &mut Name) {
    *name = Name::Borrowed(std::mem::take(name).into_owned().leak());
}

/// Adds a frame, but no pass beyond `most`.
fn append(chain: &mut Declaration, frame: &Declaration, most: usize) {
    let (first_pass, first_resource) = (chain.passes.len() as u32, chain.resources.len() as u32);
    chain
        .resources
        .extend(frame.resources.iter().map(|resource| Resource { versions: 0, ..resource.clone() }));
    for pass in frame.passes.iter().take(most - chain.passes.len()) {
        let start = chain.uses.len() as u32;
        for one in &frame.uses[pass.uses.start as usize..pass.uses.end as usize] {
            let resource = ResourceId(one.resource.0 + first_resource);
            chain.uses.push(Use { resource, ..*one });
            chain.resources[resource.0 as usize].versions += u32::from(one.access.writes());
        }
        let uses = start..chain.uses.len() as u32;
        chain.passes.push(Pass { uses, has_side_effects: true, ..pass.clone() });
    }
    let end = chain.passes.len() as u32;
    let moved = frame.orders.iter().map(|(a, b)| (PassId(a.0 + first_pass), PassId(b.0 + first_pass)));
    chain.orders.extend(moved.filter(|(a, b)| a.0 < end && b.0 < end));
}

/// Counts of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) struct Counts {
    pub(super) passes: usize,
    pub(super) resources: usize,
    /// Passes that touch a resource.
    pub(super) uses: usize,
    /// Resources touched by more, all over the frame.
    pub(super) long_lived: usize,
    /// Passes that touch one of those.
    pub(super) long_uses: usize,
}

impl Counts {
    /// Uses in all.
    pub(super) fn accesses(&self) -> usize {
        self.long_lived * self.long_uses + (self.resources - self.long_lived) * self.uses
    }
}

/// A frame with these counts: most resources are touched by neighbouring passes, some all over the frame. The first pass
/// that touches a resource writes it; of the others every other one does.
pub(super) fn with_counts(counts: Counts) -> Declaration {
    let mut numbers = Numbers::new(counts.passes as u64);
    let mut touched: Vec<Vec<u32>> = vec![Vec::new(); counts.passes];
    for resource in 0..counts.resources {
        let is_long = resource < counts.long_lived;
        let uses = (if is_long { counts.long_uses } else { counts.uses }).min(counts.passes);
        let start = numbers.below((counts.passes - uses + 1) as u64) as usize;
        for step in 0..uses {
            let pass = if is_long { step * counts.passes / uses } else { start + step };
            touched[pass].push(resource as u32);
        }
    }
    let mut frame = Declaration::default();
    for resource in 0..counts.resources {
        let bytes = numbers.logarithmic(256, 16 << 20);
        let heap = HeapKey { memory_type: 0, is_linear: true };
        frame.resources.push(Resource {
            name: Name::Borrowed(format!("Resource{resource}").leak()),
            info: ResourceInfo::Buffer(BufferInfo { bytes, usage: 0 }),
            origin: Origin::Transient { may_alias: true },
            needs: Some(MemoryNeeds { bytes, alignment: 256, heap }),
            versions: 0,
        });
    }
    let mut seen = vec![0u32; counts.resources];
    for (pass, resources) in touched.into_iter().enumerate() {
        let start = frame.uses.len() as u32;
        for id in resources {
            let access = match seen[id as usize] {
                0 => Access::StorageWrite(ShaderStages::COMPUTE),
                count if count % 2 == 0 => Access::StorageReadWrite(ShaderStages::COMPUTE),
                _ => Access::StorageRead(ShaderStages::COMPUTE),
            };
            seen[id as usize] += 1;
            let resource = &mut frame.resources[id as usize];
            let (part, version) = (Subresources::All, resource.versions);
            frame.uses.push(Use { resource: ResourceId(id), version, access, part, is_optional: false });
            resource.versions += u32::from(access.writes());
        }
        frame.passes.push(Pass {
            name: Name::Borrowed(format!("Pass{pass}").leak()),
            queue: Queue::Graphics,
            has_side_effects: true,
            is_on: true,
            uses: start..frame.uses.len() as u32,
        });
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use vasa::graph::{Compiler, Options};

    #[test]
    fn chains_have_as_many_passes_and_compile() {
        for passes in [1, 49, 114, 512] {
            let frame = chained(passes).unwrap();
            assert_eq!(frame.passes.len(), passes);
            let mut compiler = Compiler::new();
            let compiled = compiler.compile(&frame, &Options::default()).unwrap();
            let off = frame.passes.iter().filter(|pass| !pass.is_on).count();
            assert_eq!(compiled.order.len(), passes - off);
        }
    }

    #[test]
    fn frames_have_the_counts() {
        for counts in super::super::compare::COUNTS {
            let frame = with_counts(counts);
            assert_eq!((frame.passes.len(), frame.resources.len()), (counts.passes, counts.resources));
            assert_eq!(frame.uses.len(), counts.accesses());
            assert!(Compiler::new().compile(&frame, &Options::default()).is_ok());
        }
    }
}
