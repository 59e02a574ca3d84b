//! The program as people and scripts use it: bad input is one line that says what to do, with the right exit
//! status. What needs a Vulkan driver takes the one that the environment names.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program: where the environment says (a folder made by `cargo xtask dist`), or where cargo built it.
fn program() -> PathBuf {
    std::env::var_os("VASA_DEMOS").map_or_else(|| env!("CARGO_BIN_EXE_demos").into(), PathBuf::from)
}

/// Runs the program without display and without any Vulkan driver.
fn demos(arguments: &[&str]) -> Output {
    Command::new(program())
        .args(arguments)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env_remove("VASA_ASSETS")
        .env("VK_DRIVER_FILES", "/nowhere/driver.json")
        .env("VK_ICD_FILENAMES", "/nowhere/driver.json")
        .output()
        .unwrap()
}

/// The one `error:` line, the last of standard error.
fn error_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    assert_eq!(text.lines().last(), errors.first().copied(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    errors[0].to_owned()
}

fn refused(arguments: &[&str], status: i32, says: &str) {
    let output = demos(arguments);
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert!(error.contains(says), "{arguments:?}: {error}");
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn wrong_usage_is_status_two() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    for (arguments, says) in [
        (&["terrain", "--size", "0x0"][..], "at least 1x1"),
        (&["terrain", "--frames", "0"], "at least 1"),
        (&["terrain", "--budget", "1"], "at least 16"),
        (&["terrain", "--set", "light.exposure=dark", "--out", out], "0.01 to 100"),
        (&["terrain", "--exec", "vt puddles", "--out", out], "known: device"),
        (&["terrain", "--headless", "--window"], "cannot be used with"),
        (&["terrain", "--capture-vt-draws", "0", "--out", out], "from 1 to 100"),
        (&["terrain", "--capture-vt-draws", "3", "--direct", "--out", out], "cannot be used with"),
        (&["residency", "--set", "residency.budget_mib=0", "--out", out], "1 to 4096"),
        (&["pressure", "--budget", "-4"], "at least 16"),
        (&["volcano"], "unrecognized subcommand"),
    ] {
        refused(arguments, 2, says);
    }
    assert_eq!(files(Path::new(out)), 0, "nothing was begun");
}

#[test]
fn what_cannot_be_done_is_status_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("file"), "").unwrap();
    std::fs::write(at("text.tif"), "not a height map").unwrap();
    let (out, blocked) = (at("out"), at("file/out"));
    refused(&["terrain", "--out", &blocked], 1, "choose another with --out");
    refused(&["terrain", "--window", "--out", &out], 1, "leave --window out");
    refused(&["terrain", "--knobs", &at("none"), "--out", &out], 1, "cannot be read");
    for (file, says) in [("missing.tif", "missing.tif"), ("file", "empty"), ("text.tif", "text")] {
        refused(&["terrain", "--headless", "--dem", &at(file), "--out", &out], 1, says);
    }
    assert_eq!(files(Path::new(&out)), 0, "nothing half-written");
}

#[test]
fn without_a_driver_there_is_an_error_that_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    refused(&["terrain", "--out", out], 1, "cargo xtask driver");
    assert_eq!(files(Path::new(out)), 0, "nothing half-written");
}

#[test]
fn without_renderdoc_nothing_is_captured_and_nothing_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    refused(
        &["terrain", "--headless", "--capture-vt-draws", "2", "--out", out.to_str().unwrap()],
        1,
        "run `renderdoccmd capture -w",
    );
    assert!(!out.exists(), "the folder is not even made");
}

