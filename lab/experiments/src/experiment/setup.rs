//! Options and parts that experiments share.

use callgate_bpf::SyscallTable;
use std::time::Duration;

use callgate::compile;
use callgate::stack::{self, Stack};
use callgate::{Arch, Description, Endian, Verdict};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Program, SyscallSet, X32_SYSCALL_BIT};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::runs::{Extra, Runs, Take};
use crate::finding::Finding;
use crate::libseccomp::Libseccomp;
use crate::published::Published;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::Cold;
use callgate_measure::MeasurableSyscall;
use callgate_measure::Subject;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};

/// Options of an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules of `weighted`, and those of `condwait` if `is_given`.
    pub policy: Policy,
    /// Whether the caller gave a profile, instead of the built-in one.
    pub is_given: bool,
    /// The library that makes the baselines.
    pub libseccomp: Libseccomp,
    /// The filters of the caller: `weighted` measures them instead of those generated from `policy`, the other experiments
    /// beside their own. For `socket-filters`, they are filters of packets.
    pub subjects: Vec<Subject>,
    /// The frequencies of syscalls for `weighted`; empty for its own table.
    pub weights: Vec<(MeasurableSyscall, f64)>,
    /// Whether the JIT setting of the machine may be changed for a part of the measurement, where that is possible.
    pub may_switch_jit: bool,
    /// The processor to measure on.
    pub cpu: Option<usize>,
    /// What is evicted before each syscall, if anything; for experiments that [support](super::Experiment::can_be_cold)
    /// it.
    pub cold: Option<Cold>,
    /// The seed of the order of subjects.
    pub seed: u64,
}

/// Derives findings from samples.
pub type Findings = Box<dyn Fn(&Samples) -> Vec<Finding>>;

/// An experiment, ready to be measured.
pub struct Setup {
    /// The title.
    pub title: String,
    /// The subjects and bodies.
    pub plan: Plan,
    /// The bodies of the plan, as a report shows them.
    pub bodies: Vec<Shown>,
    /// Derives the findings from the samples.
    pub findings: Findings,
    pub(super) extra: Extra,
    pub(super) may_switch_jit: bool,
}

impl Setup {
    /// Sets the time of all measurements together; `usual` is what they usually take.
    pub fn set_time(&mut self, time: Duration, usual: Duration) {
        self.extra.set_time(&mut self.plan, self.may_switch_jit, time, usual);
    }

    /// Measures under other conditions, such as without the JIT compiler, with `take`, which gets the plan and its bodies;
    /// what is not possible here is skipped. `own` are the samples of the plan.
    pub fn vary(&self, own: Samples, take: &mut Take<'_>) -> Runs {
        Runs::of(own, &self.extra.variations, &self.bodies, self.may_switch_jit, take)
    }

    /// The time of all measurements that are possible here, about.
    pub fn time(&self) -> Duration {
        self.plan.time + self.extra.possible_time(self.may_switch_jit)
    }

    /// The results in the form in which the experiment was published, and what was skipped.
    pub fn published(&self, runs: &Runs) -> Published {
        self.extra.report(runs)
    }
}

impl Options {
    /// Only what an experiment has of its own, on any processor.
    pub fn own(policy: Policy, libseccomp: Libseccomp) -> Options {
        Options {
            policy,
            is_given: false,
            libseccomp,
            subjects: Vec::new(),
            weights: Vec::new(),
            may_switch_jit: false,
            cpu: None,
            cold: None,
            seed: 0,
        }
    }

    /// A plan that takes this number of seconds.
    pub(super) fn plan(&self, subjects: Vec<Subject>, bodies: Vec<Body>, seconds: u64) -> Plan {
        let time = Duration::from_secs(seconds);
        Plan {
            subjects,
            bodies,
            mean: None,
            batches: Batches {
                cpu: self.cpu,
                ..self.cold.map_or_else(Batches::default, Batches::cold)
            },
            min_rounds: if self.cold.is_some() { 5 } else { 15 },
            max_rounds: 1000,
            time,
            precision: 0.0,
            seed: self.seed,
        }
    }
}

/// The descriptions of bodies that are syscalls.
pub(super) fn shown(subjects: &[Subject], syscalls: &[MeasurableSyscall]) -> Vec<Shown> {
    let of = |syscall: &MeasurableSyscall| Shown {
        title: syscall.show(),
        treatments: subjects.iter().map(|subject| subject.treatment(&syscall.data())).collect(),
        is_claimed: true,
    };
    syscalls.iter().map(of).collect()
}

/// An argument that is not passed here.
pub(super) const NOT_PASSED: u32 = 0x1234_5678;

/// Rules for this machine that allow syscalls and kill otherwise; those in `inspected` with any first argument except one
/// that is not passed here, so that the kernel does not cache them.
pub(super) fn allowing(numbers: &[u32], inspected: &[u32]) -> Result<Policy, ExperimentError> {
    let rules = numbers.iter().map(|nr| {
        let when = match Field::arg(0).filter(|_| inspected.contains(nr)) {
            Some(field) => Condition::test(Test::new(field, Cmp::Ne, NOT_PASSED.into())),
            None => Condition::always(),
        };
        Rule { syscalls: SyscallSet::one(*nr), when, verdict: Verdict::ALLOW }
    });
    // SCMP_ACT_KILL.
    of_rules(rules, Verdict::KILL_THREAD)
}

/// A policy for this machine. As in libseccomp, x32 numbers get the verdict for other architectures.
pub(super) fn of_rules(
    rules: impl Iterator<Item = Rule>,
    default: Verdict,
) -> Result<Policy, ExperimentError> {
    let arch = native()?;
    let bad_arch = Verdict::KILL_THREAD;
    let x32 = (arch == Arch::X86_64).then(|| Rule {
        syscalls: SyscallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
        when: Condition::always(),
        verdict: bad_arch,
    });
    let section = Section::new(arch, rules.chain(x32).collect(), default);
    Ok(Policy::new(vec![section], bad_arch)?)
}

/// The numbers of the syscalls that this machine has, and the names of the others.
pub(super) fn known<'n>(names: &[&'n str]) -> Result<(Vec<u32>, Vec<&'n str>), ExperimentError> {
    let arch = native()?;
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| arch.number(name).is_some());
    Ok((known.iter().filter_map(|name| arch.number(name)).collect(), unknown))
}

/// A note about syscalls of a list that this machine does not have.
pub(super) fn missing(names: &[&str], list: usize) -> Option<String> {
    let (count, names) = (names.len(), names.join(", "));
    (count > 0)
        .then(|| format!("{count} of the {list} names are not syscalls of this machine: {names}"))
}

pub(super) fn native() -> Result<Arch, ExperimentError> {
    Arch::native().ok_or(ExperimentError(ExperimentErrorKind::UnknownMachine))
}

pub(super) fn compiled(policy: &Policy) -> Result<Program, ExperimentError> {
    Ok(compile::compile(policy, &compile::Options::default())?.program.into())
}

/// Callgate's program for a stack of filters, the oldest first.
pub(super) fn merged<'p>(
    programs: impl IntoIterator<Item = &'p Program>,
) -> Result<Program, ExperimentError> {
    let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
    let filters = programs.into_iter().map(|program| Description::program(program, endian));
    let stack = Stack::new(filters.collect())?;
    let merged = stack::merge(&stack, &[native()?], &compile::Options::default())?;
    Ok(merged.compiled.program.into())
}

pub(super) fn syscall(name: &'static str) -> Result<MeasurableSyscall, ExperimentError> {
    MeasurableSyscall::find(name).ok_or(ExperimentError(ExperimentErrorKind::NoSyscall(name)))
}
