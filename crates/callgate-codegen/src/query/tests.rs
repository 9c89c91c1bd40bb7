//! All queries against brute force, for all functions of a few bits.

use callgate_core::diagram::{Budget, Func, Pred, Store};
use callgate_testing::truth_table::{Bit, VERDICTS, built, digits, function, predicate, syscall};

use super::word_funcs::Bounds;
use super::*;
use callgate_core::{Arch, Verdict, Word};

fn word(index: usize) -> Word {
    Word::from_index(index).unwrap()
}

fn unlimited() -> Store {
    Store::new(Budget { nodes: 50_000_000, steps: u64::MAX })
}

/// Two words, bits next to each other and far apart.
const THREE: [(usize, u32); 3] = [(5, 31), (5, 0), (8, 7)];

fn three() -> [Bit; 3] {
    THREE.map(|(w, bit)| (word(w), bit))
}

#[test]
fn intervals_of_all_four_bit_functions_of_a_word() {
    // The top three bits and one of a later word: at most eight intervals, and more than two exits.
    let first = word(9);
    let bits: [Bit; 4] = [(first, 31), (first, 30), (first, 29), (word(12), 5)];
    let mut store = unlimited();
    let preds: Vec<Pred> =
        (0..=u32::from(u16::MAX)).map(|t| predicate(&mut store, &bits, t).unwrap()).collect();
    let allow = store.verdict(Verdict::ALLOW).unwrap();
    let deny = store.verdict(Verdict::errno(1)).unwrap();
    for (truth, pred) in preds.into_iter().enumerate() {
        let func = store.select(pred, allow, deny).unwrap();
        // The cofactor for an index of the top three bits, first bit lowest: two verdicts.
        let left = |index: usize| (truth >> index & 1, truth >> (index | 8) & 1);
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        let mut lefts = Vec::new();
        for value in 0..8u32 {
            let index = (value.reverse_bits() >> 29) as usize;
            let (start, end) = (value << 29, value << 29 | ((1 << 29) - 1));
            if lefts.last() == Some(&left(index)) {
                wanted.last_mut().unwrap().1 = end;
            } else {
                wanted.push((start, end));
                lefts.push(left(index));
            }
        }
        let intervals = partition(&store, func, first, 8).unwrap();
        let given: Vec<(u32, u32)> =
            intervals.iter().map(|interval| (interval.first, interval.last)).collect();
        assert_eq!(given, wanted, "{truth:#06x}");
        for (interval, (clear, set)) in intervals.iter().zip(&lefts) {
            for (value, verdict) in [(0u32, clear), (1 << 5, set)] {
                let then = store.follow(interval.then, word(12), value);
                assert_eq!(then, if *verdict == 1 { allow } else { deny });
            }
        }
        let count = wanted.len();
        assert!(partition(&store, func, first, count).is_some());
        assert_eq!(partition(&store, func, first, count - 1), None);
    }
}

#[test]
fn a_pattern_in_low_bits_has_too_many_intervals() {
    let mut store = unlimited();
    let low = (word(1), 0);
    let func = function(&mut store, &[low], &[VERDICTS[0], VERDICTS[1]]).unwrap();
    assert_eq!(partition(&store, func, low.0, 1 << 16), None);
    let next = (word(1), 16);
    let func = function(&mut store, &[next], &[VERDICTS[0], VERDICTS[1]]).unwrap();
    assert_eq!(partition(&store, func, low.0, 1 << 16).unwrap().len(), 1 << 16);
}

/// All functions from four bits of one word to two exits, and from three bits to three.
fn one_word(mut check: impl FnMut(&mut Store, Func, &[Bit], &[Func])) {
    let of = word(11);
    let mut store = unlimited();
    let exits = VERDICTS.map(|verdict| store.verdict(verdict).unwrap());
    let bits: [Bit; 4] = [(of, 31), (of, 17), (of, 4), (of, 0)];
    for truth in 0..1usize << 16 {
        let leaves: Vec<Func> = (0..16).map(|i| exits[truth >> i & 1]).collect();
        let func = built(&mut store, &bits, &leaves).unwrap();
        check(&mut store, func, &bits, &leaves);
    }
    let bits = &bits[..3];
    for n in 0..6561 {
        let leaves: Vec<Func> = digits(n, 8).iter().map(|v| store.verdict(*v).unwrap()).collect();
        let func = built(&mut store, bits, &leaves).unwrap();
        check(&mut store, func, bits, &leaves);
    }
}

