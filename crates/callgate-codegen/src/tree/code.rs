//! The code of search trees.

use super::node::{Node, Tree};
use crate::Instructions;
use crate::any_bit::AnyBit;
use crate::code::{Code, CodeId, Graph, Held};
use callgate_core::Op;
use callgate_core::diagram::Split;

/// The code of a search tree whose classes continue at `exits`; after a test that overwrites A, at
/// `exits_without_a`.
pub(crate) fn tree_code(
    graph: &mut Graph,
    instructions: Instructions,
    tree: &Tree,
    exits: &[CodeId],
    exits_without_a: &[CodeId],
    held: Held,
) -> CodeId {
    let mut ids: Vec<CodeId> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let without_a = |node: usize| match tree.nodes[node] {
            Node::Leaf { class } => exits_without_a[class],
            _ => ids[node],
        };
        let id = match *node {
            Node::Leaf { class } => exits[class],
            Node::Test { split, then, otherwise } => {
                let (op, k) = match split {
                    Split::Equal(k) => (Op::JeqK, k),
                    Split::AtLeast(k) => (Op::JgeK, k),
                };
                let (then, otherwise) = (ids[then], ids[otherwise]);
                graph.add(Code::Branch { held, op, k, then, otherwise })
            }
            Node::AnyBit { mask, then, otherwise } => {
                let test = AnyBit::new(instructions, held.mask, mask);
                let (then, otherwise) = match test.keeps_a() {
                    true => (ids[then], ids[otherwise]),
                    false => (without_a(then), without_a(otherwise)),
                };
                test.forgetting().add(graph, held.word, then, otherwise)
            }
            Node::Bitset { base, bits, then, otherwise } => {
                let (then, otherwise) = (without_a(then), without_a(otherwise));
                graph.add(Code::Bitset { held, base, bits, then, otherwise })
            }
        };
        ids.push(id);
    }
    ids[tree.nodes.len() - 1]
}
