//! Reading what callers point to, and writing where they want answers.
//!
//! Entry points are `unsafe` functions with Vulkan's own signatures; the contract is Vulkan's: pointers are valid
//! for what their structs say, lists for their counts.

use ash::vk;

/// A reference to what a caller's pointer points to.
macro_rules! get {
    ($pointer:expr) => {{
        let pointer = $pointer;
        // SAFETY: the caller of a Vulkan function passes valid pointers where the specification wants one.
        unsafe { &*pointer }
    }};
}
pub(super) use get;

/// Writes an answer where the caller wants it.
macro_rules! set {
    ($pointer:expr, $value:expr) => {{
        let (pointer, value) = ($pointer, $value);
        // SAFETY: the caller of a Vulkan function passes a place for each output.
        unsafe { pointer.write(value) }
    }};
}
pub(super) use set;

/// A caller's list of `count` items; empty for a count of zero or a null pointer.
macro_rules! list {
    ($pointer:expr, $count:expr) => {{
        let (pointer, count) = ($pointer, $count as usize);
        if pointer.is_null() || count == 0 {
            &[]
        } else {
            // SAFETY: the caller of a Vulkan function passes lists as long as their counts.
            unsafe { std::slice::from_raw_parts(pointer, count) }
        }
    }};
}
pub(super) use list;

/// The two-call protocol: writes the count, or as many items as fit.
///
/// # Safety
///
/// `count` is valid, and `out` is null or has room for `*count` items.
pub(super) unsafe fn enumerate<T: Clone>(items: &[T], count: *mut u32, out: *mut T) -> vk::Result {
    // SAFETY: as promised by the caller; `write` gets places inside that room only.
    unsafe { enumerate_into(items, count, out, |place, item| place.write(item.clone())) }
}

/// [`enumerate`], for structs of which only a part is written.
///
/// # Safety
///
/// As [`enumerate`].
pub(super) unsafe fn enumerate_into<S, T>(
    items: &[S],
    count: *mut u32,
    out: *mut T,
    mut write: impl FnMut(*mut T, &S),
) -> vk::Result {
    if out.is_null() {
        set!(count, items.len() as u32);
        return vk::Result::SUCCESS;
    }
    let room = *get!(count) as usize;
    for (index, item) in items.iter().take(room).enumerate() {
        // SAFETY: `index` is below `room`, and the caller promises that many places.
        write(unsafe { out.add(index) }, item);
    }
    set!(count, items.len().min(room) as u32);
    if room < items.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
}

/// The structs of a `pNext` chain.
///
/// # Safety
///
/// `first` is null or starts a valid chain, which stays as it is while this is used.
pub(super) unsafe fn chain(
    first: *const std::ffi::c_void,
) -> impl Iterator<Item = *const vk::BaseInStructure<'static>> {
    std::iter::successors(non_null(first.cast()), |at: &*const vk::BaseInStructure<'static>| {
        non_null(get!(*at).p_next)
    })
}

fn non_null(pointer: *const vk::BaseInStructure<'static>) -> Option<*const vk::BaseInStructure<'static>> {
    (!pointer.is_null()).then_some(pointer)
}

/// The first struct of a chain with this type.
///
/// # Safety
///
/// As [`chain`], and the chain outlives `'a`.
pub(super) unsafe fn find<'a, T: vk::TaggedStructure>(first: *const std::ffi::c_void) -> Option<&'a T> {
    // SAFETY: as promised by the caller.
    unsafe { chain(first) }
        .find(|at| get!(*at).s_type == T::STRUCTURE_TYPE)
        // SAFETY: `s_type` says that it is a `T`, and the caller promises that it lives for `'a`.
        .map(|at| unsafe { &*at.cast::<T>() })
}
