//! How many audit records of a log each program has.

use std::collections::BTreeMap;

use super::audit_fields::program;

/// The maximum number of programs that are told apart; further ones are counted together.
const MAX_PROGRAMS: usize = 64;

/// The maximum length of a program's name in characters.
const MAX_NAME: usize = 64;

/// The programs of a log by their names, and how many records each has, the most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPrograms {
    /// Those whose records are in the recording.
    pub read: Vec<(String, u64)>,
    /// Those that were not selected.
    pub others: Vec<(String, u64)>,
}

/// Counts records by program. An ordered map, because a hostile log could contain names whose hashes collide.
#[derive(Default)]
pub(super) struct ProgramCounts {
    /// How often each occurs in the format of the journal, and in others: a record may occur in both.
    counts: BTreeMap<String, [u64; 2]>,
}

impl ProgramCounts {
    /// Counts a record, if it names its program.
    pub(super) fn add(&mut self, line: &str, is_raw: bool, is_of_journal: bool) {
        let Some(program) = program(line, is_raw) else { return };
        let mut name: String = program.chars().take(MAX_NAME).collect();
        if self.counts.len() >= MAX_PROGRAMS && !self.counts.contains_key(&name) {
            "other programs".clone_into(&mut name);
        }
        let [journal, other] = self.counts.entry(name).or_default();
        *if is_of_journal { journal } else { other } += 1;
    }

    /// The most frequent ones first.
    pub(super) fn finish(self) -> Vec<(String, u64)> {
        let counts = self.counts.into_iter();
        let mut all: Vec<(String, u64)> =
            counts.map(|(name, [journal, other])| (name, journal.max(other))).collect();
        all.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_counted_by_name_and_once_if_two_formats_have_a_record() {
        let mut counts = ProgramCounts::default();
        for (line, is_of_journal) in [
            ("pid=1 comm=\"nginx\" exe=\"/usr/sbin/nginx\" sig=0", false),
            ("pid=1 comm=\"nginx\" exe=\"/usr/sbin/nginx\" sig=0", true),
            ("pid=2 comm=6120 exe=\"/a\"", false),
            ("pid=2 comm=6120 exe=\"/a\"", false),
            ("pid=3", false),
        ] {
            counts.add(line, true, is_of_journal);
        }
        assert_eq!(counts.finish(), [("a ".to_owned(), 2), ("nginx".to_owned(), 1)]);
    }

    #[test]
    fn many_programs_are_counted_together() {
        let mut counts = ProgramCounts::default();
        for number in 0..100 {
            counts.add(&format!("comm=\"p{number}\""), true, false);
        }
        let all = counts.finish();
        assert_eq!(all.len(), MAX_PROGRAMS + 1);
        assert_eq!(all[0], ("other programs".to_owned(), 100 - MAX_PROGRAMS as u64));
    }
}
