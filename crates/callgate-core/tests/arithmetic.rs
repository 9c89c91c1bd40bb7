//! Symbolic execution of every arithmetic instruction and comparison against the reference interpreter, for all values of
//! some bits of a word.
//!
//! A holds eight free bits of a word with fixed bits around them. The other operand is a constant, or X with a few free
//! bits of another word. The result is compared eight bits at a time: as the verdict of the program.

use callgate_core::diagram::Store;
use callgate_core::{Endian, Insn, Op, Program, SeccompData};

const CONSTANTS: [u32; 26] = [
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    10,
    15,
    16,
    30,
    31,
    32,
    33,
    63,
    100,
    127,
    128,
    255,
    256,
    0x0f0f_0f0f,
    0x7fff_ffff,
    0x8000_0000,
    0xaaaa_aaaa,
    0xffff_ff00,
    u32::MAX,
];

/// Instructions after the load that leave A with eight free bits.
fn accumulators() -> Vec<Vec<Insn>> {
    let and = Insn::new(Op::AndK, 0xff);
    vec![
        vec![and],
        // Gaps between the bits, and the top of the word.
        vec![Insn::new(Op::AndK, 0xc1_00_60_07)],
        vec![and, Insn::new(Op::LshK, 24)],
        vec![and, Insn::new(Op::OrK, 0xffff_ff00)],
        vec![and, Insn::new(Op::XorK, 0x5555_5500), Insn::new(Op::SubK, 100)],
    ]
}

/// All values of the bits in `mask`; the other bits are those of `noise`.
fn spread(mask: u32, noise: u32) -> Vec<u32> {
    let mut values = vec![];
    let mut subset = 0u32;
    loop {
        values.push(subset | noise & !mask);
        subset = subset.wrapping_sub(mask) & mask;
        if subset == 0 {
            return values;
        }
    }
}

fn free(insns: &[Insn]) -> u32 {
    insns.iter().find(|insn| insn.op == Op::AndK).map_or(u32::MAX, |insn| insn.k)
}

/// Runs `insns` with A and X prepared, and compares all bits of A afterwards.
fn check(a: &[Insn], x: &[Insn], insns: &[Insn]) {
    // A is word 4 (the low half of the first argument), X made of word 6.
    let mut body = Vec::new();
    if !x.is_empty() {
        body.push(Insn::new(Op::LdWordAbs, 24));
        body.extend(x);
        body.push(Insn::new(Op::Tax, 0));
    }
    body.push(Insn::new(Op::LdWordAbs, 16));
    body.extend(a);
    body.extend(insns);
    let xs = if x.is_empty() { vec![9] } else { spread(free(x), 0xdead_beef) };
    for shift in [0, 8, 16, 24] {
        let mut program = body.clone();
        program.extend([
            Insn::new(Op::RshK, shift),
            Insn::new(Op::AndK, 0xff),
            Insn::new(Op::RetA, 0),
        ]);
        let program = Program::new(program).unwrap();
        let mut store = Store::default();
        let func = store.program(&program, Endian::Little).unwrap();
        for a in spread(free(a), 0x5a5a_5a5a) {
            for x in &xs {
                let args = [a.into(), (*x).into(), 0, 0, 0, 0];
                let data = SeccompData { args, ..SeccompData::default() };
                let wanted = program.run(&data, Endian::Little).verdict;
                assert_eq!(store.evaluate(func, &data).unwrap(), wanted, "{a:#x} {x:#x} {body:?}");
            }
        }
    }
}

#[test]
fn arithmetic_with_constants() {
    use Op::*;
    for a in accumulators() {
        for op in [AddK, SubK, MulK, DivK, OrK, AndK, XorK, LshK, RshK] {
            for k in CONSTANTS {
                let acceptable = match op {
                    DivK => k != 0,
                    LshK | RshK => k < 32,
                    _ => true,
                };
                if acceptable {
                    check(&a, &[], &[Insn::new(op, k)]);
                }
            }
        }
        check(&a, &[], &[Insn::new(Neg, 0)]);
    }
}

