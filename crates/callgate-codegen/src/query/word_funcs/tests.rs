//! Tests of functions of one word.

use super::super::partition::Interval;
use super::*;
use callgate_core::diagram::{Func, Store};
use callgate_core::diagram::{Split, var_of};
use callgate_core::{Verdict, Word};

const WORD: fn() -> Word = || Word::arg_low(0).unwrap();

/// Some values that are allowed, and the exits for them and for the others.
fn allowed(store: &mut Store, values: impl IntoIterator<Item = u32>) -> [Func; 3] {
    let [allow, deny] =
        [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
    let func = values
        .into_iter()
        .fold(deny, |func, value| store.split(WORD(), Split::Equal(value), allow, func).unwrap());
    [func, allow, deny]
}

/// The same function in the diagram.
fn in_store(funcs: &WordFuncs, store: &mut Store, func: WordFunc) -> Func {
    match funcs.as_exit(func) {
        Some(exit) => exit,
        None => {
            let [low, high] = funcs.children(func).map(|func| in_store(funcs, store, func));
            store.make(var_of(WORD(), funcs.top_bit(func).ilog2()), low, high).unwrap()
        }
    }
}

#[test]
fn a_function_splits_into_parts_that_depend_on_bits_and_do_not() {
    let free = 0b0110;
    for set in (0..=u16::MAX).step_by(11) {
        let mut store = Store::default();
        let values = (0..16u32).filter(|value| set >> value & 1 == 1);
        let copied = allowed(&mut store, values);
        let [allow, deny] = [copied[1], copied[2]];
        let mut funcs = WordFuncs::new(WORD());
        let [func, _, otherwise] = copied.map(|func| funcs.copy(&store, func));
        let func = funcs.fix_bits(func, !15, 0);
        let agreed = funcs.independent_of(func, free, otherwise);
        let rest = funcs.disagreement(func, agreed, otherwise);
        let [agreed, rest] = [agreed, rest].map(|func| in_store(&funcs, &mut store, func));
        for value in 0..16u32 {
            let others = (0..16u32).filter(|other| other & !free == value & !free);
            let all = others.clone().all(|other| set >> other & 1 == 1);
            let wanted = if all { allow } else { deny };
            assert_eq!(store.follow(agreed, WORD(), value), wanted);
            let alone = !all && set >> value & 1 == 1;
            assert_eq!(store.follow(rest, WORD(), value), if alone { allow } else { deny });
        }
    }
}

/// Beyond the first sizes of the index; the same functions as in the diagram.
#[test]
fn equal_functions_are_the_same_node() {
    let mut store = Store::default();
    let values = (0..2000u32).map(|i| i.wrapping_mul(0x9e37_79b9));
    let [func, ..] = allowed(&mut store, values);
    let mut funcs = WordFuncs::new(WORD());
    let copy = funcs.copy(&store, func);
    assert_eq!(funcs.bits(copy), u32::MAX);
    let nodes = funcs.nodes.len();
    let [low, high] = funcs.children(copy);
    assert_eq!(funcs.node(1 << 31, low, high), copy);
    assert_eq!(funcs.fix_bits(copy, 1 << 31, 1 << 31), high);
    assert_eq!(funcs.nodes.len(), nodes);
    assert!(nodes > 20_000 && funcs.size(copy, u32::MAX).nodes == nodes - 2);
    assert!(funcs.take_steps() > nodes as u64 && funcs.take_steps() == 0);
    let half = funcs.fix_bits(copy, 2, 0);
    let half = in_store(&funcs, &mut store, half);
    for value in (0..4000u32).map(|i| i.wrapping_mul(0x9e37_79b9)) {
        let wanted = store.follow(func, WORD(), value & !2);
        assert_eq!(store.follow(half, WORD(), value), wanted);
    }
}

#[test]
fn untested_bits_and_bits_outside_of_the_mask() {
    let mut store = Store::default();
    let [_, allow, deny] = allowed(&mut store, []);
    let set = store.any_bit(WORD(), 1 << 29).unwrap();
    let func = store.select(set, deny, allow).unwrap();
    let mut funcs = WordFuncs::new(WORD());
    let func = funcs.copy(&store, func);
    assert_eq!(funcs.size(func, u32::MAX), Size { nodes: 1, intervals: 8 });
    assert_eq!(funcs.partition(func, u32::MAX).len(), 8);
    let [allow, deny] = [allow, deny].map(|exit| funcs.copy(&store, exit));
    let interval = |first, last, then| Interval { first, last, then };
    let half = 1 << 29;
    assert_eq!(
        funcs.partition(func, half | 3),
        vec![interval(0, 3, allow), interval(half, half | 3, deny)]
    );
    assert_eq!(funcs.size(func, half | 3), Size { nodes: 1, intervals: 2 });
    assert_eq!(funcs.partition(allow, 6), vec![interval(0, 6, allow)], "an exit is one interval");
    assert_eq!(funcs.exits(func, 2), Some(vec![allow, deny]));
    assert_eq!(funcs.exits(func, 1), None);
}
