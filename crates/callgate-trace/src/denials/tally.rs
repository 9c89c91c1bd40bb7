//! Counts distinct denials.

use std::collections::BTreeMap;

use callgate_core::Verdict;

use super::model::{Denial, LoggedCall, MAX_DENIALS, MAX_PROGRAMS};

/// The maximum length of a program's name in characters.
const MAX_NAME: usize = 64;

/// Whether a record has the format of the journal, where the log may have it in another format, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Journal,
    Other,
}

/// How often a record occurs.
#[derive(Default)]
pub(super) struct Counts {
    /// In the format of the journal, and in others.
    journal: u64,
    other: u64,
}

impl Counts {
    pub(super) fn add(&mut self, origin: Origin) {
        *(if origin == Origin::Journal { &mut self.journal } else { &mut self.other }) += 1;
    }

    /// A record may occur in both formats.
    pub(super) fn count(&self) -> u64 {
        self.journal.max(self.other)
    }
}

#[derive(Default)]
struct Entry {
    counts: Counts,
    programs: BTreeMap<String, Counts>,
    others: Counts,
    /// By the value of the verdict.
    verdicts: BTreeMap<u32, Counts>,
    has_signal: bool,
}

/// The denials so far. An ordered map, because a hostile log could contain keys whose hashes collide.
#[derive(Default)]
pub(super) struct Tally {
    entries: BTreeMap<LoggedCall, Entry>,
    lost: Counts,
}

impl Tally {
    pub(super) fn add(
        &mut self,
        call: LoggedCall,
        program: Option<&str>,
        verdict: Option<Verdict>,
        has_signal: bool,
        origin: Origin,
    ) {
        if self.entries.len() >= MAX_DENIALS && !self.entries.contains_key(&call) {
            self.lost.add(origin);
            return;
        }
        let entry = self.entries.entry(call).or_default();
        entry.counts.add(origin);
        entry.has_signal |= has_signal;
        if let Some(Verdict(value)) = verdict {
            if entry.verdicts.len() < MAX_PROGRAMS || entry.verdicts.contains_key(&value) {
                entry.verdicts.entry(value).or_default().add(origin);
            }
        }
        let Some(program) = program else { return };
        let name: String = program.chars().take(MAX_NAME).collect();
        if entry.programs.len() >= MAX_PROGRAMS && !entry.programs.contains_key(&name) {
            entry.others.add(origin);
        } else {
            entry.programs.entry(name).or_default().add(origin);
        }
    }

    /// The denials, the most frequent first, and how many were lost.
    pub(super) fn finish(self) -> (Vec<Denial>, u64) {
        let denial = |(call, entry): (LoggedCall, Entry)| {
            let mut programs: Vec<(String, u64)> =
                entry.programs.into_iter().map(|(name, counts)| (name, counts.count())).collect();
            programs.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
            let (count, others) = (entry.counts.count(), entry.others.count());
            let mut verdicts: Vec<(Verdict, u64)> = entry
                .verdicts
                .into_iter()
                .map(|(value, counts)| (Verdict(value), counts.count()))
                .collect();
            verdicts.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), value.0));
            let has_signal = entry.has_signal;
            Denial { call, count, programs, others, verdicts, has_signal }
        };
        let mut denials: Vec<Denial> = self.entries.into_iter().map(denial).collect();
        denials.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.call.cmp(&b.call)));
        (denials, self.lost.count())
    }
}
