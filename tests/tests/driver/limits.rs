//! Requests that can never work are refused by name, and change nothing.

use ash::vk::BufferUsageFlags;
use vasa::sparse::watermark::PlanError;
use vasa::sparse::{Error, GrowableBuffer, GrowableDesc};
use vasa::vk::AddressBudgetError;
use vasa_tests::growable::{resize, storage, waits};
use vasa_tests::pattern::Pattern;
use vasa_tests::{MIB, TILE, on_device};

#[test]
fn committing_past_the_capacity_is_an_error_that_names_both() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Past", 4 * MIB);
        let wait = waits(resize(&sparse, &mut buffer, MIB));
        h.write(&buffer, Pattern::new(1), (0, MIB), &wait);
        for asked in [4 * MIB + 1, u64::MAX - 1] {
            let error = buffer.commit(asked).unwrap_err();
            let text = error.to_string();
            assert!(
                matches!(error, Error::Plan { source: PlanError::PastCapacity { requested, capacity, committed }, .. }
                    if (requested, capacity, committed) == (asked, 4 * MIB, MIB)),
                "{text}"
            );
            assert!(text.starts_with("Past:") && text.contains(&asked.to_string()), "{text}");
        }
        assert_eq!(buffer.committed(), MIB);
        // Until a bind is done, every flush names it again.
        h.device.wait_idle().unwrap();
        assert_eq!(sparse.flush(None).unwrap().wait, None);
        h.expect(&buffer, Pattern::new(1), (0, MIB), &[]);
    });
}

#[test]
fn a_refused_commit_leaves_the_pending_one() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Pending", 4 * MIB);
        buffer.commit(2 * MIB).unwrap();
        assert!(buffer.commit(5 * MIB).is_err());
        let wait = waits(sparse.flush(None).unwrap());
        assert_eq!(buffer.committed(), 2 * MIB);
        h.write(&buffer, Pattern::new(2), (0, 2 * MIB), &wait);
        h.expect_in_chunks(&buffer, Pattern::new(2));
    });
}

#[test]
fn a_capacity_of_zero_is_an_error() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = GrowableDesc::new("Zero", 0, BufferUsageFlags::STORAGE_BUFFER);
        let error = GrowableBuffer::new(&sparse, &desc).unwrap_err();
        assert!(matches!(error, Error::Plan { source: PlanError::ZeroCapacity, .. }), "{error}");
        assert_eq!(sparse.stats().resources.len(), 0);
    });
}

#[test]
fn one_byte_of_capacity_is_one_tile() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let mut buffer = storage(&sparse, "Byte", 1);
        assert_eq!(buffer.capacity(), TILE);
        let wait = waits(resize(&sparse, &mut buffer, u64::MAX));
        h.write(&buffer, Pattern::new(3), (0, TILE), &wait);
        h.expect_in_chunks(&buffer, Pattern::new(3));
    });
}

#[test]
fn a_storage_buffer_is_cut_to_the_largest_storage_range() {
    on_device(|h| {
        let limits = h.device.capabilities().limits;
        let sparse = h.small_chunks();
        let largest = limits.max_storage_buffer_range / TILE * TILE;
        let asked = limits.max_storage_buffer_range.saturating_mul(2);
        let buffer = storage(&sparse, "Cut", asked);
        assert_eq!(buffer.capacity(), largest.min(limits.max_buffer_size / TILE * TILE));
        assert!(buffer.capacity().is_multiple_of(TILE));
    });
}

#[test]
fn other_buffers_are_not_cut_to_the_storage_range() {
    on_device(|h| {
        let limits = h.device.capabilities().limits;
        let sparse = h.small_chunks();
        let asked = limits.max_storage_buffer_range / TILE * TILE + 16 * TILE;
        if asked > limits.max_buffer_size {
            return h.skip("no buffer may be larger than a storage range");
        }
        let desc = GrowableDesc::new("Wide", asked, BufferUsageFlags::INDEX_BUFFER);
        assert_eq!(GrowableBuffer::new(&sparse, &desc).unwrap().capacity(), asked);
    });
}

