//! From a meaning to a proved program: the search in the MTBDD.

use super::error::{CompileError, CompileErrorKind};
use super::expected::Executed;
use super::options::{Compiled, CompiledTemplate, Options, Phase, Stats};
use super::too_long::too_long;
use callgate_codegen::query;
use callgate_codegen::{Aim, Distribution, Effort, Program as Unproved, WeightedSyscall};
use callgate_core::diagram::{Comparison, DiagramError, Func, Store};
use callgate_core::template::{Template, Variable};
use callgate_core::{
    Arch, Cases, Endian, Insn, LongProgram, MAX_INSNS, Meaning, Op, Program, Proved, Verdict, Word,
};
use rustc_hash::FxHashSet;

/// Compiles a program anew from its meaning, proved equal. The syscalls of `arches` have weights.
///
/// # Errors
/// As [`compile`](super::compile()).
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
/// As [`compile`](super::compile()).
pub fn recompile_observed(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let mut meaning = Meaning::of_program(program, endian, options.budget)?;
    let given = || Program::try_from(program.clone()).ok().map(Program::into_insns);
    generate(&mut meaning, arches, options, &given, observe)
}

/// The rules of a policy as cases, made when they are first asked for; `None` if there are none.
pub(super) type CasesOf<'c> = dyn Fn() -> Option<&'c Cases> + 'c;

/// Compiles a meaning to a program, proved equal. `plain` makes another program for it, which is used if the generator
/// finds none within the limits.
pub(crate) fn generate(
    meaning: &mut Meaning,
    arches: &[Arch],
    options: &Options,
    plain: &dyn Fn() -> Option<Vec<Insn>>,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    generate_with_rules(meaning, arches, options, (plain, &|| None), observe)
}

/// As [`generate`], with the rules of the meaning.
pub(super) fn generate_with_rules<'c>(
    meaning: &mut Meaning,
    arches: &[Arch],
    options: &Options,
    (plain, cases): (&dyn Fn() -> Option<Vec<Insn>>, &'c CasesOf<'c>),
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let workload = Workload::of(meaning, arches, options, cases);
    let (program, stats) = generate_with(meaning, &workload, options, plain, observe, &AsProgram)?;
    Ok(Compiled { program, stats })
}

/// As [`generate`], for a meaning with these variables.
pub(super) fn generate_template(
    meaning: &mut Meaning,
    variables: &[Variable],
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<CompiledTemplate, CompileError> {
    // The mean of executed instructions depends on the values.
    let expected_insns = options.expected_insns && variables.is_empty();
    let options = &Options { expected_insns, ..options.clone() };
    let workload = Workload::of(meaning, arches, options, &|| None);
    let form = AsTemplate(variables);
    let (template, stats) = generate_with(meaning, &workload, options, &|| None, observe, &form)?;
    let uncached = match variables {
        [] => Vec::new(),
        _ => uncached(meaning, &workload.syscalls),
    };
    Ok(CompiledTemplate { template, uncached, stats })
}

/// The syscalls of a filter, and how the expected cost is distributed over them; and its rules.
struct Workload<'c> {
    syscalls: Vec<WeightedSyscall>,
    distribution: Distribution,
    cases: &'c CasesOf<'c>,
}

impl<'c> Workload<'c> {
    fn of(
        meaning: &Meaning,
        arches: &[Arch],
        options: &Options,
        cases: &'c CasesOf<'c>,
    ) -> Workload<'c> {
        Workload {
            syscalls: options.weights.resolve(meaning.store(), meaning.func(), arches),
            distribution: options.weights.distribution(options.model, arches),
            cases,
        }
    }

    /// The same without rules.
    fn without_rules(&self) -> Workload<'static> {
        let Workload { syscalls, distribution, .. } = self;
        Workload { syscalls: syscalls.clone(), distribution: *distribution, cases: &|| None }
    }
}

/// The form in which a program is proved.
trait Form {
    type Made;

