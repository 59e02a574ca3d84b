//! Every number one can see.
