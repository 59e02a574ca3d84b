//! Meshes of simple shapes, for examples and tests.

use glam::Vec3;

use super::geometry::MeshVertex;
use super::world::MeshData;

impl MeshData {
    /// A box that reaches `half` metres from its centre on each axis.
    pub fn cuboid(half: [f32; 3]) -> Self {
        let (half, mut mesh) = (Vec3::from(half), Self::default());
        for axis in 0..3 {
            for sign in [-1.0f32, 1.0] {
                let (mut normal, mut u, mut v) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
                normal[axis] = sign;
                u[(axis + 1) % 3] = sign;
                v[(axis + 2) % 3] = 1.0;
                let first = mesh.vertices.len() as u32;
                for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                    let corner = (normal + u * a + v * b) * half;
                    mesh.vertices.push(MeshVertex::new(corner.into(), normal.into()));
                }
                mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|i| first + i));
            }
        }
        mesh
    }

    /// A sphere of radius 1, of `columns` x `rows` quads (at least 3 x 2).
    pub fn sphere(columns: u32, rows: u32) -> Self {
        let (columns, rows, mut mesh) = (columns.max(3), rows.max(2), Self::default());
        for row in 0..=rows {
            let (sin, cos) = (std::f32::consts::PI * row as f32 / rows as f32).sin_cos();
            for column in 0..=columns {
                let (east, north) = (std::f32::consts::TAU * column as f32 / columns as f32).sin_cos();
                let point = [sin * north, cos, sin * east];
                mesh.vertices.push(MeshVertex::new(point, point));
            }
        }
        let at = |column: u32, row: u32| row * (columns + 1) + column;
        for row in 0..rows {
            for column in 0..columns {
                let (a, b) = (at(column, row), at(column + 1, row));
                let (c, d) = (at(column, row + 1), at(column + 1, row + 1));
                // At the poles one of the two triangles has no area.
                if row > 0 {
                    mesh.indices.extend([a, b, c]);
                }
                if row + 1 < rows {
                    mesh.indices.extend([b, d, c]);
                }
            }
        }
        mesh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume by the divergence theorem: positive when triangles face outwards.
    fn volume(mesh: &MeshData) -> f32 {
        let at = |i: u32| Vec3::from(mesh.vertices[i as usize].position);
        mesh.indices.chunks_exact(3).map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6.0).sum()
    }

    #[test]
    fn shapes_are_closed_and_face_outwards() {
        assert!((volume(&MeshData::cuboid([1.0, 2.0, 3.0])) - 48.0).abs() < 1e-3);
        let ball = 4.0 / 3.0 * std::f32::consts::PI;
        assert!((volume(&MeshData::sphere(96, 48)) - ball).abs() < 0.02);
        assert!(volume(&MeshData::sphere(0, 0)) > 0.5, "the least sphere");
    }
}
