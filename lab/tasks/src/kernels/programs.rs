//! Programs that guests run: programs to be timed, and programs whose verdicts are compared.

use callgate_bpf::SyscallTable;
use std::path::Path;

use callgate::Description;
use callgate::compile::{Options, compile, recompile};
use callgate::fuzz::plain_program;
use callgate::stack::{self, Stack};
use callgate::{Arch, Endian, Verdict};
use callgate_codegen::{Aim, Model, Weights};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Insn, Op, Program, SyscallSet, Word};
use callgate_formats::{container_default, oci};

use super::guests::Guest;
use callgate_tasks::Result;
use callgate_tasks::files::{files, read, stem};

/// The verdict of lists for syscalls that they do not contain.
pub(super) const DENIED: Verdict = Verdict::errno(1);

/// An allowlist of 20 syscalls of a small program.
const LIST_OF_20: [&str; 20] = [
    "read",
    "write",
    "openat",
    "close",
    "fstat",
    "seccomp",
    "mmap",
    "mprotect",
    "munmap",
    "brk",
    "rt_sigaction",
    "rt_sigprocmask",
    "ioctl",
    "dup",
    "getpid",
    "getuid",
    "umask",
    "futex",
    "clock_gettime",
    "exit_group",
];

/// Suffix of the name of a program that Callgate recompiled for the weights.
pub(super) const AGAIN: &str = ", by Callgate";

/// The syscall whose rule tests an argument, in lists with such a rule.
pub(super) const CONDITIONAL: &str = "umask";
/// The largest permitted value of this argument.
const LARGEST: u32 = 0o777;

/// A program and its specification.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) program: Program,
    /// The rules from which it was compiled; without them, only the interpreter is compared.
    pub(super) policy: Option<Policy>,
    pub(super) arches: Vec<Arch>,
    /// Whether to measure its cost under the weights.
    pub(super) is_weighed: bool,
}

/// `ret ALLOW`.
pub(super) fn allow() -> Result<Program> {
    checked(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])
}

/// A program that loads an argument, so that the kernel caches no verdict, and makes this many comparisons whose
/// branches are not taken.
pub(super) fn uncached(endian: Endian, tests: u8) -> Result<Program> {
    let offset = Word::arg_low(0).map_or(0, |word| word.offset(endian));
    let mut insns = vec![Insn::new(Op::LdWordAbs, offset)];
    for number in 0..tests {
        // With the highest bit set, the kernel would need another instruction.
        let value = 0x1000_0000 + u32::from(number);
        insns.push(Insn::branch(Op::JeqK, value, tests - number, 0));
    }
    insns.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
    insns.push(Insn::new(Op::RetK, DENIED.0));
    checked(insns)
}

/// A list of 20 rules as simple compilers generate it: a test of the arch, then of each number in order. With
/// `conditional`, the rule for [`CONDITIONAL`] tests the argument.
pub(super) fn list(arch: Arch, conditional: bool) -> Result<Program> {
    let mut numbers = numbers(arch)?;
    numbers.sort_unstable();
    let count = numbers.len() as u8;
    let mut insns = vec![
        Insn::new(Op::LdWordAbs, Word::ARCH.offset(arch.endian())),
        Insn::branch(Op::JeqK, arch.token(), 0, count + 1),
        Insn::new(Op::LdWordAbs, Word::NR.offset(arch.endian())),
    ];
    for (place, number) in (0..).zip(&numbers) {
        // After the list come the denial, the permission, and the rule with a condition.
        let looks = conditional && arch.syscall_name(*number) == Some(CONDITIONAL);
        let target = if looks { count - place + 1 } else { count - place };
        insns.push(Insn::branch(Op::JeqK, *number, target, 0));
    }
    let (deny, permit) = (Insn::new(Op::RetK, DENIED.0), Insn::new(Op::RetK, Verdict::ALLOW.0));
    insns.extend([deny, permit]);
    if conditional {
        let load = |word: Option<Word>| {
            Insn::new(Op::LdWordAbs, word.map_or(0, |word| word.offset(arch.endian())))
        };
        insns.extend([
            load(Word::arg_high(0)),
            Insn::branch(Op::JeqK, 0, 0, 3),
            load(Word::arg_low(0)),
            Insn::branch(Op::JgtK, LARGEST, 1, 0),
            permit,
            deny,
        ]);
    }
    checked(insns)
}

