//! Who owns bytes: static heap, chunks, rings.
