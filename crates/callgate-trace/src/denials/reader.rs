//! Reads the denials of a log.

use callgate_bpf::syscalls::Arch;
use memchr::memmem::Finder;

use super::line::Parsed;
use super::model::{DenialLog, Evidence, LoggedCall, Unread};
use super::pieces::Pieces;
use super::signals::PendingSignals;
use super::tally::Tally;
use super::{audit, journal, report, strace};
use crate::logs::lines::MAX_LINE;
use crate::logs::strace::SyscallLog;

/// Every line that is read contains one of these, except those of strace.
const MARKS: [&str; 7] =
    ["SECCOMP", "1326", "SIGSYS", "_syscall", "bad syscall (", "blocked syscall: ", "seccomp"];

/// Which arguments of a call matter, a bit for each; `None` if the call is not a denial of the filter.
type Relevant<'a> = dyn FnMut(&LoggedCall) -> Option<u8> + 'a;

/// Reads the denials of a log that arrives in pieces.
///
/// ```
/// use callgate_bpf::Arch;
/// use callgate_trace::denials::DenialReader;
///
/// let log = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 comm=\"app\" exe=\"/app\" sig=0 arch=c000003e syscall=165 \
///            compat=0 ip=0x1 code=0x50001\n";
/// let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0));
/// reader.push(log.as_bytes());
/// let log = reader.finish();
/// assert_eq!(log.denials[0].call.syscall.name(), Some("mount"));
/// assert_eq!(log.denials[0].programs, [("app".to_owned(), 1)]);
/// ```
pub struct DenialReader<'a> {
    arch: Arch,
    relevant: Box<Relevant<'a>>,
    pieces: Pieces,
    finders: Vec<Finder<'static>>,
    syscalls: SyscallLog,
    signals: PendingSignals,
    tally: Tally,
    lines: u64,
    logged: u64,
    unread: Unread,
}

impl<'a> DenialReader<'a> {
    /// A reader. `arch` is the architecture of reports that do not name one. `relevant` says for each call whether it is a
    /// denial of the filter, and which of its arguments matter.
    pub fn new(
        arch: Arch,
        relevant: impl FnMut(&LoggedCall) -> Option<u8> + 'a,
    ) -> DenialReader<'a> {
        DenialReader {
            arch,
            relevant: Box::new(relevant),
            pieces: Pieces::default(),
            finders: MARKS.iter().map(Finder::new).collect(),
            syscalls: SyscallLog::new(arch),
            signals: PendingSignals::default(),
            tally: Tally::default(),
            lines: 0,
            logged: 0,
            unread: Unread::default(),
        }
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.push(bytes, &mut |line| self.line(line));
        self.pieces = pieces;
    }

    /// The denials in the complete text.
    pub fn finish(mut self) -> DenialLog {
        std::mem::take(&mut self.pieces).finish(&mut |line| self.line(line));
        self.settle_signals(u64::MAX);
        let (denials, lost) = self.tally.finish();
        let DenialReader { lines, logged, unread, .. } = self;
        DenialLog { denials, lines, logged, unread, lost }
    }

    /// Reads the next line; `None` for one that is too long.
    fn line(&mut self, line: Option<&[u8]>) {
        self.lines += 1;
        let Some(line) = line else {
            return self.unread(self.lines, format!("a line longer than {} MiB", MAX_LINE >> 20));
        };
        let text = String::from_utf8_lossy(line);
        if let Some(syscall) = self.syscalls.line(&text) {
            let parsed = strace::denial(&syscall).unwrap_or(Parsed::Nothing);
            self.add(parsed);
        } else if self.finders.iter().any(|mark| mark.find(line).is_some()) {
            let message = journal::message(&text);
            let text = message.as_deref().unwrap_or(&text);
            self.add(audit::record(text).unwrap_or_else(|| report::report(text, self.arch)));
        }
    }

    fn add(&mut self, parsed: Parsed<'_>) {
        match parsed {
            Parsed::Nothing => {}
            Parsed::Logged => self.logged += 1,
            Parsed::Unread(why) => self.unread(self.lines, why),
            Parsed::Signal => {
                self.settle_signals(self.lines);
                self.signals.add(self.lines);
            }
            Parsed::Denial(mut call, program, origin) => {
                if call.evidence == Evidence::Filter {
                    self.settle_signals(self.lines);
                    self.signals.explain();
                }
                let Some(mask) = (self.relevant)(&call) else { return };
                for (index, arg) in call.args.iter_mut().enumerate() {
                    *arg = arg.filter(|_| mask >> index & 1 == 1);
                }
                self.tally.add(call, program.as_deref(), origin);
            }
        }
    }

    /// Counts the reports of signals that no line from this one on can explain.
    fn settle_signals(&mut self, line: u64) {
        for at in self.signals.unexplained(line) {
            self.unread(at, "a report of SIGSYS without the number of the syscall".to_owned());
        }
    }

    fn unread(&mut self, line: u64, why: String) {
        self.unread.count += 1;
        if self.unread.first.as_ref().is_none_or(|(first, _)| line < *first) {
            self.unread.first = Some((line, why));
        }
    }
}