    /// The program of these instructions, if it has this meaning and the kernel recognizes each always-allowed syscall as
    /// constant allow.
    fn prove(
        &self,
        meaning: &mut Meaning,
        made: Unproved,
        syscalls: &[WeightedSyscall],
    ) -> Result<Proved<Self::Made>, CompileError>;

    fn program(made: &Self::Made) -> &Program;
}

struct AsProgram;

impl Form for AsProgram {
    type Made = Program;

    fn prove(
        &self,
        meaning: &mut Meaning,
        Unproved { insns, .. }: Unproved,
        syscalls: &[WeightedSyscall],
    ) -> Result<Proved, CompileError> {
        let program = accepted(meaning, insns, syscalls)?;
        Ok(meaning.prove_with_cache(&program, &always_allowed(syscalls))?)
    }

    fn program(made: &Program) -> &Program {
        made
    }
}

/// With these variables.
struct AsTemplate<'v>(&'v [Variable]);

impl Form for AsTemplate<'_> {
    type Made = Template;

    fn prove(
        &self,
        meaning: &mut Meaning,
        Unproved { insns, patches }: Unproved,
        syscalls: &[WeightedSyscall],
    ) -> Result<Proved<Template>, CompileError> {
        let program = accepted(meaning, insns, syscalls)?;
        let template = Template::new(program, self.0.to_vec(), patches)
            .map_err(|error| CompileError(CompileErrorKind::Patches(error)))?;
        Ok(meaning.prove_template(&template, &always_allowed(syscalls))?)
    }

    fn program(made: &Template) -> &Program {
        made.program()
    }
}

/// As [`generate`], in this form.
fn generate_with<F: Form>(
    meaning: &mut Meaning,
    workload: &Workload<'_>,
    options: &Options,
    plain: &dyn Fn() -> Option<Vec<Insn>>,
    observe: &mut dyn FnMut(Phase),
    form: &F,
) -> Result<(Proved<F::Made>, Stats), CompileError> {
    let needs_x = || query::compares_words(meaning.store(), meaning.func());
    if !options.instructions.allows(Op::JeqX) && needs_x() {
        return Err(CompileError(CompileErrorKind::ComparedArguments));
    }
    let syscalls = &workload.syscalls[..];
    let mut made = generated(meaning, workload, options, options.aim);
    if options.aim == Aim::Size {
        made = made.map(|made| shorter_if_long(made, meaning, workload, options));
        // What code costs is estimated per syscall, and syscalls share code.
        if (workload.cases)().is_some() {
            let alone = workload.without_rules();
            let other = generated(meaning, &alone, options, options.aim)
                .map(|made| shorter_if_long(made, meaning, &alone, options));
            let len = |made: &Result<Made, _>| made.as_ref().map_or(usize::MAX, Made::len);
            if len(&other) < len(&made) {
                made = other;
            }
        }
    }
    let mut other = None;
    if is_unusable(&made) {
        // Where the search exhausts the budget, it would do so for the other aim as well.
        if is_exhausted(&made) {
            other = proved(meaning, plain(), syscalls, options, form)?;
        }
        if other.is_none() && options.aim != Aim::Size && made.is_ok() {
            // A slower program, or a longer compilation, is better than none.
            made = generated(meaning, workload, options, Aim::Size);
        }
        if other.is_none() && is_unusable(&made) {
            other = proved(meaning, plain(), syscalls, options, form)?;
        }
    }
    observe(Phase::Generated);
    let (proved, nodes) = match (other, made) {
        (Some(other), _) => (other, 0),
        (None, made) => {
            let Made { program, nodes, .. } = made?;
            match form.prove(meaning, program, syscalls) {
                // The proof of code from rules may take more steps than that of code from the diagram.
                Err(error) if error.is_out_of_budget() && (workload.cases)().is_some() => {
                    let workload = workload.without_rules();
                    let made = generated(meaning, &workload, options, options.aim)?;
                    (form.prove(meaning, made.program, syscalls)?, made.nodes)
                }
                proved => (proved?, nodes),
            }
        }
    };
    observe(Phase::Proved);
    let program = F::program(&proved);
    let executed = match options.expected_insns {
        true => Executed::of(meaning, program, syscalls),
        false => Executed::default(),
    };
    let stats = Stats {
        insns: program.len(),
        expected_insns: executed.expected,
        filtered_insns: executed.filtered,
        constant_allow: syscalls.iter().filter(|syscall| syscall.is_always_allowed()).count(),
        nodes: meaning.store().len().max(nodes),
    };
    Ok((proved, stats))
}

