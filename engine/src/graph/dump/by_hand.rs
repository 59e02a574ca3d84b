//! A compiled frame made in the plainest way, for charts in tests: passes that are on in the order of their declaration,
//! one submission for each run of one queue, lifetimes from the first to the last use.

use super::{Compiled, Declaration, Lifetime, Placement};
use crate::graph::access::Access;
use crate::graph::compiled::{Barrier, CullReason, HeapPlan, PassPlan, Scope, Submission, Wait};
use crate::graph::declaration::HeapKey;
use crate::graph::handle::PassId;
use crate::graph::pack::{Item, Packer, bound};

pub(super) fn compile(declaration: &Declaration) -> Compiled {
    let mut compiled = Compiled::default();
    let count = declaration.resources.len();
    let mut last_access: Vec<Option<Access>> = vec![None; count];
    compiled.lifetimes = vec![None; count];
    compiled.placements = vec![None; count];
    compiled.is_shared = vec![false; count];
    compiled.left = vec![None; count];
    for (id, pass) in (0..).map(PassId).zip(&declaration.passes) {
        if !pass.is_on {
            compiled.culled.push((id, CullReason::SwitchedOff));
            continue;
        }
        let place = compiled.order.len() as u32;
        let from = compiled.barriers.len() as u32;
        for one in &declaration.uses[pass.uses.start as usize..pass.uses.end as usize] {
            let at = one.resource.0 as usize;
            let scope = |access: Access| Scope {
                stages: access.stages(),
                accesses: access.accesses(),
                layout: access.layout(),
            };
            let before = last_access[at].replace(one.access);
            if before.is_none_or(|before| before.writes() || one.access.writes()) {
                compiled.barriers.push(Barrier {
                    resource: one.resource,
                    part: one.part,
                    from: before.map(scope).unwrap_or_default(),
                    to: scope(one.access),
                    takes_over: None,
                });
            }
            if declaration.resources[at].needs.is_some() {
                compiled.lifetimes[at].get_or_insert(Lifetime { first: place, last: place }).last = place;
            }
        }
        compiled.order.push(PassPlan { pass: id, barriers: from..compiled.barriers.len() as u32 });
        match compiled.submissions.last_mut() {
            Some(submission) if submission.queue == pass.queue => submission.passes.end = place + 1,
            other => {
                let waits = compiled.waits.len() as u32;
                let is_first = other.is_none();
                if !is_first {
                    let submission = compiled.submissions.len() as u32 - 1;
                    compiled.waits.push(Wait { submission, stages: 1 << 16 });
                }
                compiled.submissions.push(Submission {
                    external: 0,
                    queue: pass.queue,
                    passes: place..place + 1,
                    barriers_after: 0..0,
                    waits: waits..compiled.waits.len() as u32,
                });
            }
        }
    }
    let mut keys: Vec<HeapKey> = Vec::new();
    let used = || declaration.resources.iter().zip(&compiled.lifetimes).filter(|(_, life)| life.is_some());
    keys.extend(used().filter_map(|(resource, _)| resource.needs.map(|needs| needs.heap)));
    keys.sort_unstable();
    keys.dedup();
    for (heap, key) in (0..).zip(keys) {
        let (mut ids, mut items) = (Vec::new(), Vec::new());
        for (id, resource) in declaration.resources.iter().enumerate() {
            if let (Some(needs), Some(life)) = (resource.needs, compiled.lifetimes[id])
                && needs.heap == key
            {
                ids.push(id);
                let Lifetime { first, last } = life;
                items.push(Item { bytes: needs.bytes, alignment: needs.alignment, first, last });
            }
        }
        let mut offsets = Vec::new();
        let bytes = Packer::default().pack(&items, &mut offsets);
        for ((id, item), offset) in ids.into_iter().zip(&items).zip(offsets) {
            compiled.placements[id] = Some(Placement { heap, offset, bytes: item.bytes });
        }
        let unaliased = items.iter().map(|item| item.bytes).sum();
        compiled.heaps.push(HeapPlan { key, bytes, bound: bound(&items), unaliased });
    }
    compiled
}
