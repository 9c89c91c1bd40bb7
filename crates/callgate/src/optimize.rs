//! Optimization of programs: a better program with the same meaning, or the given one.
//!
//! The program is compiled anew from its meaning, and the result is compared with it by the aim of the options: by the expected
//! cost, which is what the [code generator](callgate_codegen) minimizes, including a small price of each instruction; or by the
//! size. The result replaces the program only if it is better. Except for size, and unless there are weights, it is not if permitted
//! syscalls for which the filter runs execute more on average. A program of which the kernel can cache more syscalls is better in
//! any case. If the
//! diagram exceeds its budget, the program is returned unchanged, with the reason. A program that is too long for the
//! kernel ([`LongProgram`]), or contains instructions that the options exclude, is replaced by any that is not.

use crate::compile::{self, CompileError, Compiled, Executed, Options, Phase, Stats, mean};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Aim, Distribution, Model, expected_shares};
use callgate_core::{Arch, Emulator, Endian, LongProgram, Meaning, Program, Proved};

/// The result of an optimization.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Optimized {
    /// The better program, proved equal; or the given one.
    pub program: Proved,
    /// The figures of the given program.
    pub before: Figures,
    /// The figures of the resulting program.
    pub after: Figures,
    /// The compilation of the better program.
    ///
    /// # Errors
    /// The reason why the program is unchanged.
    pub outcome: Result<Stats, Unchanged>,
}

/// The figures of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of instructions.
    pub insns: usize,
    /// The mean number of executed instructions under the weights, as [`Stats::expected_insns`]; also `None` if the
    /// meaning of the program is unknown.
    pub expected_insns: Option<f64>,
    /// The same for syscalls for which the filter runs, as [`Stats::filtered_insns`].
    pub filtered_insns: Option<f64>,
    /// The number of known syscalls that are constant allow.
    pub constant_allow: usize,
}

/// The reason why a program is unchanged.
#[derive(Clone, Debug, PartialEq)]
pub enum Unchanged {
    /// No other program: the diagram or the result is too large.
    NoOther(CompileError),
    /// The other program, with these figures, is not better.
    NotBetter(Figures),
}

