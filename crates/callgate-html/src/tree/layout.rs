//! The places of the nodes of a tree: the root on the left, one leaf per row.

use super::build::{End, Tree};

/// Places in columns and rows; the row of a branch is between those of its sides.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Per node, its row.
    pub(crate) rows: Vec<f64>,
    /// The number of rows and columns.
    pub(crate) size: (usize, usize),
}

/// Places the nodes.
pub(crate) fn place(tree: &Tree) -> Placed {
    let mut rows = vec![0.0; tree.nodes.len()];
    let (mut used, mut columns) = (0, 0);
    // Each branch twice: to visit its sides, and after both.
    let mut pending = vec![(0, false)];
    while let Some((at, is_done)) = pending.pop() {
        let Some(node) = tree.nodes.get(at) else { continue };
        columns = columns.max(node.depth + 1);
        let row = match node.end {
            End::Branch { yes, no, .. } if is_done => {
                let of = |child: usize| rows.get(child).copied().unwrap_or_default();
                (of(yes) + of(no)) / 2.0
            }
            End::Branch { yes, no, .. } => {
                pending.extend([(at, true), (no, false), (yes, false)]);
                continue;
            }
            End::Return(_) | End::Shared(_) | End::LeftOut => {
                used += 1;
                (used - 1) as f64
            }
        };
        if let Some(place) = rows.get_mut(at) {
            *place = row;
        }
    }
    Placed { rows, size: (used, columns) }
}
