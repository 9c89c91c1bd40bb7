//! What kernels older than a filter do with it.
//!
//! | since Linux | |
//! |---|---|
//! | 3.5 | filters: KILL, TRAP, ERRNO, TRACE, ALLOW, installed with prctl(2) |
//! | 3.17 | seccomp(2), the flag TSYNC |
//! | 4.14 | KILL_PROCESS, LOG, the flag LOG |
//! | 5.0 | USER_NOTIF |
//!
//! An unknown action kills the thread (the default of the switch in `__seccomp_filter`, `kernel/seccomp.c`), so LOG and
//! USER_NOTIF deny with SIGSYS what they would let through or pass on. Before 4.14 the bit that distinguishes KILL_PROCESS from
//! KILL is not in the mask `SECCOMP_RET_ACTION`: only the thread is killed, and the others go on.
//!
//! Sources: `include/uapi/linux/seccomp.h` and `kernel/seccomp.c` of 3.5, 4.13, 4.14 and 5.0; `seccomp(2)`, "VERSIONS" and
//! "Filter return values".

use std::fmt;

use callgate_bpf::FilterFlags;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Help;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::{Action, Insn, Op, Verdict};

use crate::listener::computed_verdicts;

const fn version(major: u16, minor: u16) -> KernelVersion {
    KernelVersion { major, minor }
}

/// The first kernel that runs filters.
const FILTERS: KernelVersion = version(3, 5);

/// Something of a filter that a kernel does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    what: What,
    kernel: KernelVersion,
    since: KernelVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Filters,
    Log,
    KillProcess,
    UserNotif,
    Flag(&'static str),
}

