//! Scattered rocks: cells of the rock field enter and leave with the camera, as instances of a few shapes.

use std::collections::BTreeMap;

use glam::Vec3;

use super::TerrainDesc;
use super::lod::LodCamera;
use super::scatter::RockField;
use super::surface::Surface;
use crate::scene::error::Result;
use crate::scene::geometry::{GeometryPool, IndexRange, MESH_VERTEX_WORDS, MeshVertex, VertexRange};
use crate::scene::gpu_scene::{GpuScene, InstanceDesc, InstanceSet, Primitive, PrimitiveData, PrimitiveKind};

/// Different shapes of rock.
const SHAPES: u32 = 5;
/// A cell that is in stays until it is this much farther away than where it came in: no flicker at the edge.
const HYSTERESIS: f32 = 1.15;

#[derive(Debug)]
struct Shape {
    vertices: VertexRange,
    indices: IndexRange,
    primitive: Primitive,
}

/// The rocks around the camera.
#[derive(Debug)]
pub(super) struct Rocks {
    field: RockField,
    distance: f32,
    shapes: Vec<Shape>,
    cells: BTreeMap<(i32, i32), (Option<InstanceSet>, usize)>,
}

impl Rocks {
    pub(super) fn new(desc: &TerrainDesc) -> Self {
        Self {
            field: RockField { seed: desc.seed, ..RockField::default() },
            distance: desc.rock_distance,
            shapes: Vec::new(),
            cells: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.values().map(|(_, count)| count).sum()
    }

    /// Least distance of a cell to the camera, as level of detail measures it.
    fn distance_to(&self, (x, z): (i32, i32), camera: &LodCamera) -> f32 {
        let size = self.field.cell;
        let axis = |cell: i32, at: f32| {
            let low = cell as f32 * size;
            (low - at).max(at - low - size).max(0.0)
        };
        let (dx, dz) = (axis(x, camera.x), axis(z, camera.z));
        (dx * dx + dz * dz + camera.height * camera.height).sqrt()
    }

    pub(super) fn evict(&mut self, camera: &LodCamera, gpu: &mut GpuScene) -> Result<()> {
        let limit = self.distance * HYSTERESIS;
        let far: Vec<_> =
            self.cells.keys().filter(|c| self.distance_to(**c, camera) > limit).copied().collect();
        for cell in far {
            if let Some((Some(set), _)) = self.cells.remove(&cell) {
                gpu.remove_instances(set)?;
            }
        }
        Ok(())
    }

    pub(super) fn create(
        &mut self,
        camera: &LodCamera,
        surface: &Surface,
        gpu: &mut GpuScene,
        geometry: &mut GeometryPool,
    ) -> Result<()> {
        if self.distance <= 0.0 || camera.height.abs() >= self.distance {
            return Ok(());
        }
        for shape in self.shapes.len() as u32..SHAPES {
            self.shapes.push(add_shape(shape, gpu, geometry)?);
        }
        let cell = |at: f32| (at / self.field.cell).floor() as i32;
        let (west, east) = (cell(camera.x - self.distance), cell(camera.x + self.distance));
        let (north, south) = (cell(camera.z - self.distance), cell(camera.z + self.distance));
        for z in north..=south {
            for x in west..=east {
                if self.distance_to((x, z), camera) < self.distance && !self.cells.contains_key(&(x, z)) {
                    let rocks = self.instances(x, z, surface);
                    // A cell without rocks is remembered too: it is not scattered again each frame.
                    let set = if rocks.is_empty() { None } else { Some(gpu.add_instances(&rocks)?) };
                    self.cells.insert((x, z), (set, rocks.len()));
                }
            }
        }
        Ok(())
    }

    fn instances(&self, x: i32, z: i32, surface: &Surface) -> Vec<InstanceDesc> {
        let rocks = self.field.scatter(x, z, surface);
        rocks
            .iter()
            .enumerate()
            .map(|(index, rock)| {
                let random = hash(index as u32 ^ hash(x as u32 ^ hash(z as u32)));
                let shape = random % SHAPES;
                let (sin, cos) = rock.yaw.sin_cos();
                let s = rock.scale;
                // Weathered grey to a warm brown, as the rock of the ground.
                let (light, warm) = (0.72 + 0.5 * rock.tint, 0.12 * ((random >> 4) & 15) as f32 / 15.0);
                InstanceDesc {
                    primitive: self.shapes[shape as usize].primitive,
                    transform: [
                        [cos * s, 0.0, sin * s, rock.position.x],
                        [0.0, s, 0.0, rock.position.y],
                        [-sin * s, 0.0, cos * s, rock.position.z],
                    ],
                    tint: [light * (1.0 + warm), light, light * (1.0 - warm)],
                    random: (random >> 8) as f32 / (1 << 24) as f32,
                    fades: true,
                }
            })
            .collect()
    }

    pub(super) fn remove_all(&mut self, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<()> {
        for (_, (set, _)) in std::mem::take(&mut self.cells) {
            if let Some(set) = set {
                gpu.remove_instances(set)?;
            }
        }
        for shape in self.shapes.drain(..) {
            gpu.remove_primitive(shape.primitive)?;
            geometry.free_vertices(shape.vertices)?;
            geometry.free_indices(shape.indices)?;
        }
        Ok(())
    }
}

fn add_shape(seed: u32, gpu: &mut GpuScene, geometry: &mut GeometryPool) -> Result<Shape> {
    let (vertices, indices) = rock_mesh(seed);
    let mut extent = Vec3::ZERO;
    for vertex in &vertices {
        extent = extent.max(Vec3::from(vertex.position).abs());
    }
    let vertex_range = geometry.upload_vertices(bytemuck::cast_slice(&vertices))?;
    let index_range = geometry.upload_indices(&indices)?;
    let (first_index, index_count) = geometry.index_range(index_range)?;
    let primitive = gpu.add_primitive(PrimitiveData {
        bounds_centre: [0.0; 3],
        kind: PrimitiveKind::Mesh as u32,
        bounds_extent: extent.into(),
        first_vertex_word: geometry.first_vertex_word(vertex_range)?,
        first_index,
        index_count,
        colour: [0.245, 0.213, 0.178],
        parameter: 0.9,
        ..Default::default()
    })?;
    Ok(Shape { vertices: vertex_range, indices: index_range, primitive })
}

/// A rock of radius about 1: an icosphere cut by random planes, so that it has faces and edges as broken
/// stone has: 80 triangles. Faces are flat: each triangle has its own vertices. The lower parts are darker, as
/// they are beside the ground.
fn rock_mesh(seed: u32) -> (Vec<MeshVertex>, Vec<u32>) {
    let (points, triangles) = icosahedron();
    let (points, triangles) = subdivide(points, triangles);
    let unit = |salt: u32| hash(seed.wrapping_mul(7919).wrapping_add(salt)) as f32 / u32::MAX as f32;
    let planes: Vec<(Vec3, f32)> = (0..14)
        .map(|i| {
            let (a, b, c) = (unit(i * 4), unit(i * 4 + 1), unit(i * 4 + 2));
            let normal = Vec3::new(a - 0.5, (b - 0.5) * 0.9, c - 0.5).normalize_or(Vec3::Y);
            (normal, 0.58 + 0.34 * unit(i * 4 + 3))
        })
        .collect();
    let squash = Vec3::new(0.85 + 0.4 * unit(101), 0.62 + 0.25 * unit(102), 0.8 + 0.3 * unit(103));
    let shaped: Vec<Vec3> = points
        .iter()
        .map(|p| {
            let radius = planes.iter().map(|(n, d)| d / p.dot(*n).max(1e-3)).fold(1.0, f32::min);
            *p * radius * squash
        })
        .collect();
    let mut vertices = Vec::with_capacity(triangles.len() * 3);
    for triangle in &triangles {
        let corners = triangle.map(|i| shaped[i as usize]);
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or(Vec3::Y);
        let face = 0.88 + 0.12 * unit(200 + vertices.len() as u32);
        vertices.extend(corners.map(|c| {
            let open = ((c.y / squash.y + 0.45) / 0.8).clamp(0.0, 1.0);
            let grey = face * (0.42 + 0.58 * open);
            let colour = u32::from_le_bytes([grey, grey, grey, 1.0].map(|v: f32| (v * 255.0) as u8));
            MeshVertex { colour, ..MeshVertex::new(c.into(), normal.into()) }
        }));
    }
    debug_assert_eq!(size_of::<MeshVertex>(), MESH_VERTEX_WORDS as usize * 4);
    let indices = (0..vertices.len() as u32).collect();
    (vertices, indices)
}

fn icosahedron() -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let t = (1.0 + 5f32.sqrt()) / 2.0;
    let points = [
        [-1.0, t, 0.0],
        [1.0, t, 0.0],
        [-1.0, -t, 0.0],
        [1.0, -t, 0.0],
        [0.0, -1.0, t],
        [0.0, 1.0, t],
        [0.0, -1.0, -t],
        [0.0, 1.0, -t],
        [t, 0.0, -1.0],
        [t, 0.0, 1.0],
        [-t, 0.0, -1.0],
        [-t, 0.0, 1.0],
    ];
    let triangles = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    (points.map(|p| Vec3::from(p).normalize()).to_vec(), triangles.to_vec())
}

fn subdivide(mut points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut middles: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut finer = Vec::with_capacity(triangles.len() * 4);
    for [a, b, c] in triangles {
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                points.push((points[a as usize] + points[b as usize]).normalize());
                points.len() as u32 - 1
            })
        };
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
    }
    (points, finer)
}

/// A well-mixed integer hash (the finaliser of MurmurHash3, Appleby, public domain).
fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rocks_are_closed_and_face_outwards() {
        for seed in 0..SHAPES {
            let (vertices, indices) = rock_mesh(seed);
            let mut volume = 0.0;
            let mut edges: BTreeMap<([u32; 3], [u32; 3]), i32> = BTreeMap::new();
            for triangle in indices.chunks_exact(3) {
                let corners = [0, 1, 2].map(|k| Vec3::from(vertices[triangle[k] as usize].position));
                volume += corners[0].dot(corners[1].cross(corners[2])) / 6.0;
                for k in 0..3 {
                    let bits = |v: Vec3| v.to_array().map(f32::to_bits);
                    let (a, b) = (bits(corners[k]), bits(corners[(k + 1) % 3]));
                    *edges.entry(if a < b { (a, b) } else { (b, a) }).or_default() +=
                        if a < b { 1 } else { -1 };
                }
            }
            assert!(volume > 0.3, "shape {seed} has volume {volume}: turned inside out?");
            assert!(edges.values().all(|balance| *balance == 0), "shape {seed} has an open edge");
        }
    }
}
