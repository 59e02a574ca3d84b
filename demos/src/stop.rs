//! Ctrl-C: the current frame is finished, nothing is left half-written.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Result};

static ASKED: AtomicBool = AtomicBool::new(false);
static WRITING: AtomicBool = AtomicBool::new(false);

/// Begins to listen. A second Ctrl-C does not wait for the frame, or for what is being loaded.
///
/// # Errors
/// When the system refuses.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) && !WRITING.load(Ordering::SeqCst) {
            std::process::exit(i32::from(Failure::Stopped.status()));
        }
    })
    .map_err(|e| Failure::failed(format!("Ctrl-C cannot be listened to: {e}")))
}

/// Whether the run was asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// [`Failure::Stopped`] once the run was asked to stop.
///
/// # Errors
/// That one.
pub fn check() -> Result<()> {
    if asked() { Err(Failure::Stopped) } else { Ok(()) }
}

/// Runs what must not be cut in the middle.
pub fn without_interruption<T>(write: impl FnOnce() -> T) -> T {
    WRITING.store(true, Ordering::SeqCst);
    let result = write();
    WRITING.store(false, Ordering::SeqCst);
    result
}
