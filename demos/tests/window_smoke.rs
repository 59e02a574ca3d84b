//! One run in a real window, under Xvfb: it opens, draws, is resized where a tool for that exists, and quits by
//! itself. Everything else about swapchains is tested on headless surfaces.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(600);

/// Ends a process that a failing test leaves behind.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Enough of them that the window is there still when it is resized.
fn frames() -> u32 {
    if tool("xdotool").is_some() { 300 } else { 30 }
}

fn is_on(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !value.is_empty() && value != "0")
}

fn skip(why: &str) {
    assert!(!is_on("VASA_NO_SKIPS"), "VASA_NO_SKIPS is set, but the window test would be skipped: {why}");
    println!("skipped: {}: {why}", std::thread::current().name().unwrap_or("test"));
}

/// An X server without a screen, on a display number that it finds itself.
fn xvfb(folder: &Path) -> Option<(Running, String)> {
    let number = folder.join("display");
    let file = std::fs::File::create(&number).ok()?;
    let server = Command::new(tool("Xvfb")?)
        .args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
        .stdout(file)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let server = Running(server);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let text = std::fs::read_to_string(&number).unwrap_or_default();
        if text.ends_with('\n') {
            return Some((server, format!(":{}", text.trim())));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

#[test]
fn a_window_opens_draws_and_quits() {
    in_a_window(&[], |text, stats| assert_eq!(stats["frames"], frames(), "{text}"));
}

#[test]
fn a_window_outlives_its_device() {
    // Twice: a second swapchain on the window of one that was lost, and a third.
    in_a_window(&["--inject-loss", "9,4"], |text, stats| {
        assert_eq!(text.matches("everything is made again (try").count(), 2, "{text}");
        assert_eq!(stats["device_losses"], 2);
        assert!(stats["frames"].as_u64().is_some_and(|drawn| drawn < u64::from(frames())), "{text}");
    });
}

fn in_a_window(more: &[&str], check: impl FnOnce(&str, &serde_json::Value)) {
    let built = || std::ffi::OsString::from(env!("CARGO_BIN_EXE_demos"));
    let demos = std::env::var_os("VASA_DEMOS").unwrap_or_else(built);
    let report = Command::new(&demos).arg("devices").output().unwrap();
    if !report.status.success() {
        assert!(!is_on("VASA_REQUIRE_DRIVER"), "VASA_REQUIRE_DRIVER is set and no device is usable");
        return skip("no usable Vulkan device");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some((_server, display)) = xvfb(folder.path()) else {
        return skip("Xvfb is not installed (Debian: `apt install xvfb`)");
    };
    let out = folder.path().join("out");
    let log = folder.path().join("log");
    let both = || std::fs::File::options().create(true).append(true).open(&log).unwrap();
    let child = Command::new(demos)
        .args(["terrain", "--window", "--size", "160x120", "--exec", "sparse", "--exec", "messages"])
        .args(more)
        .args(["--frames", &frames().to_string(), "--out"])
        .arg(&out)
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env("DISPLAY", &display)
        .stdin(Stdio::null())
        .stdout(both())
        .stderr(both())
        .spawn()
        .unwrap();
    let mut child = Running(child);
    let begun = Instant::now();
    let mut resized = false;
    let status = loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < LIMIT, "{}", std::fs::read_to_string(&log).unwrap());
        if let Some(xdotool) = tool("xdotool").filter(|_| !resized) {
            let search = ["search", "--name", "Vasa: terrain$", "windowsize", "210", "90"];
            let sent = Command::new(xdotool).args(search).env("DISPLAY", &display).output().unwrap();
            resized = sent.status.success();
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(status.success(), "{text}");
    let stats = std::fs::read_to_string(out.join("stats.json")).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    check(&text, &stats);
    let size = if resized { [210, 90] } else { [160, 120] };
    assert_eq!(stats["size"], serde_json::json!(size), "{text}");
    let picture = image::open(out.join("frame.png")).unwrap().to_rgb8();
    assert_eq!([picture.width(), picture.height()], size);
    let first = picture.get_pixel(0, 0);
    assert!(picture.pixels().any(|p| p != first), "the picture is of one colour");
}
