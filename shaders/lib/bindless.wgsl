// One descriptor set for everything, always group 0.
//
//   binding 0..7   storage buffers: eight arrays that hold the SAME buffers, slot for slot
//   binding 8      sampled images
//   binding 9      samplers
//
// A slot is a number the host hands out; a pass gets slots in its push constants (`var<immediate>`).
//
// Why eight arrays of the same: a binding has one type in one entry point, and a pass looks at buffers as
// several types. It declares a view of its own, over a struct that ends in a run-time sized array, on a
// binding that its entry point does not use otherwise:
//
//   struct Instances { data: array<Instance> }
//   @group(0) @binding(2) var<storage, read> instances: binding_array<Instances>;
//   ... instances[pc.instances].data[i] ...
//
// Bindings 2 to 5 are free for that. 0, 1, 6 and 7 are the views below, and are free in an entry point that
// uses none of them.
//
// Rules:
// - Within a dispatch or draw, what is written through one view is not read through another: compilers take
//   different bindings for different memory.
// - `var<storage, read>` in vertex and fragment stages unless the pass really writes; it is what tells the
//   driver that the stage does not.
// - `arrayLength` gives the reserved size of a growable buffer. Guard by counts the host passed.
// - Functions take slots, not what is in them: neither textures[slot] nor &words[slot].data can be an argument.
// - A slot that differs between threads of a draw or dispatch is allowed; naga marks it non-uniform.
enable wgpu_binding_array;

struct Words { data: array<u32> }
struct Vectors { data: array<vec4<f32>> }
struct AtomicWords { data: array<atomic<u32>> }

@group(0) @binding(0) var<storage, read> words: binding_array<Words>;
@group(0) @binding(1) var<storage, read> vectors: binding_array<Vectors>;
@group(0) @binding(6) var<storage, read_write> words_out: binding_array<Words>;
@group(0) @binding(7) var<storage, read_write> counters: binding_array<AtomicWords>;

@group(0) @binding(8) var textures: binding_array<texture_2d<f32>>;
@group(0) @binding(9) var samplers: binding_array<sampler>;
