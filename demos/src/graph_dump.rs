//! The last frame's graph: passes, lifetimes, heaps, as text and pictures.

use vasa::graph::{FrameGraph, dump, recorded};

use crate::failure::{Failure, Result};
use crate::output::Output;

/// Writes `graph.dot`, `graph.json`, `lifetimes.svg`, `heap-N.png` and `frame.json`, and says where.
///
/// # Errors
/// When a file cannot be written.
pub fn write(graph: &mut FrameGraph, output: &Output) -> Result<()> {
    let failed = |error: vasa::graph::Error| Failure::failed(error.to_string());
    let (declaration, compiled) = graph.last().map_err(failed)?;
    let mut written = vec![
        output.text("graph.dot", &dump::dot(declaration, compiled))?,
        output.text("graph.json", &dump::json(declaration, compiled))?,
        output.text("lifetimes.svg", &dump::lifetime_chart_svg(declaration, compiled))?,
        output.text("frame.json", &recorded::write(declaration))?,
    ];
    for heap in 0..compiled.heaps.len() as u32 {
        let place = dump::peak_place(declaration, compiled, heap);
        let map = place.and_then(|place| dump::occupancy_map(declaration, compiled, heap, place));
        if let Some(map) = map {
            let name = format!("heap-{heap}.png");
            written.push(output.picture(&name, [map.width, map.height], &map.pixels)?);
        }
    }
    written.iter().for_each(|path| println!("{}", path.display()));
    Ok(())
}
