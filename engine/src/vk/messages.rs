//! What the driver and the validation layer say, collected so that tests can fail on it.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Mutex;

use ash::vk;

/// Severity class of a message, by what a test should do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum MessageClass {
    /// An error or a warning of the validation type: a failure.
    Failure,
    /// Advice about performance: listed.
    Performance,
    /// A report of the engine's own checker of sparse memory: counted apart.
    Checker,
    /// Anything else the loader or driver says. An error among it comes with a call that fails, and is that call's.
    General,
}

/// One message, with the layer's identifier.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Message {
    /// What a test should do with it.
    pub class: MessageClass,
    /// The message's identifier, such as `VUID-vkCmdDraw-None-02699`.
    pub id: String,
    /// The text.
    pub text: String,
}

/// Messages of one instance, kept up to a limit and counted beyond it.
#[derive(Debug, Default)]
pub struct MessageLog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    kept: Vec<Message>,
    failures: u64,
    checker: u64,
    /// Identifiers that were logged.
    said: BTreeSet<String>,
}

/// Enough to see what is wrong; a broken frame loop would otherwise fill memory.
const KEPT: usize = 200;

impl MessageLog {
    /// Number of errors and validation warnings so far.
    pub fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// Number of reports of the engine's own checker so far.
    pub fn checker_reports(&self) -> u64 {
        self.lock().checker
    }

    /// The checker's reports among the messages kept, as text.
    pub fn checker_texts(&self) -> Vec<String> {
        let inner = self.lock();
        let reports = inner.kept.iter().filter(|m| m.class == MessageClass::Checker);
        reports.map(|m| format!("{}: {}", m.id, m.text)).collect()
    }

    /// Adds a report of the engine's own checker. Said once a kind in the log.
    pub(crate) fn add_checker_report(&self, id: &str, text: String) {
        self.push(Message { class: MessageClass::Checker, id: id.into(), text });
    }

    /// Forgets the checker's reports, for tests that provoke them. Returns them.
    pub fn take_checker_reports(&self) -> Vec<String> {
        let texts = self.checker_texts();
        let mut inner = self.lock();
        inner.checker = 0;
        inner.kept.retain(|m| m.class != MessageClass::Checker);
        texts
    }

    /// The messages kept (the first 200).
    pub fn messages(&self) -> Vec<Message> {
        self.lock().kept.clone()
    }

    /// Only the failures among the messages kept, as text.
    pub fn failure_texts(&self) -> Vec<String> {
        let inner = self.lock();
        inner
            .kept
            .iter()
            .filter(|m| m.class == MessageClass::Failure)
            .map(|m| format!("{}: {}", m.id, m.text))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic while the lock is held leaves plain counters: nothing to distrust.
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn push(&self, message: Message) {
        let mut inner = self.lock();
        match message.class {
            MessageClass::Failure => {
                inner.failures += 1;
                // Once per cause: what is wrong in one frame is wrong in all of them.
                if inner.said.insert(message.id.clone()) {
                    log::error!(target: "vulkan", "{}: {}", message.id, message.text);
                }
            }
            MessageClass::Checker => {
                inner.checker += 1;
                if inner.said.insert(message.id.clone()) {
                    log::error!(target: "checker", "{}: {}", message.id, message.text);
                }
            }
            MessageClass::Performance => log::debug!(target: "vulkan", "{}: {}", message.id, message.text),
            MessageClass::General => log::debug!(target: "vulkan", "{}: {}", message.id, message.text),
        }
        if inner.kept.len() < KEPT {
            inner.kept.push(message);
        }
    }
}

fn classify(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kind: vk::DebugUtilsMessageTypeFlagsEXT,
) -> MessageClass {
    use vk::DebugUtilsMessageSeverityFlagsEXT as Severity;
    use vk::DebugUtilsMessageTypeFlagsEXT as Kind;
    let validation = kind.contains(Kind::VALIDATION);
    if validation && (severity.contains(Severity::ERROR) || severity.contains(Severity::WARNING)) {
        MessageClass::Failure
    } else if kind.contains(Kind::PERFORMANCE) {
        MessageClass::Performance
    } else {
        MessageClass::General
    }
}

/// The messenger's callback. `user_data` is a pointer to a [`MessageLog`] that outlives the messenger.
///
/// # Safety
/// Called by the Vulkan loader or a layer with valid callback data.
pub(super) unsafe extern "system" fn callback(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user_data: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the loader hands out valid callback data, and user_data is the instance's MessageLog,
    // which lives in an Arc that is dropped after the messenger is destroyed.
    let (data, log) = unsafe { (&*data, &*(user_data as *const MessageLog)) };
    // SAFETY: both strings are null or NUL-terminated, by the specification of the callback data.
    let (id, text) = unsafe { (data.message_id_name_as_c_str(), data.message_as_c_str()) };
    let text_of =
        |s: Option<&std::ffi::CStr>| s.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    log.push(Message { class: classify(severity, kind), id: text_of(id), text: text_of(text) });
    vk::FALSE
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::DebugUtilsMessageSeverityFlagsEXT as Severity;
    use vk::DebugUtilsMessageTypeFlagsEXT as Kind;

    #[test]
    fn validation_warnings_are_failures_and_advice_is_not() {
        assert_eq!(classify(Severity::WARNING, Kind::VALIDATION), MessageClass::Failure);
        assert_eq!(classify(Severity::ERROR, Kind::VALIDATION), MessageClass::Failure);
        assert_eq!(classify(Severity::WARNING, Kind::PERFORMANCE), MessageClass::Performance);
        assert_eq!(classify(Severity::INFO, Kind::VALIDATION), MessageClass::General);
        assert_eq!(classify(Severity::ERROR, Kind::GENERAL), MessageClass::General);
        assert_eq!(classify(Severity::WARNING, Kind::GENERAL), MessageClass::General);
    }

    #[test]
    fn failures_are_counted_beyond_what_is_kept() {
        let log = MessageLog::default();
        for n in 0..KEPT + 7 {
            log.push(Message { class: MessageClass::Failure, id: n.to_string(), text: String::new() });
        }
        assert_eq!(log.failures(), KEPT as u64 + 7);
        assert_eq!(log.messages().len(), KEPT);
    }
}
