//! Compile, and prove every time.
//!
//! A program is handed out only after three checks: the kernel's acceptance rules (by the type
//! [`Program`]); symbolic execution of the program gives the very node of the description; and each
//! call that is always allowed is constant allow for the kernel's own emulator.
//!
//! ```
//! use callgate::compile::{Options, compile};
//! use callgate::proof::policy::{CallSet, Condition, Policy, Rule, Section};
//! use callgate::{Arch, Verdict};
//!
//! let read = CallSet::one(Arch::X86_64.number("read").ok_or("no read(2)")?);
//! let rules = vec![Rule { calls: read, when: Condition::always(), verdict: Verdict::ALLOW }];
//! let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//! let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
//! let compiled = compile(&policy, &Options::default())?;
//! assert_eq!(compiled.program.len(), 7);
//! assert!(compiled.stats.proved);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod complexity;
mod size;

use complexity::TooComplex;

pub use complexity::diagram;
pub use size::{LargePart, TooLong};

use callgate_bpf::data::{Endian, SeccompData, Word};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::{Insn, LongProgram, MAX_INSNS, Program, ProgramError, is_constant_allow};
use callgate_codegen::{Aim, Model, WeightedSyscall, Weights};
use callgate_proof::diagram::{Budget, DiagramError, Func, Store};
use callgate_proof::policy::Policy;
use callgate_proof::{Meaning, NotProved};

/// What to compile for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The kernel.
    pub model: Model,
    /// What comes first.
    pub aim: Aim,
    /// How often each call happens.
    pub weights: Weights,
    /// How much work and memory the diagram may take.
    pub budget: Budget,
}

/// A proved program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compiled {
    /// It means what its description says.
    pub program: Program,
    /// What is known about it.
    pub stats: Stats,
}

/// Facts about a compilation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Instructions in the program.
    pub insns: usize,
    /// Mean number of instructions executed under the weights, see [`expected_insns`].
    pub expected_insns: Option<f64>,
    /// How many of the known calls are constant allow.
    pub constant_allow: usize,
    /// Nodes made in the diagram.
    pub nodes: usize,
    /// Whether the program was proved equal to its description. Always true: a program that is not
    /// proved is an error.
    pub proved: bool,
}

/// Why there is no program.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileError(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Diagram(DiagramError),
    TooComplex(Box<TooComplex>),
    TooLong(Box<TooLong>),
    Refused(ProgramError),
    NotEqual(Option<Box<SeccompData>>),
    NotConstantAllow { token: u32, nr: u32 },
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Diagram(error) => error.fmt(f),
            Kind::TooComplex(error) => error.limit.fmt(f),
            Kind::TooLong(error) => error.fmt(f),
            Kind::Refused(error) => {
                write!(f, "the generated program is not acceptable (a defect of callgate): {error}")
            }
            Kind::NotEqual(witness) => {
                write!(
                    f,
                    "the generated program differs from its description (a defect of callgate)"
                )?;
                match witness {
                    Some(data) => write!(f, ", for example at {data:x?}"),
                    None => Ok(()),
                }
            }
            Kind::NotConstantAllow { token, nr } => write!(
                f,
                "the generated program does not let the kernel see that call {nr} of arch \
                 {token:#010x} is always allowed (a defect of callgate)"
            ),
        }
    }
}

impl std::error::Error for CompileError {
    /// The error of the diagram, or of the acceptance rules, whose message is part of this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Diagram(error) => Some(error),
            Kind::TooComplex(error) => Some(&error.limit),
            Kind::Refused(error) => Some(error),
            Kind::TooLong(_) | Kind::NotEqual(_) | Kind::NotConstantAllow { .. } => None,
        }
    }
}

impl CompileError {
    /// A program and what it is to mean differ for this call.
    pub(crate) fn not_equal(data: SeccompData) -> CompileError {
        CompileError(Kind::NotEqual(Some(Box::new(data))))
    }

    /// Whether a check of a finished program failed.
    pub(crate) fn is_defect(&self) -> bool {
        match &self.0 {
            Kind::Diagram(error) => !error.is_out_of_budget(),
            Kind::TooComplex(error) => !error.limit.is_out_of_budget(),
            Kind::TooLong(_) => false,
            Kind::Refused(_) | Kind::NotEqual(_) | Kind::NotConstantAllow { .. } => true,
        }
    }

    /// How many instructions the filter needs, when they are more than the kernel accepts.
    pub fn insns_needed(&self) -> Option<usize> {
        self.too_long().map(|error| error.insns)
    }