#[test]
fn no_display_is_said_once_and_headless_follows() {
    let out = tempfile::tempdir().unwrap();
    let output = demos(&["terrain", "--out", out.path().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.matches("running headless").count(), 1, "{text}");
}

#[test]
fn the_device_report_is_json_even_without_a_driver() {
    let output = demos(&["devices", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["chosen", "devices", "loader_error"]);
    assert!(report["chosen"].is_null() && report["devices"].as_array().unwrap().is_empty());
    assert!(report["loader_error"].as_str().unwrap().contains("Vulkan"), "{report}");
    assert_eq!(output.stderr.len(), 0, "JSON readers get nothing else");
}

#[test]
fn help_is_complete() {
    let output = demos(&["terrain", "--help"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    for flag in [
        "--headless",
        "--frames",
        "--size",
        "--out",
        "--seed",
        "--fallback",
        "--mask",
        "--validate",
        "--device",
        "--set",
        "--exec",
        "--yes",
        "--dem",
        "--vt-report",
        "--capture-vt",
        "--capture-vt-draws",
        "--grow",
        "--exaggerate",
        "--pixel-size",
        "--window",
        "--knobs",
    ] {
        assert!(text.contains(flag), "{flag} is missing:\n{text}");
    }
}

/// Runs the program on the driver that the environment names, without display; `None` where there is none.
fn on_a_driver(arguments: &[&str]) -> Option<Output> {
    let headless = |command: &mut Command| {
        for variable in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            command.env_remove(variable);
        }
    };
    let mut devices = Command::new(program());
    headless(&mut devices);
    if !devices.arg("devices").output().unwrap().status.success() {
        let required = std::env::var("VASA_REQUIRE_DRIVER").is_ok_and(|v| !v.is_empty() && v != "0");
        assert!(!required, "VASA_REQUIRE_DRIVER is set and no device is usable");
        println!("skipped: no usable Vulkan device");
        return None;
    }
    let mut command = Command::new(program());
    headless(&mut command);
    Some(command.args(arguments).output().unwrap())
}

fn flight(out: &Path, more: &[&str]) -> Option<(Vec<u8>, serde_json::Value)> {
    let mut arguments = vec!["terrain", "--headless", "--size", "64x36", "--out", out.to_str().unwrap()];
    arguments.extend(more);
    let output = on_a_driver(&arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stats = std::fs::read_to_string(out.join("stats.json")).unwrap();
    Some((std::fs::read(out.join("frame.png")).unwrap(), serde_json::from_str(&stats).unwrap()))
}

#[test]
fn the_default_flight_grows_and_shrinks_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some((picture, stats)) = flight(&folder.path().join("first"), &[]) else { return };
    let number = |part: &str, key: &str| stats[part][key].as_u64().unwrap();
    assert!(number("sparse", "committed_bytes_max") >= 48 << 20, "{}", stats["sparse"]);
    assert!(number("sparse", "grows") >= 3 && number("sparse", "shrinks") >= 3, "{}", stats["sparse"]);
    // Not only the steps of the scene's tables: the geometry itself comes and goes.
    let resources = stats["sparse"]["resources"].as_array().unwrap();
    let vertices = resources.iter().find(|r| r["name"] == "Geometry.Vertices").unwrap();
    assert!(vertices["grows"].as_u64() >= Some(3) && vertices["shrinks"].as_u64() >= Some(3), "{vertices}");
    assert!(number("sparse", "max_bind_calls_per_frame") <= 1);
    assert_eq!(stats["validation_messages"], 0);
    assert!(number("gpu_scene", "triangles_drawn") > 50_000 && number("gpu_scene", "rocks") > 100);
    let again = flight(&folder.path().join("again"), &[]).unwrap();
    assert!(again.0 == picture, "the same arguments gave another picture");
    let (fallback, without) = flight(&folder.path().join("fallback"), &["--fallback"]).unwrap();
    assert_eq!((&without["sparse"]["fallback"], &without["sparse"]["bind_calls"]), (&true.into(), &0.into()));
    assert_eq!(without["vt"]["pages_drawn"], stats["vt"]["pages_drawn"]);
    assert!(fallback == picture, "sparse and --fallback gave different pictures");
}

#[test]
fn ground_evaluated_directly_is_the_same_without_sparse_binding() {
    let folder = tempfile::tempdir().unwrap();
    let short = ["--direct", "--frames", "40"];
    let Some((picture, stats)) = flight(&folder.path().join("sparse"), &short) else { return };
    assert!(stats["vt"].is_null());
    let fallback =
        flight(&folder.path().join("fallback"), &["--direct", "--frames", "40", "--fallback"]).unwrap();
    assert!(fallback.0 == picture, "sparse and --fallback gave different pictures");
}

/// The residency scene, small.
fn streamed(out: &Path, more: &[&str]) -> Option<(Vec<u8>, serde_json::Value)> {
    let out = out.to_str().unwrap();
    let mut arguments = vec!["residency", "--headless", "--size", "96x54", "--frames", "8", "--out", out];
    arguments.extend(more);
    let output = on_a_driver(&arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let at = |name: &str| Path::new(out).join(name);
    let stats = std::fs::read_to_string(at("stats.json")).unwrap();
    Some((std::fs::read(at("frame.png")).unwrap(), serde_json::from_str(&stats).unwrap()))
}

#[test]
fn the_streamed_image_is_the_same_every_time_and_without_sparse_binding() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    let Some((picture, stats)) = streamed(&pages, &["--dump-pages", "--exec", "pages"]) else { return };
    let residency = &stats["residency"];
    let number = |key: &str| residency[key].as_u64().unwrap();
    assert!(number("maps") > 20 && number("mapped_tiles") < number("tiles") / 4, "{residency}");
    assert!(number("mapped_tiles") + number("pinned_tiles") <= number("budget_tiles"), "{residency}");
    assert_eq!((&stats["validation_messages"], &stats["checker_messages"]), (&0.into(), &0.into()));
    let text = std::fs::read_to_string(pages.join("pages.txt")).unwrap();
    assert!(text.contains("Ground") && text.contains("reserved only"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(pages.join("pages.json")).unwrap()).unwrap();
    assert!(
        json["page_tables"].as_array().is_some_and(|tables| tables.iter().any(|t| t["name"] == "Ground"))
    );
    assert!(json["chunks"].as_array().is_some_and(|chunks| !chunks.is_empty()));
    assert!(std::fs::read(pages.join("pages.png")).unwrap().starts_with(b"\x89PNG"));
    for more in [&[][..], &["--fallback"], &["--mask", "sparse_residency_image_2d"]] {
        let (again, stats) = streamed(&folder.path().join("again"), more).unwrap();
        assert!(again == picture, "{more:?} gave another picture");
        assert_eq!(stats["residency"]["in_place"], more.is_empty(), "{more:?}");
    }
}

#[test]
fn a_device_without_block_compression_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["residency", "--headless", "--frames", "1", "--mask", "bc", "--out", out];
    let Some(output) = on_a_driver(&arguments) else { return };
    assert_eq!(output.status.code(), Some(1));
    let error = error_of(&output);
    assert!(error.contains("textureCompressionBC"), "{error}");
    assert_eq!(files(folder.path()), 0, "nothing half-written");
}

#[test]
fn extreme_sizes_are_drawn_or_refused_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let Some(output) =
        on_a_driver(&["terrain", "--headless", "--size", "1x1", "--frames", "1", "--out", out])
    else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let before = files(folder.path());
    let huge = ["terrain", "--headless", "--size", "200000x200000", "--frames", "1", "--out", out];
    let output = on_a_driver(&huge).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error_of(&output).contains("at most"), "{}", error_of(&output));
    assert_eq!(files(folder.path()), before, "nothing new, and nothing half-written");
}

/// A short flight in which the device is lost.
#[test]
fn the_report_of_virtual_textures_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (out, report) = (folder.path().join("out"), folder.path().join("report"));
    let more =
        ["--frames", "12", "--vt-report", report.to_str().unwrap(), "--exec", "vt page Terrain 12 0 0"];
    let common = ["terrain", "--headless", "--size", "64x36", "--out", out.to_str().unwrap()];
    let history = ["--exec", "vt history", "--exec", "vt flush"];
    let Some(output) = on_a_driver(&[&common[..], &more, &history].concat()) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    for says in
        ["Terrain level 12 page 0,0", "exempt from budgets", "sampled", "pages go with the next frame"]
    {
        assert!(said.contains(says), "{says} is missing:\n{said}");
    }
    for name in ["pools.txt", "usage.txt", "tables.txt", "counters.txt", "history.txt"] {
        let text = std::fs::read_to_string(report.join(name)).unwrap();
        assert!(text.lines().count() > 1, "{name}: {text}");
    }
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(report.join(name)).unwrap()).unwrap()
    };
    let vt = json("vt.json");
    let keys: Vec<_> = vt.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["frames", "options", "stats", "usage"]);
    assert_eq!(vt["frames"].as_array().unwrap().len(), 12);
    assert!(!json("history.json").as_array().unwrap().is_empty());
    let pools = vt["stats"]["pools"].as_array().unwrap().len();
    let mut pictures = vec!["curves.png".to_owned()];
    pictures.extend((0..pools).flat_map(|pool| ["", "-pages"].map(|kind| format!("atlas-{pool}{kind}.png"))));
    for texture in vt["stats"]["textures"].as_array().unwrap() {
        let name = texture["name"].as_str().unwrap();
        pictures.extend([
            format!("page-table-{name}.png"),
            format!("view-{name}.png"),
            format!("view-{name}-camera.png"),
        ]);
    }
    assert!(pictures.len() >= 12, "{pictures:?}");
    for name in &pictures {
        let picture = image::open(report.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")).to_rgb8();
        let first = *picture.get_pixel(0, 0);
        // Far away the ground is displaced by nothing.
        let is_even = picture.pixels().all(|pixel| *pixel == first);
        assert!(!is_even || name.contains("Displacement"), "{name} is empty");
    }
    // Nothing half-written is left.
    assert_eq!(files(&report), pictures.len() + 7);
}

