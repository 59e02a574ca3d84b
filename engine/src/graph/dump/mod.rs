//! A compiled frame to look at. Everything is text or pixels in a stable order: the same frame gives the same bytes.
//!
//! ```text
//! Declaration + Compiled --dot-----------------> passes by submission, what flows between them, semaphores (Graphviz)
//!                        --json----------------> all of it, for scripts
//!                        --lifetime_chart_svg--> passes across, bytes down, a rectangle a transient
//!                        --occupancy_map-------> one heap at one moment: bytes as cells, coloured by owner
//! ```
//!
//! A `Compiled` that belongs to another declaration gives a wrong picture, never a panic.

mod chart;
mod colour;
mod dot;
mod json;
mod map;
mod svg;
#[cfg(test)]
mod tests;

use super::compiled::{Compiled, Lifetime, Placement};
use super::declaration::{Declaration, Queue, Resource};
use super::handle::{PassId, ResourceId};

pub use chart::lifetime_chart_svg;
pub use dot::dot;
pub use json::json;
pub use map::{OccupancyMap, occupancy_map, peak_place};

/// The name of a pass, whatever the id.
fn pass_name(declaration: &Declaration, pass: PassId) -> &str {
    declaration.passes.get(pass.0 as usize).map_or("?", |pass| &pass.name)
}

/// The name of a resource, whatever the id.
fn resource_name(declaration: &Declaration, resource: ResourceId) -> &str {
    declaration.resources.get(resource.0 as usize).map_or("?", |resource| &resource.name)
}

fn queue_name(queue: Queue) -> &'static str {
    match queue {
        Queue::Graphics => "graphics",
        Queue::Compute => "compute",
        Queue::Transfer => "transfer",
        Queue::Commit => "commit",
    }
}

/// A transient that has a place.
struct Laid<'a> {
    id: ResourceId,
    resource: &'a Resource,
    placement: Placement,
    lifetime: Lifetime,
}

/// Transients of a heap, by offset, then by first use.
fn laid_in<'a>(declaration: &'a Declaration, compiled: &Compiled, heap: u32) -> Vec<Laid<'a>> {
    let mut all: Vec<Laid<'a>> = (0..)
        .zip(&declaration.resources)
        .zip(compiled.placements.iter().zip(&compiled.lifetimes))
        .filter_map(|((id, resource), (placement, lifetime))| {
            let (placement, lifetime) = ((*placement)?, (*lifetime)?);
            (placement.heap == heap).then_some(Laid { id: ResourceId(id), resource, placement, lifetime })
        })
        .collect();
    all.sort_by_key(|laid| (laid.placement.offset, laid.lifetime.first, laid.id));
    all
}

/// Bytes of a heap alive at every place of the order.
fn alive(laid: &[Laid<'_>], places: usize) -> Vec<u64> {
    let mut alive = vec![0u64; places];
    for one in laid {
        let range = one.lifetime.first as usize..(one.lifetime.last as usize).saturating_add(1).min(places);
        for bytes in alive.get_mut(range).into_iter().flatten() {
            *bytes = bytes.saturating_add(one.placement.bytes);
        }
    }
    alive
}
