//! The running kernel must give the same verdicts as the reference interpreter and every engine: for generated programs,
//! random programs, and every arithmetic instruction.
//!
//! A child process makes the syscalls, and none of them is executed (`probe`).

use callgate_bpf::SyscallTable;
use std::os::unix::process::{CommandExt, ExitStatusExt};

use callgate::compile::{Options, compile};
use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::random::Rng;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Insn, Op, Program, SyscallSet, Word};
use callgate_linux::{FilterFlags, ProbeAnswer, install_unproved, probe};
use callgate_testing::{Need, Skip, TestResult};
use callgate_vm::{EngineKind, SeccompEngine, differential};

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        generated_programs_mean_the_same,
        arithmetic_with_x_means_the_same,
        arithmetic_with_constants_means_the_same,
        comparisons_mean_the_same,
        registers_start_as_zero,
        random_programs_mean_the_same,
        division_by_a_zero_x_kills,
        nothing_is_executed_whatever_the_verdict,
        syscalls_that_cannot_be_probed_are_not_probed,
    ]
}

/// The first syscall number of the tests.
const FIRST: u32 = 5000;

fn native() -> Result<Arch, Skip> {
    Arch::native().ok_or_else(|| Skip::new(Need::Kernel, "this architecture is unknown"))
}

fn endian() -> Endian {
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little }
}

fn offset(arg: u8) -> u32 {
    Word::arg_low(arg).unwrap().offset(endian())
}

/// Probes the kernel's verdicts under a program, which must be those of the interpreter.
fn agree(program: &Program, syscalls: Vec<(u32, [u64; 6])>) {
    let arch = Arch::native().unwrap().token();
    let syscalls: Vec<SeccompData> = syscalls
        .into_iter()
        .map(|(nr, args)| SeccompData { nr, arch, args, ..SeccompData::default() })
        .collect();
    let answers = probe(program, &syscalls).unwrap();
    assert_eq!(answers.len(), syscalls.len());
    let engines = engines(program);
    for (data, answer) in syscalls.iter().zip(answers) {
        let verdict = program.run(data, endian()).verdict;
        assert_eq!(answer, ProbeAnswer::Verdict(verdict), "{data:x?}\n{program:?}");
        for (kind, engine) in &engines {
            assert_eq!(engine.verdict(data), verdict, "{kind}: {data:x?}\n{program:?}");
        }
    }
}

/// The engines that this machine supports.
fn engines(program: &Program) -> Vec<(EngineKind, Box<dyn SeccompEngine>)> {
    let engine = |&kind: &EngineKind| Some((kind, kind.seccomp(program, endian()).ok()?));
    EngineKind::ALL.iter().filter_map(engine).collect()
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    rng.pick(from).unwrap()
}

fn value(rng: &mut Rng) -> u64 {
    match rng.below(5) {
        0 => rng.below(8) as u64,
        1 => 1 << rng.below(64),
        2 => pick(rng, &[u64::MAX, 0xffff_ffff, 0x1_0000_0000, 0x8000_0000, 0x7fff_ffff]),
        3 => (rng.below(4) << 32 | rng.below(4)) as u64,
        _ => rng.next(),
    }
}

fn near(rng: &mut Rng, value: u64) -> u64 {
    match rng.below(6) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value ^ 1 << rng.below(64),
        3 => value.rotate_left(32),
        _ => value,
    }
}

