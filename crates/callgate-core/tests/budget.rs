//! The budget of a store: what counts, what is beyond it, and what a new phase gets.

use callgate_core::diagram::{Budget, Pred, Split, Store};
use callgate_core::{Endian, Insn, LongProgram, Op, Program, SeccompData, Verdict, Word};

fn long(insns: Vec<Insn>) -> LongProgram {
    Program::new(insns).unwrap().into()
}

/// A program whose register A has twice as many values after each test of a bit: 2^tests states.
fn doubling(tests: u32) -> LongProgram {
    let mut insns = vec![Insn::new(Op::LdImm, 0), Insn::new(Op::St, 0)];
    for bit in 0..tests {
        insns.extend([
            Insn::new(Op::LdWordAbs, 16),
            Insn::branch(Op::JsetK, 1 << bit, 0, 3),
            Insn::new(Op::LdMem, 0),
            Insn::new(Op::OrK, 1 << bit),
            Insn::new(Op::St, 0),
        ]);
    }
    insns.extend([Insn::new(Op::LdMem, 0), Insn::new(Op::RetA, 0)]);
    long(insns)
}

/// A symbolic state takes the memory of sixteen nodes.
#[test]
fn the_states_of_a_program_are_limited() {
    let error = |nodes| {
        let mut store = Store::new(Budget { nodes, steps: u64::MAX });
        store.program(&doubling(6), Endian::Little).err()
    };
    assert_eq!(error(1_000_000), None);
    let beyond = error(1600).expect("more than 100 states");
    assert!(beyond.is_out_of_budget());
    assert!(beyond.to_string().contains("more than 100 different combinations"), "{beyond}");
}

#[test]
fn a_phase_has_all_steps_again_after_a_reset() {
    let mut store = Store::new(Budget { nodes: 1000, steps: 100 });
    let (mut pred, mut used) = (Pred::NEVER, 0);
    let exhausted = loop {
        match store.make(500 - used, pred, Pred::ALWAYS) {
            Ok(next) => (pred, used) = (next, used + 1),
            Err(error) => break error,
        }
    };
    assert_eq!(used, 100);
    assert!(exhausted.to_string().contains("more than 100 steps"), "{exhausted}");
    assert!(format!("{store:?}").contains("102 nodes, 100 steps"), "{store:?}");
    assert!(store.make(1, pred, Pred::ALWAYS).is_err());
    store.reset_steps();
    assert!(format!("{store:?}").contains("102 nodes, 0 steps"), "{store:?}");
    assert!(store.make(1, pred, Pred::ALWAYS).is_ok());
}

#[test]
fn at_most_twelve_bits_of_a_computed_verdict_may_vary() {
    for (mask, is_allowed) in [(0xfff, true), (0x1fff, false), (0xf0f_00f0, true)] {
        let returned = long(vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::AndK, mask),
            Insn::new(Op::RetA, 0),
        ]);
        let mut store = Store::default();
        let func = store.program(&returned, Endian::Little);
        assert_eq!(func.is_ok(), is_allowed, "{mask:#x}");
        let Ok(func) = func else { continue };
        let data = SeccompData { args: [0x1234_5678, 0, 0, 0, 0, 0], ..SeccompData::default() };
        assert_eq!(store.evaluate(func, &data), Ok(Verdict(0x1234_5678 & mask)));
    }
}

#[test]
fn a_store_is_empty_until_it_has_a_function() {
    let mut store = Store::default();
    assert!(store.is_empty());
    store.verdict(Verdict::ALLOW).unwrap();
    assert_eq!((store.is_empty(), store.len()), (false, 3));
}

#[test]
fn following_a_value_of_a_word_ends_at_a_later_word() {
    let mut store = Store::default();
    let [a, b, c] = [1, 2, 3].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
    let later = store.split(Word::arg_low(0).unwrap(), Split::Equal(3), a, b).unwrap();
    let next = Word::from_index(Word::NR.index() + 1).unwrap();
    let next = store.split(next, Split::AtLeast(0x8000_0000), a, b).unwrap();
    let func = store.split(Word::NR, Split::Equal(0x8000_0001), later, c).unwrap();
    let func = store.split(Word::NR, Split::AtLeast(0xffff_0000), a, func).unwrap();
    for value in [0, 1, 0x8000_0000, 0x8000_0001, 0x8000_0003, 0xfffe_ffff, 0xffff_0000, u32::MAX] {
        let wanted = match value {
            0xffff_0000.. => a,
            0x8000_0001 => later,
            _ => c,
        };
        assert_eq!(store.follow(func, Word::NR, value), wanted, "{value:#x}");
        assert_eq!(store.follow(a, Word::NR, value), a);
        // Functions of later words only, one of them of the next word.
        assert_eq!(store.follow(later, Word::NR, value), later);
        assert_eq!(store.follow(next, Word::NR, value), next);
    }
}