#[test]
fn arithmetic_with_a_constant_in_x() {
    use Op::*;
    for a in accumulators() {
        for op in [AddX, SubX, MulX, DivX, OrX, AndX, XorX, LshX, RshX] {
            for k in [0, 1, 3, 7, 31, 32, 33, 40, 63, 64, 255, 0x8000_0000, u32::MAX] {
                check(&a, &[], &[Insn::new(LdxImm, k), Insn::new(op, 0)]);
            }
            check(&a, &[], &[Insn::new(LdxLen, 0), Insn::new(op, 0)]);
        }
    }
}

/// X may be 0, and 32 or more.
#[test]
fn arithmetic_with_an_x_that_depends_on_the_syscall() {
    use Op::*;
    let xs = [
        vec![Insn::new(AndK, 0x3f)],
        vec![Insn::new(AndK, 0x13), Insn::new(SubK, 2)],
        vec![Insn::new(AndK, 0x8000_0023)],
    ];
    for a in accumulators() {
        for op in [AddX, SubX, MulX, DivX, OrX, AndX, XorX, LshX, RshX] {
            for x in &xs {
                check(&a, x, &[Insn::new(op, 0)]);
            }
        }
    }
}

#[test]
fn x_and_a_may_be_the_same_bits() {
    use Op::*;
    for a in accumulators() {
        for op in [AddX, SubX, MulX, DivX, OrX, AndX, XorX, LshX, RshX] {
            check(&a, &[], &[Insn::new(Tax, 0), Insn::new(op, 0)]);
            let swapped = [Insn::new(Tax, 0), Insn::new(LdImm, 200), Insn::new(op, 0)];
            check(&a, &[], &swapped);
        }
    }
}

#[test]
fn comparisons_of_computed_values() {
    use Op::*;
    let sides = [Insn::new(RetK, 1), Insn::new(RetK, 2)];
    for a in accumulators() {
        let inputs = spread(free(&a), 0x5a5a_5a5a);
        for x in [0, 7, 0x2f, 0xff] {
            for (with_x, with_k) in [(JeqX, JeqK), (JgtX, JgtK), (JgeX, JgeK), (JsetX, JsetK)] {
                // With X, of which the bits of `x` are free; then with constants near the values.
                let mut programs = vec![{
                    let mut insns = vec![
                        Insn::new(LdWordAbs, 24),
                        Insn::new(AndK, x),
                        Insn::new(Tax, 0),
                        Insn::new(LdWordAbs, 16),
                    ];
                    insns.extend(&a);
                    insns.push(Insn::branch(with_x, 0, 0, 1));
                    insns
                }];
                for k in CONSTANTS {
                    let mut insns = vec![Insn::new(LdWordAbs, 16)];
                    insns.extend(&a);
                    insns.extend([Insn::new(AddK, x), Insn::branch(with_k, k, 0, 1)]);
                    programs.push(insns);
                }
                for mut insns in programs {
                    insns.extend(sides);
                    let program = Program::new(insns).unwrap();
                    let mut store = Store::default();
                    let func = store.program(&program, Endian::Little).unwrap();
                    for a in &inputs {
                        for x in [0, 1, 2, 7, 0x20, 0xff, u32::MAX] {
                            let args = [(*a).into(), x.into(), 0, 0, 0, 0];
                            let data = SeccompData { args, ..SeccompData::default() };
                            let wanted = program.run(&data, Endian::Little).verdict;
                            assert_eq!(store.evaluate(func, &data).unwrap(), wanted, "{data:x?}");
                        }
                    }
                }
            }
        }
    }
}

