//! What the driver takes by itself: binds by size and layout, allocations by size.

use std::sync::Arc;

use ash::vk::{self, BufferUsageFlags};
use vasa::vk::{Buffer, Device};

use super::compare::leave_out;
use super::raw::{BareMemory, BareQueue, Binds};
use super::subjects::range;
use super::{Allocated, Measured, Plan, Queue, RunFigures, TILE_BYTES, Times, Work};
use crate::error::Error;
use crate::report::size;
use crate::stats;

/// Allocations of one size, at most.
const ALLOCATIONS: u64 = 8;
/// Bytes of them together, at most, unless one is larger.
const ALLOCATED_BYTES: u64 = 1 << 30;

/// How tiles of one batch lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One bind for all of them.
    Merged,
    /// A bind each, side by side.
    Neighbours,
    /// A bind each, with a gap between.
    Scattered,
}

impl Layout {
    const ALL: [Self; 3] = [Self::Merged, Self::Neighbours, Self::Scattered];

    fn name(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Neighbours => "side by side",
            Self::Scattered => "scattered",
        }
    }

    /// Ranges of `count` tiles, in memory that goes on from one to the next.
    fn ranges(self, count: u64, tile: u64, memory: vk::DeviceMemory) -> Vec<vk::SparseMemoryBind> {
        let each = |stride: u64| (0..count).map(move |i| range(i * stride * tile, tile, (memory, i * tile)));
        match self {
            Self::Merged => vec![range(0, count * tile, (memory, 0))],
            Self::Neighbours => each(1).collect(),
            Self::Scattered => each(2).collect(),
        }
    }
}

/// Binds of a buffer, made bare: one by size, and many by layout.
///
/// # Errors
/// A lost device. Running out of memory leaves a work out.
pub(super) fn binds(
    device: &Arc<Device>,
    queue: Queue,
    plan: &Plan,
    figures: &mut RunFigures,
) -> Result<(), Error> {
    if !device.capabilities().sparse.growable_buffers() {
        figures.skip("binds by size and layout", "the device cannot bind buffers partly");
        return Ok(());
    }
    let mut bare = BareQueue::new(device, queue)?;
    let tile = device.sparse_buffer_alignment().max(TILE_BYTES);
    for &bytes in &plan.sizes {
        let count = bytes.div_ceil(tile);
        let name = format!("one bind of {}", size(count * tile));
        one(device, &mut bare, queue, (&name, Layout::Merged, count, tile), plan.turns, figures)
            .or_else(|e| leave_out(e, name, figures))?;
    }
    for &count in &plan.layouts {
        for layout in Layout::ALL {
            let name = format!("{count} tiles of {}, {}", size(tile), layout.name());
            one(device, &mut bare, queue, (&name, layout, count, tile), plan.turns, figures)
                .or_else(|e| leave_out(e, name, figures))?;
        }
    }
    Ok(())
}

fn one(
    device: &Arc<Device>,
    bare: &mut BareQueue,
    queue: Queue,
    (name, layout, count, tile): (&str, Layout, u64, u64),
    turns: u64,
    figures: &mut RunFigures,
) -> Result<(), Error> {
    let usage = BufferUsageFlags::VERTEX_BUFFER;
    let buffer = Buffer::reserved(device, "Bench.Binds", count * 2 * tile, usage, false)?;
    let memory_type = device.chunk_memory_type(buffer.requirements().memory_types)?;
    let memory = device.allocate_memory("Bench.Memory", count * tile, memory_type, true)?;
    let bind = Binds::Buffer(buffer.raw(), layout.ranges(count, tile, memory.raw()));
    let unbind = bind.unbound();
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..=turns {
        let both = [bare.bind(&bind, &[])?, bare.bind(&unbind, &[])?];
        if turn > 0 {
            times.iter_mut().zip(both).for_each(|(all, one)| all.push(one));
        }
    }
    for (operation, times) in ["bind", "unbind"].into_iter().zip(&times) {
        let bytes = count * tile;
        let work = Work { queue, name: name.into(), operation, binds: bind.len(), bytes };
        let bare = Times::median(times);
        figures.measured.extend(bare.map(|bare| Measured { work, ours: None, bare }));
    }
    drop(buffer);
    drop(memory);
    device.wait_idle()?;
    Ok(())
}

/// Allocations, made bare, of the memory type that chunks come from.
///
/// # Errors
/// A lost device. Running out of memory leaves a size out.
pub(super) fn allocations(device: &Arc<Device>, plan: &Plan, figures: &mut RunFigures) -> Result<(), Error> {
    let usage = BufferUsageFlags::VERTEX_BUFFER;
    let bits = if device.capabilities().sparse.growable_buffers() {
        Buffer::reserved(device, "Bench.Dummy", 1 << 20, usage, false)?.requirements().memory_types
    } else {
        u32::MAX
    };
    let memory_type = device.chunk_memory_type(bits)?;
    for &bytes in &plan.sizes {
        match allocate(device, memory_type, bytes) {
            Ok(allocated) => figures.allocated.extend(allocated),
            Err(error) => leave_out(error, format!("allocations of {}", size(bytes)), figures)?,
        }
    }
    Ok(())
}

fn allocate(device: &Arc<Device>, memory_type: u32, bytes: u64) -> Result<Option<Allocated>, Error> {
    let count = (ALLOCATED_BYTES / bytes).clamp(2, ALLOCATIONS);
    let mut memory = BareMemory::new(device, memory_type);
    let first_us = memory.allocate(bytes)?;
    let more = (1..count).map(|_| memory.allocate(bytes)).collect::<Result<Vec<_>, _>>()?;
    let free: Vec<f64> = std::iter::from_fn(|| memory.free()).collect();
    let again = (0..count)
        .map(|_| {
            let us = memory.allocate(bytes);
            memory.free();
            us
        })
        .collect::<Result<Vec<_>, _>>()?;
    let median = stats::median;
    let figures = median(&more).zip(median(&again)).zip(median(&free));
    Ok(figures.map(|((more_us, again_us), free_us)| Allocated {
        bytes,
        first_us,
        more_us,
        again_us,
        free_us,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::Handle;

    #[test]
    fn layouts_cover_the_same_memory() {
        let memory = vk::DeviceMemory::from_raw(1);
        let of = |layout: Layout| layout.ranges(4, 10, memory);
        let covered = |binds: &[vk::SparseMemoryBind]| binds.iter().map(|b| b.size).sum::<u64>();
        let offsets = |binds: &[vk::SparseMemoryBind]| -> Vec<(u64, u64)> {
            binds.iter().map(|b| (b.resource_offset, b.memory_offset)).collect()
        };
        assert!(Layout::ALL.iter().all(|layout| covered(&of(*layout)) == 40));
        assert_eq!(offsets(&of(Layout::Merged)), [(0, 0)]);
        assert_eq!(offsets(&of(Layout::Neighbours)), [(0, 0), (10, 10), (20, 20), (30, 30)]);
        assert_eq!(offsets(&of(Layout::Scattered)), [(0, 0), (20, 10), (40, 20), (60, 30)]);
    }
}
