//! Calls `callgate-check` with files in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callgate_core::{Endian, Insn};
use callgate_tasks::Result;

/// What the checker says about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Accepted,
    /// With a call for which the program returns something else.
    Refused,
    /// Not decided, or an error.
    Undecided,
}

/// The answer that took longest.
#[derive(Default)]
pub(super) struct Slowest {
    /// The processor time.
    pub(super) time: Duration,
    pub(super) text: String,
    pub(super) listing: String,
}

/// Instructions, one a line.
pub(super) fn listing(insns: &[Insn]) -> String {
    insns.iter().map(|insn| format!("{insn}\n")).collect()
}

/// The checker, and the directory of its files.
pub(super) struct Checker {
    program: PathBuf,
    directory: PathBuf,
    pub(super) slowest: Slowest,
    /// The time of all calls.
    pub(super) total: Duration,
    pub(super) calls: u32,
}

impl Checker {
    pub(super) fn new(program: &Path) -> Result<Checker> {
        let directory =
            std::env::temp_dir().join(format!("callgate-verified-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let (program, slowest) = (program.to_owned(), Slowest::default());
        Ok(Checker { program, directory, slowest, total: Duration::ZERO, calls: 0 })
    }

    /// The answer about instructions, and what was printed.
    pub(super) fn check(
        &mut self,
        text: &str,
        insns: &[Insn],
        endian: Endian,
    ) -> Result<(Answer, String)> {
        let [policy, program] = ["policy", "program"].map(|name| self.directory.join(name));
        write(&policy, text.as_bytes())?;
        write(&program, &bytes(insns, endian))?;
        let before = time_of_children();
        let output = Command::new(&self.program).arg(&policy).arg(&program).output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let time = time_of_children().saturating_sub(before);
        if time > self.slowest.time {
            self.slowest = Slowest { time, text: text.to_owned(), listing: listing(insns) };
        }
        self.total += time;
        self.calls += 1;
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let answer = match output.status.code() {
            Some(0) => Answer::Accepted,
            Some(1) => Answer::Refused,
            _ => Answer::Undecided,
        };
        Ok((answer, printed))
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        // What is left is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The processor time of all processes that this one has started and that have ended: other processes of the machine do not
/// change it.
fn time_of_children() -> Duration {
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is that of this call, which only writes to it.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let time = |part: libc::timeval| {
        Duration::new(part.tv_sec.unsigned_abs(), part.tv_usec.unsigned_abs() as u32 * 1000)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// `struct sock_filter` of a machine of this byte order.
fn bytes(insns: &[Insn], endian: Endian) -> Vec<u8> {
    let of_insn = |insn: &Insn| {
        let (code, k) = match endian {
            Endian::Little => (insn.op.code().to_le_bytes(), insn.k.to_le_bytes()),
            Endian::Big => (insn.op.code().to_be_bytes(), insn.k.to_be_bytes()),
        };
        let [c0, c1] = code;
        let [k0, k1, k2, k3] = k;
        [c0, c1, insn.jt, insn.jf, k0, k1, k2, k3]
    };
    insns.iter().flat_map(of_insn).collect()
}
