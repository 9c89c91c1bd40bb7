//! The choice between orders.
//!
//! First, of two successors the more frequent one is the next instruction of a branch. Shared code then follows the rarest
//! of its predecessors, and the others jump there; if both sides of a branch are elsewhere, the kernel needs a second jump
//! for the false side. So for the branches that cost most by this, orders in which a side is the next instruction are tried.
//! An order is chosen if the program is shorter, executes fewer trampolines or costs the kernel less, but not if one of the
//! first two increases.
//!
//! Last, shared code that is reached by a frequent trampoline is copied, if the instructions are worth their price.

use super::frequencies::{Counts, Edge, Frequencies};
use super::order::{Neighbours, Preferences, postorder, returns};
use super::writer::{Copies, Emitted, Program, Setting};
use crate::Aim;
use crate::code::{Code, CodeId, Graph};
use crate::native;
use crate::weights::{Shares, WeightedSyscall};
use callgate_core::{Endian, Layout, MAX_INSNS};

/// The maximum number of orders that are tried for branches.
const MAX_TRIES: usize = 6;

/// The minimum that a branch must save, in machine instructions of the mean syscall.
const MIN_SAVING: f64 = 0.01;

/// The maximum number of edges for which copies are tried.
const MAX_COPIES: usize = 6;

/// The minimum share of the syscalls that continue at a copy for a branch. Without weights, hardly any argument is checked so
/// often, and programs do not become longer.
const MIN_COPIED_SHARE: f64 = 0.25;

/// Machine instructions per instruction of the program: a comparison and a jump.
const NATIVE: f64 = 2.0;

/// The maximum number of nodes in a copy, from its first one to a branch.
const MAX_COPIED: usize = 4;

/// The instructions of the code graph from `root` under syscalls with these shares. `input` is the layout of the structure
/// with the loaded words, and the byte order of the machine.
pub(crate) fn lay_out(
    graph: &Graph,
    root: CodeId,
    (syscalls, shares): (&[WeightedSyscall], &Shares),
    input: (Layout, Endian),
    aim: Aim,
) -> Program {
    let frequencies = &Frequencies::new(graph, root, input.0, (syscalls, shares));
    let kernel = native::kernel(syscalls.first().map_or(0, |syscall| syscall.token));
    let setting = Setting::new(graph, frequencies, kernel, input);
    let attempt = |order: &[CodeId]| setting.write(order, &Copies::default());
    let order_of =
        |counts: &Counts, preferences: &Preferences| postorder(graph, root, counts, preferences);
    let (mut counts, mut chosen) = (&frequencies.weighted, Preferences::default());
    let mut order = order_of(counts, &chosen);
    let mut best = attempt(&order);
    // The program of an order, if that is another one than the best, and the program is better.
    let better = |best: &Emitted, order: &[CodeId], other: &[CodeId]| {
        let emitted = (other != order).then(|| attempt(other))?;
        emitted.is_better_than(best).then_some(emitted)
    };
    let by_all = order_of(&frequencies.all, &chosen);
    if let Some(emitted) = better(&best, &order, &by_all) {
        (best, order, counts) = (emitted, by_all, &frequencies.all);
    }

    // Where `ret` costs less at one end of the program, the most frequent one.
    let is_searched = aim != Aim::Quick;
    let mut ends = if is_searched { returns(graph, root, &frequencies.all) } else { Vec::new() };
    if ends.len() > 1 {
        let [first, _, last] = kernel.returns;
        if first > last {
            ends.reverse();
        }
        let preferences = Preferences { ends, ..chosen.clone() };
        let with_ends = order_of(counts, &preferences);
        if let Some(emitted) = better(&best, &order, &with_ends) {
            (best, order, chosen) = (emitted, with_ends, preferences);
        }
    }

    let mut savings = if is_searched { best.savings.clone() } else { Vec::new() };
    savings.retain(|saving| saving.native >= MIN_SAVING);
    savings.sort_by(|a, b| b.native.total_cmp(&a.native));
    let pairs = savings.iter().filter_map(|one| Neighbours::new(graph, one.branch, one.next));
    for pair in pairs.take(MAX_TRIES) {
        chosen.neighbours.push(pair);
        let with_pair = order_of(counts, &chosen);
        match better(&best, &order, &with_pair) {
            Some(emitted) => (best, order) = (emitted, with_pair),
            None => drop(chosen.neighbours.pop()),
        }
    }

    let price = aim.size_price();
    let mut copies = Copies::default();
    let mut copy = |best: &mut Emitted, mut edges: Vec<(f64, Edge)>, which: Which, native: f64| {
        edges.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for (_, edge) in edges.into_iter().take(MAX_COPIES) {
            let before = which(&mut copies).len();
            which(&mut copies).extend(copied(graph, edge));
            let emitted = setting.write(&order, &copies);
            let is_short = emitted.program.insns.len() <= MAX_INSNS;
            if is_short && emitted.cost(price, native) < best.cost(price, native) {
                *best = emitted;
            } else {
                which(&mut copies).truncate(before);
            }
        }
    };
    let jumps = best.trampolines.iter().filter(|jump| jump.executed > price);
    let jumps = jumps.map(|jump| (jump.executed, jump.to)).collect();
    copy(&mut best, jumps, |copies| &mut copies.for_trampolines, 0.0);
    // In the kernel, a branch with neither side next is followed by a jump.
    let is_frequent_argument = |from: CodeId, to: CodeId| match graph.get(to) {
        Code::Load { word, .. } => {
            !input.0.selects(word) && frequencies.all.edge(graph, (from, to)) >= MIN_COPIED_SHARE
        }
        _ => false,
    };
    let branches = best.savings.iter().filter(|one| is_frequent_argument(one.branch, one.next));
    let branches = branches.map(|one| (one.native, (one.branch, one.next))).collect();
    copy(&mut best, branches, |copies| &mut copies.for_branches, 1.0 / NATIVE);
    best.program
}