impl std::fmt::Display for Unchanged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unchanged::NoOther(error) => error.fmt(f),
            Unchanged::NotBetter(other) => {
                write!(
                    f,
                    "the compiled program is not better under these options: {} instructions",
                    other.insns
                )?;
                if let Some(mean) = other.filtered_insns {
                    write!(f, ", {mean:.2} executed where the filter runs")?;
                }
                match other.expected_insns {
                    Some(mean) => write!(f, ", {mean:.2} executed per syscall"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Unchanged {}

/// Returns a better program with the same meaning, or the given one. The syscalls of `arches` have weights.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate::compile::Options;
/// use callgate::optimize::optimize;
/// use callgate::{Arch, Endian};
///
/// let nr = Insn::new(Op::LdWordAbs, 0);
/// let program = Program::new(vec![
///     nr,
///     Insn::branch(Op::JeqK, 39, 2, 0),
///     nr,
///     Insn::branch(Op::JeqK, 40, 0, 1),
///     Insn::new(Op::RetK, 0x7fff_0000),
///     Insn::new(Op::RetK, 0),
/// ])?;
/// let optimized = optimize(&program, Endian::Little, &[Arch::X86_64], &Options::default())?;
/// assert!(optimized.after.insns < program.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the program is too long for the kernel, or contains instructions that the options exclude, and there is no other one
/// within the limit or the budget; and, because of a defect, if a check of the new program fails.
pub fn optimize(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    options: &Options,
) -> Result<Optimized, CompileError> {
    optimize_observed(program, endian, arches, options, &mut |_| ())
}

/// As [`optimize`]; `observe` is called at the end of each phase of the compilation.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_observed(
    program: &LongProgram,
    endian: Endian,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Optimized, CompileError> {
    let made = Meaning::of_program(program, endian, options.budget)
        .map_err(CompileError::from)
        .and_then(|mut meaning| {
            let compiled = compile::generate(&mut meaning, arches, options, &|| None, observe)?;
            Ok((meaning, compiled))
        });
    // A program that the kernel or the options exclude is not returned unchanged.
    let is_allowed = program.iter().all(|insn| options.instructions.allows(insn.op));
    let given = Program::try_from(program.clone()).ok().filter(|_| is_allowed);
    let (meaning, Compiled { program: other, stats }) = match made {
        Ok(made) => made,
        Err(error) => {
            let Some(given) = given.filter(|_| !error.is_defect()) else { return Err(error) };
            let before = Figures {
                insns: program.len(),
                expected_insns: None,
                filtered_insns: None,
                constant_allow: constant_allow(program, arches),
            };
            let given = Proved::itself(given, endian);
            return Ok(unchanged(given, before, Unchanged::NoOther(error)));
        }
    };
    let syscalls = options.weights.resolve(meaning.store(), meaning.func(), arches);
    let figures = |program: &LongProgram| {
        let Executed { expected, filtered } = Executed::of(&meaning, program, &syscalls);
        Figures {
            insns: program.len(),
            expected_insns: expected,
            filtered_insns: filtered,
            constant_allow: constant_allow(program, arches),
        }
    };
    let (before, after) = (figures(program), figures(&other));
    let distribution = options.weights.distribution(options.model, arches);
    let shares = expected_shares(&syscalls, distribution);
    let executed = |program: &LongProgram| {
        let weighted = syscalls.iter().zip(shares.iter().copied());
        mean(meaning.store(), meaning.func(), program, weighted, endian).unwrap_or(0.0)
    };
    let (mine, theirs) = (executed(&other), executed(program));
    // A tolerance for rounding of the sums.
    let is_less = |mine: f64, theirs: f64| mine * (1.0 + 1e-9) < theirs;
    // For each syscall that becomes constant allow, a kernel with a cache no longer runs the filter.
    let has_more_cached =
        options.model == Model::Cached && after.constant_allow > before.constant_allow;
    let [ran, runs] = [&before, &after].map(|figures| figures.filtered_insns.unwrap_or(0.0));
    let is_slower = distribution != Distribution::ByWeight && is_less(ran, runs);
    let is_better = match options.aim {
        Aim::Speed | Aim::Quick => {
            let price = |len: usize| options.aim.size_price() * len as f64;
            let (mine, theirs) = (mine + price(other.len()), theirs + price(program.len()));
            has_more_cached || !is_slower && is_less(mine, theirs)
        }
        Aim::Size => {
            let is_shorter = other.len() < program.len();
            is_shorter || other.len() == program.len() && is_less(mine, theirs)
        }
    };
    Ok(match given {
        Some(given) if !is_better => {
            unchanged(Proved::itself(given, endian), before, Unchanged::NotBetter(after))
        }
        _ => Optimized { program: other, before, after, outcome: Ok(stats) },
    })
}

fn unchanged(program: Proved, before: Figures, why: Unchanged) -> Optimized {
    Optimized { program, before, after: before, outcome: Err(why) }
}

/// The number of known syscalls that the kernel finds constant allow.
fn constant_allow(program: &LongProgram, arches: &[Arch]) -> usize {
    let syscalls = arches.iter().flat_map(|arch| arch.syscalls().map(|(nr, _)| (arch.token(), nr)));
    let mut emulator = Emulator::new(program.insns());
    syscalls.filter(|(token, nr)| emulator.is_constant_allow(*token, *nr)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_codegen::Instructions;
    use callgate_core::diagram::{Budget, Store};
    use callgate_core::{Insn, Op, Verdict};

    const NR: Insn = Insn::new(Op::LdWordAbs, 0);
    const ARG: Insn = Insn::new(Op::LdWordAbs, 16);
    const ALLOW: Insn = Insn::new(Op::RetK, Verdict::ALLOW.0);
    const KILL: Insn = Insn::new(Op::RetK, 0);

    fn optimized(insns: &[Insn], options: &Options) -> (Program, Optimized) {
        let program = Program::new(insns.to_vec()).unwrap();
        let optimized = optimize(&program, Endian::Little, &[Arch::X86_64], options).unwrap();
        (program, optimized)
    }

    /// A list as simple compilers generate it: a comparison and a return per number.
    fn list(syscalls: u32, verdict: impl Fn(u32) -> u32) -> LongProgram {
        let one = |nr| [Insn::branch(Op::JeqK, nr, 0, 1), Insn::new(Op::RetK, verdict(nr))];
        let all = [NR].into_iter().chain((0..syscalls).flat_map(one)).chain([KILL]);
        LongProgram::new(all.collect()).unwrap()
    }

    #[test]
    fn a_program_that_is_too_long_becomes_short_enough() {
        let long = list(3375, |nr| if nr % 5 == 0 { KILL.k } else { ALLOW.k });
        assert_eq!(long.len(), 6752);
        for aim in Aim::ALL {
            let options = Options { aim: *aim, ..Options::default() };
            let optimized = optimize(&long, Endian::Little, &[Arch::X86_64], &options).unwrap();
            assert!(optimized.program.len() <= 4096 && optimized.outcome.is_ok());
            assert_eq!(optimized.before.insns, 6752);
            let mut store = Store::default();
            let before = store.program(&long, Endian::Little).unwrap();
            assert_eq!(store.program(&optimized.program, Endian::Little).unwrap(), before);
        }
    }

    #[test]
    fn a_program_that_remains_too_long_is_an_error() {
        // All neighbours differ, and there are more numbers than the kernel accepts instructions.
        let long = list(6000, |nr| Verdict::errno((nr.wrapping_mul(0x9e37_79b1) >> 20) as u16).0);
        let error = optimize(&long, Endian::Little, &[Arch::X86_64], &Options::default());
        let text = error.unwrap_err().to_string();
        assert!(text.contains("(4096)"), "{text}");
        let small =
            Options { budget: Budget { nodes: 1000, ..Budget::default() }, ..Options::default() };
        assert!(optimize(&long, Endian::Little, &[Arch::X86_64], &small).is_err());
    }

    #[test]
    fn a_better_program_means_the_same() {
        let jump = |nr, jt| Insn::branch(Op::JeqK, nr, jt, 0);
        let insns =
            [NR, jump(1, 4), NR, jump(2, 2), NR, Insn::branch(Op::JeqK, 3, 0, 1), ALLOW, KILL];
        for aim in Aim::ALL {
            for model in Model::ALL {
                let options = Options { aim: *aim, model: *model, ..Options::default() };
                let (program, optimized) = optimized(&insns, &options);
                assert!(optimized.outcome.is_ok());
                assert_eq!((optimized.before.insns, optimized.after.insns), (8, 5));
                assert_eq!(optimized.program.len(), 5);
                assert!(optimized.after.expected_insns < optimized.before.expected_insns);
                let mut store = Store::default();
                let nodes = [&program, &optimized.program]
                    .map(|program| store.program(program, Endian::Little).unwrap());
                assert_eq!(nodes[0], nodes[1]);
            }
        }
    }

    /// A program with other instructions is replaced, even by a longer one; or there is no result.
    #[test]
    fn a_program_with_excluded_instructions_is_not_returned() {
        let insns = [ARG, Insn::branch(Op::JsetK, 6, 0, 1), KILL, ALLOW];
        let options = Options { instructions: Instructions::Basic, ..Options::default() };
        let (_, optimized) = optimized(&insns, &options);
        assert!(optimized.program.iter().all(|insn| insn.op != Op::JsetK));
        assert!(optimized.outcome.is_ok() && optimized.after.insns > optimized.before.insns);
        let small = Budget { nodes: 10, ..Budget::default() };
        let options = Options { budget: small, ..options };
        let program = Program::new(insns.to_vec()).unwrap();
        let error = optimize(&program, Endian::Little, &[Arch::X86_64], &options);
        assert!(!error.unwrap_err().is_defect());
        let basic = Program::new(vec![ARG, Insn::branch(Op::JgeK, 6, 0, 1), KILL, ALLOW]).unwrap();
        let unchanged = optimize(&basic, Endian::Little, &[Arch::X86_64], &options).unwrap();
        assert_eq!(unchanged.program, basic);
    }

    #[test]
    fn an_optimal_program_is_unchanged() {
        let insns = [NR, Insn::branch(Op::JeqK, 39, 0, 1), ALLOW, KILL];
        let (program, optimized) = optimized(&insns, &Options::default());
        assert_eq!(optimized.program, program);
        assert_eq!(optimized.before, optimized.after);
        assert_eq!(optimized.after.expected_insns, Some(3.0));
        assert!(matches!(optimized.outcome, Err(Unchanged::NotBetter(_))));
    }

    /// The kernel cannot cache a verdict after a load of an argument; with a cache, constant allow is worth an
    /// instruction.
    #[test]
    fn a_syscall_that_becomes_constant_allow_counts() {
        let jeq = |k, jt, jf| Insn::branch(Op::JeqK, k, jt, jf);
        let insns = [
            ARG,
            jeq(7, 0, 4),
            NR,
            jeq(0, 4, 0),
            jeq(1, 3, 2),
            KILL,
            NR,
            jeq(1, 0, 1),
            ALLOW,
            KILL,
        ];
        let (_, optimized) = optimized(&insns, &Options::default());
        assert_eq!((optimized.before.constant_allow, optimized.after.constant_allow), (0, 1));
        assert!(optimized.outcome.is_ok());
    }

    #[test]
    fn a_program_beyond_the_budget_is_unchanged_with_the_reason() {
        let square = [
            ARG,
            Insn::new(Op::Tax, 0),
            Insn::new(Op::MulX, 0),
            Insn::branch(Op::JeqK, 0x1234_5671, 0, 1),
            ALLOW,
            KILL,
        ];
        let options =
            Options { budget: Budget { nodes: 50_000, steps: 500_000 }, ..Options::default() };
        let (program, optimized) = optimized(&square, &options);
        assert_eq!(optimized.program, program);
        assert_eq!((optimized.before, optimized.after.expected_insns), (optimized.after, None));
        let why = optimized.outcome.unwrap_err().to_string();
        assert!(why.contains("too complex") && why.contains("limit"), "{why}");
    }
}
