//! Published experiments, repeated on the running kernel.
//!
//! An experiment defines its subjects, what they execute, and the findings. Its filters are made here, by
//! Callgate's compiler and in [libseccomp's shape](crate::libseccomp), from the experiment's own rules or the
//! caller's. Since Linux 5.11 the kernel's verdict cache answers syscalls that a filter always allows. Where it would
//! answer a published filter, a second subject has the same rules and inspects an argument, so that the filter runs.

mod condwait;
mod getpid;
mod long_jumps;
mod open_read_close;
mod unixbench;
mod weighted;

pub use unixbench::LIST_OF_20;

use std::time::Duration;

use callgate::bpf::Program;
use callgate::compile::{self, CompileError};
use callgate::policy::{CallSet, Cmp, Condition, Field, Policy, PolicyError, Rule, Section, Test};
use callgate::stack::StackError;
use callgate::syscalls::X32_SYSCALL_BIT;
use callgate::{Arch, Verdict};

use crate::body::Body;
use crate::calls::StandIn;
use crate::cold::Cold;
use crate::libseccomp::ShapeError;
use crate::measure::{Plan, Samples};
use crate::report::{Finding, Shown};
use crate::subject::{Subject, SubjectError};
use crate::worker::Batches;

/// An experiment by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Entry, filters and instructions apart (Cook 2020).
    Getpid,
    /// UnixBench's loop of calls under many filters (Huawei 2020).
    UnixbenchSyscall,
    /// Lists of 2 and 200 rules (the interpreter of 2014).
    LongJumps,
    /// A file opened, read and closed (2017).
    OpenReadClose,
    /// Many threads that wait for a condition (2022).
    CondWait,
    /// A program's own mixture of calls (2024).
    Weighted,
}

/// What an experiment is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules of `condwait` and `weighted`.
    pub policy: Policy,
    /// The subjects of `weighted` in place of those made of `policy`.
    pub subjects: Vec<Subject>,
    /// How often calls happen, for `weighted`; empty for its own table.
    pub weights: Vec<(StandIn, f64)>,
    /// A fifth of the time.
    pub quick: bool,
    /// The processor to measure on.
    pub cpu: Option<usize>,
    /// What is touched before each call, if anything; for those that [can](Experiment::can_be_cold).
    pub cold: Option<Cold>,
    /// Of the order of subjects.
    pub seed: u64,
}

/// An experiment, ready to be measured.
pub struct Setup {
    /// What it is about.
    pub title: String,
    /// Who does what.
    pub plan: Plan,
    /// The bodies of the plan, as a report shows them.
    pub bodies: Vec<Shown>,
    /// What follows from the samples.
    pub findings: fn(&Samples) -> Vec<Finding>,
}

impl Experiment {
    /// All of them.
    pub const ALL: &'static [Experiment] = &[
        Experiment::Getpid,
        Experiment::UnixbenchSyscall,
        Experiment::LongJumps,
        Experiment::OpenReadClose,
        Experiment::CondWait,
        Experiment::Weighted,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Experiment::Getpid => "getpid",
            Experiment::UnixbenchSyscall => "unixbench-syscall",
            Experiment::LongJumps => "long-jumps",
            Experiment::OpenReadClose => "open-read-close",
            Experiment::CondWait => "condwait",
            Experiment::Weighted => "weighted",
        }
    }

    /// What is measured, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Experiment::Getpid => "what entry, a filter and an instruction cost (2020)",
            Experiment::UnixbenchSyscall => "UnixBench's calls under 1, 4 and 32 filters (2020)",
            Experiment::LongJumps => "lists of 2 and 200 rules, 10 million calls (2014)",
            Experiment::OpenReadClose => "open, read and close under 23 rules, 100 runs (2017)",
            Experiment::CondWait => "256 threads in pthread_cond_timedwait (2022)",
            Experiment::Weighted => "the calls of a program, by how often they happen (2024)",
        }
    }

    /// Whether other code and data can be touched before each call: not where many threads or long runs are
    /// what is measured.
    pub const fn can_be_cold(self) -> bool {
        !matches!(self, Experiment::CondWait | Experiment::OpenReadClose)
    }

    /// Makes its filters.
    ///
    /// # Errors
    /// When a filter cannot be made of the caller's rules, or on a machine that is not known.
    pub fn setup(self, options: &Options) -> Result<Setup, ExperimentError> {
        match self {
            Experiment::Getpid => getpid::setup(options),
            Experiment::UnixbenchSyscall => unixbench::setup(options),
            Experiment::LongJumps => long_jumps::setup(options),
            Experiment::OpenReadClose => open_read_close::setup(options),
            Experiment::CondWait => condwait::setup(options),
            Experiment::Weighted => weighted::setup(options),
        }
    }
}

