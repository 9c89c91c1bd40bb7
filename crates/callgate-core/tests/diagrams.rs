//! Every operation of the store against brute force, for all functions of a few bits.

use std::collections::HashMap;

use callgate_core::diagram::{Budget, Func, Pred, Store, var_of};
use callgate_core::{Verdict, Word};
use callgate_testing::truth_table::{Bit, VERDICTS, digits, function, predicate, syscall};

fn word(index: usize) -> Word {
    Word::from_index(index).unwrap()
}

fn unlimited() -> Store {
    Store::new(Budget { nodes: 50_000_000, steps: u64::MAX })
}

/// The variable of an input bit, as a predicate.
fn input(store: &mut Store, (word, bit): Bit) -> Pred {
    store.make(var_of(word, bit), Pred::NEVER, Pred::ALWAYS).unwrap()
}

/// All predicates of three bits, by truth table.
fn all_tables(store: &mut Store, bits: &[Bit; 3]) -> Vec<Pred> {
    (0..256).map(|t| predicate(store, bits, t).unwrap()).collect()
}

/// Two words, bits next to each other and far apart.
const THREE: [(usize, u32); 3] = [(5, 31), (5, 0), (8, 7)];

fn three() -> [Bit; 3] {
    THREE.map(|(w, bit)| (word(w), bit))
}

#[test]
fn a_function_of_four_bits_has_one_node_however_it_is_built() {
    let bits: [Bit; 4] = [(word(1), 30), (word(1), 2), (word(15), 31), (word(15), 0)];
    let mut store = unlimited();
    let inputs = bits.map(|bit| input(&mut store, bit));
    let minterms: Vec<Pred> = (0..16usize)
        .map(|index| {
            let mut term = Pred::ALWAYS;
            for (i, input) in inputs.iter().enumerate() {
                let literal = if index >> i & 1 == 1 { *input } else { store.not(*input).unwrap() };
                term = store.and(literal, term).unwrap();
            }
            term
        })
        .collect();
    let mut seen = HashMap::new();
    for truth in 0..=u32::from(u16::MAX) {
        let node = predicate(&mut store, &bits, truth).unwrap();
        assert_eq!(seen.insert(node, truth), None, "two functions are one node");
        let mut sum = Pred::NEVER;
        for (index, term) in minterms.iter().enumerate() {
            if truth >> index & 1 == 1 {
                sum = store.or(sum, *term).unwrap();
            }
        }
        assert_eq!(sum, node, "{truth:#06x}");
        // Exclusive disjunctions, in reverse order.
        let mut parity = Pred::NEVER;
        for (index, term) in minterms.iter().enumerate().rev() {
            if truth >> index & 1 == 1 {
                parity = store.xor(*term, parity).unwrap();
            }
        }
        assert_eq!(parity, node, "{truth:#06x}");
        let complement = store.not(node).unwrap();
        assert_eq!(complement, predicate(&mut store, &bits, !truth).unwrap(), "{truth:#06x}");
    }
}

#[test]
fn operations_on_all_pairs_of_three_bit_predicates() {
    let mut store = unlimited();
    let preds = all_tables(&mut store, &three());
    let [yes, no] = [VERDICTS[0], VERDICTS[1]].map(|verdict| store.verdict(verdict).unwrap());
    let funcs: Vec<Func> = preds.iter().map(|pred| store.select(*pred, yes, no).unwrap()).collect();
    for (a, pa) in preds.iter().enumerate() {
        assert_eq!(store.not(*pa).unwrap(), preds[!a & 255]);
        for (b, pb) in preds.iter().enumerate() {
            assert_eq!(store.and(*pa, *pb).unwrap(), preds[a & b]);
            assert_eq!(store.or(*pa, *pb).unwrap(), preds[a | b]);
            assert_eq!(store.xor(*pa, *pb).unwrap(), preds[a ^ b]);
            assert_eq!(store.and_not(*pa, *pb).unwrap(), preds[a & !b]);
            // The third operand of if-then-else, which differs between pairs.
            for c in [(a * 7 + b * 13) & 255, a ^ b, !a & 255, 255 - b] {
                let wanted = funcs[a & b | !a & c & 255];
                assert_eq!(store.select(*pa, funcs[b], funcs[c]).unwrap(), wanted);
            }
        }
    }
}

#[test]
fn if_then_else_of_all_three_bit_functions() {
    let bits = three();
    let mut store = unlimited();
    let preds = all_tables(&mut store, &bits);
    let funcs: Vec<Func> =
        (0..6561).map(|n| function(&mut store, &bits, &digits(n, 8)).unwrap()).collect();
    let distinct: std::collections::HashSet<&Func> = funcs.iter().collect();
    assert_eq!(distinct.len(), funcs.len());

    for (n, func) in funcs.iter().enumerate() {
        let verdicts = digits(n, 8);
        for (index, verdict) in verdicts.iter().enumerate() {
            for noise in [0, !0, 0x5555_5555] {
                assert_eq!(store.evaluate(*func, &syscall(&bits, index, noise)).unwrap(), *verdict);
            }
        }
        let mut given = store.verdicts(*func);
        given.sort();
        let mut wanted = verdicts.clone();
        wanted.sort();
        wanted.dedup();
        assert_eq!(given, wanted);

        // If-then-else with another function, and a predicate that differs each time.
        let (m, t) = (n * 31 % 6561, n * 17 % 256);
        let mixed: Vec<Verdict> = digits(m, 8)
            .into_iter()
            .enumerate()
            .map(|(i, other)| if t >> i & 1 == 1 { verdicts[i] } else { other })
            .collect();
        let wanted = function(&mut store, &bits, &mixed).unwrap();
        assert_eq!(store.select(preds[t], *func, funcs[m]).unwrap(), wanted);
    }
}

#[test]
fn witnesses_of_all_pairs_of_three_bit_functions() {
    let bits = three();
    let mut store = unlimited();
    let verdicts = |t: usize| (0..8).map(|i| VERDICTS[t >> i & 1]).collect::<Vec<_>>();
    let funcs: Vec<Func> =
        (0..256).map(|t| function(&mut store, &bits, &verdicts(t)).unwrap()).collect();
    let start = syscall(&bits, 5, 0xa5a5_a5a5);
    for (a, fa) in funcs.iter().enumerate() {
        for (b, fb) in funcs.iter().enumerate() {
            let Some(data) = store.witness(*fa, *fb, start).unwrap() else {
                assert_eq!(a, b);
                continue;
            };
            assert_ne!(store.evaluate(*fa, &data).unwrap(), store.evaluate(*fb, &data).unwrap());
            // Only input bits differ from `start`.
            let index = (0..8).find(|i| syscall(&bits, *i, 0xa5a5_a5a5) == data).unwrap();
            assert_eq!((a ^ b) >> index & 1, 1);
            // If the functions differ for `start`, it is the witness.
            assert!((a ^ b) >> 5 & 1 == 0 || data == start);
        }
    }
}
