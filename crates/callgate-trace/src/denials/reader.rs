//! Reads the denials of a log.

use callgate_bpf::syscalls::Arch;
use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::line::Parsed;
use super::model::{DenialLog, LoggedCall, Unread};
use super::pieces::Pieces;
use super::tally::Tally;
use super::{audit, journal, report, strace};

/// Every line that is read contains one of these.
const MARKS: [&str; 9] = [
    "SECCOMP",
    "1326",
    "SIGSYS",
    "_sigsys",
    " = -1 E",
    " = ?",
    "bad syscall (",
    "blocked syscall: ",
    "seccomp",
];

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
            tally: Tally::default(),
            lines: 0,
            logged: 0,
            unread: Unread::default(),
        }
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut too_long = 0_u64;
        pieces.push(bytes, &mut |block| self.block(block), &mut || too_long += 1);
        self.pieces = pieces;
        for _ in 0..too_long {
            self.lines += 1;
            self.unread("a line longer than 1 MiB".to_owned());
        }
    }

    /// The denials in the complete text.
    pub fn finish(mut self) -> DenialLog {
        std::mem::take(&mut self.pieces).finish(&mut |block| self.block(block));
        let (denials, lost) = self.tally.finish();
        let DenialReader { lines, logged, unread, .. } = self;
        DenialLog { denials, lines, logged, unread, lost }
    }

    fn block(&mut self, block: &[u8]) {
        if !self.is_marked(block) {
            self.lines += memchr_iter(b'\n', block).count() as u64;
            self.lines += u64::from(!block.ends_with(b"\n"));
            return;
        }
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            self.lines += 1;
            if self.is_marked(line) {
                self.line(&String::from_utf8_lossy(line));
            }
        }
    }

    fn is_marked(&self, bytes: &[u8]) -> bool {
        self.finders.iter().any(|mark| mark.find(bytes).is_some())
    }

    fn line(&mut self, line: &str) {
        match journal::message(line) {
            Some(message) => self.text(&message),
            None => self.text(line),
        }
    }

    fn text(&mut self, text: &str) {
        let parsed = audit::record(text)
            .or_else(|| strace::syscall(text, self.arch))
            .unwrap_or_else(|| report::report(text, self.arch));
        match parsed {
            Parsed::Nothing => {}
            Parsed::Logged => self.logged += 1,
            Parsed::Unread(why) => self.unread(why),
            Parsed::Denial(mut call, program, origin) => {
                let Some(mask) = (self.relevant)(&call) else { return };
                for (index, arg) in call.args.iter_mut().enumerate() {
                    *arg = arg.filter(|_| mask >> index & 1 == 1);
                }
                self.tally.add(call, program.as_deref(), origin);
            }
        }
    }

    fn unread(&mut self, why: String) {
        self.unread.count += 1;
        let line = self.lines;
        self.unread.first.get_or_insert((line, why));
    }
}
