//! The bind trace: one line a bind, for people who look for the one that hurt.
//!
//! A thread of its own waits for each bind, so that the time until the GPU can use it is seen when it happens and not
//! at the end of a frame.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{Memory, ResourceBinds};
use super::lower::Names;
use crate::vk::{Device, Point};

/// Who made a bind call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A frame's flush.
    Frame,
    /// The worker, ahead of need.
    Ahead,
}

/// What the binds of one batch have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) frame: u64,
    pub(super) source: Source,
    pub(super) phase: &'static str,
    pub(super) started: Instant,
    /// Time of the whole call on its thread.
    pub(super) cpu: Duration,
    pub(super) point: Point,
}

#[derive(Debug, Default)]
pub(super) struct Trace {
    writer: Mutex<Option<Writer>>,
}

#[derive(Debug)]
struct Writer {
    lines: Sender<(Record, Vec<String>)>,
    thread: JoinHandle<std::io::Result<()>>,
}

/// Heads the columns; a tab between each.
const HEAD: &str = "frame\tsource\tphase\tresource\trange\tchunk\tchunk_offset\tcpu_us\tusable_us";

impl Trace {
    pub(super) fn start(&self, device: &Arc<Device>, path: &Path) -> std::io::Result<()> {
        self.end()?;
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{HEAD}")?;
        let (lines, received) = channel();
        let device = device.clone();
        let thread = std::thread::Builder::new()
            .name("vasa bind trace".into())
            .spawn(move || write_lines(&device, &received, file))?;
        *self.lock() = Some(Writer { lines, thread });
        Ok(())
    }

    pub(super) fn end(&self) -> std::io::Result<()> {
        let Some(Writer { lines, thread }) = self.lock().take() else { return Ok(()) };
        drop(lines);
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the bind trace's thread panicked")))
    }

    pub(super) fn record(&self, names: &Names, resources: &[ResourceBinds], record: Record) {
        let writer = self.lock();
        let Some(writer) = writer.as_ref() else { return };
        let mut lines = Vec::new();
        for r in resources {
            let name = names.resource(r.resource);
            let memory = |m: Option<Memory>| match m {
                Some(m) => format!("{}\t{}", names.chunk(m.chunk), m.offset),
                None => "-\t-".to_owned(),
            };
            for b in &r.bytes {
                let metadata = if b.metadata { " metadata" } else { "" };
                let range = format!("bytes {}..{}{metadata}", b.offset, b.offset.saturating_add(b.bytes));
                lines.push(format!("{name}\t{range}\t{}", memory(b.memory)));
            }
            for t in &r.tiles {
                let ([x, y, z], [w, h, d]) = (t.offset, t.extent);
                let range = format!("layer {} mip {} texels {x},{y},{z} +{w}x{h}x{d}", t.layer, t.mip);
                lines.push(format!("{name}\t{range}\t{}", memory(t.memory)));
            }
        }
        // A thread that has stopped has an error to tell at the end.
        let _ = writer.lines.send((record, lines));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Writer>> {
        // Replaced as a whole.
        self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            log::error!("the bind trace is not whole: {error}");
        }
    }
}

fn write_lines(
    device: &Device,
    received: &Receiver<(Record, Vec<String>)>,
    mut file: BufWriter<File>,
) -> std::io::Result<()> {
    for (record, lines) in received {
        // A lost device signals nothing: its binds never become usable.
        let usable = device.wait(&[record.point]).is_ok().then(|| record.started.elapsed());
        let usable = usable.map_or("-".to_owned(), |t| format!("{:.1}", t.as_secs_f64() * 1e6));
        let source = match record.source {
            Source::Frame => "frame",
            Source::Ahead => "ahead",
        };
        for line in lines {
            let Record { frame, phase, cpu, .. } = record;
            let cpu = cpu.as_secs_f64() * 1e6;
            writeln!(file, "{frame}\t{source}\t{phase}\t{line}\t{cpu:.1}\t{usable}")?;
        }
    }
    file.flush()
}
