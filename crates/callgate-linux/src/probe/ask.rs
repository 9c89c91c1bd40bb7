//! Asks the kernel in a child process.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use callgate::{Arch, SeccompData, Verdict};
use callgate_core::Program;

use super::child::{self, ChildError};
use super::error::{ProbeError, ProbeErrorKind};
use super::marked::Marked;
use crate::install::{InstallError, code_of};

/// The result for one syscall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The kernel's verdict.
    Verdict(Verdict),
    /// The kernel returned a value that the program does not contain and the interpreter computed for none of the
    /// syscalls.
    Unexpected,
    /// It cannot be probed: it belongs to another architecture, the kernel runs no filter for it, its arguments are wider
    /// than registers, or the program reads the instruction pointer or divides by zero.
    NotAsked,
}

/// Asks the running kernel, in a child process, for the verdicts of syscalls under a program. The answers are in the
/// order of the syscalls.
///
/// ```no_run
/// use callgate_core::{Insn, Op, Program};
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
/// If no child can be created, the kernel refuses the filter, or there are too many different values.
pub fn probe(program: &Program, syscalls: &[SeccompData]) -> Result<Vec<ProbeAnswer>, ProbeError> {
    let native = Arch::native().ok_or(ProbeError(ProbeErrorKind::UnknownMachine))?;
    let marked = Marked::new(program, syscalls, native)?;
    let numbers = marked.asked();
    let asked: Vec<SeccompData> =
        numbers.iter().filter_map(|at| syscalls.get(*at).copied()).collect();
    let mut answers = vec![ProbeAnswer::NotAsked; syscalls.len()];
    if asked.is_empty() {
        return Ok(answers);
    }
    // Generous: the longest program takes about 10 µs in the kernel's interpreter.
    let limit = Duration::from_secs(20) + Duration::from_micros(100) * asked.len() as u32;
    let code = code_of(marked.program());
    let errnos = child::errnos(&code, &asked, limit).map_err(|error| {
        ProbeError(match error {
            ChildError::System(why) => ProbeErrorKind::NoChild(why),
            ChildError::Refused(why) => {
                ProbeErrorKind::Refused(InstallError::of_errno(why, code.len()))
            }
            ChildError::Died { syscall, status } => {
                let status = ExitStatus::from_raw(status);
                ProbeErrorKind::Died {
                    data: asked.get(syscall).copied().unwrap_or_default(),
                    status,
                }
            }
            ChildError::Late { syscall, limit } => {
                ProbeErrorKind::Late { syscalls: syscall, limit }
            }
        })
    })?;
    for (number, errno) in numbers.iter().zip(errnos) {
        if let Some(answer) = answers.get_mut(*number) {
            *answer = marked.verdict(errno).map_or(ProbeAnswer::Unexpected, ProbeAnswer::Verdict);
        }
    }
    Ok(answers)
}