#[test]
fn exits_and_the_bounds_of_their_values() {
    one_word(|store, func, bits, leaves| {
        let of = bits[0].0;
        let relevant = bits.iter().fold(0u32, |mask, (_, bit)| mask | 1 << bit);
        let values: Vec<(u32, Func)> =
            (0..leaves.len()).map(|i| (syscall(bits, i, 0).word(of), leaves[i])).collect();
        let mut wanted = leaves.to_vec();
        wanted.sort();
        wanted.dedup();
        let mut exits = store.exits(func, of, wanted.len()).unwrap();
        exits.sort();
        assert_eq!(exits, wanted);
        assert_eq!(store.exits(func, of, wanted.len() - 1), None);

        let bounds = |chosen: &dyn Fn(Func) -> bool| {
            let chosen = values.iter().filter(|(_, exit)| chosen(*exit));
            chosen.fold(None, |bounds: Option<Bounds>, (value, _)| {
                let own = Bounds { any: value | !relevant, all: *value };
                Some(bounds.map_or(own, |b| Bounds { any: b.any | own.any, all: b.all & own.all }))
            })
        };
        let mut funcs = WordFuncs::new(of);
        let copy = funcs.copy(store, func);
        for exit in &wanted {
            let copied = funcs.copy(store, *exit);
            assert_eq!(funcs.bounds_of(copy, copied), bounds(&|other| other == *exit));
            assert_eq!(funcs.bounds_except(copy, copied), bounds(&|other| other != *exit));
            let share = 1u64 << (32 - bits.len());
            let count = leaves.iter().filter(|leaf| *leaf == exit).count() as u64;
            assert_eq!(funcs.values_to(copy, copied), count * share);
        }
        // The first bit of the support.
        let matters =
            |i: usize| (0..leaves.len()).any(|index| leaves[index] != leaves[index ^ 1 << i]);
        let top = (0..bits.len()).find(|i| matters(*i)).map_or(0, |i| 1 << bits[i].1);
        assert_eq!(funcs.top_bit(copy), top);
    });
}

#[test]
fn fixing_bits_gives_the_cofactor() {
    let mut number = 0usize;
    one_word(|store, func, bits, leaves| {
        // Every function with one choice of bits, different from function to function, and every
        // sixteenth with all choices.
        number += 1;
        let count = leaves.len();
        let choices: Vec<(usize, usize)> = if number % 16 == 0 {
            (0..count * count).map(|n| (n / count, n % count)).collect()
        } else {
            vec![(number * 7 / count % count, number * 5 % count)]
        };
        let of = bits[0].0;
        let mut funcs = WordFuncs::new(of);
        let copy = funcs.copy(store, func);
        for (mask, value) in choices {
            let (mask_bits, value_bits) =
                (syscall(bits, mask, 0).word(of), syscall(bits, value, 0).word(of));
            let left: Vec<Func> = (0..count).map(|i| leaves[i & !mask | value & mask]).collect();
            let wanted = built(store, bits, &left).unwrap();
            let wanted = funcs.copy(store, wanted);
            assert_eq!(funcs.fix_bits(copy, mask_bits, value_bits), wanted);
            // Bits outside the support do not matter.
            let more = mask_bits | 0x0000_ff00;
            assert_eq!(funcs.fix_bits(copy, more, value_bits | 0x5500), wanted);
        }
    });
}

#[test]
fn a_permitted_syscall_is_found_if_there_is_one() {
    let bits = three();
    let mut store = unlimited();
    for n in 0..6561 {
        let verdicts = digits(n, 8);
        let func = function(&mut store, &bits, &verdicts).unwrap();
        for index in 0..8 {
            let start = syscall(&bits, index, 0x0f0f_0f0f);
            match permitted(&store, func, start) {
                None => assert!(verdicts.iter().all(|verdict| !verdict.permits())),
                Some(data) => {
                    assert!(store.evaluate(func, &data).unwrap().permits());
                    assert!(!verdicts[index].permits() || data == start);
                    assert!((0..8).any(|i| syscall(&bits, i, 0x0f0f_0f0f) == data));
                }
            }
        }
    }
}

