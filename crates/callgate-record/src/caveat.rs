//! Notes as they appear in the file of a recording.

use callgate_trace::recording::{Caveat, Effect};

use super::Note;

impl Note {
    /// The note as a caveat of the run.
    pub(super) fn caveat(&self) -> Caveat {
        let threads = |threads: &usize| u64::try_from(*threads).ok();
        let (id, effect, count) = match self {
            Note::WithoutPrivileges(_) => ("without-privileges", Effect::Altered, None),
            Note::TracesItself => ("ptrace-refused", Effect::Altered, None),
            Note::Listens => ("listener-refused", Effect::Altered, None),
            Note::Untraced(threads) => ("unrecorded-threads", Effect::Incomplete, Some(*threads)),
            Note::Failed(_) => ("recorder-failed", Effect::Incomplete, None),
            Note::Unreadable(_) => ("counters-unreadable", Effect::Incomplete, None),
            Note::Denied(syscalls) => ("denied-calls", Effect::Excess, *syscalls),
            Note::UnseenEnds(ends) => ("unseen-ends", Effect::Altered, threads(ends)),
            Note::Stopped(threads) => ("stopped", Effect::Excerpt, Some(*threads)),
            Note::RanBefore(processes) => ("ran-before", Effect::Excerpt, Some(*processes)),
            Note::NothingExecuted => ("nothing-executed", Effect::Excerpt, None),
            Note::UnreadWaits(threads) => ("unread-waits", Effect::Excerpt, Some(*threads)),
            Note::UnknownStatus => ("unknown-status", Effect::Altered, None),
            Note::EndedOthers(others) => ("ended-by-recorder", Effect::Altered, threads(others)),
            Note::LeftOthers(others) => ("left-running", Effect::Incomplete, threads(others)),
        };
        Caveat { id: id.to_owned(), effect, count, text: self.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_has_an_identifier_of_its_own() {
        let notes = [
            Note::WithoutPrivileges("/bin/su".into()),
            Note::TracesItself,
            Note::Listens,
            Note::Untraced(2),
            Note::Failed("No such process".to_owned()),
            Note::Unreadable("No such file or directory".to_owned()),
            Note::Denied(Some(3)),
            Note::UnseenEnds(1),
            Note::Stopped(7),
            Note::RanBefore(8),
            Note::NothingExecuted,
            Note::UnreadWaits(6),
            Note::UnknownStatus,
            Note::EndedOthers(4),
            Note::LeftOthers(5),
        ];
        let caveats: Vec<Caveat> = notes.iter().map(Note::caveat).collect();
        let mut ids: Vec<&str> = caveats.iter().map(|caveat| caveat.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), notes.len());
        let counts: Vec<u64> = caveats.iter().filter_map(|caveat| caveat.count).collect();
        assert_eq!(counts, [2, 3, 1, 7, 8, 6, 4, 5]);
        // `generate` refuses recordings with missing syscalls.
        let missing = caveats.iter().filter(|caveat| caveat.effect == Effect::Incomplete);
        let missing: Vec<&str> = missing.map(|caveat| caveat.id.as_str()).collect();
        assert_eq!(
            missing,
            ["unrecorded-threads", "recorder-failed", "counters-unreadable", "left-running"]
        );
    }
}
