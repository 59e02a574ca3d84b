//! GPU markers, written down as they are recorded: what a capture of the frame would show.
//!
//! The functions stand between engine and loader, as those of [`hooks`](crate::hooks), which hands them out.
//!
//! `unsafe`, since function pointers cannot be wrapped without it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::OnceLock;

use ash::vk;

/// What is done with the feedback of virtual textures at the end of a frame.
pub const FEEDBACK: [&str; 6] = [
    "VirtualTextureUpdate",
    "  VirtualTextureFeedbackTransition",
    "  Hash table indirect arguments",
    "  Build feedback hash table",
    "  Compact feedback hash table",
    "  VirtualTextureFeedbackCopy",
];

#[derive(Default)]
struct Seen {
    labels: Vec<String>,
    depth: usize,
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}

type Slot = OnceLock<vk::PFN_vkVoidFunction>;
static BEGIN: Slot = OnceLock::new();
static END: Slot = OnceLock::new();

/// Forgets what was seen.
pub fn reset() {
    SEEN.take();
}

/// Markers that this thread has opened since this was asked last, each behind two spaces for every one around it.
pub fn take() -> Vec<String> {
    SEEN.with_borrow_mut(|seen| std::mem::take(&mut seen.labels))
}

/// Our function of that name, if there is one; `real` is the loader's.
pub(crate) fn function(name: &CStr, real: impl Fn() -> vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let slot = match name.to_bytes() {
        b"vkCmdBeginDebugUtilsLabelEXT" => &BEGIN,
        b"vkCmdEndDebugUtilsLabelEXT" => &END,
        _ => return None,
    };
    (*slot.get_or_init(&real))?;
    // SAFETY: function pointers of one size; the caller knows the type by the name.
    unsafe {
        match name.to_bytes() {
            b"vkCmdBeginDebugUtilsLabelEXT" => {
                std::mem::transmute::<vk::PFN_vkCmdBeginDebugUtilsLabelEXT, vk::PFN_vkVoidFunction>(begin)
            }
            _ => std::mem::transmute::<vk::PFN_vkCmdEndDebugUtilsLabelEXT, vk::PFN_vkVoidFunction>(end),
        }
    }
}

/// The loader's function behind a slot.
///
/// # Safety
/// `F` is the type of the function that the slot is for.
unsafe fn real<F: Copy>(slot: &Slot) -> Option<F> {
    let function = slot.get().copied().flatten()?;
    // SAFETY: the caller's promise; function pointers have one size.
    Some(unsafe { std::mem::transmute_copy(&function) })
}

unsafe extern "system" fn begin(commands: vk::CommandBuffer, info: *const vk::DebugUtilsLabelEXT<'_>) {
    // SAFETY: a valid structure with a NUL-terminated name.
    let name = unsafe { CStr::from_ptr((*info).p_label_name) }.to_string_lossy();
    SEEN.with_borrow_mut(|seen| {
        seen.labels.push(format!("{:indent$}{name}", "", indent = 2 * seen.depth));
        seen.depth += 1;
    });
    // SAFETY: the slot's own type, and the caller's arguments.
    unsafe {
        if let Some(function) = real::<vk::PFN_vkCmdBeginDebugUtilsLabelEXT>(&BEGIN) {
            function(commands, info);
        }
    }
}

unsafe extern "system" fn end(commands: vk::CommandBuffer) {
    SEEN.with_borrow_mut(|seen| seen.depth = seen.depth.saturating_sub(1));
    // SAFETY: the slot's own type, and the caller's argument.
    unsafe {
        if let Some(function) = real::<vk::PFN_vkCmdEndDebugUtilsLabelEXT>(&END) {
            function(commands);
        }
    }
}
