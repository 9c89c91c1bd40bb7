//! The forms of branches, and what they cost.
//!
//! What a branch costs depends on the order only by the side that is its next instruction. So all costs are computed once,
//! before any order is tried.

use super::frequencies::Counts;
use crate::code::{Code, CodeId, Graph};
use crate::native::{Kernel, Next, TAKEN};
use callgate_core::Op;

/// The constant of an instruction with a patch, whose class is unknown; also for a comparison with X, which has none.
pub(super) const VARIABLE: u32 = u32::MAX;

/// How often each side of a branch that is never reached is followed in a comparison of forms.
const NEVER: f64 = 1e-9;

/// The forms of the branches of a graph.
pub(super) struct Forms(Vec<Option<Branch>>);

/// The forms of one branch: the given one, and another instruction that does the same, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) given: Form,
    other: Option<Form>,
}

/// A form of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) op: Op,
    pub(super) k: u32,
    /// Whether true and false are exchanged.
    pub(super) swapped: bool,
    /// The costs in the kernel, by [`Next`] of the given form.
    costs: [f64; 3],
    /// The same if each side is followed a little more often, so that forms of branches that are never reached differ.
    compared: [f64; 3],
}

impl Forms {
    /// The forms of all branches of a graph whose sides are followed this often.
    pub(super) fn new(graph: &Graph, counts: &Counts, kernel: &Kernel) -> Forms {
        let of = |id: CodeId| match graph.get(id) {
            Code::Branch { op, k, .. } => Some(Branch::new(op, k, counts.edges(id), kernel)),
            Code::Compare { op, .. } | Code::CompareWords { op, .. } => {
                Some(Branch::new(op, VARIABLE, counts.edges(id), kernel))
            }
            Code::Bitset { .. } => Some(Branch::new(Op::JsetK, 1, counts.edges(id), kernel)),
            Code::Return(_) | Code::Load { .. } | Code::And { .. } | Code::Tax { .. } => None,
        };
        Forms((0..graph.len() as u32).map(CodeId).map(of).collect())
    }

    /// The forms of a branch; `None` if the node is not a branch.
    pub(super) fn of(&self, id: CodeId) -> Option<&Branch> {
        self.0[id.0 as usize].as_ref()
    }
}

impl Branch {
    fn new(op: Op, k: u32, edges: [f64; 2], kernel: &Kernel) -> Branch {
        // `jge` as `jgt`, or the negated comparison. The constant of a variable is not known.
        let (other_op, other_k, swapped) = match (op, k) {
            (_, VARIABLE) => (op, k, false),
            (Op::JgeK, 1) => (Op::JeqK, 0, true),
            (Op::JeqK, 0) => (Op::JgeK, 1, true),
            (Op::JgeK, 1..) => (Op::JgtK, k - 1, false),
            _ => (op, k, false),
        };
        let given = Form::new(op, k, false, edges, kernel);
        let other = (other_op != op).then(|| Form::new(other_op, other_k, swapped, edges, kernel));
        Branch { given, other }
    }

    /// The form with the lowest cost; the given one if others cost the same.
    pub(super) fn cheapest(&self, next: Next) -> &Form {
        match &self.other {
            Some(other) if other.compared[next as usize] < self.given.compared[next as usize] => {
                other
            }
            _ => &self.given,
        }
    }
}

impl Form {
    fn new(op: Op, k: u32, swapped: bool, edges: [f64; 2], kernel: &Kernel) -> Form {
        let [then, otherwise] = edges;
        let costs = Next::ALL.map(|next| {
            // What it costs to follow each side of this form, and of the given one.
            let [yes, no] = match (swapped, next) {
                (true, Next::True) => sides(kernel, op, k, Next::False),
                (true, Next::False) => sides(kernel, op, k, Next::True),
                _ => sides(kernel, op, k, next),
            };
            let [yes, no] = if swapped { [no, yes] } else { [yes, no] };
            [then * yes + otherwise * no, (then + NEVER) * yes + (otherwise + NEVER) * no]
        });
        Form {
            op,
            k,
            swapped,
            costs: costs.map(|[cost, _]| cost),
            compared: costs.map(|[_, compared]| compared),
        }
    }

    /// What it costs if the sides are there.
    pub(super) fn cost(&self, next: Next) -> f64 {
        self.costs[next as usize]
    }
}

/// What it costs to follow each side of a jump in the kernel.
fn sides(kernel: &Kernel, op: Op, k: u32, next: Next) -> [f64; 2] {
    let (insns, taken) = (kernel.jump(op, k, next), next.taken(op));
    let side = |side: usize| f64::from(insns[side]) + TAKEN * f64::from(u8::from(taken[side]));
    [side(0), side(1)]
}
