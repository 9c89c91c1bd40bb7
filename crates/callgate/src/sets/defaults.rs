//! What a filter does with the syscalls that it does not name.
//!
//! A program has no list of names, and a policy may name numbers that no syscall has, or allow intervals. So this is
//! decided by the function: by the numbers that no syscall of an ABI has. There are *gaps* between the syscalls, and the
//! numbers *above* them. Runtimes and libraries may deny those above with another error than the gaps (ENOSYS), and a filter
//! may name a few of both, such as a syscall that is newer than our tables. So the majority of each decides.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use callgate_codegen::query::partition;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{Arch, Verdict, Word, X32_SYSCALL_BIT};

/// Numbers from the first syscall of an ABI on that are searched for gaps; a few ABIs have further syscalls far above.
const GAPS_WITHIN: u32 = 1024;

/// The maximum number of intervals of numbers that are distinguished.
const MAX_INTERVALS: usize = 1 << 14;

/// The numbers of an ABI.
struct Numbers {
    used: Vec<u32>,
    gaps: Vec<u32>,
    /// The first and the last number above all syscalls.
    above: (u32, u32),
}

impl Numbers {
    fn of(arch: Arch) -> Numbers {
        let last = match arch {
            Arch::X86_64 => X32_SYSCALL_BIT - 1,
            _ => i32::MAX as u32,
        };
        let first = arch.syscall_numbers().next().unwrap_or(0);
        let end = first.saturating_add(GAPS_WITHIN);
        let used: Vec<u32> = arch.syscall_numbers().take_while(|nr| *nr < end).collect();
        let top = used.last().copied().unwrap_or(first);
        let gaps = (first..top).filter(|nr| used.binary_search(nr).is_err()).collect();
        Numbers { used, gaps, above: (top.saturating_add(1), last) }
    }
}

/// Whether a function allows, with any arguments, most of the numbers in the gaps of an ABI, or most of those above.
pub(super) fn allows_unnamed(store: &Store, func: Func, arch: Arch) -> bool {
    let numbers = Numbers::of(arch);
    let of_arch = store.follow(func, Word::ARCH, arch.token());
    let may_permit = |func: Func| store.verdicts(func).into_iter().any(|verdict| verdict.permits());
    let permits = |nr: u32| may_permit(store.follow(of_arch, Word::NR, nr));
    let permitted = numbers.gaps.iter().filter(|nr| permits(**nr)).count();
    if 2 * permitted > numbers.gaps.len() {
        return true;
    }
    let (first, last) = numbers.above;
    match partition(store, of_arch, Word::NR, MAX_INTERVALS) {
        Some(intervals) => {
            let width = |first: u32, last: u32| (u64::from(last) + 1).saturating_sub(first.into());
            let permitted = intervals.into_iter().filter_map(|interval| {
                let part = width(interval.first.max(first), interval.last.min(last));
                (part > 0 && may_permit(interval.then)).then_some(part)
            });
            2 * permitted.sum::<u64>() > width(first, last)
        }
        // A function with so many intervals names numbers by their bits.
        None => permits(first) || permits(last),
    }
}

/// The default verdict of a function for an arch token with these ABIs. It is the most frequent verdict among the numbers up to
/// the last allowed syscall that are denied with any arguments. Gaps count first. `None` if no number is denied so.
pub(super) fn denied_by_default(
    store: &Store,
    func: Func,
    token: u32,
    arches: &[Arch],
) -> Result<Option<Verdict>, DiagramError> {
    let of_arch = store.follow(func, Word::ARCH, token);
    let of = |nr: u32| store.follow(of_arch, Word::NR, nr);
    let mut tallies: [BTreeMap<u32, usize>; 3] = Default::default();
    for arch in arches.iter().filter(|arch| arch.token() == token) {
        let numbers = Numbers::of(*arch);
        let may_permit =
            |nr: u32| store.verdicts(of(nr)).into_iter().any(|verdict| verdict.permits());
        let last = numbers.used.iter().rev().copied().find(|nr| may_permit(*nr)).unwrap_or(0);
        let (above, _) = numbers.above;
        let gaps = numbers.gaps.iter().filter(|nr| **nr <= last);
        let used = numbers.used.iter().filter(|nr| **nr <= last);
        let after = (last.saturating_add(1)..=above).collect::<Vec<_>>();
        let parts: [Vec<u32>; 3] = [gaps.copied().collect(), used.copied().collect(), after];
        for (tally, part) in tallies.iter_mut().zip(parts) {
            let verdicts = part.into_iter().filter_map(|nr| store.as_verdict(of(nr)));
            for verdict in verdicts.filter(|verdict| !verdict.permits()) {
                *tally.entry(verdict.0).or_default() += 1;
            }
        }
    }
    let tally = tallies.iter().find(|tally| !tally.is_empty());
    let most = tally.and_then(|tally| tally.iter().max_by_key(|(_, count)| **count));
    Ok(most.map(|(value, _)| Verdict(*value)))
}
