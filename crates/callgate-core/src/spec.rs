//! What a program must compute, as a value: a [`Meaning`](crate::Meaning) is made of it in this crate, and a
//! [`Proved`](crate::Proved) program keeps it.

use crate::io_uring::IoUringRequest;
use crate::{Arch, Endian, LongProgram, SeccompData, SocketProgram, Verdict, X32_SYSCALL_BIT};

use crate::policy::{Policy, RequestPolicy};

/// What a program must compute.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// One filter.
    Filter(FilterSpec),
    /// Filters that are installed on top of each other, the oldest first. The kernel starts with ALLOW, runs all filters, the
    /// newest first, and replaces what it has by a verdict with higher precedence (`seccomp_run_filters` in
    /// kernel/seccomp.c): of equally strict ones, that of the newer filter counts, and data of ALLOW are lost.
    Stack(Vec<FilterSpec>),
    /// Filters that are combined from left to right.
    Set {
        /// The first filter.
        first: FilterSpec,
        /// What is combined with it, in order.
        steps: Vec<SetStep>,
    },
    /// A policy about io_uring requests.
    Requests(RequestPolicy),
    /// A program about io_uring requests, for machines of this byte order.
    RequestProgram(LongProgram<IoUringRequest>, Endian),
    /// A socket filter, with the length to which it truncates each packet.
    SocketProgram(SocketProgram),
}

/// One filter.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterSpec {
    /// Rules. If they have variables, a program must compute them for all of their values.
    Policy(Policy),
    /// A program, for machines of this byte order.
    Program(LongProgram, Endian),
}

impl Spec {
    /// The verdict for a syscall, from the definitions: the proofs are tested against it. `None` if this is not about syscalls.
    pub fn run(&self, data: &SeccompData) -> Option<Verdict> {
        match self {
            Spec::Filter(filter) => Some(filter.run(data)),
            Spec::Stack(filters) => {
                Some(Verdict::of_stack(filters.iter().rev().map(|filter| filter.run(data))))
            }
            Spec::Set { first, steps } => {
                Some(steps.iter().fold(first.run(data), |verdict, step| {
                    step.operation.run(data, verdict, step.operand.run(data))
                }))
            }
            Spec::Requests(_) | Spec::RequestProgram(..) | Spec::SocketProgram(_) => None,
        }
    }
}

impl FilterSpec {
    /// The byte order of the machines that the filter is for.
    pub fn endian(&self) -> Endian {
        match self {
            FilterSpec::Policy(policy) => policy.endian(),
            FilterSpec::Program(_, endian) => *endian,
        }
    }

    /// The verdict for a syscall: a policy evaluates its rules, with 0 for all variables; a program runs in the interpreter.
    pub fn run(&self, data: &SeccompData) -> Verdict {
        match self {
            FilterSpec::Policy(policy) => policy.evaluate(data),
            FilterSpec::Program(program, endian) => program.run(data, *endian).verdict,
        }
    }
}

/// A filter, and how it is combined with what is left of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStep {
    /// The operation.
    pub operation: SetOperation,
    /// The filter.
    pub operand: FilterSpec,
}

/// How two filters are combined. A verdict *permits* if it is ALLOW or LOG; the one with lower
/// [precedence](Verdict::precedence) is the looser one. Of equally strict verdicts, that of the first filter counts.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOperation {
    /// The stricter verdict.
    Intersect,
    /// For syscalls of these architectures, the looser verdict where the second filter permits; elsewhere that of the first
    /// filter. Syscalls of x86_64 and x32, which share a token, are told apart by the number: those of x32 are from 2^30 on,
    /// below 2^31. All numbers of any other token belong to its architecture.
    Union(Vec<Arch>),
    /// Where the second filter permits, the stricter one of the first filter's verdict and a denial; elsewhere that of the first
    /// filter.
    Subtract(Denial),
}

impl SetOperation {
    /// The verdict for a syscall, from those of both filters.
    fn run(&self, data: &SeccompData, first: Verdict, second: Verdict) -> Verdict {
        match self {
            SetOperation::Intersect => first.or_higher_precedence(second),
            SetOperation::Union(arches) => {
                let is_looser = second.precedence() < first.precedence();
                let of_arches = arches.iter().any(|arch| is_of(*arch, data));
                if of_arches && second.permits() && is_looser { second } else { first }
            }
            SetOperation::Subtract(denial) if second.permits() => {
                first.or_higher_precedence(denial.of(data.arch))
            }
            SetOperation::Subtract(_) => first,
        }
    }
}

/// Whether a syscall is one of an architecture.
fn is_of(arch: Arch, data: &SeccompData) -> bool {
    let is_x32 = (X32_SYSCALL_BIT..1 << 31).contains(&data.nr);
    data.arch == arch.token()
        && match arch {
            Arch::X86_64 => !is_x32,
            Arch::X32 => is_x32,
            _ => true,
        }
}

/// The verdict for syscalls that are removed from a filter, by arch token.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    /// The verdict for some tokens; the last one of a token counts.
    pub by_token: Vec<(u32, Verdict)>,
    /// The verdict for all other tokens.
    pub others: Verdict,
}

impl Denial {
    /// The verdict for an arch token.
    fn of(&self, token: u32) -> Verdict {
        let of_token = self.by_token.iter().rev().find(|(of, _)| *of == token);
        of_token.map_or(self.others, |(_, verdict)| *verdict)
    }
}
