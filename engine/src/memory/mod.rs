//! Who owns bytes: static heap, chunks, rings.
pub mod ring;
