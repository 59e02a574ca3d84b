//! The frame as a graph for Graphviz: a box a pass, grouped by submission, and what flows from one to the next.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::colour::{hex, of_queue};
use super::{Compiled, Declaration, PassId, pass_name, queue_name, resource_name};
use crate::graph::compiled::{CullReason, Submission};
use crate::graph::declaration::Origin;
use crate::graph::handle::ResourceId;

/// Names on an edge; beyond these it says how many more.
const MOST_NAMES: usize = 3;

/// The compiled frame in the DOT language: `dot -Tsvg frame.dot -o frame.svg` draws it. Solid edges are data, dashed ones
/// semaphores, ovals what outlives the frame, grey boxes passes that take no part.
pub fn dot(declaration: &Declaration, compiled: &Compiled) -> String {
    let mut text = String::new();
    // Writing to a string never fails.
    let _ = draw(&mut text, declaration, compiled);
    text
}

fn draw(text: &mut String, declaration: &Declaration, compiled: &Compiled) -> fmt::Result {
    writeln!(text, "digraph frame {{")?;
    writeln!(text, "  rankdir=LR; compound=true; fontname=\"sans-serif\"; nodesep=0.15; ranksep=0.5;")?;
    writeln!(text, "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=11];")?;
    writeln!(
        text,
        "  edge [fontname=\"sans-serif\", fontsize=9, color=\"#707a8a\", fontcolor=\"#505a6a\"];"
    )?;
    for (index, submission) in compiled.submissions.iter().enumerate() {
        draw_submission(text, declaration, compiled, index, submission)?;
    }
    if !compiled.culled.is_empty() {
        writeln!(
            text,
            "  subgraph cluster_culled {{ label=\"takes no part\"; color=\"#b0b4bc\"; style=dashed;"
        )?;
        for (pass, reason) in &compiled.culled {
            let why = match reason {
                CullReason::SwitchedOff => "switched off",
                CullReason::Unused => "nobody uses it",
            };
            let name = escape(pass_name(declaration, *pass));
            writeln!(text, "    p{} [label=\"{name}\\n{why}\", fillcolor=\"#e4e6ea\"];", pass.0)?;
        }
        writeln!(text, "  }}")?;
    }
    draw_flow(text, declaration, compiled)?;
    for (index, submission) in compiled.submissions.iter().enumerate() {
        let waits = compiled.waits.get(submission.waits.start as usize..submission.waits.end as usize);
        for wait in waits.unwrap_or_default() {
            let from =
                compiled.submissions.get(wait.submission as usize).and_then(|s| s.passes.clone().next_back());
            let to = submission.passes.clone().next();
            let pass = |place: Option<u32>| compiled.order.get(place? as usize).map(|plan| plan.pass.0);
            if let (Some(from), Some(to)) = (pass(from), pass(to)) {
                writeln!(
                    text,
                    "  p{from} -> p{to} [style=dashed, color=\"#c03040\", penwidth=1.5, ltail=cluster_{}, lhead=cluster_{index}];",
                    wait.submission
                )?;
            }
        }
    }
    writeln!(text, "}}")
}

fn draw_submission(
    text: &mut String,
    declaration: &Declaration,
    compiled: &Compiled,
    index: usize,
    submission: &Submission,
) -> fmt::Result {
    let queue = queue_name(submission.queue);
    let colour = hex(of_queue(submission.queue));
    writeln!(text, "  subgraph cluster_{index} {{ label=\"{index}: {queue}\"; color=\"{colour}\";")?;
    let range = submission.passes.start as usize..submission.passes.end as usize;
    for plan in compiled.order.get(range).unwrap_or_default() {
        let name = escape(pass_name(declaration, plan.pass));
        let barriers = match plan.barriers.len() {
            0 => String::new(),
            1 => "\\n1 barrier".into(),
            count => format!("\\n{count} barriers"),
        };
        writeln!(text, "    p{} [label=\"{name}{barriers}\", fillcolor=\"{colour}60\"];", plan.pass.0)?;
    }
    writeln!(text, "  }}")
}

/// Where an edge begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Pass(PassId),
    Outside(ResourceId),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(pass) => write!(f, "p{}", pass.0),
            Self::Outside(resource) => write!(f, "r{}", resource.0),
        }
    }
}

/// From the last write of a resource to every use up to the next, and to and from what outlives the frame.
fn draw_flow(text: &mut String, declaration: &Declaration, compiled: &Compiled) -> fmt::Result {
    let outlives = |id: ResourceId| {
        let origin = declaration.resources.get(id.0 as usize).map(|resource| resource.origin);
        origin.is_some_and(|origin| !matches!(origin, Origin::Transient { .. }))
    };
    let mut last_write: BTreeMap<ResourceId, PassId> = BTreeMap::new();
    let mut edges: BTreeMap<(Node, Node), Vec<&str>> = BTreeMap::new();
    let mut connect = |from: Node, to: Node, resource: ResourceId| {
        let names = edges.entry((from, to)).or_default();
        let name = resource_name(declaration, resource);
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for plan in &compiled.order {
        let Some(pass) = declaration.passes.get(plan.pass.0 as usize) else { continue };
        let uses = declaration.uses.get(pass.uses.start as usize..pass.uses.end as usize).unwrap_or_default();
        for one in uses {
            match last_write.get(&one.resource) {
                Some(from) if *from != plan.pass => {
                    connect(Node::Pass(*from), Node::Pass(plan.pass), one.resource);
                }
                None if outlives(one.resource) && one.access.reads() => {
                    connect(Node::Outside(one.resource), Node::Pass(plan.pass), one.resource);
                }
                _ => {}
            }
        }
        last_write.extend(uses.iter().filter(|one| one.access.writes()).map(|one| (one.resource, plan.pass)));
    }
    for (resource, pass) in &last_write {
        if outlives(*resource) {
            connect(Node::Pass(*pass), Node::Outside(*resource), *resource);
        }
    }
    let mut outside: Vec<ResourceId> = edges
        .keys()
        .flat_map(|(from, to)| [*from, *to])
        .filter_map(|node| if let Node::Outside(id) = node { Some(id) } else { None })
        .collect();
    outside.sort_unstable();
    outside.dedup();
    for id in outside {
        let name = escape(resource_name(declaration, id));
        writeln!(text, "  r{} [label=\"{name}\", shape=oval, fillcolor=\"#f4ecd8\"];", id.0)?;
    }
    for ((from, to), names) in edges {
        let is_outside = [from, to].iter().any(|node| matches!(node, Node::Outside(_)));
        let mut label: Vec<String> = names.iter().take(MOST_NAMES).map(|name| escape(name)).collect();
        if names.len() > MOST_NAMES {
            label.push(format!("and {} more", names.len() - MOST_NAMES));
        }
        // An oval has the name already.
        let label = if is_outside { String::new() } else { format!(" [label=\"{}\"]", label.join("\\n")) };
        writeln!(text, "  {from} -> {to}{label};")?;
    }
    Ok(())
}

/// A text within quotation marks of the language.
fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|character| match character {
            '"' | '\\' => vec!['\\', character],
            '\n' | '\r' => vec![' '],
            other => vec![other],
        })
        .collect()
}
