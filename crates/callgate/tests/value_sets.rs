//! Sets of values of one word against the shortest trees of tests there are.
//!
//! A word with four bits that matter stands for a word: three low bits, and all others as one. For every
//! set of values below 8, the number of instructions between the load and the returns is compared with
//! that of the shortest tree over `jeq`, `jge`, `jset` and `and` with any constants, found by exhaustive
//! search. Programs may also share code between branches and look values up in a constant, so they can
//! be shorter than any tree; none may be longer. `cargo lab optimum` compares with such programs, too.

use std::collections::HashMap;

use callgate::Arch;
use callgate::compile::{Options, compile};
use callgate_codegen::Aim;
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{SyscallSet, Verdict};

/// Sets of 4-bit values: those that lead to one place, and those that lead to the other. What is in
/// neither does not occur.
type Sets = (u16, u16);

/// The shortest trees of all pairs of sets that were asked for.
struct Shortest {
    /// What a comparison with a constant can be: the sets of values for which one holds.
    tests: Vec<u16>,
    known: HashMap<Sets, u8>,
}

impl Shortest {
    fn new() -> Shortest {
        let values = |holds: &dyn Fn(u16) -> bool| {
            (0..16).filter(|value| holds(*value)).fold(0, |set, value| set | 1 << value)
        };
        let mut tests: Vec<u16> = (0..16)
            .flat_map(|k| {
                let equal = values(&|value| value == k);
                let at_least = values(&|value| value >= k);
                [equal, at_least, values(&|value| value & k != 0)]
            })
            .collect();
        tests.sort_unstable();
        tests.dedup();
        Shortest { tests, known: HashMap::new() }
    }

    /// What becomes of a set of values by `and`.
    fn masked(set: u16, mask: u16) -> u16 {
        let values = (0..16).filter(|value| set >> value & 1 == 1);
        values.fold(0, |image, value| image | 1 << (value & mask))
    }

    /// The number of instructions of the shortest tree. Every test splits the values that can occur,
    /// and every `and` makes them fewer, so this ends.
    fn len(&mut self, (yes, no): Sets) -> u8 {
        if yes == 0 || no == 0 {
            return 0;
        }
        // Either way round it is the same tree.
        let key = (yes.min(no), yes.max(no));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let all = yes | no;
        let separates = |test: &u16| [yes, no].contains(&(all & test));
        let mut best = if self.tests.iter().any(separates) { 1 } else { u8::MAX };
        for at in 0..self.tests.len() {
            let test = self.tests[at];
            if best <= 2 || all & test == 0 || all & !test == 0 {
                continue;
            }
            let then = 1 + self.len((yes & test, no & test));
            if then < best {
                best = best.min(then + self.len((yes & !test, no & !test)));
            }
        }
        for mask in (0..15).take(if best > 2 { 15 } else { 0 }) {
            let (then_yes, then_no) = (Self::masked(yes, mask), Self::masked(no, mask));
            let fewer = (then_yes | then_no).count_ones() < all.count_ones();
            if then_yes & then_no == 0 && fewer {
                best = best.min(1 + self.len((then_yes, then_no)));
            }
        }
        self.known.insert(key, best);
        best
    }
}

/// The instructions between the load of the argument and the returns.
fn tests(values: &[u64]) -> usize {
    let field = Field::arg_low(1).unwrap();
    let any = Condition::any(values.iter().map(|value| Condition::test(Test::eq(field, *value))));
    let rule = Rule { syscalls: SyscallSet::one(5), when: any, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86, vec![rule], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let options = Options { aim: Aim::Size, ..Options::default() };
    // Arch, number and argument are loaded, the first two compared, and there are three returns.
    compile(&policy, &options).unwrap().program.len() - 8
}

#[test]
fn sets_of_small_values_take_as_few_tests_as_any_tree() {
    let mut shortest = Shortest::new();
    let (mut beyond, mut worst) = (0, 0);
    for set in 1u16..0x100 {
        let values: Vec<u64> = (0..8).filter(|value| set >> value & 1 == 1).collect();
        let (given, best) = (tests(&values), usize::from(shortest.len((set, !set))));
        if given > best {
            println!("{values:?}: {given} instructions, {best} are enough");
            beyond += 1;
            worst = worst.max(given - best);
        }
    }
    assert_eq!((beyond, worst), (0, 0), "sets beyond the shortest tree");
}