#[test]
fn the_largest_capacity_there_is_is_cut_and_not_overflowed() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let buffer = storage(&sparse, "Huge", u64::MAX);
        assert!(buffer.capacity() <= h.device.capabilities().limits.max_storage_buffer_range);
        let desc = GrowableDesc::new("Vast", u64::MAX, BufferUsageFlags::INDEX_BUFFER);
        match GrowableBuffer::new(&sparse, &desc) {
            Ok(vast) => assert!(vast.capacity() <= h.device.capabilities().limits.max_buffer_size),
            Err(error) => assert!(matches!(error, Error::Addresses(_)), "{error}"),
        }
    });
}

#[test]
fn reservations_share_the_address_space_and_a_refusal_names_the_holders() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let limits = h.device.capabilities().limits;
        let space = h.device.capabilities().sparse.address_space_bytes;
        let desc = |name, bytes| GrowableDesc::new(name, bytes, BufferUsageFlags::INDEX_BUFFER);
        let make = |name, bytes| GrowableBuffer::new(&sparse, &desc(name, bytes));
        if !h.in_place() {
            // Ordinary buffers take no sparse addresses, so three times the limit of a small device is fine.
            let all: Vec<_> = (0..3).map(|i| make(["A", "B", "C"][i], 2 << 30).unwrap()).collect();
            assert_eq!(sparse.stats().reserved_bytes, all.iter().map(GrowableBuffer::capacity).sum::<u64>());
            return;
        }
        if limits.max_buffer_size < space / 2 || !h.is_software() {
            return h.skip(
                "a GPU's driver has addresses for all devices of a process together and refuses first",
            );
        }
        let half = space / 2 / TILE * TILE;
        let first = make("Terrain.Vertices", half).unwrap();
        let second = make("Rocks", half - 4 * MIB).unwrap();
        let left = space - half - (half - 4 * MIB);
        let error = make("TooMuch", left + TILE).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::Addresses(AddressBudgetError::Exceeded { limit, .. }) if limit == space)
        );
        for name in ["TooMuch", "Terrain.Vertices", "Rocks"] {
            assert!(text.contains(name), "{text}");
        }
        assert_eq!(sparse.stats().reserved_bytes, 2 * half - 4 * MIB, "a refusal reserves nothing");
        let exact = make("Exact", left / TILE * TILE).unwrap();
        drop((second, exact));
        make("TooMuch", left + TILE).unwrap();
        drop(first);
    });
}

#[test]
fn one_reservation_larger_than_all_addresses_is_refused() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let capabilities = h.device.capabilities();
        let asked = capabilities.sparse.address_space_bytes.saturating_add(TILE);
        let desc = GrowableDesc::new("Over", asked, BufferUsageFlags::INDEX_BUFFER);
        let made = GrowableBuffer::new(&sparse, &desc);
        if h.in_place() && asked <= capabilities.limits.max_buffer_size {
            let error = made.unwrap_err().to_string();
            assert!(error.contains("Over") && error.contains("nobody"), "{error}");
        } else {
            // Cut to the largest buffer, or an ordinary buffer that needs no addresses.
            assert!(made.unwrap().capacity() <= capabilities.limits.max_buffer_size);
        }
    });
}

#[test]
fn addresses_are_counted_in_whole_tiles() {
    on_device(|h| {
        let sparse = h.small_chunks();
        let desc = GrowableDesc::new("Odd", TILE + 1, BufferUsageFlags::INDEX_BUFFER);
        let buffer = GrowableBuffer::new(&sparse, &desc).unwrap();
        assert_eq!(buffer.capacity(), 2 * TILE);
        assert_eq!(sparse.stats().reserved_bytes, 2 * TILE);
        if !h.in_place() {
            return;
        }
        // The budget holds what the buffer takes: what is left is less than the space without two tiles.
        let space = h.device.capabilities().sparse.address_space_bytes;
        if space - TILE > h.device.capabilities().limits.max_buffer_size {
            return h.skip("the address space is larger than the largest buffer");
        }
        let desc = GrowableDesc::new("Rest", space - TILE, BufferUsageFlags::INDEX_BUFFER);
        let error = GrowableBuffer::new(&sparse, &desc).unwrap_err();
        assert!(
            matches!(error, Error::Addresses(AddressBudgetError::Exceeded { reserved, .. }) if reserved == 2 * TILE),
            "{error}"
        );
    });
}
