//! What a declaration must keep to whatever is culled: accesses fit resources and queues, parts lie inside, and no pass
//! touches one part in two ways. Declarations read from files are checked as well.

use super::access::Access;
use super::cells::borders;
use super::declaration::{Declaration, Origin, Pass, Resource, ResourceInfo, Subresources, Use};
use super::error::GraphError;

/// Checks all uses. `last_pass` is scratch: for each resource the pass seen last.
pub(super) fn check(declaration: &Declaration, last_pass: &mut Vec<u32>) -> Result<(), GraphError> {
    if let Some(mistake) = &declaration.mistake {
        return Err(mistake.clone());
    }
    last_pass.clear();
    last_pass.resize(declaration.resources.len(), u32::MAX);
    let mut end = 0;
    for (id, pass) in declaration.passes.iter().enumerate() {
        if pass.uses.start < end || pass.uses.end < pass.uses.start {
            return Err(GraphError::Broken {
                what: format!("the uses of pass '{}' overlap others", pass.name),
            });
        }
        end = pass.uses.end;
        let Some(uses) = declaration.uses.get(pass.uses.start as usize..pass.uses.end as usize) else {
            return Err(GraphError::Broken {
                what: format!("pass '{}' has uses that do not exist", pass.name),
            });
        };
        for (at, usage) in uses.iter().enumerate() {
            let Some(resource) = declaration.resources.get(usage.resource.0 as usize) else {
                let what =
                    format!("pass '{}' uses resource {}, which does not exist", pass.name, usage.resource.0);
                return Err(GraphError::Broken { what });
            };
            check_use(pass, usage, resource)?;
            let last = &mut last_pass[usage.resource.0 as usize];
            if *last == id as u32 {
                check_conflicts(pass, usage, resource, &uses[..at])?;
            }
            *last = id as u32;
        }
    }
    let passes = declaration.passes.len() as u32;
    for (first, then) in &declaration.orders {
        if let Some(id) = [first, then].into_iter().find(|id| id.0 >= passes) {
            return Err(GraphError::UnknownPass { pass: id.0, passes });
        }
    }
    Ok(())
}

fn check_use(pass: &Pass, usage: &Use, resource: &Resource) -> Result<(), GraphError> {
    let access = usage.access;
    let names = || (pass.name.to_string(), resource.name.to_string());
    let (kind, fits) = match resource.info {
        ResourceInfo::Image(_) => ("image", access.fits_images()),
        ResourceInfo::Buffer(_) => ("buffer", access.fits_buffers()),
    };
    if !fits {
        let (pass, resource) = names();
        return Err(GraphError::WrongKind { pass, resource, kind, access });
    }
    if !access.fits_queue(pass.queue) {
        let queue = pass.queue;
        let (pass, resource) = names();
        return Err(GraphError::WrongQueue { pass, queue, resource, access });
    }
    if usage.part != Subresources::All && borders(&resource.info, usage.part).is_none() {
        let (pass, name) = names();
        let (part, whole) = (describe_part(usage.part), describe(&resource.info));
        return Err(GraphError::PartOutside { pass, resource: name, part, whole });
    }
    match resource.origin {
        Origin::HistoryPrevious { .. } if access.writes() => {
            let (pass, resource) = names();
            Err(GraphError::HistoryWritten { pass, resource })
        }
        Origin::Transient { .. } if access == Access::Commit => {
            let (pass, resource) = names();
            Err(GraphError::CommitOfTransient { pass, resource })
        }
        _ => Ok(()),
    }
}

fn check_conflicts(pass: &Pass, usage: &Use, resource: &Resource, before: &[Use]) -> Result<(), GraphError> {
    for other in before.iter().filter(|other| other.resource == usage.resource) {
        let (first, second) = (other.access, usage.access);
        let is_image = matches!(resource.info, ResourceInfo::Image(_));
        let agree = if first.writes() || second.writes() {
            first == second
        } else {
            !is_image || first.layout() == second.layout()
        };
        if !agree && overlap(&resource.info, other.part, usage.part) {
            let (pass, resource) = (pass.name.to_string(), resource.name.to_string());
            return Err(GraphError::Conflict { pass, resource, first, second });
        }
    }
    Ok(())
}

fn overlap(info: &ResourceInfo, a: Subresources, b: Subresources) -> bool {
    match (borders(info, a), borders(info, b)) {
        (Some(a), Some(b)) => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3],
        _ => true,
    }
}

fn describe_part(part: Subresources) -> String {
    match part {
        Subresources::All => String::from("all"),
        Subresources::Image { first_mip, mips, first_layer, layers } => {
            format!("{mips} mips from {first_mip} and {layers} layers from {first_layer}")
        }
        Subresources::Bytes { offset, bytes } => format!("{bytes} bytes from {offset}"),
    }
}

fn describe(info: &ResourceInfo) -> String {
    match info {
        ResourceInfo::Image(info) => format!("{} mips and {} layers", info.mips, info.layers),
        ResourceInfo::Buffer(info) => format!("{} bytes", info.bytes),
    }
}
