//! The rules of all entries that apply, as one libseccomp rule set per architecture.

use super::checks::check_wide_values;
use crate::oci::model::{Entry, Name};
use crate::ruleset::RuleSet;
use crate::ruleset_reports::{report_hidden, report_overridden};
use crate::syntax::reader::Reader;
use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::{Arch, Verdict};

/// Maximum number of comparisons in the rules of a profile. Each name of an entry gets all conditions of the entry, on
/// each architecture; a rule without conditions counts as one comparison. The runtimes' own profiles have a few
/// thousand.
const MAX_COMPARISONS: usize = 150_000;

/// The rules of all entries that apply. `None` only after an error was reported.
pub(super) fn combine<'n>(
    reader: &mut Reader<'_>,
    entries: &[&Entry<'n>],
    arches: &[Arch],
    default: Verdict,
) -> Option<Vec<RuleSet<Name<'n>>>> {
    let mut sets: Vec<RuleSet<Name<'n>>> = arches.iter().copied().map(RuleSet::new).collect();
    let mut hidden: Vec<(usize, u32, Name<'n>)> = Vec::new();
    let mut count = 0usize;
    // For each syscall, the last entry that names it.
    let mut named_by: Vec<Option<usize>> = vec![None; KnownSyscall::COUNT];
    let other = entries.iter().enumerate().filter(|(_, entry)| entry.action.verdict != default);
    for (index, entry) in other {
        check_wide_values(reader, entry, arches);
        let always = entry.alternatives.iter().all(Vec::is_empty);
        let per_name = comparisons(entry).saturating_mul(arches.len());
        for name in entry.names.iter().copied() {
            // Names of other architectures' syscalls give no rules, and neither do unknown ones.
            let Some(syscall) = name.syscall else { continue };
            let named_before = named_by.get_mut(syscall.index()).and_then(|by| by.replace(index));
            // Without conditions, a repeated name changes nothing.
            if always && named_before == Some(index) {
                continue;
            }
            count = count.saturating_add(per_name);
            if count > MAX_COMPARISONS {
                too_many_rules(reader, entries, arches.len(), name.at);
                return None;
            }
            let origin = name.origin();
            for comparisons in &entry.alternatives {
                for (index, set) in sets.iter_mut().enumerate() {
                    let via = set.add_known(syscall, comparisons, entry.action.verdict, origin);
                    hidden.extend(via.map(|nr| (index, nr, origin)));
                }
            }
        }
    }
    report_overridden(reader, sets.iter().flat_map(RuleSet::overridden).collect());
    report_hidden(reader, &sets, hidden);
    Some(sets)
}

/// The number of comparisons that one name of an entry has on one architecture.
fn comparisons(entry: &Entry<'_>) -> usize {
    entry.alternatives.iter().map(|all| all.len().max(1)).sum()
}

fn too_many_rules(reader: &mut Reader<'_>, entries: &[&Entry<'_>], arches: usize, at: usize) {
    let of_entry = |entry: &&Entry<'_>| entry.names.len().saturating_mul(comparisons(entry));
    let all = entries.iter().map(of_entry).fold(0, usize::saturating_add);
    let message = format!(
        "the rules of this profile have up to {} comparisons; the limit is {MAX_COMPARISONS}. Each name \
         of an entry gets all conditions of the entry, on each of {arches} architectures",
        all.saturating_mul(arches)
    );
    reader.error(at, message).help =
        "list each name once, and compare with ranges or bits instead of single values".to_owned();
}
