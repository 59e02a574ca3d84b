//! The `null` ring: no device at all. Decisions about devices and queues, made for devices that do not exist.

mod budget;
mod devices;
mod engine;
mod graph;
mod growing;
mod images;
mod loss;
mod masks;
mod queues;
mod selection;
mod settings;
mod window;
