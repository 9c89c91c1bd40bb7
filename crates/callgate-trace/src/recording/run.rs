//! A run of a command, or a log: what a recording was made from, and its caveats.
//!
//! A caveat is why a recording may have fewer, more or other syscalls than the program makes without a recorder. It is noticed
//! during recording, but matters when a profile is generated, possibly later and from several merged recordings. Therefore it is
//! stored in the recording, with an identifier for programs and a text for people. Readers treat unknown identifiers according to
//! their [`Effect`].

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// How syscalls were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordingMethod {
    /// The kernel counted them at its tracepoint `raw_syscalls:sys_enter`.
    Tracepoint,
    /// A tracer saw each of them.
    Ptrace,
    /// A strace log.
    Strace,
    /// Audit records of syscalls that a filter logged or denied.
    Audit,
    /// A table of counts: two columns, `strace -c`, `perf trace -s`.
    Counts,
    /// Not known.
    #[default]
    Unknown,
}

impl RecordingMethod {
    /// All methods.
    pub const ALL: &'static [RecordingMethod] = &[
        RecordingMethod::Tracepoint,
        RecordingMethod::Ptrace,
        RecordingMethod::Strace,
        RecordingMethod::Audit,
        RecordingMethod::Counts,
        RecordingMethod::Unknown,
    ];

    /// The name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            RecordingMethod::Tracepoint => "tracepoint",
            RecordingMethod::Ptrace => "ptrace",
            RecordingMethod::Strace => "strace",
            RecordingMethod::Audit => "audit",
            RecordingMethod::Counts => "counts",
            RecordingMethod::Unknown => "unknown",
        }
    }
}

/// Distinguishes runs in merged recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunId {
    /// A random number that the recorder assigned: recordings with the same one are of the same run.
    Assigned(u64),
    /// A digest of the recording of a run to which no number was assigned. Several runs may have the same one, if their
    /// recordings do not differ.
    Digest(u64),
}

impl RunId {
    pub(crate) fn bits(self) -> u64 {
        match self {
            RunId::Assigned(bits) | RunId::Digest(bits) => bits,
        }
    }
}

impl fmt::Display for RunId {
    /// 16 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.bits())
    }
}

/// A run of a command, or a log of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// How the syscalls were recorded.
    pub method: RecordingMethod,
    /// The command; invalid UTF-8 is replaced. Only its name, without arguments, unless they were asked for: they may be
    /// passwords. Empty if not known.
    pub command: Vec<String>,
    /// Whether the first syscall is the `execve` of the command, so that syscalls of its parent are not counted.
    /// Otherwise the first syscall is not known.
    pub from_execve: bool,
    /// The number of processes, including the command, if they were counted.
    pub processes: Option<u64>,
    /// The number of threads of all processes, if they were counted.
    pub threads: Option<u64>,
    /// How many syscalls were made but not counted, at least.
    pub lost: u64,
    /// The exit status of the command, or 128 plus the signal number.
    pub status: Option<u8>,
    /// The kernel release, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// The version of Callgate that recorded.
    pub callgate: Option<String>,
    /// Why the run may differ from one without a recorder.
    pub caveats: Vec<Caveat>,
    /// Where it ran, and what: for example the node, the image and its version.
    pub labels: BTreeMap<String, String>,
    /// Distinguishes the run from others. `None` in a recording of one run to which no number was assigned.
    pub id: Option<RunId>,
}

impl Run {
    /// The name of the program: the first word of the command without its directories.
    ///
    /// Recordings of older recorders also have the arguments, which may be passwords: they are not for texts that others
    /// read.
    pub fn program(&self) -> Option<&str> {
        let path = self.command.first()?;
        Some(path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path))
    }
}

/// A digest that distinguishes runs without an identity. It depends only on the content, so it is the same on every machine. It is
/// not cryptographic: two runs with the same digest only make an estimate coarser.
pub(super) fn digest(value: &impl Hash) -> u64 {
    let mut digest = Digest(0);
    value.hash(&mut digest);
    digest.finish()
}

/// Mixes words with the finalizer of SplitMix64.
struct Digest(u64);

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.write_u64(word);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ (mixed >> 31);
    }

    /// Lengths and the numbers of variants, which have 32 bits on some machines.
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Why a recording may differ from a run without a recorder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caveat {
    /// A stable identifier, such as `denied-calls`. The [JSON format](super#json-format) lists them.
    pub id: String,
    /// The effect on the recording.
    pub effect: Effect,
    /// How many syscalls, threads or other things it concerns, if known.
    pub count: Option<u64>,
    /// A description for people.
    pub text: String,
}

/// How a recording differs from the syscalls that the program makes without a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Syscalls are missing: a profile made from it denies them.
    Incomplete,
    /// Only a part of the run was recorded, as intended: a profile made from it denies other syscalls.
    Excerpt,
    /// The program ran differently than without a recorder, and may make other syscalls.
    Altered,
    /// It contains syscalls that a filter denied: a profile made from it allows them.
    Excess,
}

impl Effect {
    /// All effects.
    pub const ALL: &'static [Effect] =
        &[Effect::Incomplete, Effect::Excerpt, Effect::Altered, Effect::Excess];

    /// The name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Incomplete => "incomplete",
            Effect::Excerpt => "excerpt",
            Effect::Altered => "altered",
            Effect::Excess => "excess",
        }
    }
}

