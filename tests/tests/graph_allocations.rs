//! A steady frame makes no heap allocation in the graph: not when it is declared, not when it is found, and not when it
//! has to be compiled again.
//!
//! Allocations are counted by thread, so that nothing beside disturbs the count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use vasa::graph::{
    Access, BufferHandle, BufferInfo, Compiler, Declaration, HeapKey, ImageHandle, ImageInfo, ImportState,
    MemoryNeeds, Options, Order, PassId, Queue, Queues, ResourceId, ShaderStages, Subresources,
};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is handed to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps to the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn counted(work: impl FnOnce()) -> u64 {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

/// Buffers of the test itself.
#[derive(Default)]
struct Handles {
    images: Vec<ImageHandle>,
    buffers: Vec<BufferHandle>,
    needs: Vec<ResourceId>,
}

const PASSES: u32 = 60;

/// A frame of draws, dispatches beside them, a mip chain, transient buffers. `step` changes sizes, not the shape.
fn declare(frame: &mut Declaration, handles: &mut Handles, step: u64) {
    frame.reset();
    handles.images.clear();
    handles.buffers.clear();
    let info = ImageInfo { format: 37, extent: [64, 64, 1], mips: 4, layers: 1, samples: 1, usage: 0 };
    let mut target = frame.import_image("target", info, ImportState::Undefined, Some(Access::Present));
    let compute = ShaderStages::COMPUTE;
    let mip = |first_mip| Subresources::Image { first_mip, mips: 1, first_layer: 0, layers: 1 };
    let mut last = PassId(0);
    for number in 0..PASSES {
        let is_compute = number % 5 == 3;
        let pass = frame.pass("pass", if is_compute { Queue::Compute } else { Queue::Graphics });
        let stages = if is_compute { compute } else { ShaderStages::FRAGMENT };
        for image in handles.images.iter().rev().take(2) {
            frame.read_part(pass, *image, Access::Sampled(stages), mip(0));
        }
        if let Some(buffer) = handles.buffers.last() {
            frame.read(pass, *buffer, Access::StorageRead(stages));
        }
        let mut image = frame.image("image", info);
        frame.write_part(
            pass,
            &mut image,
            if is_compute { Access::StorageWrite(compute) } else { Access::ColourAttachment },
            mip(0),
        );
        handles.images.push(image);
        let mut buffer = frame.buffer("buffer", BufferInfo { bytes: 64, usage: 0 });
        frame.write(pass, &mut buffer, Access::StorageWrite(stages));
        handles.buffers.push(buffer);
        last = pass;
    }
    frame.side_effects(last);
    let show = frame.pass("show", Queue::Graphics);
    for image in handles.images.iter().rev().take(1) {
        frame.read_part(show, *image, Access::Sampled(ShaderStages::FRAGMENT), mip(0));
    }
    frame.write(show, &mut target, Access::ColourAttachment);
    frame.before(last, show);
    handles.needs.clear();
    handles.needs.extend(frame.transients().map(|(id, _)| id));
    for &id in &handles.needs {
        let heap = HeapKey { memory_type: id.0 % 2, is_linear: false };
        let bytes = 256 * (1 + (u64::from(id.0) * 7 + step) % 9);
        frame.set_needs(id, MemoryNeeds { bytes, alignment: 256, heap });
    }
}

#[test]
fn steady_frames_allocate_nothing() {
    let queues = Queues { compute: true, transfer: true, commit: true };
    for order in [Order::Declared, Order::Random(7)] {
        let options = Options { queues, order, ..Options::default() };
        let (mut frame, mut handles) = (Declaration::default(), Handles::default());
        let mut compiler = Compiler::new();
        for step in 0..9 {
            declare(&mut frame, &mut handles, step);
            compiler.compile(&frame, &options).unwrap();
        }
        let declared = counted(|| declare(&mut frame, &mut handles, 8));
        assert_eq!(declared, 0, "declaring");
        let before = compiler.stats();
        let found = counted(|| {
            compiler.compile(&frame, &options).unwrap();
        });
        assert_eq!((found, compiler.stats().hits), (0, before.hits + 1), "a frame that is kept");
        for step in 0..9 {
            declare(&mut frame, &mut handles, step);
            let before = compiler.stats();
            let rebuilt = counted(|| {
                compiler.compile(&frame, &options).unwrap();
            });
            assert_eq!(compiler.stats().compiles, before.compiles + 1);
            assert_eq!(rebuilt, 0, "step {step}, {order:?}");
        }
    }
}

#[test]
fn the_count_counts() {
    assert!(counted(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(64)))) > 0);
}
