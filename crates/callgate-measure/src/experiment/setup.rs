//! Options and parts that experiments share.

use std::time::Duration;

use callgate::bpf::Program;
use callgate::compile;
use callgate::policy::{Cmp, Condition, Field, Policy, Rule, Section, SyscallSet, Test};
use callgate::syscalls::X32_SYSCALL_BIT;
use callgate::{Arch, Verdict};

use super::error::{ExperimentError, ExperimentErrorKind};
use crate::body::Body;
use crate::cold::Cold;
use crate::measure::{Plan, Samples};
use crate::report::{Finding, Shown};
use crate::subject::Subject;
use crate::syscalls::MeasurableSyscall;
use crate::worker::Batches;

/// Options of an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules of `condwait` and `weighted`.
    pub policy: Policy,
    /// The subjects of `weighted` that replace those generated from `policy`.
    pub subjects: Vec<Subject>,
    /// The frequencies of syscalls for `weighted`; empty for its own table.
    pub weights: Vec<(MeasurableSyscall, f64)>,
    /// Whether to measure for a fifth of the time.
    pub quick: bool,
    /// The processor to measure on.
    pub cpu: Option<usize>,
    /// What is evicted before each syscall, if anything; for experiments that [support](super::Experiment::can_be_cold)
    /// it.
    pub cold: Option<Cold>,
    /// The seed of the order of subjects.
    pub seed: u64,
}

/// An experiment, ready to be measured.
pub struct Setup {
    /// The title.
    pub title: String,
    /// The subjects and bodies.
    pub plan: Plan,
    /// The bodies of the plan, as a report shows them.
    pub bodies: Vec<Shown>,
    /// Derives the findings from the samples.
    pub findings: fn(&Samples) -> Vec<Finding>,
}

impl Options {
    /// A plan that takes this number of seconds, a fifth with `quick`.
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
            min_rounds: if self.quick || self.cold.is_some() { 5 } else { 15 },
            max_rounds: 1000,
            time: if self.quick { time / 5 } else { time },
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

/// Rules for this machine that allow syscalls; those in `inspected` with any first argument except one that is
/// not passed here, so that the kernel does not cache them. As in libseccomp, x32 numbers get the verdict for other
/// architectures.
pub(super) fn allowing(numbers: &[u32], inspected: &[u32]) -> Result<Policy, ExperimentError> {
    let arch = native()?;
    let rules = numbers.iter().map(|nr| {
        let when = match Field::arg(0).filter(|_| inspected.contains(nr)) {
            Some(field) => Condition::test(Test::new(field, Cmp::Ne, 0x1234_5678)),
            None => Condition::always(),
        };
        Rule { syscalls: SyscallSet::one(*nr), when, verdict: Verdict::ALLOW }
    });
    let (bad_arch, default) = (Verdict::KILL_PROCESS, Verdict::errno(libc::EPERM as u16));
    let x32 = (arch == Arch::X86_64).then(|| Rule {
        syscalls: SyscallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
        when: Condition::always(),
        verdict: bad_arch,
    });
    let section = Section::new(arch, rules.chain(x32).collect(), default);
    Ok(Policy::new(vec![section], bad_arch)?)
}

pub(super) fn numbers(names: &[&str]) -> Result<Vec<u32>, ExperimentError> {
    let arch = native()?;
    Ok(names.iter().filter_map(|name| arch.number(name)).collect())
}

pub(super) fn native() -> Result<Arch, ExperimentError> {
    Arch::native().ok_or(ExperimentError(ExperimentErrorKind::UnknownMachine))
}

pub(super) fn compiled(policy: &Policy) -> Result<Program, ExperimentError> {
    Ok(compile::compile(policy, &compile::Options::default())?.program)
}

pub(super) fn syscall(name: &'static str) -> Result<MeasurableSyscall, ExperimentError> {
    MeasurableSyscall::find(name).ok_or(ExperimentError(ExperimentErrorKind::NoSyscall(name)))
}

/// The overhead of a subject for a body, in nanoseconds.
pub(super) fn overhead(samples: &Samples, subject: usize, body: usize) -> Option<f64> {
    Some(samples.estimate(subject, body)?.overhead.median)
}