/// The edges of copies that are added.
type Which = fn(&mut Copies) -> &mut Vec<Edge>;

/// The edges from a node to the next branch.
fn copied(graph: &Graph, first: Edge) -> impl Iterator<Item = Edge> {
    let next = |(_, at): &Edge| match graph.get(*at) {
        Code::Load { next, .. } | Code::And { next, .. } | Code::Tax { next, .. } => {
            Some((*at, next))
        }
        _ => None,
    };
    std::iter::successors(Some(first), next).take(MAX_COPIED)
}

impl Emitted {
    /// The executed trampolines of the mean syscall with a weight.
    fn executed_trampolines(&self) -> f64 {
        self.trampolines.iter().map(|trampoline| trampoline.executed).sum()
    }

    /// The cost of what depends on copies, in executed instructions, where machine instructions have this price.
    fn cost(&self, price: f64, native: f64) -> f64 {
        let insns = self.program.insns.len() as f64;
        self.executed_trampolines() + native * self.native + price * insns
    }

    fn is_better_than(&self, other: &Emitted) -> bool {
        // Sums in another order differ by rounding.
        let negligible = 1e-6;
        let (insns, of_other) = (self.program.insns.len(), other.program.insns.len());
        let [trampolines, trampolines_of_other] = [self, other].map(Emitted::executed_trampolines);
        insns <= of_other
            && trampolines <= trampolines_of_other + negligible
            && (insns < of_other
                || trampolines < trampolines_of_other - negligible
                || self.native < other.native - negligible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Code, Held};
    use crate::weights::Permission;
    use callgate_core::{Arch, Insn, Op, Verdict, Word};

    /// A frequent syscall and a rare one share the check of a high half: the check follows the frequent one.
    #[test]
    fn shared_code_follows_its_most_frequent_predecessor() {
        let mut graph = Graph::default();
        let [deny, allow] =
            [Verdict::KILL_PROCESS, Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let [high, low] = [Word::arg_high(1), Word::arg_low(1)].map(Option::unwrap);
        let mut branch = |word, op, k, then, otherwise| {
            let held = Held::whole(word);
            graph.branch(held, op, k, then, otherwise)
        };
        let check = branch(high, Op::JeqK, 0, allow, deny);
        let shared = graph.load(high, check);
        let mut mask = |mask| {
            let held = Held::whole(low);
            let (then, otherwise) = (deny, shared);
            let op = Op::JsetK;
            let test = graph.branch(held, op, mask, then, otherwise);
            graph.load(low, test)
        };
        let (rare, frequent) = (mask(1), mask(2));
        let held = Held::whole(Word::NR);
        let (op, k) = (Op::JeqK, 202);
        let test = graph.branch(held, op, k, frequent, rare);
        let root = graph.load(Word::NR, test);
        let syscalls = [(1, 1.0), (202, 9.0)].map(|(nr, weight)| WeightedSyscall {
            token: Arch::X86_64.token(),
            nr,
            weight,
            permission: Permission::Filtered,
        });
        let input = (Layout::Seccomp, Endian::Little);
        let program =
            lay_out(&graph, root, (&syscalls, &Shares::of(&[0.1, 0.9])), input, Aim::Size);
        let low = Insn::new(Op::LdWordAbs, low.offset(Endian::Little));
        let expected = [
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 202, 2, 0),
            low,
            Insn::branch(Op::JsetK, 1, 5, 2),
            low,
            Insn::branch(Op::JsetK, 2, 3, 0),
            Insn::new(Op::LdWordAbs, high.offset(Endian::Little)),
            Insn::branch(Op::JeqK, 0, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        ];
        assert_eq!(program.insns, expected);
    }

    /// Two syscalls share the check of a word, which can follow only one of them.
    #[test]
    fn shared_code_is_copied_where_that_is_worth_its_instructions() {
        let mut graph = Graph::default();
        let [deny, allow] =
            [Verdict::KILL_PROCESS, Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let [high, low] = [Word::arg_high(1), Word::arg_low(1)].map(Option::unwrap);
        let held = Held::whole(high);
        let (op, k) = (Op::JeqK, 7);
        let check = graph.branch(held, op, k, allow, deny);
        let shared = graph.load(high, check);
        let [one, other] = [1, 2].map(|mask| {
            let and = Code::And { held: Held::whole(low), mask, next: shared };
            let next = graph.add(and);
            graph.load(low, next)
        });
        let held = Held::whole(Word::NR);
        let test = graph.branch(held, op, 9, one, other);
        let root = graph.load(Word::NR, test);
        let syscalls = [8, 9].map(|nr| WeightedSyscall {
            token: Arch::X86_64.token(),
            nr,
            weight: 1.0,
            permission: Permission::Filtered,
        });
        let input = (Layout::Seccomp, Endian::Little);
        let shares = Shares::of(&[0.5, 0.5]);
        let insns = |aim| lay_out(&graph, root, (&syscalls, &shares), input, aim).insns;
        let jumps = |insns: &[Insn]| insns.iter().filter(|insn| insn.op == Op::Ja).count();
        let (copied, shared) = (insns(Aim::Speed), insns(Aim::Size));
        assert_eq!((copied.len(), jumps(&copied)), (12, 0), "{copied:?}");
        assert_eq!((shared.len(), jumps(&shared)), (11, 1), "{shared:?}");
    }
}
