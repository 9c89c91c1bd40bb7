//! From a description to a proved program.

use super::diagram::diagram;
use super::error::{CompileError, CompileErrorKind};
use super::expected::expected_insns;
use super::options::{Compiled, Options, Phase, Stats};
use super::too_long::too_long;
use callgate_bpf::data::Endian;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::{Insn, LongProgram, MAX_INSNS, Program, is_constant_allow};
use callgate_codegen::{Aim, Effort, WeightedSyscall};
use callgate_proof::Meaning;
use callgate_proof::diagram::{DiagramError, Store};
use callgate_proof::policy::Policy;

/// Compiles a policy to a proved program.
///
/// # Errors
/// If the diagram exceeds its budget, or the program the kernel's limit; and, because of a defect, if a check of the
/// program fails.
pub fn compile(policy: &Policy, options: &Options) -> Result<Compiled, CompileError> {
    compile_observed(policy, options, &mut |_| ())
}

/// As [`compile`]; `observe` is called at the end of each phase.
///
/// # Errors
/// As [`compile`].
pub fn compile_observed(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let build = |store: &mut Store| diagram(store, policy);
    let mut meaning = Meaning::build(options.budget, policy.endian(), build)?;
    let arches: Vec<Arch> = policy.arches().collect();
    generate(&mut meaning, &arches, options, observe)
}

/// Compiles a program anew from its meaning, proved equal. The syscalls of `arches` have weights.
///
/// # Errors
/// As [`compile`].
pub fn recompile(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    options: &Options,
) -> Result<Compiled, CompileError> {
    recompile_observed(program, endian, arches, options, &mut |_| ())
}

/// As [`recompile`]; `observe` is called at the end of each phase.
///
/// # Errors
/// As [`compile`].
pub fn recompile_observed(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let mut meaning = Meaning::of_program(program, endian, options.budget)?;
    generate(&mut meaning, arches, options, observe)
}

/// Compiles a meaning to a program, proved equal.
pub(crate) fn generate(
    meaning: &mut Meaning,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let syscalls = options.weights.resolve(meaning.store(), meaning.func(), arches);
    let (mut insns, mut nodes) = generated(meaning, &syscalls, options, options.aim)?;
    if insns.len() > MAX_INSNS && options.aim == Aim::Speed {
        // A slower program is better than none.
        (insns, nodes) = generated(meaning, &syscalls, options, Aim::Size)?;
    }
    observe(Phase::Generated);
    let program = prove(meaning, insns, &syscalls)?;
    observe(Phase::Proved);
    let stats = Stats {
        insns: program.len(),
        expected_insns: expected_insns(
            meaning.store(),
            meaning.func(),
            &program,
            &syscalls,
            meaning.endian(),
        ),
        constant_allow: syscalls.iter().filter(|syscall| syscall.always_allowed).count(),
        nodes: meaning.store().len().max(nodes),
        proved: true,
    };
    Ok(Compiled { program, stats })
}

/// Unproved instructions for a meaning, and the number of nodes that the generator used.
fn generated(
    meaning: &Meaning,
    syscalls: &[WeightedSyscall],
    options: &Options,
    aim: Aim,
) -> Result<(Vec<Insn>, usize), CompileError> {
    let attempt = |effort| {
        // The generator gets a copy: it cannot change the diagram in which its program is proved. Each attempt gets
        // a new one, without the nodes of the attempt before.
        let (mut store, func) = meaning.copy()?;
        let insns = callgate_codegen::generate(
            &mut store,
            func,
            syscalls,
            options.model,
            aim,
            options.instructions,
            meaning.endian(),
            effort,
        )?;
        Ok((insns, store.len()))
    };
    match attempt(Effort::Full) {
        Err(error) if DiagramError::is_out_of_budget(&error) => Ok(attempt(Effort::Least)?),
        made => Ok(made?),
    }
}

