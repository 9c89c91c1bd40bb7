//! The experiments by name.

use std::time::Duration;

use super::error::ExperimentError;
use super::setup::{Options, Setup};
use super::{condwait, getpid, long_jumps, open_read_close, socket_filters, unixbench, weighted};

/// An experiment by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Entry, filters and instructions apart (Cook 2020).
    Getpid,
    /// UnixBench's loop of syscalls under many filters (Huawei 2020).
    UnixbenchSyscall,
    /// Lists of 2 and 200 rules (the interpreter of 2014).
    LongJumps,
    /// Filters of packets (the interpreter of 2014).
    SocketFilters,
    /// A file opened, read and closed (2017).
    OpenReadClose,
    /// Many threads that wait for a condition (2022).
    CondWait,
    /// A program's own mixture of syscalls (2024).
    Weighted,
}

impl Experiment {
    /// All of them.
    pub const ALL: &'static [Experiment] = &[
        Experiment::Getpid,
        Experiment::UnixbenchSyscall,
        Experiment::LongJumps,
        Experiment::SocketFilters,
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
            Experiment::SocketFilters => "socket-filters",
            Experiment::OpenReadClose => "open-read-close",
            Experiment::CondWait => "condwait",
            Experiment::Weighted => "weighted",
        }
    }

    /// What is measured, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Experiment::Getpid => "cost of entry, filter and instruction apart (2020)",
            Experiment::UnixbenchSyscall => "UnixBench's syscalls under 1, 4 and 32 filters (2020)",
            Experiment::LongJumps => {
                "syscalls under 2 and 200 rules, seconds for 10 million (2014)"
            }
            Experiment::SocketFilters => "tcpdump's filters for packets on loopback (2014)",
            Experiment::OpenReadClose => "open, read and close under 23 rules, 100 runs (2017)",
            Experiment::CondWait => "256 threads in pthread_cond_timedwait (2022)",
            Experiment::Weighted => weighted::ABOUT,
        }
    }

    /// The approximate duration, without and with `quick`, on a machine with nothing else to do. It includes the
    /// measurements with other settings of the JIT compiler, which some machines do not permit.
    pub const fn duration(self, quick: bool) -> Duration {
        let (seconds, quick_seconds) = match self {
            Experiment::Getpid => (18, 4),
            Experiment::UnixbenchSyscall => (30, 6),
            Experiment::LongJumps => (80, 16),
            Experiment::SocketFilters => (82, 18),
            Experiment::OpenReadClose => (190, 20),
            Experiment::CondWait => (140, 24),
            Experiment::Weighted => (30, 6),
        };
        Duration::from_secs(if quick { quick_seconds } else { seconds })
    }

    /// Which filters of the caller it measures, in a line.
    pub const fn accepts(self) -> &'static str {
        match self {
            Experiment::Getpid => "any that allow getpid, beside its own",
            Experiment::UnixbenchSyscall => {
                "any that allow close, dup, getpid, getuid and umask, beside its own"
            }
            Experiment::LongJumps => {
                "any that allow gettid(100) and syscall 199 with 100, beside its own"
            }
            Experiment::SocketFilters => {
                "socket filters as programs, beside its own; a packet counts that they decide as its own do"
            }
            Experiment::OpenReadClose => "any that allow open, read and close, beside its own",
            Experiment::CondWait => {
                "one profile, whose rules replace the published ones; or programs, stacks or several, beside its own; \
                 they must allow futex and clock_gettime"
            }
            Experiment::Weighted => {
                "any, in place of its own, without the syscalls that one denies"
            }
        }
    }

    /// Whether other code and data can be touched before each syscall. Experiments with many threads or long runs cannot do
    /// this, and in some experiments it is part of what they measure.
    pub const fn can_be_cold(self) -> bool {
        !matches!(
            self,
            Experiment::CondWait | Experiment::OpenReadClose | Experiment::SocketFilters
        )
    }

    /// Whether it measures programs of libseccomp.
    pub const fn has_libseccomp(self) -> bool {
        !matches!(self, Experiment::Getpid | Experiment::SocketFilters)
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
            Experiment::SocketFilters => socket_filters::setup(options),
            Experiment::OpenReadClose => open_read_close::setup(options),
            Experiment::CondWait => condwait::setup(options),
            Experiment::Weighted => weighted::setup(options),
        }
    }
}
