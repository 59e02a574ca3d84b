//! demos
fn main() {}
