//! The compiled frame for scripts.

use serde::Serialize;

use super::{Compiled, Declaration, pass_name, queue_name, resource_name};
use crate::graph::access::Access;
use crate::graph::compiled::{Barrier, CullReason, HeapPlan, Lifetime, PassPlan, Placement, Scope, Wait};
use crate::graph::declaration::{Origin, ResourceInfo, Subresources};
use crate::graph::handle::{PassId, ResourceId};

/// Version of the document.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    totals: Totals,
    heaps: &'a [HeapPlan],
    submissions: Vec<SubmissionRow<'a>>,
    culled: Vec<CulledRow<'a>>,
    resources: Vec<ResourceRow<'a>>,
}

/// What one looks at first.
#[derive(Serialize)]
struct Totals {
    passes: usize,
    culled: usize,
    submissions: usize,
    waits: usize,
    barriers: usize,
    take_overs: usize,
    transients: usize,
    /// Bytes of all heaps; the most that are alive at one moment; what they would take without sharing.
    heap_bytes: u64,
    bound_bytes: u64,
    unaliased_bytes: u64,
}

#[derive(Serialize)]
struct SubmissionRow<'a> {
    queue: &'static str,
    waits: &'a [Wait],
    passes: Vec<PassRow<'a>>,
    barriers_after: Vec<BarrierRow<'a>>,
}

#[derive(Serialize)]
struct PassRow<'a> {
    pass: PassId,
    name: &'a str,
    asked_for: Option<&'static str>,
    barriers: Vec<BarrierRow<'a>>,
    uses: Vec<UseRow<'a>>,
}

#[derive(Serialize)]
struct UseRow<'a> {
    resource: ResourceId,
    name: &'a str,
    access: Access,
    part: Subresources,
}

#[derive(Serialize)]
struct BarrierRow<'a> {
    resource: ResourceId,
    name: &'a str,
    part: Subresources,
    from: ScopeRow,
    to: ScopeRow,
    takes_over: Option<&'a str>,
}

/// Flags by name, as the specification spells them without prefix.
#[derive(Serialize)]
struct ScopeRow {
    stages: String,
    accesses: String,
    layout: String,
}

#[derive(Serialize)]
struct CulledRow<'a> {
    pass: PassId,
    name: &'a str,
    reason: CullReason,
}

#[derive(Serialize)]
struct ResourceRow<'a> {
    resource: ResourceId,
    name: &'a str,
    origin: &'static str,
    info: ResourceInfo,
    is_shared: bool,
    lifetime: Option<Lifetime>,
    placement: Option<Placement>,
}

/// The compiled frame as a JSON document: totals, heaps, submissions with their passes and barriers, culled passes with
/// the reason, resources with lifetime and place. Sizes and offsets are bytes; lifetimes count passes in the order in
/// which they stand here.
pub fn json(declaration: &Declaration, compiled: &Compiled) -> String {
    let sum = |of: fn(&HeapPlan) -> u64| compiled.heaps.iter().map(of).fold(0, u64::saturating_add);
    let document = Document {
        format: "vasa-compiled-frame",
        version: VERSION,
        totals: Totals {
            passes: compiled.order.len(),
            culled: compiled.culled.len(),
            submissions: compiled.submissions.len(),
            waits: compiled.waits.len(),
            barriers: compiled.barriers.len(),
            take_overs: compiled.barriers.iter().filter(|barrier| barrier.takes_over.is_some()).count(),
            transients: compiled.placements.iter().flatten().count(),
            heap_bytes: sum(|heap| heap.bytes),
            bound_bytes: sum(|heap| heap.bound),
            unaliased_bytes: sum(|heap| heap.unaliased),
        },
        heaps: &compiled.heaps,
        submissions: submissions(declaration, compiled),
        culled: compiled
            .culled
            .iter()
            .map(|(pass, reason)| CulledRow {
                pass: *pass,
                name: pass_name(declaration, *pass),
                reason: *reason,
            })
            .collect(),
        resources: resources(declaration, compiled),
    };
    // Plain data whose keys are names: it always has a JSON text.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_else(|_| "null".into());
    text.push('\n');
    text
}

fn submissions<'a>(declaration: &'a Declaration, compiled: &'a Compiled) -> Vec<SubmissionRow<'a>> {
    let rows = compiled.submissions.iter().map(|submission| SubmissionRow {
        queue: queue_name(submission.queue),
        waits: part(&compiled.waits, &submission.waits),
        passes: part(&compiled.order, &submission.passes)
            .iter()
            .map(|plan| pass_row(declaration, compiled, plan))
            .collect(),
        barriers_after: barriers(declaration, compiled, &submission.barriers_after),
    });
    rows.collect()
}

fn pass_row<'a>(declaration: &'a Declaration, compiled: &'a Compiled, plan: &PassPlan) -> PassRow<'a> {
    let pass = declaration.passes.get(plan.pass.0 as usize);
    let uses = pass.map_or(&[][..], |pass| part(&declaration.uses, &pass.uses));
    PassRow {
        pass: plan.pass,
        name: pass_name(declaration, plan.pass),
        asked_for: pass.map(|pass| queue_name(pass.queue)),
        barriers: barriers(declaration, compiled, &plan.barriers),
        uses: uses
            .iter()
            .map(|one| UseRow {
                resource: one.resource,
                name: resource_name(declaration, one.resource),
                access: one.access,
                part: one.part,
            })
            .collect(),
    }
}

fn barriers<'a>(
    declaration: &'a Declaration,
    compiled: &'a Compiled,
    range: &std::ops::Range<u32>,
) -> Vec<BarrierRow<'a>> {
    let row = |barrier: &Barrier| BarrierRow {
        resource: barrier.resource,
        name: resource_name(declaration, barrier.resource),
        part: barrier.part,
        from: scope(barrier.from),
        to: scope(barrier.to),
        takes_over: barrier.takes_over.map(|other| resource_name(declaration, other)),
    };
    part(&compiled.barriers, range).iter().map(row).collect()
}

fn scope(scope: Scope) -> ScopeRow {
    ScopeRow {
        stages: format!("{:?}", scope.stages),
        accesses: format!("{:?}", scope.accesses),
        layout: format!("{:?}", scope.layout),
    }
}

fn resources<'a>(declaration: &'a Declaration, compiled: &Compiled) -> Vec<ResourceRow<'a>> {
    let rows = (0u32..).zip(&declaration.resources).map(|(id, resource)| {
        let at = id as usize;
        ResourceRow {
            resource: ResourceId(id),
            name: &resource.name,
            origin: match resource.origin {
                Origin::Transient { may_alias: true } => "transient",
                Origin::Transient { may_alias: false } => "transient, kept apart",
                Origin::Imported { .. } => "imported",
                Origin::HistoryPrevious { .. } => "history, previous",
                Origin::HistoryCurrent { .. } => "history, current",
            },
            info: resource.info,
            is_shared: compiled.is_shared.get(at).copied().unwrap_or(false),
            lifetime: compiled.lifetimes.get(at).copied().flatten(),
            placement: compiled.placements.get(at).copied().flatten(),
        }
    });
    rows.collect()
}

/// A range of a list, as far as it is there.
fn part<'a, T>(list: &'a [T], range: &std::ops::Range<u32>) -> &'a [T] {
    list.get(range.start as usize..range.end as usize).unwrap_or_default()
}