fn lost(out: &Path, more: &[&str]) -> Option<(Output, Option<Vec<u8>>)> {
    let out = out.to_str().unwrap();
    let mut arguments = vec!["terrain", "--headless", "--size", "64x36", "--frames", "6", "--out", out];
    // An engine that is made anew has no frames before: its pictures have to be the same without them.
    arguments.extend(["--set", "render.temporal=off", "--set", "render.auto_exposure=off"]);
    arguments.extend(more);
    let output = on_a_driver(&arguments)?;
    Some((output, std::fs::read(Path::new(out).join("frame.png")).ok()))
}

#[test]
fn a_lost_device_is_recovered_from_or_ends_the_run_as_the_policy_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let Some((whole, picture)) = lost(&at("whole"), &[]) else { return };
    assert!(whole.status.success(), "{}", said(&whole));
    // Lost while loading, while flying, and twice.
    for losses in ["0", "5", "4,1"] {
        let (output, again) = lost(&at(losses), &["--inject-loss", losses]).unwrap();
        let text = said(&output);
        assert!(output.status.success(), "{losses}: {text}");
        assert!(again == picture, "{losses}: another picture");
        assert_eq!(
            text.matches("everything is made again (try").count(),
            losses.split(',').count(),
            "{text}"
        );
        let stats = std::fs::read_to_string(at(losses).join("stats.json")).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["device_losses"], losses.split(',').count(), "{losses}");
    }
    let (output, _) = lost(&at("memory"), &["--inject-loss", "memory:5"]).unwrap();
    assert!(output.status.success() && said(&output).contains("with a lower load"), "{}", said(&output));
    for (losses, policy, says) in [
        ("1,1,1,1", "recover", "lost during vkQueueSubmit2"),
        ("5", "stop", "(Graphics: "),
        ("5", "stop", "EdgeBlend"),
        ("5", "ignore", "there is no picture"),
    ] {
        let folder = at(&format!("{policy}{losses}"));
        let (output, picture) =
            lost(&folder, &["--inject-loss", losses, "--on-device-lost", policy]).unwrap();
        assert_eq!((output.status.code(), picture.is_some()), (Some(1), false), "{policy}{losses}");
        assert!(error_of(&output).contains(says), "{policy}: {}", said(&output));
        assert_eq!(files(&folder), 0, "{policy}: nothing half-written");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    if on_a_driver(&["devices"]).is_none() {
        return;
    }
    let mut child = Command::new(program())
        .args(["terrain", "--headless", "--size", "64x36", "--frames", "100000", "--out"])
        .arg(&out)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Long enough to be drawing on any machine; an interrupt while it still loads is as clean.
    std::thread::sleep(std::time::Duration::from_secs(5));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{status}");
    assert!(!out.exists() || files(&out) == 0, "an interrupted run leaves no file");
}