impl Unsupported {
    /// What a kernel lacks for a program with these verdicts, which is installed with these flags: each action and flag once,
    /// the actions first.
    ///
    /// ```
    /// use callgate::{Unsupported, Verdict};
    /// use callgate_bpf::FilterFlags;
    ///
    /// let verdicts = [Verdict::ALLOW, Verdict::LOG, Verdict::KILL_PROCESS];
    /// let lacks = |kernel: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
    ///     let lacks = Unsupported::of(verdicts, FilterFlags::NONE, kernel.parse()?);
    ///     Ok(lacks.iter().map(ToString::to_string).collect())
    /// };
    /// assert!(lacks("4.14")?.is_empty());
    /// assert_eq!(lacks("3.10")?[0], "Linux 3.10 does not know LOG (since 4.14), and kills the thread instead");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        verdicts: impl IntoIterator<Item = Verdict>,
        flags: FilterFlags,
        kernel: KernelVersion,
    ) -> Vec<Unsupported> {
        if kernel < FILTERS {
            return vec![Unsupported { what: What::Filters, kernel, since: FILTERS }];
        }
        let needed = |verdict: Verdict| match verdict.action() {
            Action::Log => Some((1, What::Log, version(4, 14))),
            Action::UserNotif(_) => Some((2, What::UserNotif, version(5, 0))),
            Action::KillProcess => Some((3, What::KillProcess, version(4, 14))),
            _ => None,
        };
        let mut found: Vec<(u8, What, KernelVersion)> =
            verdicts.into_iter().filter_map(needed).collect();
        found.sort_by_key(|(rank, ..)| *rank);
        found.dedup_by_key(|(rank, ..)| *rank);
        let flags = flags.each().filter_map(|(_, name, since)| {
            Some((0, What::Flag(name), since.parse::<KernelVersion>().ok()?))
        });
        let lacks = found.into_iter().chain(flags).filter(|(.., since)| kernel < *since);
        lacks.map(|(_, what, since)| Unsupported { what, kernel, since }).collect()
    }

    /// The same for a program with all the verdicts that it can return.
    pub fn of_program(
        program: &[Insn],
        flags: FilterFlags,
        kernel: KernelVersion,
    ) -> Vec<Unsupported> {
        let constants = program.iter().filter(|insn| insn.op == Op::RetK);
        let constants = constants.map(|insn| Verdict(insn.k));
        let computed = computed_verdicts(program).into_iter().flatten();
        Unsupported::of(constants.chain(computed), flags, kernel)
    }

    /// Whether the kernel then kills what the filter lets through or passes on, or takes no filter at all. Otherwise the filter
    /// is only weaker, or is installed differently.
    pub fn breaks(&self) -> bool {
        matches!(self.what, What::Filters | What::Log | What::UserNotif)
    }

    /// What to do.
    pub fn help(&self) -> Help {
        let change_or_kernel = |change| Advice::ChangeOrKernel { change, since: self.since }.into();
        match self.what {
            What::Filters => "choose a newer kernel".into(),
            What::Log => change_or_kernel("let the rules ALLOW"),
            What::UserNotif => change_or_kernel("let the rules fail with an errno"),
            What::KillProcess => {
                "a thread that is killed leaves the others running; TRAP lets a handler end the process"
                    .into()
            }
            What::Flag(_) => "omit the flag, with which the kernel does not install the filter".into(),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsupported { what, kernel, since } = self;
        let lacks = |name| format!("Linux {kernel} does not know {name} (since {since})");
        match what {
            What::Filters => write!(f, "Linux {kernel} has no filters (since {since})"),
            What::Log => write!(f, "{}, and kills the thread instead", lacks("LOG")),
            What::UserNotif => write!(f, "{}, and kills the thread instead", lacks("USER_NOTIF")),
            What::KillProcess => {
                write!(f, "{}, and kills only the thread", lacks("KILL_PROCESS"))
            }
            What::Flag(name) => f.write_str(&lacks(&format!("SECCOMP_FILTER_FLAG_{name}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(verdicts: &[Verdict], flags: FilterFlags, kernel: &str) -> Vec<String> {
        let all = Unsupported::of(verdicts.iter().copied(), flags, kernel.parse().unwrap());
        all.iter()
            .map(|one| format!("{}{one}", if one.breaks() { "error: " } else { "" }))
            .collect()
    }

    #[test]
    fn each_action_and_flag_is_told_once() {
        let all = [
            Verdict::KILL_PROCESS,
            Verdict::user_notif(1),
            Verdict::LOG,
            Verdict::user_notif(2),
            Verdict::errno(1),
            Verdict::KILL_THREAD,
            Verdict::trap(1),
            Verdict::trace(1),
            Verdict::ALLOW,
        ];
        let flags = FilterFlags::TSYNC | FilterFlags::LOG;
        assert_eq!(
            lacks(&all, flags, "3.10"),
            [
                "error: Linux 3.10 does not know LOG (since 4.14), and kills the thread instead",
                "error: Linux 3.10 does not know USER_NOTIF (since 5.0), and kills the thread instead",
                "Linux 3.10 does not know KILL_PROCESS (since 4.14), and kills only the thread",
                "Linux 3.10 does not know SECCOMP_FILTER_FLAG_TSYNC (since 3.17)",
                "Linux 3.10 does not know SECCOMP_FILTER_FLAG_LOG (since 4.14)",
            ]
        );
        assert_eq!(
            lacks(&all, flags, "4.14"),
            [
                "error: Linux 4.14 does not know USER_NOTIF (since 5.0), and kills the thread instead"
            ]
        );
        assert!(lacks(&all, flags, "5.15").is_empty());
        assert_eq!(lacks(&all, flags, "3.4"), ["error: Linux 3.4 has no filters (since 3.5)"]);
    }

    #[test]
    fn help_names_the_kernel_that_has_it() {
        let old = Unsupported::of([Verdict::LOG], FilterFlags::NONE, version(3, 10));
        assert_eq!(&*old[0].help(), "let the rules ALLOW, or choose Linux 4.14 or newer");
    }

    #[test]
    fn verdicts_that_a_program_computes_count() {
        let computes = [
            Insn::new(Op::LdImm, Verdict::LOG.0 >> 16),
            Insn::new(Op::LshK, 16),
            Insn::new(Op::RetA, 0),
        ];
        let old = version(3, 10);
        assert_eq!(Unsupported::of_program(&computes, FilterFlags::NONE, old).len(), 1);
        let constant = [Insn::new(Op::RetK, Verdict::ALLOW.0)];
        assert!(Unsupported::of_program(&constant, FilterFlags::NONE, old).is_empty());
    }
}
