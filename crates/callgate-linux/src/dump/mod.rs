//! The filters of another thread, read out of the kernel.
//!
//! Filters belong to threads. A thread is stopped for some microseconds, its filters are read one by
//! one with the bytes that were installed, and it goes on: a signal that arrived in the meantime is
//! delivered, a thread that had been stopped (SIGSTOP) stays stopped. All of it happens in a helper
//! thread, because the kernel lets a traced thread go when its tracer ends, whatever went wrong.
//!
//! Limits: a call that the thread sleeps in goes on afterwards; on x86-64 also where its filters deny
//! `restart_syscall`, with all of its time then (`restart.rs`). The few that `signal(7)` names under
//! "Interruption of system calls and library functions by stop signals" (`epoll_wait`, `semop`,
//! `sigtimedwait`, an inotify `read`) fail with EINTR, as after SIGSTOP and SIGCONT. Of a filter's flags
//! the kernel tells LOG alone.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_get_filter`, `get_nth_filter` and `seccomp_get_metadata`;
//! `ptrace(2)`; `proc_pid_status(5)`.

mod error;
#[cfg(target_arch = "x86_64")]
mod restart;
mod tracee;

use std::io;
use std::thread;
use std::time::Duration;

use callgate::bpf::Program;

use crate::thread_status::{self, SeccompMode, ThreadStatus};
use callgate::bpf::FilterFlags;
use error::Kind;
use tracee::{Stopped, Tracee};

pub use error::DumpError;

/// How long a thread may take to stop. One that runs or sleeps needs microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The filters of a thread, and what belongs to them.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The name of the thread, as the kernel has it (`comm`); it may hold any character, and bytes that are
    /// not UTF-8 are replaced.
    pub name: String,
    /// The oldest first, as the kernel counts them.
    pub filters: Vec<InstalledFilter>,
    /// The other threads of the process that do not have as many filters: thread and number. Empty
    /// before Linux 5.9, which does not tell.
    pub others: Vec<(u32, usize)>,
}

/// A filter that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledFilter {
    /// Its instructions, as they were given to the kernel.
    pub program: Program,
    /// [`FilterFlags::LOG`] or none; the kernel does not tell the others. `None` before Linux 4.16.
    pub flags: Option<FilterFlags>,
}

/// Reads the filters of a process (those of its main thread) or of a thread.
///
/// ```no_run
/// for filter in callgate_linux::dump(1234)?.filters {
///     println!("{} instructions", filter.program.len());
/// }
/// # Ok::<(), callgate_linux::DumpError>(())
/// ```
///
/// # Errors
/// When there is no such thread or it may not be traced, when this process is no root or has a
/// filter itself, and when the kernel cannot tell. A thread without filters is no error.
pub fn dump(tid: u32) -> Result<Dump, DumpError> {
    let failed = |kind| DumpError::new(tid, kind);
    let status = ThreadStatus::of(tid).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => failed(Kind::Gone),
        _ => failed(Kind::of_errno(why)),
    })?;
    if status.process == std::process::id() {
        return Err(failed(Kind::Own));
    }
    let mode = status.mode;
    let filters = match mode {
        _ if status.has_ended => return Err(failed(Kind::Zombie)),
        _ if status.is_kernel => return Err(failed(Kind::KernelThread)),
        SeccompMode::Strict => return Err(failed(Kind::Strict)),
        SeccompMode::Off => Vec::new(),
        SeccompMode::Filter | SeccompMode::Unknown => {
            let own = ThreadStatus::of_this_thread();
            if own.is_some_and(|own| matches!(own.mode, SeccompMode::Filter | SeccompMode::Strict))
            {
                return Err(failed(Kind::OwnFilter));
            }
            let reader = thread::Builder::new().name("dump".to_owned());
            let reader =
                reader.spawn(move || read(tid, mode)).map_err(|why| failed(Kind::Other(why)))?;
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            read.map_err(|kind| failed(kind.with(tid)))?
        }
    };
    let others = thread_status::other_threads(status.process, tid, filters.len())
        .map_err(|why| failed(Kind::Threads(why)))?;
    Ok(Dump { name: status.name, filters, others })
}

/// Reads the filters. The kernel lets the thread go at the latest when this one ends.
fn read(tid: u32, mode: SeccompMode) -> Result<Vec<InstalledFilter>, Kind> {
    let stopped = Tracee::seize(tid)?.stop(PATIENCE)?;
    let filters = read_all(&stopped, mode);
    let programs = filters.as_ref().ok();
    stopped.keep_call(programs.map(|filters| filters.iter().map(|filter| &filter.program)));
    filters
}

fn read_all(stopped: &Stopped, mode: SeccompMode) -> Result<Vec<InstalledFilter>, Kind> {
    let mut filters = Vec::new();
    loop {
        let code = match stopped.filter(filters.len()) {
            Ok(code) => code,
            // There is no filter of this number.
            Err(why) if why.raw_os_error() == Some(libc::ENOENT) => return Ok(filters),
            Err(why)
                if why.raw_os_error() == Some(libc::EINVAL) && mode == SeccompMode::Unknown =>
            {
                return Ok(filters);
            }
            Err(why) => return Err(Kind::of_reading(why)),
        };
        let program =
            Program::from_raw(&code).map_err(|_| Kind::Unreadable { filter: filters.len() })?;
        let flags = stopped.flags(filters.len());
        filters.push(InstalledFilter { program, flags });
    }
}