/// The syscalls whose verdict depends on variables alone, and may be ALLOW.
fn uncached(meaning: &Meaning, syscalls: &[WeightedSyscall]) -> Vec<(u32, u32)> {
    let store = meaning.store();
    let depends = |syscall: &&WeightedSyscall| {
        let numbers = store.follow(meaning.func(), Word::ARCH, syscall.token);
        is_allowed_by_variables(store, store.follow(numbers, Word::NR, syscall.nr))
    };
    syscalls.iter().filter(depends).map(|syscall| (syscall.token, syscall.nr)).collect()
}

/// Whether a function tests nothing but variables, and allows for some of their values.
fn is_allowed_by_variables(store: &Store, func: Func) -> bool {
    let mut may_allow = false;
    let mut is_alone = store.as_verdict(func).is_none();
    let mut seen = FxHashSet::default();
    let mut pending = vec![func];
    while let Some(func) = pending.pop().filter(|_| is_alone) {
        match (store.as_verdict(func), store.top_comparison(func)) {
            (Some(verdict), _) => may_allow |= verdict == Verdict::ALLOW,
            (None, Some(Comparison { mask: 0, .. })) => {
                if seen.insert(func) {
                    pending.extend(<[Func; 2]>::from(store.children(func)));
                }
            }
            (None, _) => is_alone = false,
        }
    }
    may_allow && is_alone
}

/// An unproved program.
struct Made {
    program: Unproved,
    /// The number of nodes that the generator used.
    nodes: usize,
    /// The effort with which they were found.
    effort: Effort,
}

impl Made {
    fn len(&self) -> usize {
        self.program.insns.len()
    }
}

/// Whether there are no instructions, or too many, because of the limits.
fn is_unusable(made: &Result<Made, DiagramError>) -> bool {
    match made {
        Ok(made) => made.program.insns.len() > MAX_INSNS,
        Err(error) => error.is_out_of_budget(),
    }
}

/// Whether the search with full effort exhausted the budget.
fn is_exhausted(made: &Result<Made, DiagramError>) -> bool {
    made.as_ref().map_or(true, |made| made.effort == Effort::Least)
}

/// The program of these instructions, if the options allow them and it is proved. A program that the kernel would not
/// recognize as constant allow where it should, or that takes too many steps to prove, is none.
///
/// # Errors
/// If it has another meaning, which is a defect.
fn proved<F: Form>(
    meaning: &mut Meaning,
    insns: Option<Vec<Insn>>,
    syscalls: &[WeightedSyscall],
    options: &Options,
    form: &F,
) -> Result<Option<Proved<F::Made>>, CompileError> {
    let is_allowed =
        |insns: &Vec<Insn>| insns.iter().all(|insn| options.instructions.allows(insn.op));
    let Some(insns) = insns.filter(is_allowed) else { return Ok(None) };
    let program = Unproved { insns, patches: Vec::new() };
    match form.prove(meaning, program, syscalls) {
        Ok(proved) => Ok(Some(proved)),
        Err(error @ CompileError(CompileErrorKind::NotEqual(_))) => Err(error),
        Err(_) => Ok(None),
    }
}

/// From this length on, a program for size is compared with the one for speed.
const LONG: usize = 1024;

/// Made for size, or for speed, if that is shorter: in large trees, the search for the shortest one is not complete.
fn shorter_if_long(
    made: Made,
    meaning: &Meaning,
    workload: &Workload<'_>,
    options: &Options,
) -> Made {
    let len = made.program.insns.len();
    if len < LONG || made.effort == Effort::Least {
        return made;
    }
    match generated(meaning, workload, options, Aim::Speed) {
        Ok(other) if other.program.insns.len() < len => other,
        _ => made,
    }
}