    /// What is known of a program that the kernel would find too long.
    pub fn too_long(&self) -> Option<&TooLong> {
        match &self.0 {
            Kind::TooLong(error) => Some(error),
            _ => None,
        }
    }

    /// What to do about it, perhaps in several lines.
    pub fn help(&self) -> Option<String> {
        match &self.0 {
            Kind::TooLong(error) => Some(error.help()),
            Kind::TooComplex(error) => error.help(),
            _ => None,
        }
    }
}

impl From<DiagramError> for CompileError {
    fn from(error: DiagramError) -> CompileError {
        CompileError(Kind::Diagram(error))
    }
}

impl From<NotProved> for CompileError {
    fn from(error: NotProved) -> CompileError {
        CompileError(match error.diagram_error() {
            Some(error) => Kind::Diagram(error),
            None => Kind::NotEqual(error.witness().copied().map(Box::new)),
        })
    }
}

impl From<TooComplex> for CompileError {
    fn from(error: TooComplex) -> CompileError {
        CompileError(Kind::TooComplex(Box::new(error)))
    }
}

/// The end of a part of a compilation, for callers that measure: this crate reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The description has become a program, which is not checked yet.
    Generated,
    /// The program has passed all checks.
    Proved,
}

/// Compiles a policy to a proved program.
///
/// # Errors
/// When the diagram grows beyond its budget, or the program beyond what the kernel accepts; and,
/// which would be a defect of this crate, when a check of the program fails.
pub fn compile(policy: &Policy, options: &Options) -> Result<Compiled, CompileError> {
    compile_observed(policy, options, &mut |_| ())
}

/// The same as [`compile`]; `observe` is told the end of each phase.
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

/// Compiles the meaning of a program to a better program, proved equal. Numbers are weighed by the
/// calls of `arches`.
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

/// The same as [`recompile`]; `observe` is told the end of each phase.
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
    // The generator works on a copy: it cannot touch the diagram in which its program is proved.
    let (mut store, func) = meaning.copy()?;
    let calls = options.weights.resolve(&store, func, arches);
    let mut generated = |aim| {
        callgate_codegen::generate(&mut store, func, &calls, options.model, aim, meaning.endian())
    };
    let mut insns = generated(options.aim)?;
    if insns.len() > MAX_INSNS && options.aim == Aim::Speed {
        // A slower program is better than none.
        insns = generated(Aim::Size)?;
    }
    observe(Phase::Generated);
    let program = prove(meaning, insns, &calls)?;
    observe(Phase::Proved);
    let stats = Stats {
        insns: program.len(),
        expected_insns: expected_insns(
            meaning.store(),
            meaning.func(),
            &program,
            &calls,
            meaning.endian(),
        ),
        constant_allow: calls.iter().filter(|call| call.always_allowed).count(),
        nodes: meaning.store().len().max(store.len()),
        proved: true,
    };
    Ok(Compiled { program, stats })
}

/// The program of these instructions, if it has this meaning and the kernel can see which calls are
/// always allowed.
fn prove(
    meaning: &mut Meaning,
    insns: Vec<Insn>,
    calls: &[WeightedSyscall],
) -> Result<Program, CompileError> {
    if insns.len() > MAX_INSNS {
        let error = size::too_long(meaning.store(), meaning.func(), &insns, calls);
        return Err(CompileError(Kind::TooLong(Box::new(error))));
    }
    let program = Program::new(insns).map_err(|error| CompileError(Kind::Refused(error)))?;
    meaning.prove(&program)?;
    for call in calls.iter().filter(|call| call.always_allowed) {
        if !is_constant_allow(&program, call.token, call.nr) {
            let WeightedSyscall { token, nr, .. } = *call;
            return Err(CompileError(Kind::NotConstantAllow { token, nr }));
        }
    }
    Ok(program)
}

/// The mean number of instructions that a program executes under weights. When no call has any, it is the mean over
/// the calls that are permitted, at least with some arguments; `None` when no call is.
///
/// For a call whose verdict depends on its arguments, it is the mean over the runs of permitted values of
/// the first word that has more than one such run, or the figure for one permitted call where that word
/// has more than 64 runs of any kind. Where nothing is permitted, all arguments are 0.
pub fn expected_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    calls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    // Each architecture is followed once, not once per call.
    let calls: Vec<(&WeightedSyscall, Func)> = calls
        .chunk_by(|a, b| a.token == b.token)
        .flat_map(|calls| {
            let token = calls.first().map(|call| call.token);
            let numbers = token.map_or(meaning, |token| store.follow(meaning, Word::ARCH, token));
            calls.iter().map(move |call| (call, numbers))
        })
        .collect();
    let mean = |weight: &dyn Fn(&WeightedSyscall, Func) -> f64| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (call, numbers) in &calls {
            let weight = weight(call, *numbers);
            if weight > 0.0 {
                sum += weight * executed(store, *numbers, program, call, endian);
                total += weight;
            }
        }
        (total > 0.0).then(|| sum / total)
    };
    mean(&|call, _| call.weight).or_else(|| {
        let permitted = |call: &WeightedSyscall, numbers| !permitted(store, numbers, call).is_empty();
        mean(&|call, numbers| f64::from(u8::from(permitted(call, numbers))))
    })
}

