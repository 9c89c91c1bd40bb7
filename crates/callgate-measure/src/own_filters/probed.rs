//! Makes the calls, and says what the filters do with each.

use std::fmt;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;

use callgate::SeccompData;
use callgate_linux::error_text;

use super::ask::{self, AskError, Outcome, RawCall, Scratch};
use super::calls::{OWN_GROUP, OWN_PROCESS, OWN_USER, PIPE, PIPE_END, SCRATCH};
use super::judge::{self, Answered, Finding};
use super::list::{ProbeCall, probe_calls};
use super::machine::Machine;
use crate::subject;
use crate::syscalls::{BAD_TIME, EMPTY, empty_name, invalid_time};

/// A call, what came back, and what that says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedCall {
    /// The call.
    pub call: ProbeCall,
    /// The call as a filter sees it. A number of the process is that of one of the child processes.
    pub data: SeccompData,
    /// What came back.
    pub outcome: Outcome,
    /// What the filters do.
    pub finding: Finding,
    /// Whether the kernel may have answered.
    pub may_be_allowed: bool,
}

/// Why the filters cannot be probed.
#[derive(Debug)]
pub struct OwnFiltersError(Why);

#[derive(Debug)]
enum Why {
    Machine,
    Ask(AskError),
}

impl fmt::Display for OwnFiltersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Machine => write!(
                f,
                "the answers of the kernel are not known for this architecture, {}",
                std::env::consts::ARCH
            ),
            Why::Ask(AskError::System(why)) => {
                write!(f, "child processes cannot be used: {}", error_text(why))
            }
            Why::Ask(AskError::Alone) => {
                f.write_str("the filter does not let a process wait for its children or end them")
            }
            Why::Ask(AskError::Start(status)) => {
                write!(f, "a child process ended before it made a call (wait status {status:#x})")
            }
        }
    }
}

impl OwnFiltersError {
    /// What to do.
    pub fn help(&self) -> &'static str {
        "as root outside of the container, `callgate dump PID` reads the filters themselves"
    }
}

impl std::error::Error for OwnFiltersError {}

/// Makes all calls, each in a child process, and says what the filters of this process do with them.
///
/// # Errors
/// If the architecture has no list, or the filters do not let this process use child processes.
pub fn probe_filters(machine: &Machine) -> Result<Vec<ProbedCall>, OwnFiltersError> {
    let list = probe_calls();
    if list.is_empty() {
        return Err(OwnFiltersError(Why::Machine));
    }
    let failed = |error: AskError| OwnFiltersError(Why::Ask(error));
    let places = Places::new().map_err(|error| failed(AskError::System(error)))?;
    let raw: Vec<RawCall> = list.iter().map(|call| places.raw(call)).collect();
    let at = |name: &str| list.iter().position(|call| call.syscall == name);
    let getpid = at("getpid").unwrap_or(usize::MAX);
    let first: Vec<RawCall> =
        ["wait4", "kill"].into_iter().filter_map(|name| raw.get(at(name)?).copied()).collect();
    let answers = ask::ask(&raw, getpid, &first, &places.scratch).map_err(failed)?;
    let answered: Vec<Answered<'_>> = list
        .iter()
        .zip(&answers.outcomes)
        .map(|(call, outcome)| Answered {
            syscall: call.syscall,
            outcome: *outcome,
            kernel: call.kernel,
        })
        .collect();
    let findings = judge::judge(&answered, answers.catches, machine);
    let allowed: Vec<bool> =
        answered.iter().map(|call| judge::may_be_allowed(call, machine)).collect();
    let pid = match answers.outcomes.get(getpid) {
        Some(Outcome::Value(pid)) => u64::from(*pid),
        _ => 0,
    };
    let rows = list.into_iter().zip(raw).zip(answers.outcomes).zip(findings).zip(allowed);
    Ok(rows
        .map(|((((call, raw), outcome), finding), may_be_allowed)| {
            let mut args = raw.args;
            for (slot, arg) in args.iter_mut().enumerate() {
                if raw.own_process >> slot & 1 != 0 {
                    *arg = pid;
                }
            }
            let data = subject::syscall_data(call.nr, args).unwrap_or_default();
            ProbedCall { call, data, outcome, finding, may_be_allowed }
        })
        .collect())
}

/// What stands in place of some arguments.
struct Places {
    /// Without one, its calls are made with a descriptor that is closed.
    pipe: Option<(PipeReader, PipeWriter)>,
    scratch: Scratch,
}

impl Places {
    fn new() -> io::Result<Places> {
        Ok(Places { pipe: io::pipe().ok(), scratch: Scratch::new()? })
    }

    fn raw(&self, call: &ProbeCall) -> RawCall {
        let mut own_process = 0;
        let mut args = call.args;
        for (slot, arg) in args.iter_mut().enumerate() {
            let pipe = self.pipe.as_ref();
            *arg = match *arg {
                EMPTY => empty_name(),
                BAD_TIME => invalid_time(),
                PIPE => pipe.map_or(u64::MAX, |(reader, _)| reader.as_raw_fd() as u64),
                PIPE_END => pipe.map_or(u64::MAX, |(_, writer)| writer.as_raw_fd() as u64),
                SCRATCH => self.scratch.address(),
                OWN_USER => auxiliary(libc::AT_EUID),
                OWN_GROUP => auxiliary(libc::AT_EGID),
                OWN_PROCESS => {
                    own_process |= 1 << slot;
                    0
                }
                arg => arg,
            };
        }
        RawCall { nr: call.nr.into(), args, own_process }
    }
}

/// A value that the kernel gave this process when it started, which a filter does not change.
fn auxiliary(kind: libc::c_ulong) -> u64 {
    // SAFETY: any number is valid.
    u64::from(unsafe { libc::getauxval(kind) } as u32)
}
