//! Asks the kernel in a child process, which makes syscalls under a filter that executes none of them.
//!
//! Everything that the child needs is prepared before the fork: it shares memory with its parent for the answers, makes
//! no other syscall once the filter is installed, not even to exit, takes no lock and allocates no memory, so that the
//! parent may have other threads. When it has finished, it waits for the parent to kill it; if the parent dies, the
//! kernel kills it.
//!
//! `unsafe` code: the syscalls.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate::{Arch, SeccompData, Verdict};
use callgate_core::Program;
use libc::{c_int, c_long, sock_filter};

use super::marked::{Marked, ProbeError, ProbeErrorKind};
use crate::install::{InstallError, code_of};
use crate::sys;
use crate::worker::Worker;

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
    let errnos = errnos(&code, &asked, limit).map_err(|error| {
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

/// Indices of words in shared memory; the answers follow.
const STATE: usize = 0;
const WHY: usize = 1;
const COUNT: usize = 2;
const ANSWERS: usize = 3;

/// States of the child; 0 while it works.
const REFUSED: u32 = 1;
const DONE: u32 = 2;

/// Why a child did not answer for all syscalls.
#[derive(Debug)]
pub(crate) enum ChildError {
    /// No memory or process could be created.
    System(io::Error),
    /// The kernel refused the filter.
    Refused(io::Error),
    /// It died at this syscall, with this wait status.
    Died { syscall: usize, status: c_int },
    /// It exceeded the time limit at this syscall.
    Late { syscall: usize, limit: Duration },
}

/// Makes syscalls in a child process under a program, which must return an errno from 1 to 4095 for each: with another
/// verdict, they would be executed or kill the child. Returns the errno of each, 0 for none.
pub(crate) fn errnos(
    code: &[sock_filter],
    syscalls: &[SeccompData],
    limit: Duration,
) -> Result<Vec<u16>, ChildError> {
    // SAFETY: the child only runs `answer`, which takes no lock and allocates nothing.
    let worker =
        unsafe { Worker::start(ANSWERS + syscalls.len(), |words| answer(code, syscalls, words)) };
    let worker = worker.map_err(ChildError::System)?;
    let words = worker.words();
    let start = Instant::now();
    let syscall = || words[COUNT].load(Ordering::Acquire) as usize;
    // An answer takes about a microsecond, more for a long program.
    let mut pause = Duration::from_micros(50);
    loop {
        match words[STATE].load(Ordering::Acquire) {
            DONE => break,
            REFUSED => {
                let why = words[WHY].load(Ordering::Acquire);
                return Err(ChildError::Refused(io::Error::from_raw_os_error(why as i32)));
            }
            _ => {}
        }
        if let Some(status) = worker.has_ended().map_err(ChildError::System)? {
            return Err(ChildError::Died { syscall: syscall(), status });
        }
        if start.elapsed() > limit {
            return Err(ChildError::Late { syscall: syscall(), limit });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    let answers = words.iter().skip(ANSWERS);
    Ok(answers.map(|answer| answer.load(Ordering::Acquire) as u16).collect())
}

/// The code of the child.
fn answer(code: &[sock_filter], syscalls: &[SeccompData], words: &[AtomicU32]) {
    if let Err(why) = install(code) {
        words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
        words[STATE].store(REFUSED, Ordering::Release);
        return;
    }
    for (number, (data, slot)) in syscalls.iter().zip(words.iter().skip(ANSWERS)).enumerate() {
        words[COUNT].store(number as u32, Ordering::Release);
        let [a, b, c, d, e, f] = data.args.map(|arg| arg as c_long);
        // SAFETY: the filter returns an errno for every syscall (guaranteed by the caller), so the kernel ignores the
        // arguments and executes nothing.
        let result = unsafe { libc::syscall(c_long::from(data.nr), a, b, c, d, e, f) };
        let errno = if result == -1 { io::Error::last_os_error().raw_os_error() } else { None };
        slot.store(errno.unwrap_or(0) as u32, Ordering::Release);
    }
    words[STATE].store(DONE, Ordering::Release);
}

fn install(code: &[sock_filter]) -> io::Result<()> {
    sys::set_no_new_privs()?;
    match sys::seccomp_set_filter(code, 0) {
        Ok(_) => Ok(()),
        Err(why) if why.raw_os_error() == Some(libc::ENOSYS) => sys::prctl_set_filter(code),
        Err(why) => Err(why),
    }
}