/// Calls that are permitted with this number, see [`expected_insns`]; `numbers` is the filter's function for the
/// call's architecture.
fn permitted(store: &Store, numbers: Func, call: &WeightedSyscall) -> Vec<SeccompData> {
    let rest = store.follow(numbers, Word::NR, call.nr);
    callgate_codegen::query::permitted_syscalls(store, rest, first_data(call))
}

/// A call with this number and all arguments 0.
fn first_data(call: &WeightedSyscall) -> SeccompData {
    SeccompData { arch: call.token, nr: call.nr, ..SeccompData::default() }
}

/// How many instructions a program executes for a call, for arguments as [`expected_insns`] says;
/// `numbers` is its function for the call's architecture.
pub(crate) fn executed(
    store: &Store,
    numbers: Func,
    program: &LongProgram,
    call: &WeightedSyscall,
    endian: Endian,
) -> f64 {
    let executed = |data: &SeccompData| program.run(data, endian).executed as f64;
    match permitted(store, numbers, call).as_slice() {
        [] => executed(&first_data(call)),
        calls => calls.iter().map(executed).sum::<f64>() / calls.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Op;
    use callgate_bpf::verdict::Verdict;
    use callgate_proof::policy::{CallSet, Cmp, Condition, Field, Rule, Section, Test};

    const TOKEN: u32 = Arch::X86_64.token();

    /// Some calls always allowed, one for small first arguments.
    fn policy() -> Policy {
        let small = Condition::test(Test::new(Field::arg(0).unwrap(), Cmp::Lt, 3));
        let rule = |calls, when| Rule { calls, when, verdict: Verdict::ALLOW };
        let rules = vec![
            rule(CallSet::from_ranges([(0, 4), (9, 9)]), Condition::always()),
            rule(CallSet::one(41), small),
        ];
        let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    }

    fn points() -> impl Iterator<Item = SeccompData> {
        let numbers = (0..12).chain([40, 41, 42, 0x4000_0000, u32::MAX]);
        let calls = numbers.flat_map(|nr| [TOKEN, TOKEN ^ 1, 0].map(|arch| (nr, arch)));
        calls.flat_map(|(nr, arch)| {
            [0, 1, 2, 3, 4, 1 << 32, u64::MAX].map(|arg| SeccompData {
                nr,
                arch,
                args: [arg, 0, 0, 0, 0, 0],
                ..SeccompData::default()
            })
        })
    }

    /// Every program that differs from its description by one broken instruction is refused, with a
    /// call that shows it.
    #[test]
    fn broken_programs_are_refused_with_a_call_that_shows_it() {
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
                let says = |data: &SeccompData| program.run(data, Endian::Little).verdict;
                if points().all(|data| says(&data) == policy.evaluate(&data)) {
                    continue;
                }
                refused += 1;
                match prove(&mut meaning, insns, &[]) {
                    Err(CompileError(Kind::NotEqual(Some(data)))) => {
                        assert_ne!(says(&data), policy.evaluate(&data), "{data:?}");
                    }
                    other => panic!("{at}: {other:?}"),
                }
            }
        }
        assert!(refused > good.len(), "only {refused} programs were broken");
        assert!(prove(&mut meaning, good.into_insns(), &[]).is_ok());
    }

    /// The same meaning, but an argument is loaded on the way to ALLOW: the kernel would not cache it.
    #[test]
    fn a_call_that_the_kernel_cannot_cache_is_refused() {
        let allow = Verdict::ALLOW;
        let mut meaning =
            Meaning::build(Budget::default(), Endian::Little, |store| store.verdict(allow))
                .unwrap();
        let insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::RetK, allow.0)];
        let calls = Weights::uniform().resolve(meaning.store(), meaning.func(), &[Arch::X86_64]);
        let proved = prove(&mut meaning, insns.clone(), &calls);
        assert!(matches!(proved, Err(CompileError(Kind::NotConstantAllow { .. }))), "{proved:?}");
        assert!(prove(&mut meaning, insns, &[]).is_ok());
    }
}
