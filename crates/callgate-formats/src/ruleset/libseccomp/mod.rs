//! Which sequences of rules for one syscall libseccomp accepts, and which it rejects with `-EEXIST`.
//!
//! libseccomp keeps the rules of a syscall as a tree of comparisons of 32-bit words and merges each new rule into it.
//! Whether two rules contradict each other depends on the tree at that moment, and so on the order of the rules, on
//! equal high words, and on nodes that several rules share. No property of the rules alone decides it, so this module
//! keeps the same tree as libseccomp, including the reference counts that decide when a node is removed. The tree
//! says nothing about what rules mean; [`RuleSet`](super::RuleSet) does.
//!
//! The facts are from `src/db.c` of libseccomp 2.4 to 2.6.1. These versions keep the same tree, except for one defect
//! that 2.6.1 fixed ([`Tree::wrong_branch`](tree::Tree)).
//!
//! Limits: the depth of a tree is that of one rule, three nodes per argument, 18 at most; recursion goes down a tree
//! or a rule. The work is counted in visited nodes.

mod insert;
mod prune;
mod tree;

pub use tree::{ChainEnd, ChainNode, ChainOp};
pub(super) use tree::{InsertError, Tree};
