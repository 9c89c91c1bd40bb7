//! The running kernel must say what the reference interpreter says: of generated programs, and of
//! every arithmetic instruction.
//!
//! The calls have numbers that no kernel gives a meaning, so that only the filter answers them; every
//! verdict is an errno. Each filter is installed in a thread of its own.
#![cfg(target_pointer_width = "64")]

use callgate::bpf::{Insn, Op, Program};
use callgate::compile::{Options, compile};
use callgate::policy::{CallSet, Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate::{Action, Arch, Endian, SeccompData, Verdict, Word};
use callgate_sys::{Flags, install};

/// The first of the numbers without a meaning.
const FIRST: u32 = 5000;

fn endian() -> Endian {
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little }
}

fn offset(arg: u8) -> u32 {
    Word::arg_low(arg).unwrap().offset(endian())
}

/// Makes a call; what errno it fails with, 0 for none.
fn errno(nr: u32, args: [u64; 6]) -> u16 {
    assert!(nr >= FIRST);
    let [a, b, c, d, e, f] = args;
    // SAFETY: no kernel has a call with this number, so nothing looks at the arguments.
    let result = unsafe { libc::syscall(nr.into(), a, b, c, d, e, f) };
    match result {
        0 => 0,
        _ => std::io::Error::last_os_error().raw_os_error().unwrap() as u16,
    }
}

/// Installs a program and makes calls under it; of each, errno and what the interpreter says.
fn agree(program: &Program, calls: Vec<(u32, [u64; 6])>) {
    let token = Arch::native().unwrap().token();
    let (installed, expected) = (program.clone(), program.clone());
    std::thread::spawn(move || {
        install(&installed, Flags::NONE).unwrap();
        calls.into_iter().map(|(nr, args)| (nr, args, errno(nr, args))).collect::<Vec<_>>()
    })
    .join()
    .unwrap()
    .into_iter()
    .for_each(|(nr, args, given)| {
        let data = SeccompData { nr, arch: token, args, ..SeccompData::default() };
        let verdict = expected.run(&data, endian()).verdict;
        assert_eq!(Action::Errno(given), verdict.action(), "{data:x?}\n{expected:?}");
    });
}

/// A reproducible stream of numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn value(&mut self) -> u64 {
        match self.below(5) {
            0 => self.below(8),
            1 => 1 << self.below(64),
            2 => self.pick(&[u64::MAX, 0xffff_ffff, 0x1_0000_0000, 0x8000_0000, 0x7fff_ffff]),
            3 => self.below(4) << 32 | self.below(4),
            _ => self.next(),
        }
    }

    fn near(&mut self, value: u64) -> u64 {
        match self.below(6) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            2 => value ^ 1 << self.below(64),
            3 => value.rotate_left(32),
            _ => value,
        }
    }
}

