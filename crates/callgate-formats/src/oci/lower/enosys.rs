//! The ENOSYS check that runc adds in front of a filter.

use crate::statements::Builtin;
use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::policy::{Condition, Rule, Section};
use callgate_core::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// Adds runc's rule at the front of a section: numbers above the largest one of the syscalls that the entries name get
/// ENOSYS, so that programs can fall back from syscalls newer than the profile.
///
/// Returns the rule.
///
/// x86_64 and x32 have separate bounds. On s390 and s390x number 0 gets ENOSYS too, because the kernel reports 0 for
/// an unknown syscall number. An architecture of which no number above 0 is named gets no rule.
///
/// A `defaultErrnoRet` of ENOSYS does not matter: runc (1.1 to 1.5) means to leave the check out then, but compares the number
/// with an action (`generatePatch`).
///
/// Where `socketcall` or `ipc` exist, syscalls that are reached through them do not count, even if they also have a
/// number: libseccomp resolves their names to negative numbers there.
pub(super) fn enosys_above(
    section: &mut Section,
    named: &[KnownSyscall],
    counts: impl Fn(Arch) -> bool,
) -> Option<Builtin> {
    let mut ranges = Vec::new();
    for arch in section.arches().filter(|arch| counts(*arch)) {
        let direct = named.iter().filter(|syscall| syscall.multiplexed(arch).is_none());
        let largest = direct.filter_map(|syscall| syscall.number(arch)).max().unwrap_or(0);
        if largest == 0 {
            continue;
        }
        let above = largest.saturating_add(1);
        match arch {
            // Numbers with the x32 bit never belong to x86_64, with or without x32 in the filter.
            Arch::X86_64 => {
                ranges.extend([
                    (above, X32_SYSCALL_BIT - 1),
                    (2 * X32_SYSCALL_BIT, 3 * X32_SYSCALL_BIT - 1),
                ]);
            }
            Arch::X32 => {
                ranges.extend([(above, 2 * X32_SYSCALL_BIT - 1), (3 * X32_SYSCALL_BIT, u32::MAX)])
            }
            Arch::S390 | Arch::S390x => ranges.extend([(0, 0), (above, u32::MAX)]),
            _ => ranges.push((above, u32::MAX)),
        }
    }
    let errno = section.arches().next().map_or(38, Arch::enosys);
    let syscalls = SyscallSet::from_ranges(ranges);
    if syscalls.is_empty() {
        return None;
    }
    let verdict = Verdict::errno(errno);
    let rule = Rule { syscalls: syscalls.clone(), when: Condition::always(), verdict };
    section.rules.insert(0, rule);
    let reason = "the number is larger than that of every syscall that the profile names";
    Some(Builtin { token: section.token(), syscalls, verdict, reason })
}