/// The program of these instructions, if it has this meaning and the kernel recognizes each always-allowed syscall as
/// constant allow.
fn prove(
    meaning: &mut Meaning,
    insns: Vec<Insn>,
    syscalls: &[WeightedSyscall],
) -> Result<Program, CompileError> {
    if insns.len() > MAX_INSNS {
        let error = too_long(meaning.store(), meaning.func(), &insns, syscalls);
        return Err(CompileError(CompileErrorKind::TooLong(Box::new(error))));
    }
    let program =
        Program::new(insns).map_err(|error| CompileError(CompileErrorKind::Refused(error)))?;
    meaning.prove(&program)?;
    for syscall in syscalls.iter().filter(|syscall| syscall.always_allowed) {
        if !is_constant_allow(&program, syscall.token, syscall.nr) {
            let WeightedSyscall { token, nr, .. } = *syscall;
            return Err(CompileError(CompileErrorKind::NotConstantAllow { token, nr }));
        }
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Op;
    use callgate_bpf::data::SeccompData;
    use callgate_bpf::verdict::Verdict;
    use callgate_codegen::Weights;
    use callgate_proof::diagram::Budget;
    use callgate_proof::policy::{Cmp, Condition, Field, Rule, Section, SyscallSet, Test};

    const TOKEN: u32 = Arch::X86_64.token();

    /// Some always-allowed syscalls, and one that is allowed for a small first argument.
    fn policy() -> Policy {
        let small = Condition::test(Test::new(Field::arg(0).unwrap(), Cmp::Lt, 3));
        let rule = |syscalls, when| Rule { syscalls, when, verdict: Verdict::ALLOW };
        let rules = vec![
            rule(SyscallSet::from_ranges([(0, 4), (9, 9)]), Condition::always()),
            rule(SyscallSet::one(41), small),
        ];
        let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    }

    fn points() -> impl Iterator<Item = SeccompData> {
        let numbers = (0..12).chain([40, 41, 42, 0x4000_0000, u32::MAX]);
        let syscalls = numbers.flat_map(|nr| [TOKEN, TOKEN ^ 1, 0].map(|arch| (nr, arch)));
        syscalls.flat_map(|(nr, arch)| {
            [0, 1, 2, 3, 4, 1 << 32, u64::MAX].map(|arg| SeccompData {
                nr,
                arch,
                args: [arg, 0, 0, 0, 0, 0],
                ..SeccompData::default()
            })
        })
    }

    /// Every program that differs from its description because of one changed instruction is refused with a witness.
    #[test]
    fn broken_programs_are_refused_with_a_witness() {
        let policy = policy();
        let good = compile(&policy, &Options::default()).unwrap().program;
        let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
        let mut refused = 0;
        for at in 0..good.len() {
            let broken = |change: &dyn Fn(&mut Insn)| {
                let mut insns = good.insns().to_vec();
                change(&mut insns[at]);
                insns
            };
            for insns in [
                broken(&|insn| insn.k ^= 1),
                broken(&|insn| insn.k = insn.k.wrapping_add(4)),
                broken(&|insn| std::mem::swap(&mut insn.jt, &mut insn.jf)),
            ] {
                let Ok(program) = Program::new(insns.clone()) else { continue };
                let verdict = |data: &SeccompData| program.run(data, Endian::Little).verdict;
                if points().all(|data| verdict(&data) == policy.evaluate(&data)) {
                    continue;
                }
                refused += 1;
                match prove(&mut meaning, insns, &[]) {
                    Err(CompileError(CompileErrorKind::NotEqual(Some(data)))) => {
                        assert_ne!(verdict(&data), policy.evaluate(&data), "{data:?}");
                    }
                    other => panic!("{at}: {other:?}"),
                }
            }
        }
        assert!(refused > good.len(), "only {refused} programs were broken");
        assert!(prove(&mut meaning, good.into_insns(), &[]).is_ok());
    }

    /// The meaning is the same, but the path to ALLOW loads an argument: the kernel would not cache it.
    #[test]
    fn an_always_allowed_syscall_that_the_kernel_cannot_cache_is_refused() {
        let allow = Verdict::ALLOW;
        let mut meaning =
            Meaning::build(Budget::default(), Endian::Little, |store| store.verdict(allow))
                .unwrap();
        let insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::RetK, allow.0)];
        let syscalls = Weights::uniform().resolve(meaning.store(), meaning.func(), &[Arch::X86_64]);
        let proved = prove(&mut meaning, insns.clone(), &syscalls);
        assert!(
            matches!(proved, Err(CompileError(CompileErrorKind::NotConstantAllow { .. }))),
            "{proved:?}"
        );
        assert!(prove(&mut meaning, insns, &[]).is_ok());
    }
}
