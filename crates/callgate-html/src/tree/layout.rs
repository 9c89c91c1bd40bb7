//! The places of the nodes of a tree, like indented code: yes is on the right of a question, no is below.

use super::build::{End, Tree};

/// Places in columns and rows.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Per node, its row. Its column is the number of questions before it whose answer is yes.
    pub(crate) rows: Vec<usize>,
    /// The number of rows and columns.
    pub(crate) size: (usize, usize),
}

/// Places the nodes.
pub(crate) fn place(tree: &Tree) -> Placed {
    let mut rows = vec![0; tree.nodes.len()];
    let (mut used, mut columns) = (0, 0);
    let mut pending = vec![0];
    while let Some(at) = pending.pop() {
        let (Some(node), Some(row)) = (tree.nodes.get(at), rows.get_mut(at)) else { continue };
        *row = used;
        columns = columns.max(node.column + 1);
        match node.end {
            End::Branch { yes, no, .. } => pending.extend([no, yes]),
            End::Return(_) | End::Shared(_) | End::LeftOut => used += 1,
        }
    }
    Placed { rows, size: (used, columns) }
}
