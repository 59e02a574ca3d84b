//! The on-disk pipeline cache: written when a device closes, read when it opens, and never trusted.

use std::path::{Path, PathBuf};

use vasa::vk::{ComputePipeline, Device, DeviceOptions, shader};
use vasa_tests::harness::{Harness, on_device};

/// Opens the test's device again with a cache folder, compiles a pipeline, and closes it.
fn compile(h: &Harness, folder: &Path) {
    let options = DeviceOptions { cache_folder: Some(folder.to_path_buf()), ..h.device_options() };
    let device = Device::open(h.device.instance(), &options).unwrap();
    let pipeline = ComputePipeline::new(&device, &shader::FILL, "fill").unwrap();
    drop((pipeline, device));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_cache_is_written_whole_and_survives_damage() {
    on_device(|h| {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("made/when/needed");
        compile(h, &below);
        let [file] = &files(&below)[..] else { panic!("one file, no temporary one: {:?}", files(&below)) };
        let written = std::fs::read(file).unwrap();
        // The header that Vulkan prescribes: its length, version 1, vendor and device.
        let word = |i: usize| u32::from_le_bytes(written[i * 4..i * 4 + 4].try_into().unwrap());
        let (vendor, id) = h.device.capabilities().id;
        assert_eq!((word(0), word(1), word(2), word(3)), (32, 1, vendor, id));
        compile(h, &below);
        for damage in [&b""[..], b"nonsense", &written[..written.len() / 2]] {
            std::fs::write(file, damage).unwrap();
            compile(h, &below);
        }
        assert_eq!(std::fs::read(file).unwrap()[..16], written[..16], "a damaged cache is replaced");
        assert_eq!(files(&below).len(), 1);
    });
}

#[test]
fn a_folder_that_cannot_be_written_costs_only_the_cache() {
    on_device(|h| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file, not a folder");
        std::fs::write(&file, "kept").unwrap();
        compile(h, &file);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    });
}
