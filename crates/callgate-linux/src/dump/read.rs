//! Stops a thread and reads its filters.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use callgate_bpf::FilterFlags;
use callgate_core::Program;

use super::error::{DumpError, DumpErrorKind};
#[cfg(target_arch = "x86_64")]
use super::resume;
use super::tracee::{Stopped, Tracee};
use crate::thread_status::{self, SeccompMode, ThreadStatus};

/// How long a thread may take to stop. Usually this takes microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bit of a set of capabilities (`include/uapi/linux/capability.h`).
const CAP_SYS_ADMIN: u64 = 1 << 21;

/// The filters of a thread.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The name of the thread (`comm`), with any characters; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The filters, the oldest first.
    pub filters: Vec<InstalledFilter>,
    /// The other threads of the process that have another number of filters: thread ID and number. Empty before Linux
    /// 5.9, which does not show the number.
    pub others: Vec<(u32, usize)>,
}

/// An installed filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledFilter {
    /// Its instructions, as they were passed to the kernel.
    pub program: Program,
    /// [`FilterFlags::LOG`] or none; the kernel does not show other flags. `None` before Linux 4.16.
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
/// If there is no such thread or tracing it is denied, if this process lacks CAP_SYS_ADMIN or has a filter itself, or if
/// the kernel cannot show filters. A thread without filters is not an error.
pub fn dump(tid: u32) -> Result<Dump, DumpError> {
    let failed = |kind| DumpError::new(tid, kind);
    let status = ThreadStatus::of(tid).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => failed(DumpErrorKind::Gone),
        _ => failed(DumpErrorKind::of_errno(why)),
    })?;
    if status.process == std::process::id() {
        return Err(failed(DumpErrorKind::Own));
    }
    let mode = status.mode;
    let filters = match mode {
        _ if status.has_ended => return Err(failed(DumpErrorKind::Zombie)),
        _ if status.is_kernel => return Err(failed(DumpErrorKind::KernelThread)),
        SeccompMode::Strict => return Err(failed(DumpErrorKind::Strict)),
        SeccompMode::Off => Vec::new(),
        SeccompMode::Filter | SeccompMode::Unknown => {
            // The kernel would refuse both later, after the thread was stopped for nothing.
            if let Some(own) = ThreadStatus::of_this_thread() {
                if matches!(own.mode, SeccompMode::Filter | SeccompMode::Strict) {
                    return Err(failed(DumpErrorKind::OwnFilter));
                }
                if own.capabilities.is_some_and(|set| set & CAP_SYS_ADMIN == 0) {
                    return Err(failed(DumpErrorKind::NoCapability));
                }
            }
            let reader = thread::Builder::new().name("dump".to_owned());
            let reader = reader
                .spawn(move || (own_tid(), read(tid, mode)))
                .map_err(|why| failed(DumpErrorKind::Other(why)))?;
            let (reader, read) =
                reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            await_detached(tid, reader);
            read.map_err(|kind| failed(kind.with(tid)))?
        }
    };
    let others = thread_status::other_threads(status.process, tid, filters.len())
        .map_err(|why| failed(DumpErrorKind::Threads(why)))?;
    Ok(Dump { name: status.name, filters, others })
}

/// The thread ID of the calling thread.
fn own_tid() -> Option<u32> {
    let path = fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok()
}

/// Waits until the thread is no longer traced by the ended thread `reader`, so that it can be read again at once.
///
/// A thread that ends wakes `join` when it releases its memory, before the kernel detaches what it traces
/// (`exit_mm` before `exit_notify` in `do_exit`, kernel/exit.c).
fn await_detached(tid: u32, reader: Option<u32>) {
    let Some(reader) = reader else { return };
    let deadline = Instant::now() + PATIENCE;
    while ThreadStatus::of(tid).is_ok_and(|status| status.tracer == reader)
        && Instant::now() < deadline
    {
        thread::sleep(Duration::from_micros(50));
    }
}

/// Stops the thread, reads its filters and lets it continue. The calling thread must end afterwards, because it may
/// still be attached.
fn read(tid: u32, mode: SeccompMode) -> Result<Vec<InstalledFilter>, DumpErrorKind> {
    let stopped = Tracee::seize(tid)?.stop(PATIENCE)?;
    let filters = read_all(&stopped, mode);
    #[cfg(target_arch = "x86_64")]
    {
        let programs = filters.as_ref().ok();
        let programs = programs.map(|filters| filters.iter().map(|filter| &filter.program));
        resume::resume(stopped, programs);
    }
    filters
}

fn read_all(stopped: &Stopped, mode: SeccompMode) -> Result<Vec<InstalledFilter>, DumpErrorKind> {
    let mut filters = Vec::new();
    loop {
        let code = match stopped.filter(filters.len()) {
            Ok(code) => code,
            // There is no filter with this index.
            Err(why) if why.raw_os_error() == Some(libc::ENOENT) => return Ok(filters),
            Err(why)
                if why.raw_os_error() == Some(libc::EINVAL) && mode == SeccompMode::Unknown =>
            {
                return Ok(filters);
            }
            Err(why) => return Err(DumpErrorKind::of_reading(why)),
        };
        let program = Program::from_raw(&code)
            .map_err(|_| DumpErrorKind::Unreadable { filter: filters.len() })?;
        let flags = stopped.flags(filters.len());
        filters.push(InstalledFilter { program, flags });
    }
}
