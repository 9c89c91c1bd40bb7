//! Which chains and trees become switches, and in which groups.

use callgate_core::{Endian, Insn, Program, Verdict};

use super::*;
use crate::flow::Input;

const NR: Insn = Insn::new(Op::LdWordAbs, 0);
const ERRNO: Insn = Insn::new(Op::RetK, Verdict::errno(1).0);
const ALLOW: Insn = Insn::new(Op::RetK, Verdict::ALLOW.0);
const KILL: Insn = Insn::new(Op::RetK, Verdict::KILL_PROCESS.0);

fn found(insns: Vec<Insn>) -> (Vec<Switch>, Graph) {
    let program = Program::new(insns).unwrap();
    let mut graph = Graph::of(Flow::of(program.insns(), Input::Syscall(Endian::Little)));
    (find(&mut graph), graph)
}

/// A tree: x32 is killed, these numbers are allowed, others get `ERRNO`.
fn tree(allowed: &[u32]) -> Vec<Insn> {
    let len = allowed.len() as u8;
    let mut insns = vec![NR, Insn::branch(Op::JgeK, 0x4000_0000, len + 2, 0)];
    let jeq = |(at, &nr): (usize, &u32)| Insn::branch(Op::JeqK, nr, len - at as u8, 0);
    insns.extend(allowed.iter().enumerate().map(jeq));
    insns.extend([ERRNO, ALLOW, KILL]);
    insns
}

#[test]
fn numbers_without_a_rule_are_the_others_although_x32_has_more_values() {
    for allowed in [&[3][..], &[3, 70], &[3, 4, 5, 9], &[0, 2, 4, 300, 302, 304]] {
        let (found, graph) = found(tree(allowed));
        let [switch] = &found[..] else { panic!("{found:?}") };
        let verdict = |to: u16| graph.returned(to).map(Verdict);
        assert_eq!(verdict(switch.other), Some(Verdict::errno(1)), "{allowed:?}");
        assert!(switch.groups.len() <= LIST, "{switch:?}");
        let last = switch.groups.last().unwrap();
        assert_eq!((last.low, last.high), (0x4000_0000, u32::MAX));
    }
}

#[test]
fn few_comparisons_are_replaced_if_no_jump_remains() {
    let chain = |otherwise: &[Insn]| {
        let mut insns = vec![NR];
        insns.push(Insn::branch(Op::JeqK, 3, otherwise.len() as u8 + 1, 0));
        insns.push(Insn::branch(Op::JeqK, 9, otherwise.len() as u8, 0));
        insns.extend(otherwise);
        insns.push(ALLOW);
        found(insns).0.len()
    };
    assert_eq!(chain(&[ERRNO]), 1);
    let tests_an_argument = [Insn::new(Op::LdWordAbs, 16), Insn::branch(Op::JeqK, 7, 1, 0), ERRNO];
    assert_eq!(chain(&tests_an_argument), 0);
}

#[test]
fn a_tree_may_grow_on_either_side() {
    for is_taken in [false, true] {
        // From a number on, one of two verdicts, and so on for greater (or lower) numbers.
        let mut insns = vec![NR];
        for at in 0..20 {
            let k = 10 * if is_taken { at + 1 } else { 20 - at };
            let (jt, jf) = if is_taken { (1, 0) } else { (0, 1) };
            insns.push(Insn::branch(Op::JgeK, k, jt, jf));
            insns.push(if at % 2 == 0 { ERRNO } else { ALLOW });
        }
        insns.push(KILL);
        let (found, graph) = found(insns);
        assert_eq!(found.len(), 1, "{found:?}");
        let is_branch = |node: &&Node| matches!(node, Node::Branch { .. });
        assert_eq!(graph.nodes.iter().filter(is_branch).count(), 1);
    }
}

/// A tree of numbers, from which two edges lead to another tree; with `entry`, so does one that does not come from it.
fn shared(entry: bool) -> Vec<Insn> {
    let mut insns = Vec::new();
    if entry {
        // A path on which A is masked.
        insns.extend([Insn::new(Op::LdWordAbs, 4), Insn::branch(Op::JeqK, 7, 0, 3)]);
        insns.extend([NR, Insn::new(Op::AndK, 0xfff), Insn::new(Op::Ja, 17)]);
    }
    insns.extend([NR, Insn::branch(Op::JgeK, 0x4000_0000, 0, 1)]);
    insns.push(Insn::branch(Op::JgeK, 0x4000_0100, 38, 14));
    insns.extend((0..14).map(|at| Insn::branch(Op::JeqK, 9 * at, 36 - at as u8, 0)));
    insns.extend((0..22).map(|at| Insn::branch(Op::JeqK, 200 + 9 * at, 22 - at as u8, 0)));
    insns.extend([ERRNO, ALLOW, KILL]);
    insns
}

#[test]
fn a_tree_contains_others_that_remain_if_they_are_reached() {
    let branches = |graph: &Graph| {
        graph.nodes.iter().filter(|node| matches!(node, Node::Branch { .. })).count()
    };
    let (switches, graph) = found(shared(false));
    let [switch] = &switches[..] else { panic!("{switches:?}") };
    assert!(switch.groups.iter().any(|group| group.low < 200 && group.high >= 200));
    assert_eq!(branches(&graph), 1);
    let (switches, graph) = found(shared(true));
    assert_eq!((switches.len(), branches(&graph)), (2, 3), "{switches:?}");
}

#[test]
fn a_choice_has_no_table() {
    // Two bitset tests, where one table would do.
    let allowed: Vec<u32> = (0..16).chain(50..66).map(|at| 20 + 2 * at).collect();
    let (found, _) = found(tree(&allowed));
    let [Switch { groups, .. }] = &found[..] else { panic!("{found:?}") };
    let is_mask = |group: &Group| matches!(group.shape, Shape::Mask { .. });
    assert_eq!(groups.iter().filter(|group| is_mask(group)).count(), 2, "{groups:?}");
    assert_eq!(groups.len(), 3, "{groups:?}");
}

#[test]
fn tables_span_gaps_within_their_limit() {
    // 60 numbers, the last one at the given distance from the first: with x32 and all others, 122 ranges.
    let spanned = |distance: u32| {
        let numbers = (0..59).map(|at| 20 + 14 * at).chain([20 + distance]);
        let groups = found(tree(&numbers.collect::<Vec<_>>())).0.remove(0).groups;
        let words = |group: &Group| match &group.shape {
            Shape::Table { to, .. } => to.len(),
            _ => 0,
        };
        (groups.len(), groups.iter().map(words).sum::<usize>())
    };
    let most = 8 * 122;
    assert_eq!(spanned(14 * 59), (2, 14 * 59 + 1));
    assert_eq!(spanned(most - 1), (2, most as usize));
    assert_eq!(spanned(most), (3, 14 * 58 + 1));
}