/// Sums of a whole word and constants, and constants shifted by them, as bitset tests compute them: compared, used in
/// further arithmetic, and returned.
#[test]
fn sums_of_a_word_and_shifted_constants() {
    use Op::*;
    let sums: [&[Insn]; 7] = [
        &[],
        &[Insn::new(SubK, 0x5401)],
        &[Insn::new(AddK, u32::MAX)],
        &[Insn::new(AddK, 7), Insn::new(SubK, 7)],
        &[Insn::new(SubK, 3), Insn::new(AddK, 0x8000_0000), Insn::new(SubK, 30)],
        &[Insn::new(AndK, 0xff3f)],
        &[Insn::new(AndK, 0x0b)],
    ];
    let shift = |op, k| vec![Insn::new(Tax, 0), Insn::new(LdImm, k), Insn::new(op, 0)];
    let uses = [
        vec![],
        shift(RshX, 0x8421_90f7),
        shift(LshX, 0x8421_90f7),
        shift(LshX, 1),
        [shift(RshX, u32::MAX), vec![Insn::new(AddK, 5)]].concat(),
        vec![Insn::new(AndK, 0x1f)],
        vec![Insn::new(OrK, 5)],
        vec![Insn::new(XorK, 5)],
        vec![Insn::new(MulK, 3)],
        vec![Insn::new(LshK, 3)],
        vec![Insn::new(RshK, 3)],
        vec![Insn::new(Neg, 0)],
        vec![Insn::new(Tax, 0), Insn::new(SubX, 0)],
    ];
    let low = (0..40).chain([63, 0x5401, 0x5420, u32::MAX]);
    let words: Vec<u32> =
        low.flat_map(|low| [low, low.wrapping_add(0x5400), !low, low | 0xa5a5_0000]).collect();
    let mut end = vec![vec![Insn::new(AndK, 0xfff), Insn::new(RetA, 0)]];
    for op in [JeqK, JgtK, JgeK, JsetK] {
        for k in [0, 1, 5, 0x5403, 0x8000_0000, u32::MAX - 1] {
            end.push(vec![Insn::branch(op, k, 0, 1), Insn::new(RetK, 1), Insn::new(RetK, 2)]);
        }
    }
    for sum in sums {
        for used in &uses {
            for end in &end {
                let load = [Insn::new(LdWordAbs, 16)];
                let insns = [&load[..], sum, used, end].concat();
                let program = Program::new(insns).unwrap();
                let mut store = Store::default();
                let func = store.program(&program, Endian::Little).unwrap();
                store.check(func).unwrap();
                for word in &words {
                    let args = [(*word).into(), 0, 0, 0, 0, 0];
                    let data = SeccompData { args, ..SeccompData::default() };
                    let wanted = program.run(&data, Endian::Little).verdict;
                    let found = store.evaluate(func, &data).unwrap();
                    assert_eq!(found, wanted, "{word:#x} {:?}", program.insns());
                }
            }
        }
    }
}

/// Each load, store and move sets its register or scratch word and leaves the others as they were.
#[test]
fn loads_stores_and_moves() {
    use Op::*;
    let moves: [&[Insn]; 12] = [
        &[Insn::new(LdWordAbs, 24)],
        &[Insn::new(LdLen, 0)],
        &[Insn::new(LdImm, 77)],
        &[Insn::new(LdMem, 3)],
        &[Insn::new(LdxLen, 0)],
        &[Insn::new(LdxImm, 78)],
        &[Insn::new(LdxMem, 15)],
        &[Insn::new(St, 3)],
        &[Insn::new(Stx, 15)],
        &[Insn::new(Neg, 0)],
        &[Insn::new(Tax, 0)],
        &[Insn::new(Txa, 0)],
    ];
    // Each result is returned alone: A, X, and two scratch words.
    let results: [&[Insn]; 4] =
        [&[], &[Insn::new(Txa, 0)], &[Insn::new(LdMem, 3)], &[Insn::new(LdMem, 15)]];
    for between in moves {
        for result in results {
            // A = low byte of the first argument, X = 5, scratch words 3 and 15 = 9 and 10.
            let mut insns = vec![
                Insn::new(LdImm, 9),
                Insn::new(St, 3),
                Insn::new(LdImm, 10),
                Insn::new(St, 15),
                Insn::new(LdxImm, 5),
                Insn::new(LdWordAbs, 16),
                Insn::new(AndK, 0xff),
            ];
            insns.extend(between);
            insns.extend(result);
            insns.extend([Insn::new(AndK, 0xff), Insn::new(RetA, 0)]);
            let program = Program::new(insns).unwrap();
            let mut store = Store::default();
            let func = store.program(&program, Endian::Little).unwrap();
            for args in [[0, 0], [1, 2], [0xff, 0x80], [0x1_0000_0100, 0xfe]] {
                let args = [args[0], args[1], 0, 0, 0, 0];
                let data = SeccompData { args, ..SeccompData::default() };
                let wanted = program.run(&data, Endian::Little).verdict;
                assert_eq!(store.evaluate(func, &data).unwrap(), wanted, "{between:?} {result:?}");
            }
        }
    }
}
