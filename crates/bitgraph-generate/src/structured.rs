//! Graphs with a rule for every row: grid, mesh, de Bruijn, Mycielskian.

use crate::build::from_rows;
use crate::{Error, Result};
use bitgraph_sparse::{Control, Csr, Offsets};

/// `rows` x `columns` points, row by row, each joined to its four neighbours.
pub(crate) fn grid(rows: u32, columns: u32, control: &Control, oom: impl Fn(u64) -> Error) -> Result<Csr> {
    let visit = move |v: u32, f: &mut dyn FnMut(u32)| {
        let (r, c) = (v / columns, v % columns);
        if r > 0 {
            f(v - columns);
        }
        if c > 0 {
            f(v - 1);
        }
        if c + 1 < columns {
            f(v + 1);
        }
        if r + 1 < rows {
            f(v + columns);
        }
    };
    by_visit((u64::from(rows) * u64::from(columns)) as usize, visit, control, oom)
}

/// `x` x `y` x `z` points, the last coordinate fastest, each joined to the points that differ by at most one in every
/// coordinate, except those that differ by (+1, +1, +1) and (-1, -1, -1).
pub(crate) fn mesh(size: [u32; 3], control: &Control, oom: impl Fn(u64) -> Error) -> Result<Csr> {
    let [sx, sy, sz] = size.map(i64::from);
    let visit = move |v: u32, f: &mut dyn FnMut(u32)| {
        let v = i64::from(v);
        let (x, y, z) = (v / (sy * sz), v / sz % sy, v % sz);
        for dx in -1..=1 {
            for dy in -1..=1 {
                for dz in -1..=1 {
                    let inside = (0..sx).contains(&(x + dx)) && (0..sy).contains(&(y + dy)) && (0..sz).contains(&(z + dz));
                    // The corners that are left out, and the point itself, have all three differences equal.
                    if inside && !(dx == dy && dy == dz) {
                        f((v + (dx * sy + dy) * sz + dz) as u32);
                    }
                }
            }
        }
    };
    by_visit((sx * sy * sz) as usize, visit, control, oom)
}

/// Words of `k` bits, joined where one is the other shifted by one with any bit shifted in; directions and loops dropped.
pub(crate) fn debruijn(k: u32, control: &Control, oom: impl Fn(u64) -> Error) -> Result<Csr> {
    let n = 1u64 << k;
    let visit = move |v: u32, f: &mut dyn FnMut(u32)| {
        let shifted = (u64::from(v) << 1 & (n - 1)) as u32;
        let half = (n >> 1) as u32;
        let mut near = [shifted, (shifted | 1) & (n - 1) as u32, v >> 1, v >> 1 | half];
        near.sort_unstable();
        for (i, &w) in near.iter().enumerate() {
            if w != v && (i == 0 || near[i - 1] != w) {
                f(w);
            }
        }
    };
    by_visit(n as usize, visit, control, oom)
}

/// A pattern from a function that visits the neighbours of a vertex in ascending order.
fn by_visit(n: usize, visit: impl Fn(u32, &mut dyn FnMut(u32)) + Sync, control: &Control, oom: impl Fn(u64) -> Error) -> Result<Csr> {
    let degree = |v| {
        let mut d = 0;
        visit(v, &mut |_| d += 1);
        d
    };
    let row = |v, out: &mut [u32]| {
        let mut k = 0;
        visit(v, &mut |w| {
            out[k] = w;
            k += 1;
        });
    };
    from_rows(n, control, oom, degree, row)
}

/// Vertices and entries of `mycielskian(k)`.
pub(crate) fn mycielskian_size(k: u32) -> (u128, u128) {
    if k <= 1 {
        return (1, 0);
    }
    let (mut n, mut entries) = (2u128, 2u128);
    for _ in 2..k {
        (n, entries) = (2 * n + 1, 3 * entries + 2 * n);
    }
    (n, entries)
}

/// The Mycielski graph of order `k`, triangle-free with chromatic number `k`: from K2, each step gives every vertex a shadow
/// joined to its neighbours, and all shadows a new vertex. Vertices first, then shadows, then the new vertex.
pub(crate) fn mycielskian(k: u32, control: &Control) -> Result<Csr> {
    let (mut offsets, mut columns) = if k <= 1 { (vec![0usize, 0], vec![]) } else { (vec![0, 1, 2], vec![1u32, 0]) };
    for order in 3..=k {
        control.check()?;
        let (n, entries) = mycielskian_size(order);
        let old = offsets.len() - 1;
        let mut next = Vec::with_capacity(entries as usize);
        let mut ends = Vec::with_capacity(n as usize + 1);
        ends.push(0);
        for v in 0..old {
            let row = &columns[offsets[v]..offsets[v + 1]];
            next.extend_from_slice(row);
            next.extend(row.iter().map(|&w| w + old as u32));
            ends.push(next.len());
        }
        for v in 0..old {
            next.extend_from_slice(&columns[offsets[v]..offsets[v + 1]]);
            next.push(2 * old as u32);
            ends.push(next.len());
        }
        next.extend(old as u32..2 * old as u32);
        ends.push(next.len());
        (offsets, columns) = (ends, next);
    }
    let n = offsets.len() - 1;
    Ok(Csr::from_valid(n, n, Offsets::from_usizes(&offsets), columns.into()))
}