#[test]
fn differences_cover_exactly_the_syscalls_that_differ() {
    // The top bit of arch and of number, which gives two intervals, and one bit of an argument.
    let bits: [Bit; 3] = [(Word::ARCH, 31), (Word::NR, 31), (word(7), 3)];
    let mut store = unlimited();
    let verdicts = |t: usize| (0..8).map(|i| VERDICTS[t >> i & 1]).collect::<Vec<_>>();
    let funcs: Vec<Func> =
        (0..256).map(|t| function(&mut store, &bits, &verdicts(t)).unwrap()).collect();
    for (a, fa) in funcs.iter().enumerate() {
        for (b, fb) in funcs.iter().enumerate() {
            let found = differences(&store, *fa, *fb, usize::MAX).unwrap();
            let mut covered = Vec::new();
            for difference in &found {
                assert!(difference.syscalls.contains(difference.data.nr));
                assert_eq!(store.evaluate(*fa, &difference.data).unwrap(), difference.left);
                assert_eq!(store.evaluate(*fb, &difference.data).unwrap(), difference.right);
                assert_ne!(difference.left, difference.right);
                let high_arch = difference.data.arch >> 31;
                for (first, last) in difference.syscalls.ranges() {
                    for (half, start, end) in [(0, 0, i32::MAX as u32), (1, 1 << 31, u32::MAX)] {
                        if *first <= start && end <= *last {
                            covered.push((high_arch, half));
                        }
                    }
                }
                // The token is a known one, if possible.
                assert!(Arch::with_token(difference.data.arch).next().is_some());
            }
            // If the functions do not depend on arch, one token represents both halves.
            let of_arch = |t: usize, arch: usize| (0..4).map(|i| t >> (2 * i + arch) & 1).collect();
            let side = |arch| -> [Vec<usize>; 2] { [of_arch(a, arch), of_arch(b, arch)] };
            if side(0) == side(1) {
                let known: Vec<(u32, u32)> = covered.clone();
                covered.extend(known.into_iter().map(|(arch, nr)| (1 - arch, nr)));
            }
            covered.sort_unstable();
            let wanted: Vec<(u32, u32)> = [(0, 0), (0, 1), (1, 0), (1, 1)]
                .into_iter()
                .filter(|(arch, nr)| {
                    [0, 4].into_iter().any(|i| (a ^ b) >> (i + nr * 2 + arch) & 1 == 1)
                })
                .collect();
            assert_eq!(covered, wanted, "{a:#x} {b:#x}");
            let limited = differences(&store, *fa, *fb, 1).unwrap();
            assert_eq!(limited.len(), found.len().min(1));
        }
    }
}

/// A restricted function does not test the word; restriction to a word outside the support changes nothing.
#[test]
fn restrictions_of_three_bit_functions() {
    let bits = three();
    let mut store = unlimited();
    for n in (0..6561).step_by(7) {
        let verdicts = digits(n, 8);
        let func = function(&mut store, &bits, &verdicts).unwrap();
        let mut is_restricted = |word, known, left: [usize; 8]| {
            let left: Vec<Verdict> = left.iter().map(|index| verdicts[*index]).collect();
            let wanted = function(&mut store, &bits, &left).unwrap();
            assert_eq!(restrict(&mut store, func, word, known).unwrap(), wanted, "{n}");
        };
        for value in 0..4usize {
            let known = syscall(&bits, value, 0x1234_5670).word(bits[0].0);
            is_restricted(bits[0].0, known, std::array::from_fn(|i| i & 4 | value));
        }
        for value in 0..2usize {
            let known = syscall(&bits, value << 2, !0).word(bits[2].0);
            is_restricted(bits[2].0, known, std::array::from_fn(|i| i & 3 | value << 2));
        }
        for other in [0, 4, 6, 7, 9, 15] {
            is_restricted(word(other), 0x8000_0001, std::array::from_fn(|i| i));
        }
    }
}