impl Options {
    /// A plan that takes so many seconds, a fifth with `quick`.
    fn plan(&self, subjects: Vec<Subject>, bodies: Vec<Body>, seconds: u64) -> Plan {
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

/// Bodies that are calls, as a report shows them.
fn shown(subjects: &[Subject], calls: &[StandIn]) -> Vec<Shown> {
    let of = |call: &StandIn| Shown {
        title: call.show(),
        treatments: subjects.iter().map(|subject| subject.treatment(&call.data())).collect(),
        is_claimed: true,
    };
    calls.iter().map(of).collect()
}

/// Rules for this machine that allow syscalls; those in `inspected` with any first argument except one that is
/// not passed here, so that none of them is in the kernel's cache. As with libseccomp, numbers of x32 are answered
/// as those of other architectures are.
fn allowing(numbers: &[u32], inspected: &[u32]) -> Result<Policy, ExperimentError> {
    let arch = native()?;
    let rules = numbers.iter().map(|nr| {
        let when = match Field::arg(0).filter(|_| inspected.contains(nr)) {
            Some(field) => Condition::test(Test::new(field, Cmp::Ne, 0x1234_5678)),
            None => Condition::always(),
        };
        Rule { calls: CallSet::one(*nr), when, verdict: Verdict::ALLOW }
    });
    let (bad_arch, default) = (Verdict::KILL_PROCESS, Verdict::errno(libc::EPERM as u16));
    let x32 = (arch == Arch::X86_64).then(|| Rule {
        calls: CallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
        when: Condition::always(),
        verdict: bad_arch,
    });
    let section = Section::new(arch, rules.chain(x32).collect(), default);
    Ok(Policy::new(vec![section], bad_arch)?)
}

fn numbers(names: &[&str]) -> Result<Vec<u32>, ExperimentError> {
    let arch = native()?;
    Ok(names.iter().filter_map(|name| arch.number(name)).collect())
}

fn native() -> Result<Arch, ExperimentError> {
    Arch::native().ok_or(ExperimentError(Kind::UnknownMachine))
}

fn compiled(policy: &Policy) -> Result<Program, ExperimentError> {
    Ok(compile::compile(policy, &compile::Options::default())?.program)
}

fn call(name: &'static str) -> Result<StandIn, ExperimentError> {
    StandIn::find(name).ok_or(ExperimentError(Kind::NoCall(name)))
}

/// The overhead of a subject for a body, in nanoseconds.
fn overhead(samples: &Samples, subject: usize, body: usize) -> Option<f64> {
    Some(samples.estimate(subject, body)?.overhead.median)
}

/// Why an experiment is not possible.
#[derive(Debug)]
pub struct ExperimentError(Kind);

#[derive(Debug)]
enum Kind {
    UnknownMachine,
    NoCall(&'static str),
    Denied { subject: String, call: &'static str, why: &'static str },
    Policy(PolicyError),
    Compile(CompileError),
    Shape(ShapeError),
    Stack(StackError),
    Subject(SubjectError),
}

impl std::fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::UnknownMachine => f.write_str("the architecture of this machine is not known"),
            Kind::Denied { subject, call, why } => {
                write!(f, "{subject}, the profile denies {call}, {why}")
            }
            Kind::NoCall(name) => write!(f, "there is no call {name} on this machine"),
            Kind::Policy(error) => error.fmt(f),
            Kind::Compile(error) => error.fmt(f),
            Kind::Shape(error) => error.fmt(f),
            Kind::Stack(error) => error.fmt(f),
            Kind::Subject(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExperimentError {}

macro_rules! from {
    ($($error:ty => $kind:ident),*) => {
        $(impl From<$error> for ExperimentError {
            fn from(error: $error) -> ExperimentError {
                ExperimentError(Kind::$kind(error))
            }
        })*
    };
}

from!(
    PolicyError => Policy,
    CompileError => Compile,
    ShapeError => Shape,
    StackError => Stack,
    SubjectError => Subject
);