/// Programs on top of each other as one, by the library's `merge`.
pub(super) fn merged(arch: Arch, model: Model, stack: &[Program]) -> Result<Program> {
    let filters = stack.iter().map(|program| Description::program(program, arch.endian()));
    let stack = Stack::new(filters.collect()).map_err(|error| error.to_string())?;
    let options = Options { model, ..Options::default() };
    let merged = stack::merge(&stack, &[arch], &options).map_err(|error| error.to_string())?;
    Ok(merged.compiled.program.into())
}

/// A program that neither kills nor blocks: each verdict except ALLOW becomes an errno. `None` if it computes
/// its verdicts.
pub(super) fn harmless(program: &Program) -> Option<Program> {
    if program.iter().any(|insn| insn.op == Op::RetA) {
        return None;
    }
    let change = |verdict| if verdict == Verdict::ALLOW { verdict } else { DENIED };
    program.with_verdicts(change, &[]).ok()
}

/// The programs whose verdicts are compared; omitted ones are added to `notes`.
pub(super) fn candidates(
    guest: &Guest,
    weights: &Weights,
    filters: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Vec<Candidate>> {
    let arch = guest.machine.arch;
    let profile = container_default(&oci::ReadOptions::new(arch, guest.version))
        .map_err(|errors| format!("container-default: {errors:?}"))?;
    let mut candidates = Vec::new();
    let options = |aim, weights: &Weights| Options {
        model: model(guest),
        aim,
        weights: weights.clone(),
        ..Options::default()
    };
    let uniform = &Weights::uniform();
    for (name, policy) in
        [("container-default", &profile.policy), ("every comparison", &comparisons(arch)?)]
    {
        let is_weighed = name == "container-default";
        let mut add = |form: &str, program| {
            let (policy, arches) = (Some(policy.clone()), policy.arches().collect());
            let name = format!("{name}{form}");
            candidates.push(Candidate { name, program, policy, arches, is_weighed });
        };
        for (form, options) in [
            ("", options(Aim::Speed, uniform)),
            (", weighted", options(Aim::Speed, weights)),
            (", size", options(Aim::Size, uniform)),
        ] {
            add(form, compile(policy, &options).map_err(|error| error.to_string())?.program.into());
        }
        match plain_program(policy) {
            Ok(program) => add(", plain", program),
            Err(why) => notes.push(format!("{}: {name}, plain: {why}.", guest.name())),
        }
    }
    for (name, conditional) in [("20 rules", false), ("20 rules, one with a condition", true)] {
        let program = list(arch, conditional)?;
        let mut add = |name, program| {
            let arches = vec![arch];
            candidates.push(Candidate { name, program, policy: None, arches, is_weighed: false });
        };
        add(format!("{name}, merged"), merged(arch, model(guest), &vec![program.clone(); 32])?);
        add(name.to_owned(), program);
    }
    if let Some(directory) = filters.filter(|_| arch == Arch::X86_64) {
        others(directory, &options(Aim::Speed, weights), &mut candidates, notes)?;
    }
    Ok(candidates)
}

/// Programs of other compilers for x86-64, and Callgate's programs for the same functions.
fn others(
    directory: &Path,
    options: &Options,
    candidates: &mut Vec<Candidate>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let arches = vec![Arch::X86_64];
    for path in files(directory, "bpf")? {
        let name = stem(&path).replace("-x86_64", "");
        let mut add = |name, program| {
            let arches = arches.clone();
            candidates.push(Candidate { name, program, policy: None, arches, is_weighed: true });
        };
        let program = match Program::from_bytes(&read(&path)?, Endian::Little) {
            Ok(program) => program,
            Err(why) => {
                notes.push(format!("`{name}` is omitted: {why}."));
                continue;
            }
        };
        let again = recompile(&program, Endian::Little, &arches, options);
        add(name.clone(), program);
        match again {
            Ok(compiled) => add(format!("{name}{AGAIN}"), compiled.program.into()),
            Err(why) => notes.push(format!("`{name}` is not recompiled: {why}.")),
        }
    }
    Ok(())
}

/// The model of a guest's kernel.
pub(super) fn model(guest: &Guest) -> Model {
    if guest.has_cache() { Model::Cached } else { Model::Uncached }
}

/// All comparisons of each argument, with values and masks whose halves differ.
fn comparisons(arch: Arch) -> Result<Policy> {
    let mut rules = Vec::new();
    let mut nr = 100;
    let (value, mask) = (0x1234_5678_9abc_def0, 0x00ff_0000_ff00_0000);
    for arg in 0..6 {
        for field in [Field::arg(arg), Field::arg_low(arg)] {
            let field = field.ok_or("there are six arguments")?;
            let value = value & field.full_mask();
            let compared = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]
                .map(|cmp| Test::new(field, cmp, value));
            let masked = Test::masked_eq(field, mask, value & mask);
            for test in compared.into_iter().chain([masked]) {
                let (syscalls, when) = (SyscallSet::one(nr), Condition::test(test));
                // Distinct errnos show which rule was applied.
                let verdict = Verdict::errno(nr as u16);
                rules.push(Rule { syscalls, when, verdict });
                nr += 1;
            }
        }
    }
    let section = Section::new(arch, rules, Verdict::ALLOW);
    Policy::new(vec![section], Verdict::KILL_PROCESS).map_err(|error| error.to_string())
}

