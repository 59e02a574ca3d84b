//! A capability that naga forgets.
//!
//! naga 30 writes an unsized `binding_array` as an array of run-time length, but does not declare
//! `RuntimeDescriptorArray` for it, without which the module is invalid. Declared here until it does.

const OP_EXTENSION: u32 = 10;
const OP_CAPABILITY: u32 = 17;
const RUNTIME_DESCRIPTOR_ARRAY: u32 = 5302;
const EXTENSION: &[u8] = b"SPV_EXT_descriptor_indexing";
const HEADER_WORDS: usize = 5;

/// Whether the module has a descriptor array without a size.
pub(super) fn used(module: &naga::Module) -> bool {
    module.global_variables.iter().any(|(_, global)| {
        matches!(
            module.types[global.ty].inner,
            naga::TypeInner::BindingArray { size: naga::ArraySize::Dynamic, .. }
        )
    })
}

/// Adds the capability and its extension, each where SPIR-V wants it and unless it is there.
pub(super) fn declare(spirv: &mut Vec<u32>) {
    let capability = [instruction(OP_CAPABILITY, 2), RUNTIME_DESCRIPTOR_ARRAY];
    let mut extension = vec![0];
    // A SPIR-V string ends in at least one zero byte.
    for bytes in [EXTENSION, &[0]].concat().chunks(4) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        extension.push(u32::from_le_bytes(word));
    }
    extension[0] = instruction(OP_EXTENSION, extension.len() as u32);

    // Capabilities come first, then extensions.
    let mut at = HEADER_WORDS;
    let (mut has_capability, mut has_extension) = (false, false);
    let mut after_capabilities = at;
    while let Some(&first) = spirv.get(at) {
        let end = at + (first >> 16).max(1) as usize;
        let words = spirv.get(at..end).unwrap_or_default();
        match first & 0xffff {
            OP_CAPABILITY => {
                has_capability |= words == capability;
                after_capabilities = end;
            }
            OP_EXTENSION => has_extension |= words == extension,
            _ => break,
        }
        at = end;
    }
    let mut added = Vec::new();
    if !has_capability {
        added.extend(capability);
    }
    if !has_extension {
        added.extend(extension);
    }
    spirv.splice(after_capabilities..after_capabilities, added);
}

fn instruction(opcode: u32, words: u32) -> u32 {
    words << 16 | opcode
}
