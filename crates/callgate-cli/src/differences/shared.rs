//! What a group of differences is about.

use callgate::Arch;
use callgate::codegen::query::Difference;
use callgate::explain::Outcome;
use callgate::syscalls::{SyscallSet, X32_SYSCALL_BIT};

use crate::outcome::{self, argument_names};
use callgate_requests::differences::{Compared, Side};

/// The syscalls of a group by their ABI, that of the example first: x86-64 and x32 have one arch token, and the same
/// names.
pub(super) fn by_abi(arch: Option<Arch>, group: &Difference) -> Vec<(&'static str, SyscallSet)> {
    // Other numbers with the bit belong to neither.
    let (first, last) = (X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1);
    let part = |parts: &[(u32, u32)]| {
        let ranges = parts.iter().flat_map(|(first, last)| {
            let cut = |(from, to): &(u32, u32)| (*from.max(first), *to.min(last));
            group.syscalls.ranges().iter().map(cut)
        });
        SyscallSet::from_ranges(ranges.filter(|(from, to)| from <= to))
    };
    let (x32, others) = (part(&[(first, last)]), part(&[(0, first - 1), (last + 1, u32::MAX)]));
    match arch {
        Some(Arch::X86_64) => vec![("also", others), ("also on x32", x32)],
        Some(Arch::X32) => vec![("also", x32), ("also on x86_64", others)],
        _ => vec![("also", group.syscalls.clone())],
    }
}

/// The conditions under which a filter decides about the syscalls of a group, if they are the same for all.
pub(super) fn conditions(
    compared: &Compared<'_>,
    side: Side,
    arch: Arch,
    group: &Difference,
) -> Option<String> {
    let outcome = compared.common_outcome(side, group)?;
    if let Outcome::Always(_) = outcome {
        return None;
    }
    let named: Vec<(u32, &str)> =
        arch.syscalls().filter(|(nr, _)| group.syscalls.contains(*nr)).collect();
    Some(outcome::lines(outcome, arch, argument_names(&named, arch)).join("; "))
}