fn condition(rng: &mut Rng, values: &mut Vec<u64>) -> Condition {
    let tests: Vec<Condition> = (0..1 + rng.below(2))
        .map(|_| {
            let arg = rng.below(6) as u8;
            let field = if rng.below(3) == 0 { Field::arg_low(arg) } else { Field::arg(arg) };
            let field = field.unwrap();
            let constant = value(rng);
            values.push(constant);
            let cmp = pick(rng, &[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
            let test = match rng.below(3) {
                0 => {
                    let mask = value(rng) & field.full_mask();
                    Test::masked_eq(field, mask, constant & mask)
                }
                _ => Test::new(field, cmp, constant & field.full_mask()),
            };
            Condition::test(test)
        })
        .collect();
    if rng.below(2) == 0 { Condition::all(tests) } else { Condition::any(tests) }
}

fn generated_programs_mean_the_same() -> TestResult {
    let arch = native()?;
    let mut rng = Rng::new(17);
    for _ in 0..40 {
        let mut values = Vec::new();
        let mut rules: Vec<Rule> = (0..12)
            .map(|i| Rule {
                syscalls: SyscallSet::range(FIRST + i * 2, FIRST + i * 2 + rng.below(4) as u32),
                when: condition(&mut rng, &mut values),
                verdict: Verdict::errno(200 + rng.below(5) as u16),
            })
            .collect();
        let others = SyscallSet::range(0, FIRST - 1);
        rules.push(Rule { syscalls: others, when: Condition::always(), verdict: Verdict::ALLOW });
        let section = Section::new(arch, rules, Verdict::errno(4095));
        let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
        let program = compile(&policy, &Options::default()).unwrap().program;
        let syscalls = (0..400)
            .map(|_| {
                let nr = FIRST + rng.below(28) as u32;
                let args = std::array::from_fn(|_| {
                    let value = pick(&mut rng, &values);
                    near(&mut rng, value)
                });
                (nr, args)
            })
            .collect();
        agree(&program, syscalls);
    }
    Ok(())
}

/// Allows real syscalls. For others, computes something from the first two arguments and returns eleven bits of the
/// result, starting at the bit that the last argument gives.
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
    let mut syscalls = Vec::new();
    for a in INTERESTING {
        for x in INTERESTING {
            for shift in [0, 11, 22] {
                syscalls.push((FIRST, [a, x, 0, 0, 0, shift]));
            }
        }
    }
    syscalls
}

fn arithmetic_with_x_means_the_same() -> TestResult {
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
    Ok(())
}

fn arithmetic_with_constants_means_the_same() -> TestResult {
    use Op::*;
    for op in [AddK, SubK, MulK, DivK, OrK, AndK, XorK, LshK, RshK] {
        for k in [1, 2, 3, 10, 31, 0x0f0f_0f0f, 0x8000_0000, u32::MAX] {
            if !matches!(op, LshK | RshK) || k < 32 {
                agree(&computing(&[Insn::new(op, k)]), operands());
            }
        }
    }
    Ok(())
}

fn comparisons_mean_the_same() -> TestResult {
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
    Ok(())
}

/// Programs that read A or X without having set them.
fn registers_start_as_zero() -> TestResult {
    let ret = |errno| Insn::new(Op::RetK, Verdict::errno(errno).0);
    let (yes, no) = (ret(1), ret(2));
    for insns in [
        &[Insn::branch(Op::JeqK, 0, 0, 1), yes, no][..],
        &[Insn::branch(Op::JeqX, 0, 0, 1), yes, no],
        &[Insn::new(Op::Txa, 0), Insn::branch(Op::JeqK, 0, 0, 1), yes, no],
        &[Insn::new(Op::Tax, 0), Insn::branch(Op::JgtX, 0, 1, 0), yes, no],
        &[Insn::new(Op::OrK, Verdict::errno(3).0), Insn::new(Op::RetA, 0)],
    ] {
        agree(&Program::new(insns.to_vec()).unwrap(), vec![(FIRST, [9; 6])]);
    }
    Ok(())
}

fn random_programs_mean_the_same() -> TestResult {
    let arch = native()?.token();
    let mut asked = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let program = differential::seccomp_program(&mut rng);
        if program.len() > 3000 {
            // No room for an errno in place of each value.
            continue;
        }
        let syscalls: Vec<SeccompData> = (0..40)
            .map(|_| {
                let nr = FIRST + rng.below(3) as u32;
                let args = std::array::from_fn(|_| value(&mut rng));
                SeccompData { nr, arch, args, ..SeccompData::default() }
            })
            .collect();
        let answers = probe(&program, &syscalls).unwrap();
        let engines = engines(&program);
        for (data, answer) in syscalls.iter().zip(answers) {
            // Divisions by zero, and what depends on the instruction pointer.
            let ProbeAnswer::Verdict(verdict) = answer else { continue };
            asked += 1;
            assert_eq!(program.run(data, endian()).verdict, verdict, "{data:x?}\n{program:?}");
            for (kind, engine) in &engines {
                assert_eq!(engine.verdict(data), verdict, "{kind}: {data:x?}\n{program:?}");
            }
        }
    }
    assert!(asked > 500, "{asked}");
    Ok(())
}