fn numbers(arch: Arch) -> Result<Vec<u32>> {
    let number =
        |name: &&str| arch.number(name).ok_or(format!("{arch} does not have the syscall {name}"));
    LIST_OF_20.iter().map(number).collect()
}

fn checked(insns: Vec<Insn>) -> Result<Program> {
    Program::new(insns).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use callgate::SeccompData;

    use super::*;
    use crate::kernels::guests::GUESTS;

    #[test]
    fn lists_permit_what_is_in_them() {
        for arch in [Arch::X86_64, Arch::Aarch64, Arch::S390x] {
            for conditional in [false, true] {
                let list = list(arch, conditional).unwrap();
                let listed = numbers(arch).unwrap();
                for (nr, name) in arch.syscalls() {
                    let verdict = |args, token| {
                        let data = SeccompData { nr, arch: token, args, ..Default::default() };
                        list.run(&data, arch.endian()).verdict == Verdict::ALLOW
                    };
                    let is_in = listed.contains(&nr);
                    let of = |arg| verdict([arg, 0, 0, 0, 0, 0], arch.token());
                    assert_eq!(of(0o777), is_in, "{name}");
                    let looks = conditional && name == CONDITIONAL;
                    assert_eq!(of(0o1000), is_in && !looks, "{name}");
                    assert_eq!(of(1 << 32), is_in && !looks, "{name}");
                    assert!(!verdict([0; 6], arch.token() ^ 1));
                }
            }
        }
    }

    #[test]
    fn the_list_and_its_merge_of_32_mean_the_same() {
        let list = list(Arch::S390x, true).unwrap();
        let merged = merged(Arch::S390x, Model::Uncached, &vec![list.clone(); 32]).unwrap();
        for nr in 0..500 {
            for arg in [0, 0o777, 0o1000, 1 << 32, 0o1_000_000_000_000] {
                let arch = Arch::S390x.token();
                let data = SeccompData { nr, arch, args: [arg; 6], ..Default::default() };
                let verdict = |program: &Program| program.run(&data, Endian::Big).verdict;
                assert_eq!(verdict(&merged), verdict(&list), "{nr} {arg:o}");
            }
        }
    }

    #[test]
    fn a_harmless_program_allows_the_same_and_never_kills() {
        let program = uncached(Endian::Little, 3).unwrap().into_insns();
        let mut deadly = program.clone();
        deadly.last_mut().unwrap().k = Verdict::KILL_PROCESS.0;
        let deadly = Program::new(deadly).unwrap();
        assert_eq!(harmless(&deadly).unwrap().insns(), program);
        let computed = Program::new(vec![Insn::new(Op::RetA, 0)]).unwrap();
        assert!(harmless(&computed).is_none());
    }

    #[test]
    fn every_guest_has_its_programs() {
        for guest in &GUESTS {
            let mut notes = Vec::new();
            let all = candidates(guest, &Weights::uniform(), None, &mut notes).unwrap();
            assert!(all.len() >= 11, "{} {notes:?}", all.len());
            let big = guest.machine.arch == Arch::S390x;
            let is_big = |one: &Candidate| {
                one.policy.as_ref().map(Policy::endian).is_none_or(|e| (e == Endian::Big) == big)
            };
            assert!(all.iter().all(is_big));
        }
    }
}