impl Caveat {
    /// Identifier: the end of the recording is missing.
    pub const CUT_OFF: &'static str = "cut-off";
    /// The identifier of the caveat about processes that ran already.
    pub(crate) const ATTACHED: &'static str = "attached";

    /// Syscalls are missing.
    pub(crate) fn incomplete(id: &str, count: Option<u64>, text: String) -> Caveat {
        Caveat { id: id.to_owned(), effect: Effect::Incomplete, count, text }
    }

    /// The recording was truncated.
    pub(crate) fn cut_off() -> Caveat {
        let text = "the recording is truncated: later entries are missing";
        Caveat::incomplete(Caveat::CUT_OFF, None, text.to_owned())
    }

    /// The recording was saved while the command was running.
    pub fn unfinished() -> Caveat {
        let text =
            "the recording was saved while the command was running: later syscalls are missing";
        Caveat::incomplete(Caveat::CUT_OFF, None, text.to_owned())
    }

    /// Processes were recorded for this long while they ran; `to` describes them.
    pub fn attached(to: &str, time: Duration) -> Caveat {
        let seconds = time.as_secs_f64();
        let text = format!(
            "{to} was recorded for {seconds:.1} s while it ran: earlier and later syscalls are missing"
        );
        Caveat { effect: Effect::Excerpt, ..Caveat::incomplete(Caveat::ATTACHED, None, text) }
    }

    /// This many lines of a log look like denials, the first in this line, and could not be read.
    pub(crate) fn unread_denials(count: u64, first: u64) -> Caveat {
        let text = match count {
            1 => format!("line {first} of the log looks like a denial, but could not be read"),
            count => format!(
                "{count} lines of the log look like denials, the first is line {first}, but could not be read"
            ),
        };
        Caveat::incomplete("unread-denials", Some(count), text)
    }

    fn lost(syscalls: u64) -> Caveat {
        let text = match syscalls {
            1 => "at least 1 syscall is missing from the recording".to_owned(),
            syscalls => format!("at least {syscalls} syscalls are missing from the recording"),
        };
        Caveat::incomplete("lost-calls", Some(syscalls), text)
    }
}

/// The caveats of several runs, one per identifier, ordered by effect. Counts of the same caveat add up; the text is
/// that of the first, with the number of runs that have it.
pub(super) fn combined_caveats(runs: &[Run]) -> Vec<Caveat> {
    let mut all: Vec<(Caveat, usize)> = Vec::new();
    for caveat in runs.iter().flat_map(|run| &run.caveats) {
        match all.iter_mut().find(|(known, _)| known.id == caveat.id) {
            Some((known, times)) => {
                *times += 1;
                known.effect = known.effect.min(caveat.effect);
                known.count = match (known.count, caveat.count) {
                    (Some(a), Some(b)) => Some(a.saturating_add(b)),
                    _ => None,
                };
            }
            None => all.push((caveat.clone(), 1)),
        }
    }
    let lost = runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.lost));
    // A truncated recording counts one lost syscall, which its own caveat already reports.
    let is_cut = all.iter().any(|(caveat, _)| caveat.id == Caveat::CUT_OFF);
    if lost > 0 && !(is_cut && lost == 1) {
        all.push((Caveat::lost(lost), 1));
    }
    let mut caveats: Vec<Caveat> = all
        .into_iter()
        .map(|(mut caveat, times)| {
            if times > 1 {
                caveat.text += &format!(" (in {times} of {} runs)", runs.len());
            }
            caveat
        })
        .collect();
    caveats.sort_by(|a, b| (a.effect, &a.id).cmp(&(b.effect, &b.id)));
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lost: u64, caveats: &[(&str, Effect, Option<u64>)]) -> Run {
        let caveat = |(id, effect, count): &(&str, Effect, Option<u64>)| Caveat {
            id: (*id).to_owned(),
            effect: *effect,
            count: *count,
            text: format!("{id} happened"),
        };
        Run { lost, caveats: caveats.iter().map(caveat).collect(), ..Run::default() }
    }

    #[test]
    fn a_caveat_of_several_runs_is_listed_once() {
        let runs = [
            run(
                2,
                &[
                    ("denied-calls", Effect::Excess, Some(3)),
                    ("unprivileged", Effect::Altered, None),
                ],
            ),
            run(5, &[("denied-calls", Effect::Excess, Some(4))]),
            run(0, &[("denied-calls", Effect::Excess, None)]),
        ];
        let texts = |runs: &[Run]| {
            combined_caveats(runs).into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&runs),
            [
                "at least 7 syscalls are missing from the recording",
                "unprivileged happened",
                "denied-calls happened (in 3 of 3 runs)",
            ]
        );
        let last_count = |runs: &[Run]| combined_caveats(runs).last().and_then(|one| one.count);
        assert_eq!(last_count(&runs[..2]), Some(7));
        assert_eq!(last_count(&runs), None);
        assert_eq!(texts(&[Run::default()]), [""; 0]);
    }

    #[test]
    fn a_truncated_recording_does_not_also_report_its_lost_syscall() {
        let cut = Run { lost: 1, caveats: vec![Caveat::cut_off()], ..Run::default() };
        assert_eq!(combined_caveats(std::slice::from_ref(&cut)), [Caveat::cut_off()]);
        assert_eq!(combined_caveats(&[cut, run(9, &[])]).len(), 2);
    }
}