/// Generates instructions for a meaning.
fn generated(
    meaning: &Meaning,
    workload: &Workload<'_>,
    options: &Options,
    aim: Aim,
) -> Result<Made, DiagramError> {
    let attempt = |effort| -> Result<Made, DiagramError> {
        // The generator gets a copy: it cannot change the diagram in which its program is proved. Each attempt gets
        // a new one, without the nodes of the attempt before.
        let (mut store, func) = meaning.copy()?;
        let program = callgate_codegen::generate(
            &mut store,
            func,
            &workload.syscalls,
            workload.distribution,
            aim,
            options.instructions,
            meaning.endian(),
            effort,
            workload.cases,
        )?;
        Ok(Made { program, nodes: store.len(), effort })
    };
    match attempt(Effort::Full) {
        Err(error) if error.is_out_of_budget() => attempt(Effort::Least),
        made => made,
    }
}

/// The program of these instructions, if the kernel accepts it.
fn accepted(
    meaning: &Meaning,
    insns: Vec<Insn>,
    syscalls: &[WeightedSyscall],
) -> Result<Program, CompileError> {
    if insns.len() > MAX_INSNS {
        let error = too_long(meaning.store(), meaning.func(), &insns, syscalls);
        return Err(CompileError(CompileErrorKind::TooLong(Box::new(error))));
    }
    Program::new(insns).map_err(|error| CompileError(CompileErrorKind::Refused(error)))
}

/// The arch tokens and numbers of the syscalls that are always allowed.
fn always_allowed(syscalls: &[WeightedSyscall]) -> Vec<(u32, u32)> {
    let allowed = syscalls.iter().filter(|syscall| syscall.is_always_allowed());
    allowed.map(|syscall| (syscall.token, syscall.nr)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;
    use callgate_codegen::Weights;
    use callgate_core::diagram::Budget;
    use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{SeccompData, SyscallSet};

    const TOKEN: u32 = Arch::X86_64.token();

    fn unproved(insns: Vec<Insn>) -> Unproved {
        Unproved { insns, patches: Vec::new() }
    }

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
                match AsProgram.prove(&mut meaning, unproved(insns), &[]) {
                    Err(CompileError(CompileErrorKind::NotEqual(Some(data)))) => {
                        assert_ne!(verdict(&data), policy.evaluate(&data), "{data:?}");
                    }
                    other => panic!("{at}: {other:?}"),
                }
            }
        }
        assert!(refused > good.len(), "only {refused} programs were broken");
        assert!(
            AsProgram.prove(&mut meaning, unproved(good.into_program().into_insns()), &[]).is_ok()
        );
    }

    #[test]
    fn the_expected_cost_is_left_out_on_demand() {
        let with = compile(&policy(), &Options::default()).unwrap();
        let without = Options { expected_insns: false, ..Options::default() };
        let without = compile(&policy(), &without).unwrap();
        assert!(with.stats.expected_insns.is_some_and(|mean| mean > 1.0));
        let unknown = Stats { expected_insns: None, filtered_insns: None, ..with.stats };
        assert_eq!(without.stats, unknown);
        assert_eq!(without.program, with.program);
    }

    /// The meaning is the same, but the path to ALLOW loads an argument: the kernel would not cache it.
    #[test]
    fn an_always_allowed_syscall_that_the_kernel_cannot_cache_is_refused() {
        let allow = Verdict::ALLOW;
        let policy = Policy::new(Vec::new(), allow).unwrap();
        let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
        let insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::RetK, allow.0)];
        let syscalls = Weights::uniform().resolve(meaning.store(), meaning.func(), &[Arch::X86_64]);
        let proved = AsProgram.prove(&mut meaning, unproved(insns.clone()), &syscalls);
        assert!(
            matches!(proved, Err(CompileError(CompileErrorKind::NotConstantAllow { .. }))),
            "{proved:?}"
        );
        assert!(AsProgram.prove(&mut meaning, unproved(insns), &[]).is_ok());
    }
}
