//! Drivers that say no: nothing has changed then, and what was committed before keeps working.

use ash::vk::Result as VkResult;
use vasa::sparse::{Error, GrowableBuffer};
use vasa::vk;
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::hooks;
use vasa_tests::pattern::Pattern;
use vasa_tests::{MIB, on_device};

fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::Vulkan(error) if error.is_out_of_memory())
}

/// The fallback on a GPU takes its buffers out of large blocks, where nothing is left to refuse.
fn fits_into_the_static_heap(h: &vasa_tests::Harness) -> bool {
    let fits = !h.in_place() && !h.is_software();
    if fits {
        h.skip("the static heap's blocks have room: no allocation can be refused");
    }
    fits
}

#[test]
fn running_out_of_memory_half_way_changes_nothing() {
    on_device(|h| {
        if fits_into_the_static_heap(h) {
            return;
        }
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Half", 100 * MIB);
        let pattern = Pattern::new(1);
        let wait = waits(resize(&sparse, &mut buffer, 2 * MIB));
        h.write(&buffer, pattern, (0, 2 * MIB), &wait);
        let (sizes, slot) = (buffer.sizes(), buffer.slot());
        // Three chunks are given, the fourth is refused; the fallback's one large allocation is refused at once.
        hooks::fail_allocations_after(Some(if buffer.in_place() { 3 } else { 0 }));
        let error = buffer.commit(90 * MIB).unwrap_err();
        hooks::fail_allocations_after(None);
        assert!(is_out_of_memory(&error), "{error}");
        let text = error.to_string();
        assert!(text.contains("Half") && text.contains("heap"), "{text}");
        assert_eq!((buffer.sizes(), buffer.slot()), (sizes, slot));
        // Until a bind is done, every flush names it again.
        h.device.wait_idle().unwrap();
        let flushed = sparse.flush(None).unwrap();
        assert_eq!(flushed.wait, None, "nothing is pending after a refused commit");
        h.expect(&buffer, pattern, (0, 2 * MIB), &[]);
        let wait = waits(resize(&sparse, &mut buffer, 6 * MIB));
        h.write(&buffer, pattern, (2 * MIB, 6 * MIB), &wait);
        h.expect_in_chunks(&buffer, pattern);
    });
}

#[test]
fn running_out_of_memory_leaves_the_commit_before_it_pending() {
    on_device(|h| {
        if fits_into_the_static_heap(h) {
            return;
        }
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Kept", 100 * MIB);
        assert!(buffer.commit(2 * MIB).unwrap().moved);
        hooks::fail_allocations_after(Some(0));
        let error = buffer.commit(90 * MIB).unwrap_err();
        hooks::fail_allocations_after(None);
        assert!(is_out_of_memory(&error), "{error}");
        assert_eq!(buffer.committed(), 2 * MIB, "the error says that nothing has changed");
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&buffer, Pattern::new(2), (0, 2 * MIB), &wait);
        h.expect_in_chunks(&buffer, Pattern::new(2));
    });
}

#[test]
fn ready_chunks_are_given_up_before_memory_is_said_to_be_out() {
    on_device(|h| {
        if fits_into_the_static_heap(h) {
            return;
        }
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Ready", 64 * MIB);
        resize(&sparse, &mut buffer, 4 * MIB);
        resize(&sparse, &mut buffer, 0);
        hooks::fail_allocations_after(Some(0));
        let result = buffer.commit(60 * MIB);
        hooks::fail_allocations_after(None);
        assert!(result.is_err(), "this needs more than what is ready");
        h.settle();
        assert_eq!(sparse.stats().chunks, 0);
        if buffer.in_place() {
            // Four chunks were taken from the cache before the fifth was refused. They went back.
            assert_eq!(sparse.stats().cached_chunks, 4);
        }
    });
}

fn refused_bind(result: VkResult) -> impl FnOnce(&vasa_tests::Harness) {
    move |h| {
        let sparse = h.small_chunks();
        let mut grows = storage(&sparse, "Grows", 16 * MIB);
        let mut shrinks = storage(&sparse, "Shrinks", 16 * MIB);
        let (one, two) = (Pattern::new(3), Pattern::new(4));
        grows.commit(MIB).unwrap();
        shrinks.commit(4 * MIB).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&grows, one, (0, MIB), &wait);
        h.write(&shrinks, two, (0, 4 * MIB), &wait);
        grows.commit(5 * MIB).unwrap();
        shrinks.commit(2 * MIB).unwrap();
        hooks::fail_binds(Some(result));
        let flushed = sparse.flush(None);
        hooks::fail_binds(None);
        if !h.in_place() {
            // Nothing is bound, so nothing can be refused.
            let wait = waits(flushed.unwrap());
            h.expect(&grows, one, (0, MIB), &wait);
            return h.expect(&shrinks, two, (0, 2 * MIB), &wait);
        }
        assert!(matches!(flushed, Err(Error::Vulkan(vk::Error::Vulkan { .. }))), "{flushed:?}");
        assert_eq!((grows.committed(), shrinks.committed()), (MIB, 4 * MIB), "rolled back");
        h.expect_in_chunks(&grows, one);
        h.expect_in_chunks(&shrinks, two);
        // And the same again, this time without a fault.
        grows.commit(5 * MIB).unwrap();
        shrinks.commit(2 * MIB).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        h.write(&grows, one, (MIB, 5 * MIB), &wait);
        h.expect_in_chunks(&grows, one);
        h.expect_in_chunks(&shrinks, two);
    }
}

#[test]
fn a_bind_refused_for_device_memory_rolls_every_commit_back() {
    on_device(|h| refused_bind(VkResult::ERROR_OUT_OF_DEVICE_MEMORY)(h));
}

#[test]
fn a_bind_refused_for_host_memory_rolls_every_commit_back() {
    on_device(|h| refused_bind(VkResult::ERROR_OUT_OF_HOST_MEMORY)(h));
}

#[test]
fn a_refused_first_buffer_gives_its_addresses_back() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let reserved = sparse.stats().reserved_bytes;
        hooks::fail_allocations_after(Some(0));
        let desc =
            vasa::sparse::GrowableDesc::new("First", 4 * MIB, ash::vk::BufferUsageFlags::STORAGE_BUFFER);
        let made = GrowableBuffer::new(&sparse, &desc);
        hooks::fail_allocations_after(None);
        // In place nothing is allocated before the first commit; the fallback may need its smallest buffer.
        assert!(made.is_ok() || !h.in_place());
        drop(made);
        assert_eq!(sparse.stats().reserved_bytes, reserved);
        assert_eq!(sparse.stats().resources.len(), 0);
    });
}
