//! The search against an enumeration of all programs of at most three instructions for words of three bits, and a bit for
//! all higher ones, which decides: values with higher bits have the first class.
//!
//! The enumeration knows nothing of the search: its programs are instructions in sequence with jumps forward, and it runs
//! each of them on all values. So it also has programs that find different parts of the word in A at one instruction.

use super::code::Test;
use super::function::{Function, VALUES};
use super::search::{Cost, Found, cheapest};

/// An instruction of the enumeration; the targets of a branch are the distances from it.
#[derive(Clone, Copy, Debug)]
enum Insn {
    Branch(Test, usize, usize),
    And(u8),
    Load,
}

/// The most instructions of a program.
const MOST: usize = 3;

/// The words: those below [`LOW`] have no higher bits.
const WORDS: u8 = 16;
const LOW: u8 = 8;

/// The set of words that a program leads to the second return, if there are none with higher bits.
fn set_of(program: &[Insn]) -> Option<u8> {
    let leads = |word: u8| {
        let (mut a, mut at) = (word, 0);
        loop {
            match program.get(at) {
                Some(Insn::Branch(test, then, otherwise)) => {
                    at += if test.holds(a) { then } else { otherwise };
                }
                Some(Insn::And(mask)) => {
                    a &= mask;
                    at += 1;
                }
                Some(Insn::Load) => {
                    a = word;
                    at += 1;
                }
                // The returns follow the program.
                None => return at - program.len() == 1,
            }
        }
    };
    let low = |set, word| if leads(word) { set | 1 << word } else { set };
    (!(LOW..WORDS).any(leads)).then(|| (0..LOW).fold(0, low))
}

/// The instructions that may be at a position of a program of this length.
fn insns_at(at: usize, length: usize) -> Vec<Insn> {
    let holds =
        |test: &Test| (0..WORDS).filter(|a| test.holds(*a)).fold(0_u16, |set, a| set | 1 << a);
    // One test for each set of values of A.
    let is_low = |test: &Test| match *test {
        Test::Equal(k) => k < LOW,
        Test::AtLeast(k) => k <= LOW,
        Test::AnyBit(mask) => mask < WORDS,
    };
    let tests = Test::all().filter(is_low).map(|test| (holds(&test), test));
    let mut tests: Vec<(u16, Test)> = tests.collect();
    tests.sort_unstable();
    tests.dedup_by_key(|(set, _)| *set);
    let targets = 1..=length + 1 - at;
    let mut insns: Vec<Insn> = Vec::new();
    for (_, test) in tests {
        for then in targets.clone() {
            let others = targets.clone().filter(|otherwise| *otherwise != then);
            insns.extend(others.map(|otherwise| Insn::Branch(test, then, otherwise)));
        }
    }
    if at + 1 < length {
        insns.extend((1..WORDS - 1).map(Insn::And));
        insns.push(Insn::Load);
    }
    insns
}

/// For each set of words, the length of its shortest program, up to [`MOST`].
fn shortest() -> Vec<Option<usize>> {
    let mut shortest = vec![None; 1 << LOW];
    for length in (0..=MOST).rev() {
        let choices: Vec<Vec<Insn>> = (0..length).map(|at| insns_at(at, length)).collect();
        let mut program: Vec<Insn> = Vec::new();
        enumerate(&choices, &mut program, &mut |program| {
            if let Some(set) = set_of(program) {
                shortest[usize::from(set)] = Some(length);
            }
        });
    }
    shortest
}

fn enumerate(choices: &[Vec<Insn>], program: &mut Vec<Insn>, visit: &mut impl FnMut(&[Insn])) {
    let Some(insns) = choices.get(program.len()) else { return visit(program) };
    for insn in insns {
        program.push(*insn);
        enumerate(choices, program, visit);
        program.pop();
    }
}

#[test]
fn the_search_finds_the_shortest_of_all_programs() {
    let shortest = shortest();
    let (mut of_three, mut longer) = (0, 0);
    let cost = Cost { weights: [0; VALUES], size_price: 1 };
    // The program of the empty set has no instructions.
    for set in 1..=u8::MAX {
        let function = Function::new(|value| if value < LOW { set >> value & 1 } else { 0 });
        let found = match cheapest(&function, &cost, MOST as u32 + 1, u64::MAX) {
            Found::Best(code, cost) => {
                assert_eq!(code.counterexample(&function), None);
                assert_eq!(code.nodes.len(), cost as usize, "{code:?}");
                Some(cost as usize)
            }
            Found::Nothing => None,
            Found::Unknown(_) => panic!("the budget is unlimited"),
        };
        assert_eq!(found, shortest[usize::from(set)], "{set:#010b}");
        match found {
            Some(MOST) => of_three += 1,
            None => longer += 1,
            Some(_) => {}
        }
    }
    assert!(of_three > 50 && longer > 10, "{of_three} {longer}");
}
