//! Shaders that change while frames are drawn: the picture follows, an error keeps it and names the line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use vasa::Engine;
use vasa::vk::{ComputePipeline, shader};
use vasa_tests::scenes::{self, add_hills, draw, flight, hills};
use vasa_tests::{Harness, on_device};

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// An engine that watches a copy of the shaders.
struct Stage {
    engine: Engine,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(h: &Harness) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shaders = folder.path().join("shaders");
        copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders"), &shaders);
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &hills());
        engine.watch_shaders(&shaders).unwrap();
        engine.shader_reload().unwrap().set_interval(Duration::ZERO);
        Self { engine, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("shaders").join(name)
    }

    /// Replaces text in a shader; the file gets a new length or a new time.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no `{from}`");
        std::fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
    }

    /// The picture of the next frame, after another that may still be in flight.
    fn picture(&mut self) -> Vec<u8> {
        let camera = flight(&hills(), 0.3);
        draw(&mut self.engine, camera);
        draw(&mut self.engine, camera);
        self.engine.read_back().unwrap()
    }
}

const EXPOSURE: &str = "light *= (*f).exposure;";

#[test]
fn a_changed_shader_changes_the_picture_and_a_broken_one_keeps_it() {
    on_device(|h| {
        let mut stage = Stage::new(h);
        let first = stage.picture();
        assert!(stage.picture() == first, "nothing changed");
        assert_eq!(stage.engine.shader_errors(), [""; 0]);

        stage.edit("tone_map.wgsl", EXPOSURE, "light = light.grb * (*f).exposure * 0.5;");
        let second = stage.picture();
        assert!(second != first, "the picture did not follow");

        stage.edit("tone_map.wgsl", "    let display", "    let nonsense = missing_word;\n    let display");
        assert!(stage.picture() == second, "an error changed the picture");
        let errors = stage.engine.shader_errors();
        let text = std::fs::read_to_string(stage.path("tone_map.wgsl")).unwrap();
        let line = text.lines().position(|line| line.contains("missing_word")).unwrap() + 1;
        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with(&format!("shaders/tone_map.wgsl:{line}:")), "{}", errors[0]);
        assert!(errors[0].contains("missing_word"), "{}", errors[0]);

        // An entry point that is gone is an error of the pipeline, not of the file.
        stage.edit("tone_map.wgsl", "    let nonsense = missing_word;\n", "");
        stage.edit("tone_map.wgsl", "fn tone_map_fragment", "fn tone_map_other");
        assert!(stage.picture() == second);
        assert!(stage.engine.shader_errors()[0].contains("no entry point tone_map_fragment"));

        stage.edit("tone_map.wgsl", "fn tone_map_other", "fn tone_map_fragment");
        stage.edit("tone_map.wgsl", "light = light.grb * (*f).exposure * 0.5;", EXPOSURE);
        assert!(stage.picture() == first, "mended, and as at first");
        assert_eq!(stage.engine.shader_errors(), [""; 0]);
    });
}

#[test]
fn an_include_reaches_every_shader_that_has_it() {
    on_device(|h| {
        let mut stage = Stage::new(h);
        let first = stage.picture();
        let name = "lib/atmosphere.wgsl";
        let text = std::fs::read_to_string(stage.path(name)).unwrap();
        std::fs::write(stage.path(name), format!("{text}\nfn broken( {{\n")).unwrap();
        let events = stage.engine.shader_reload().unwrap().poll();
        assert!(events.len() > 1 && events.iter().all(|event| event.outcome.is_err()), "{events:?}");
        let line = text.lines().count() + 2;
        for error in stage.engine.shader_errors() {
            assert!(error.starts_with(&format!("shaders/{name}:{line}:")), "{error}");
        }
        assert!(stage.picture() == first);
        std::fs::write(stage.path(name), &text).unwrap();
        let events = stage.engine.shader_reload().unwrap().poll();
        assert!(events.iter().all(|event| event.outcome.as_ref().is_ok_and(|made| *made > 0)), "{events:?}");
        assert!(stage.picture() == first && stage.engine.shader_errors().is_empty());
        // A file that is gone for a moment, as some editors write.
        std::fs::remove_file(stage.path(name)).unwrap();
        assert!(stage.picture() == first);
        assert!(stage.engine.shader_errors().iter().all(|error| error.contains("atmosphere.wgsl")));
        std::fs::write(stage.path(name), &text).unwrap();
        assert!(stage.picture() == first && stage.engine.shader_errors().is_empty());
    });
}

#[test]
fn old_pipelines_retire_and_new_handles_get_the_new_code() {
    on_device(|h| {
        let mut stage = Stage::new(h);
        stage.picture();
        // What is committed ahead is an object, too.
        stage.engine.sparse().wait_for_ahead();
        h.settle();
        let before = h.device.object_counts().live;
        let fill = ComputePipeline::new(&h.device, &shader::FILL, "fill").unwrap();
        assert_eq!(fill.groups([1024, 1, 1]), [4, 1, 1]);
        let raw = fill.raw();
        stage.edit("fill.wgsl", "@workgroup_size(256", "@workgroup_size(128");
        stage.picture();
        assert!(fill.raw() != raw);
        assert_eq!(fill.groups([1024, 1, 1]), [8, 1, 1], "the host asks the new shader");
        let later = ComputePipeline::new(&h.device, &shader::FILL, "fill").unwrap();
        assert_eq!(later.groups([1024, 1, 1]), [8, 1, 1]);
        drop((fill, later));
        for _ in 0..20 {
            stage.edit("fill.wgsl", "// ", "//  ");
            stage.picture();
        }
        stage.edit("fill.wgsl", "@workgroup_size(128", "@workgroup_size(256");
        stage.picture();
        h.settle();
        assert_eq!(h.device.object_counts().live, before);
    });
}

#[test]
fn a_folder_without_the_shaders_is_refused() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let empty = tempfile::tempdir().unwrap();
        let error = engine.watch_shaders(empty.path()).unwrap_err().to_string();
        assert!(error.contains("cannot read it"), "{error}");
    });
}
