//! What can be wrong with a frame. Every message names the pass and the resource and says what to do.

use super::access::Access;
use super::declaration::Queue;

/// A mistake in a declaration, or in how a compiled frame is used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum GraphError {
    /// A copy of a handle was used after another pass had written the resource.
    #[error(
        "pass '{pass}' uses version {version} of '{resource}', but pass '{writer}' wrote version {current}: \
         use the handle that was given to that write"
    )]
    StaleHandle {
        /// The pass that uses it.
        pass: String,
        /// The resource.
        resource: String,
        /// The version of the handle.
        version: u32,
        /// The newest version.
        current: u32,
        /// The pass that wrote it.
        writer: String,
    },
    /// A handle of another declaration, or of an earlier frame.
    #[error(
        "pass '{pass}' uses a handle (resource {resource}) of another frame: declare resources anew after every \
         reset and keep no handles"
    )]
    OtherFrame {
        /// The pass that uses it.
        pass: String,
        /// Index of the resource in the declaration that the handle belongs to.
        resource: u32,
    },
    /// A use was declared for a pass that is not the last one.
    #[error(
        "a use of '{resource}' was declared for pass '{pass}' after pass '{last}' had been declared: declare all \
         uses of a pass before the next pass"
    )]
    LateUse {
        /// The pass that it was declared for.
        pass: String,
        /// The resource.
        resource: String,
        /// The pass declared last.
        last: String,
    },
    /// A pass id that the declaration does not have.
    #[error("pass {pass} does not exist, {passes} passes are declared: use ids of this frame only")]
    UnknownPass {
        /// The id.
        pass: u32,
        /// Number of passes.
        passes: u32,
    },
    /// A resource id that the declaration does not have.
    #[error("resource {resource} does not exist, {resources} are declared: use ids of this frame only")]
    UnknownResource {
        /// The id.
        resource: u32,
        /// Number of resources.
        resources: u32,
    },
    /// An access that writes was declared as a read.
    #[error("pass '{pass}' reads '{resource}' by {access:?}, which writes: declare a write")]
    NotARead {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// The access.
        access: Access,
    },
    /// An access that only reads was declared as a write.
    #[error("pass '{pass}' writes '{resource}' by {access:?}, which only reads: declare a read")]
    NotAWrite {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// The access.
        access: Access,
    },
    /// An access that this kind of resource does not have.
    #[error(
        "pass '{pass}' touches the {kind} '{resource}' by {access:?}: choose an access that {kind}s have"
    )]
    WrongKind {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// "image" or "buffer".
        kind: &'static str,
        /// The access.
        access: Access,
    },
    /// An access that this queue does not have.
    #[error(
        "pass '{pass}' on the {queue:?} queue touches '{resource}' by {access:?}: choose another queue for the \
         pass, or an access that the queue has"
    )]
    WrongQueue {
        /// The pass.
        pass: String,
        /// Its queue.
        queue: Queue,
        /// The resource.
        resource: String,
        /// The access.
        access: Access,
    },
    /// A part that the resource does not have.
    #[error(
        "pass '{pass}' touches {part} of '{resource}', which has {whole}: name a part inside, at least one"
    )]
    PartOutside {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// What was asked for.
        part: String,
        /// What there is.
        whole: String,
    },
    /// One pass touches one part in ways that exclude each other.
    #[error(
        "pass '{pass}' touches the same part of '{resource}' by {first:?} and by {second:?}: split the pass, name \
         parts that do not overlap, or declare one access that does both"
    )]
    Conflict {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// One access.
        first: Access,
        /// The other access.
        second: Access,
    },
    /// What no pass wrote is read.
    #[error(
        "pass '{pass}' reads '{resource}' by {access:?}, but no pass before wrote that part: write it first, by an \
         access that covers it"
    )]
    ReadBeforeWrite {
        /// The pass that reads.
        pass: String,
        /// The resource.
        resource: String,
        /// The access.
        access: Access,
    },
    /// What only a switched-off pass would have written is read.
    #[error(
        "pass '{pass}' reads '{resource}', but pass '{writer}' that writes it is switched off and nothing was there \
         before: read it by read_optional, or switch the reader off too"
    )]
    WriterSwitchedOff {
        /// The pass that reads.
        pass: String,
        /// The resource.
        resource: String,
        /// The pass that is switched off.
        writer: String,
    },
    /// A pass writes what last frame left.
    #[error("pass '{pass}' writes '{resource}', the history of the last frame: write the current one")]
    HistoryWritten {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
    },
    /// Pages of a resource that the graph itself lays out cannot be bound by a pass.
    #[error("pass '{pass}' commits pages of the transient '{resource}': import the resource")]
    CommitOfTransient {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
    },
    /// Passes that have to come before each other.
    #[error("passes wait for each other: {}: remove one of the explicit orders", passes.join(" -> "))]
    Cycle {
        /// The passes on the cycle; the first stands at the end again.
        passes: Vec<String>,
    },
    /// A transient without its size.
    #[error(
        "the transient '{resource}', used by pass '{pass}', has no memory needs: ask the driver and call set_needs \
         before compiling"
    )]
    MissingNeeds {
        /// The first pass that uses it.
        pass: String,
        /// The resource.
        resource: String,
    },
    /// A pass asked for a resource that it did not declare.
    #[error(
        "pass '{pass}' uses '{resource}' without declaring it: declare a read or a write before recording"
    )]
    Undeclared {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
    },
    /// A pass asked for a transient whose memory may be someone else's by now.
    #[error(
        "pass '{pass}' uses the transient '{resource}' after its last declared use, by pass '{last}': declare the \
         use"
    )]
    PastLastUse {
        /// The pass.
        pass: String,
        /// The resource.
        resource: String,
        /// The pass with the last declared use.
        last: String,
    },
    /// An imported image that was made for one queue family is used by passes of several.
    #[error(
        "'{resource}' is used on queues of several families, but was made for one: make it by \
         Image::committed_shared, or keep its passes on one queue"
    )]
    Exclusive {
        /// The resource.
        resource: String,
    },
    /// A declaration, read from a file, that no builder can have made.
    #[error("the declaration contradicts itself: {what}: record it again")]
    Broken {
        /// What is wrong.
        what: String,
    },
}
