//! Calls `callgate-check` with files in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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

/// The checker, and the directory of its files.
pub(super) struct Checker {
    program: PathBuf,
    directory: PathBuf,
    /// The longest time of one call.
    pub(super) slowest: Duration,
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
        let zero = Duration::ZERO;
        Ok(Checker { program: program.to_owned(), directory, slowest: zero, total: zero, calls: 0 })
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
        let start = Instant::now();
        let output = Command::new(&self.program).arg(&policy).arg(&program).output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let time = start.elapsed();
        self.slowest = self.slowest.max(time);
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