fn condition(numbers: &mut Numbers, values: &mut Vec<u64>) -> Condition {
    let tests: Vec<Condition> = (0..1 + numbers.below(2))
        .map(|_| {
            let arg = numbers.below(6) as u8;
            let field = if numbers.below(3) == 0 { Field::arg_low(arg) } else { Field::arg(arg) };
            let field = field.unwrap();
            let value = numbers.value();
            values.push(value);
            let cmp = numbers.pick(&[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
            let test = match numbers.below(3) {
                0 => {
                    let mask = numbers.value() & field.full_mask();
                    Test::masked_eq(field, mask, value & mask)
                }
                _ => Test::new(field, cmp, value & field.full_mask()),
            };
            Condition::test(test)
        })
        .collect();
    if numbers.below(2) == 0 { Condition::all(tests) } else { Condition::any(tests) }
}

#[test]
fn generated_programs() {
    let Some(arch) = Arch::native() else { return };
    let mut numbers = Numbers(17);
    for _ in 0..40 {
        let mut values = Vec::new();
        let mut rules: Vec<Rule> = (0..12)
            .map(|i| Rule {
                calls: CallSet::range(FIRST + i * 2, FIRST + i * 2 + numbers.below(4) as u32),
                when: condition(&mut numbers, &mut values),
                verdict: Verdict::errno(200 + numbers.below(5) as u16),
            })
            .collect();
        let others = CallSet::range(0, FIRST - 1);
        rules.push(Rule { calls: others, when: Condition::always(), verdict: Verdict::ALLOW });
        let (token, arches) = (arch.token(), vec![arch]);
        let section = Section { token, arches, rules, default: Verdict::errno(4095) };
        let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
        let program = compile(&policy, &Options::default()).unwrap().program;
        let calls = (0..400)
            .map(|_| {
                let nr = FIRST + numbers.below(28) as u32;
                let args = std::array::from_fn(|_| {
                    let value = numbers.pick(&values);
                    numbers.near(value)
                });
                (nr, args)
            })
            .collect();
        agree(&program, calls);
    }
}

/// Everything but calls without a meaning is allowed; these compute something from the first two
/// arguments, and return eleven bits of it, from the bit on that the last argument says.
fn computing(insns: &[Insn]) -> Program {
    let ld = |k| Insn::new(Op::LdWordAbs, k);
    let mut program = vec![
        ld(Word::NR.offset(endian())),
        Insn::branch(Op::JgeK, FIRST, 1, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        ld(offset(1)),
        Insn::new(Op::Tax, 0),
        ld(offset(0)),
    ];
    program.extend(insns);
    program.extend([
        Insn::new(Op::St, 0),
        ld(offset(5)),
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdMem, 0),
        Insn::new(Op::RshX, 0),
        Insn::new(Op::AndK, 0x7ff),
        Insn::new(Op::OrK, Verdict::errno(0).0),
        Insn::new(Op::RetA, 0),
    ]);
    Program::new(program).unwrap()
}

const INTERESTING: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    100,
    0xff00,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1234_5678_9abc_def1,
];

fn operands() -> Vec<(u32, [u64; 6])> {
    let mut calls = Vec::new();
    for a in INTERESTING {
        for x in INTERESTING {
            for shift in [0, 11, 22] {
                calls.push((FIRST, [a, x, 0, 0, 0, shift]));
            }
        }
    }
    calls
}

#[test]
fn arithmetic_with_x() {
    use Op::*;
    for op in [AddX, SubX, MulX, OrX, AndX, XorX, LshX, RshX, Neg, Txa] {
        agree(&computing(&[Insn::new(op, 0)]), operands());
    }
    // A zero divisor ends the program with 0, which kills the thread; here it never is.
    let not_zero = [
        Insn::new(St, 1),
        Insn::new(Txa, 0),
        Insn::new(OrK, 2),
        Insn::new(Tax, 0),
        Insn::new(LdMem, 1),
        Insn::new(DivX, 0),
    ];
    agree(&computing(&not_zero), operands());
}

#[test]
fn arithmetic_with_constants() {
    use Op::*;
    for op in [AddK, SubK, MulK, DivK, OrK, AndK, XorK, LshK, RshK] {
        for k in [1, 2, 3, 10, 31, 0x0f0f_0f0f, 0x8000_0000, u32::MAX] {
            if !matches!(op, LshK | RshK) || k < 32 {
                agree(&computing(&[Insn::new(op, k)]), operands());
            }
        }
    }
}

#[test]
fn comparisons() {
    use Op::*;
    let sides = [Insn::new(LdImm, 1), Insn::new(Ja, 1), Insn::new(LdImm, 2)];
    for op in [JeqX, JgtX, JgeX, JsetX, JeqK, JgtK, JgeK, JsetK] {
        for k in [0, 1, 31, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            let mut insns = vec![Insn::branch(op, k, 0, 2)];
            insns.extend(sides);
            agree(&computing(&insns), operands());
        }
    }
    agree(&computing(&[Insn::new(LdLen, 0)]), operands());
    agree(&computing(&[Insn::new(LdxLen, 0), Insn::new(AddX, 0)]), operands());
}
