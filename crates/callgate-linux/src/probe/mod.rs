//! What the running kernel says of calls under a program, without executing any of them.
//!
//! The program is [`Marked`]: whatever the kernel makes of it, no call is executed and nobody dies.
//! Which calls can be asked about, and which cannot, is said there.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use callgate::bpf::{MAX_INSNS, Program};
use callgate::{Arch, SeccompData, Verdict};

mod child;
mod marked;

use crate::install::{InstallError, code_of};
use child::Trouble;
use marked::MAX_VALUES;
pub use marked::{Marked, is_never_filtered};

/// What is known about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// What the kernel makes of it.
    Verdict(Verdict),
    /// The kernel returns a value that the program returns nowhere, and the interpreter for none of
    /// the calls.
    Unexpected,
    /// It cannot be asked: it is of another arch, no filter is asked about it, its arguments are wider
    /// than this machine, or the program looks at the instruction pointer or divides by zero.
    NotAsked,
}

/// Asks the running kernel, in a child process, what it makes of calls under a program. The answers are
/// in the order of the calls.
///
/// ```no_run
/// use callgate::bpf::{Insn, Op, Program};
/// use callgate::{Arch, SeccompData, Verdict};
/// use callgate_linux::{ProbeAnswer, probe};
///
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::KILL_PROCESS.0)])?;
/// let arch = Arch::native().ok_or("an unknown machine")?.token();
/// let answers = probe(&program, &[SeccompData { nr: 39, arch, ..SeccompData::default() }])?;
/// assert_eq!(answers, [ProbeAnswer::Verdict(Verdict::KILL_PROCESS)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there is no child, the kernel refuses the filter, or there are too many different values.
pub fn probe(program: &Program, calls: &[SeccompData]) -> Result<Vec<ProbeAnswer>, ProbeError> {
    let native = Arch::native().ok_or(ProbeError(Kind::UnknownMachine))?;
    let marked = Marked::new(program, calls, native)?;
    let numbers = marked.asked();
    let asked: Vec<SeccompData> = numbers.iter().filter_map(|at| calls.get(*at).copied()).collect();
    let mut answers = vec![ProbeAnswer::NotAsked; calls.len()];
    if asked.is_empty() {
        return Ok(answers);
    }
    // Generous: the longest program takes some ten microseconds where the kernel interprets it.
    let limit = Duration::from_secs(20) + Duration::from_micros(100) * asked.len() as u32;
    let code = code_of(marked.program());
    let errnos = child::errnos(&code, &asked, limit).map_err(|trouble| {
        ProbeError(match trouble {
            Trouble::System(why) => Kind::NoChild(why),
            Trouble::Refused(why) => Kind::Refused(InstallError::of_errno(why, code.len())),
            Trouble::Died { call, status } => {
                let status = ExitStatus::from_raw(status);
                Kind::Died { data: asked.get(call).copied().unwrap_or_default(), status }
            }
            Trouble::Late { call, limit } => Kind::Late { calls: call, limit },
        })
    })?;
    for (number, errno) in numbers.iter().zip(errnos) {
        if let Some(answer) = answers.get_mut(*number) {
            *answer = marked.verdict(errno).map_or(ProbeAnswer::Unexpected, ProbeAnswer::Verdict);
        }
    }
    Ok(answers)
}

/// Why the kernel was not asked.
#[derive(Debug)]
pub struct ProbeError(Kind);

#[derive(Debug)]
enum Kind {
    UnknownMachine,
    TooManyValues { given: usize },
    TooLong { given: usize },
    NoChild(std::io::Error),
    Refused(InstallError),
    Died { data: SeccompData, status: ExitStatus },
    Late { calls: usize, limit: Duration },
}

impl ProbeError {
    pub(crate) fn too_many_values(given: usize) -> ProbeError {
        ProbeError(Kind::TooManyValues { given })
    }

    pub(crate) fn too_long(given: usize) -> ProbeError {
        ProbeError(Kind::TooLong { given })
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.0 {
            Kind::Refused(why) => why.help(),
            Kind::Died { .. } => {
                "the filter of a sandbox around this process may have killed it; look there".into()
            }
            Kind::NoChild(_) => "the system may be out of processes or memory".into(),
            _ => "leave the kernel out, or ask it about a smaller filter".into(),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::UnknownMachine => f.write_str("the architecture of this machine is not known"),
            Kind::TooManyValues { given } => write!(
                f,
                "the program returns {given} different values, and errnos can stand for {MAX_VALUES} \
                 at most"
            ),
            Kind::TooLong { given } => write!(
                f,
                "with an errno in place of each value that it computes the program has {given} \
                 instructions, the kernel accepts {MAX_INSNS}"
            ),
            Kind::NoChild(why) => {
                write!(f, "there is no child process: {}", crate::error_text(why))
            }
            Kind::Refused(why) => why.fmt(f),
            Kind::Died { data, status } => write!(
                f,
                "the child process ended at call {} ({status}), although the filter ends nothing",
                data.nr
            ),
            Kind::Late { calls, limit } => write!(
                f,
                "the child process made {calls} calls in {} seconds and was stopped",
                limit.as_secs()
            ),
        }
    }
}

impl std::error::Error for ProbeError {}