/// Division by a zero X ends the program with 0, which is KILL_THREAD, whatever follows.
fn division_by_a_zero_x_kills() -> TestResult {
    let nr = libc::SYS_getppid as u32;
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, Word::NR.offset(endian())),
        Insn::branch(Op::JeqK, nr, 0, 1),
        Insn::new(Op::DivX, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap();
    let data = SeccompData { nr, ..SeccompData::default() };
    assert_eq!(program.run(&data, endian()).verdict, Verdict::KILL_THREAD);
    for (kind, engine) in engines(&program) {
        assert_eq!(engine.verdict(&data), Verdict::KILL_THREAD, "{kind}");
    }
    let mut command = std::process::Command::new("/bin/true");
    // SAFETY: between fork and exec, the program is there already and the C library's memory may be
    // used; nothing here takes another lock.
    unsafe {
        command.pre_exec(move || {
            install_unproved(&program, FilterFlags::NONE)
                .map_err(|_| std::io::ErrorKind::Unsupported)?;
            libc::syscall(libc::SYS_getppid);
            Err(std::io::ErrorKind::Other.into())
        });
    }
    let status = command.spawn().unwrap().wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
    Ok(())
}

/// Syscalls that would end the child or be visible if they were executed, x32 numbers, and the number by which a tracer
/// skips a syscall.
fn nothing_is_executed_whatever_the_verdict() -> TestResult {
    let arch = native()?;
    let rng: Vec<u32> = ["exit", "exit_group", "execve", "rt_sigreturn", "munmap", "setpgid"]
        .iter()
        .filter_map(|name| arch.number(name))
        .chain([u32::MAX, 0x8000_0000, 0x4000_0000, 0x4000_003c, 100_000])
        .collect();
    let syscalls: Vec<(u32, [u64; 6])> = rng.iter().map(|nr| (*nr, [0, 1, 2, 3, 4, 5])).collect();
    for verdict in
        [Verdict::ALLOW, Verdict::KILL_PROCESS, Verdict::KILL_THREAD, Verdict::LOG, Verdict(77)]
    {
        let program = Program::new(vec![
            Insn::new(Op::LdWordAbs, Word::NR.offset(endian())),
            Insn::branch(Op::JeqK, rng[0], 0, 1),
            Insn::new(Op::RetK, Verdict::errno(1).0),
            Insn::new(Op::RetK, verdict.0),
        ]);
        agree(&program.unwrap(), syscalls.clone());
    }
    Ok(())
}

fn syscalls_that_cannot_be_probed_are_not_probed() -> TestResult {
    let arch = native()?;
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, Word::NR.offset(endian())),
        Insn::branch(Op::JeqK, 1, 0, 1),
        Insn::new(Op::LdWordAbs, Word::IP_LOW.offset(endian())),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    let syscall = |nr, arch| SeccompData { nr, arch, ..SeccompData::default() };
    let syscalls =
        [syscall(0, arch.token()), syscall(1, arch.token()), syscall(0, arch.token() ^ 1)];
    let allowed = ProbeAnswer::Verdict(Verdict::ALLOW);
    let answers = probe(&program.unwrap(), &syscalls).unwrap();
    assert_eq!(answers, [allowed, ProbeAnswer::NotAsked, ProbeAnswer::NotAsked]);
    Ok(())
}
