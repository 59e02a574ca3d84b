//! Console commands: a registry, so that a part of the engine adds its own beside the others.

use std::fmt::Write as _;

use vasa::Engine;
use vasa::inspect::Stats;
use vasa::vk::Device;
use vasa::vt::VtStats;

use crate::knobs::Settings;
use crate::pages;
use crate::vt_console;

/// What commands look at and change.
pub struct Context<'a> {
    /// The engine's numbers.
    pub stats: &'a Stats,
    /// The engine; what is changed shows in its next frame, if there is one.
    pub engine: &'a mut Engine,
    /// Knobs; live ones may be changed.
    pub settings: &'a mut Settings,
}

/// One command.
pub struct ConsoleCommand {
    /// Its words.
    pub name: &'static str,
    /// Its arguments, for `help`.
    pub arguments: &'static str,
    /// What it does.
    pub meaning: &'static str,
    run: fn(&mut Context<'_>, &str) -> Result<String, String>,
}

/// Every command there is, by name.
pub const COMMANDS: &[ConsoleCommand] = &[
    ConsoleCommand {
        name: "device",
        arguments: "",
        meaning: "the device, its queues and its quirks",
        run: |c, _| Ok(device(c.engine.device())),
    },
    ConsoleCommand {
        name: "graph",
        arguments: "",
        meaning: "the frame graph: passes, barriers, memory that transients share",
        run: |c, _| Ok(c.stats.graph.to_string()),
    },
    ConsoleCommand { name: "help", arguments: "", meaning: "the commands", run: |_, _| Ok(help()) },
    ConsoleCommand {
        name: "knobs",
        arguments: "",
        meaning: "the knobs, with values and ranges",
        run: |c, _| Ok(c.settings.table()),
    },
    ConsoleCommand {
        name: "memory",
        arguments: "",
        meaning: "memory and Vulkan objects",
        run: |c, _| Ok(memory(c.stats)),
    },
    ConsoleCommand {
        name: "messages",
        arguments: "",
        meaning: "what validation said",
        run: |c, _| Ok(messages(c.engine.device())),
    },
    ConsoleCommand {
        name: "pages",
        arguments: "",
        meaning: "page tables and chunks of reserved memory",
        run: |c, _| Ok(pages::text(c.engine.sparse().checker())),
    },
    ConsoleCommand {
        name: "passes",
        arguments: "",
        meaning: "GPU time of every pass",
        run: |c, _| Ok(passes(c.stats)),
    },
    ConsoleCommand {
        name: "residency",
        arguments: "",
        meaning: "the streamed image, its tiles and mips",
        run: |c, _| {
            Ok(c.stats.residency.as_ref().map_or("this scene streams no image".into(), ToString::to_string))
        },
    },
    ConsoleCommand {
        name: "set",
        arguments: "KEY=VALUE",
        meaning: "change a live knob",
        run: |c, rest| {
            c.settings.set(rest, true).map(|()| format!("{rest} from the next frame on, if there is one"))
        },
    },
    ConsoleCommand {
        name: "sparse",
        arguments: "",
        meaning: "reserved resources, their chunks and binds",
        run: |c, _| Ok(sparse(c.stats)),
    },
    ConsoleCommand {
        name: "vt counters",
        arguments: "",
        meaning: "what was asked of virtual textures and what became of it, over all frames",
        run: |c, _| of_vt(c, VtStats::counters_text),
    },
    ConsoleCommand {
        name: "vt flush",
        arguments: "",
        meaning: "throw all pages of virtual textures away with the next frame",
        run: |c, _| Ok(vt_console::flush(c.engine)),
    },
    ConsoleCommand {
        name: "vt history",
        arguments: "",
        meaning: "the last pages that were made, drawn again and evicted, and why",
        run: |c, _| Ok(vt_console::history(c.engine)),
    },
    ConsoleCommand {
        name: "vt page",
        arguments: "TEXTURE LEVEL X Y",
        meaning: "a page: where it is, and why it was made",
        run: |c, rest| vt_console::page(c.engine, rest),
    },
    ConsoleCommand {
        name: "vt pools",
        arguments: "",
        meaning: "pools of pages: format, pages, what is allocated, locked and mapped, MiB",
        run: |c, _| of_vt(c, VtStats::pools_text),
    },
    ConsoleCommand {
        name: "vt tables",
        arguments: "",
        meaning: "page tables of virtual textures: format, size, bytes",
        run: |c, _| of_vt(c, VtStats::tables_text),
    },
    ConsoleCommand {
        name: "vt usage",
        arguments: "",
        meaning: "which virtual texture holds how many pages, by level",
        run: |c, _| of_vt(c, VtStats::usage_text),
    },
];

fn of_vt(context: &Context<'_>, text: fn(&VtStats) -> String) -> Result<String, String> {
    Ok(context.stats.vt.as_ref().map_or(vt_console::NONE.into(), text))
}

/// Finds a command by its words; gives back what follows them.
///
/// # Errors
/// A line that lists the commands.
pub fn find(line: &str) -> Result<(&'static ConsoleCommand, &str), String> {
    let line = line.trim();
    let rest_of = |name: &str| {
        line.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    COMMANDS
        .iter()
        .find_map(|command| rest_of(command.name).map(|rest| (command, rest.trim())))
        .and_then(|(command, rest)| {
            (command.arguments.is_empty() == rest.is_empty()).then_some((command, rest))
        })
        .ok_or_else(|| {
            let names: Vec<_> = COMMANDS.iter().map(usage).collect();
            format!("there is no console command `{line}`; known: {}", names.join(", "))
        })
}

/// Runs a line.
///
/// # Errors
/// A line that says what is wrong with it.
pub fn run(line: &str, context: &mut Context<'_>) -> Result<String, String> {
    let (command, rest) = find(line)?;
    (command.run)(context, rest)
}

fn usage(command: &ConsoleCommand) -> String {
    format!("{} {}", command.name, command.arguments).trim_end().to_owned()
}

fn help() -> String {
    let line = |c: &ConsoleCommand| format!("{:<25} {}", usage(c), c.meaning);
    COMMANDS.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn mib(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}

fn device(device: &Device) -> String {
    let c = device.capabilities();
    let mut text = format!(
        "{} [{:?}], {}, Vulkan {}, sparse tier {}",
        c.name,
        c.device_type,
        c.driver,
        c.api,
        c.sparse.tier()
    );
    let mut line = |part: &str| {
        let _ = write!(text, "\n  {part}"); // Writing into a string cannot fail.
    };
    device.queue_plan().reasons.iter().for_each(|reason| line(reason));
    device.quirks().iter().for_each(|q| line(&format!("quirk {}: {}", q.name, q.reason)));
    for (i, heap) in c.heaps.iter().enumerate() {
        let kind = if heap.device_local { "device" } else { "host" };
        line(&format!("heap {i}: {} ({kind})", mib(heap.bytes)));
    }
    text
}

fn memory(stats: &Stats) -> String {
    let m = &stats.memory;
    let owners: Vec<_> = m.owners.iter().take(8).map(ToString::to_string).collect();
    let reason = m.degrade_reason.as_deref().unwrap_or("nothing was ever given up");
    format!(
        "in use {} (most {}), budget {}\nlargest owners: {}\ndegrade level {}: {reason}\nuploaded {} through the ring, {} writes did not fit\n\
         {} Vulkan objects alive, {} made in the last 100 frames",
        mib(m.usage_bytes),
        mib(m.peak_usage_bytes),
        mib(m.budget_bytes),
        owners.join(", "),
        m.degrade_level.unwrap_or(0),
        mib(m.upload_bytes),
        m.upload_overflows,
        stats.objects.live,
        stats.objects.created_last_100_frames,
    )
}

fn messages(device: &Device) -> String {
    let instance = device.instance();
    if !instance.validation() {
        return "validation is off (--validate turns it on)".into();
    }
    let mut texts = instance.messages().failure_texts();
    texts.extend(instance.messages().checker_texts());
    if texts.is_empty() { "validation and the checker said nothing".into() } else { texts.join("\n") }
}

fn passes(stats: &Stats) -> String {
    let line = |(name, ms): (&String, &vasa::inspect::PassMilliseconds)| {
        format!("{name:<16} median {:>9.3} ms, longest {:>9.3} ms", ms.median, ms.max)
    };
    stats.gpu_ms.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn sparse(stats: &Stats) -> String {
    let s = &stats.sparse;
    let how = if s.fallback { "recreated and copied (fallback)" } else { "grown in place" };
    let mut text = format!(
        "buffers are {how}\ncommitted {} of {} reserved (most {}), {} chunks of {}, {} cached\n\
         {} bind calls ({} ahead of need, most {} a frame), {} binds, {} unbinds, {} saved by merging\n\
         {} frames waited; the last bind call took {:.1} us and was usable after {:.1} us at most",
        mib(s.committed_bytes),
        mib(s.reserved_bytes),
        mib(s.committed_bytes_max),
        s.chunks,
        mib(s.physical_bytes),
        s.cached_chunks,
        s.bind_calls,
        s.bind_calls_ahead,
        s.max_bind_calls_per_frame,
        s.binds,
        s.unbinds,
        s.merged_binds,
        s.frames_waited,
        s.last_commit_cpu_ns as f64 / 1e3,
        s.last_commit_usable_ns as f64 / 1e3,
    );
    for r in &s.resources {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n  {:<24} {:>12} asked, {:>12} committed, {:>3} chunks, {} grows, {} shrinks, {} waited",
            r.name,
            mib(r.requested_bytes),
            mib(r.committed_bytes),
            r.chunks,
            r.grows,
            r.shrinks,
            r.waited
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_whole_words() {
        assert_eq!(find(" sparse ").unwrap().0.name, "sparse");
        let (command, rest) = find("set light.exposure=2").unwrap();
        assert_eq!((command.name, rest), ("set", "light.exposure=2"));
        for wrong in ["", "sparsely", "set", "help me", "vt", "vt pool"] {
            let error = find(wrong).err().unwrap();
            assert!(error.contains("known: device, graph, help"), "{wrong}: {error}");
        }
    }

    #[test]
    fn help_lists_every_command_in_order() {
        assert!(COMMANDS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert_eq!(help().lines().count(), COMMANDS.len());
    }

    #[test]
    fn the_reference_lists_every_command() {
        let page = include_str!("../../docs/reference/knobs.md");
        for command in COMMANDS {
            let row = format!("| `{}` |", usage(command));
            assert!(page.contains(&row), "docs/reference/knobs.md has no row of {row}");
        }
    }
}
