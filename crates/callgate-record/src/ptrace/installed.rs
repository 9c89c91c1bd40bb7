//! Filters that a command and its children install, read from their memory when they call the kernel.
//!
//! The command runs under a filter that stops it at `seccomp`, `prctl` and `execve` only. At the start of a call, the program
//! is read from the tracee; at its end, the result says whether the kernel took it. Another thread that changes the memory in
//! between could make the two differ.
//!
//! Some programs ask whether they have a filter (`PR_GET_SECCOMP`), and install none then. For a process whose only filter is
//! the one that stops it, the answer is changed to 0, as it is without a tracer. `/proc/PID/status` still counts that filter.
//!
//! Sources: `kernel/seccomp.c` (`do_seccomp`, `seccomp_prepare_user_filter`), seccomp(2).

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Instant;

use callgate::{Arch, Filter, Verdict};
use callgate_bpf::FilterFlags;
use callgate_core::{Insn, Program, Proved};
use callgate_formats::abis;
use callgate_linux::{SeccompMode, ThreadStatus};
use callgate_trace::recording::SyscallId;
use libc::{pid_t, sock_filter};

use crate::tracer::{self, Syscall};

/// The longest program that the kernel takes (`BPF_MAXINSNS`).
const MAX_INSNS: usize = 4096;

/// How many filters are kept.
pub const MAX_CAUGHT: usize = 1000;

/// What a process installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaughtFilter {
    /// The process that called the kernel.
    pub process: u32,
    /// The name of the calling thread (`comm`); bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The ABI of the call.
    pub arch: Arch,
    /// The program.
    pub program: Program,
    /// The flags that Callgate knows.
    pub flags: FilterFlags,
    /// Whether the process got a listener.
    pub has_listener: bool,
}

/// The filters that were installed, and the calls that did not return yet.
#[derive(Default)]
pub(crate) struct Installed {
    pub(crate) filters: Vec<CaughtFilter>,
    /// How many were not kept.
    pub(crate) more: usize,
    /// How many programs could not be read.
    pub(crate) unread: usize,
    /// Whether a process asked for the strict mode, which the kernel does not combine with a filter.
    pub(crate) asks_for_strict: bool,
    /// When the processes are ended.
    deadline: Option<Instant>,
    /// Whether the time was over.
    pub(crate) was_ended: bool,
    /// The calls whose end must be seen, by thread.
    calls: HashMap<pid_t, Awaited>,
}

/// A call that did not return yet.
enum Awaited {
    /// It installs this filter.
    Filter(CaughtFilter),
    /// It installs a filter whose program could not be read.
    Unread,
    /// It asks for the seccomp mode.
    Mode,
}

impl Installed {
    /// Without filters yet; processes are ended at this time.
    pub(super) fn until(deadline: Option<Instant>) -> Installed {
        Installed { deadline, ..Installed::default() }
    }

    /// Whether the time is over.
    pub(super) fn is_over(&mut self) -> bool {
        self.was_ended |= self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.was_ended
    }

    /// Whether the end of a call must be seen.
    pub(super) fn awaits(&self, thread: pid_t) -> bool {
        self.calls.contains_key(&thread)
    }

    /// A thread calls `seccomp` or `prctl`.
    pub(super) fn enter(&mut self, thread: pid_t, syscall: &Syscall) {
        let Some(id) = SyscallId::of(syscall.arch, syscall.nr) else { return };
        let Some(call) = Call::of(id, &syscall.args) else { return };
        let address = match call.asks {
            Asks::Filter(address) => address,
            Asks::Strict => {
                self.asks_for_strict = true;
                return;
            }
            Asks::Mode => {
                self.calls.insert(thread, Awaited::Mode);
                return;
            }
        };
        let Some(program) = read_program(thread, id.arch, address) else {
            self.calls.insert(thread, Awaited::Unread);
            return;
        };
        // Fails if the thread was killed.
        let Ok(status) = ThreadStatus::of(thread as u32) else { return };
        let known = FilterFlags::TSYNC
            | FilterFlags::LOG
            | FilterFlags::SPEC_ALLOW
            | FilterFlags::WAIT_KILLABLE_RECV;
        let flags =
            known.each().map(|(flag, ..)| flag).filter(|flag| call.flags & flag.bits() != 0);
        let caught = CaughtFilter {
            process: status.process,
            name: status.name,
            arch: id.arch,
            program,
            flags: flags.fold(FilterFlags::NONE, |all, flag| all | flag),
            has_listener: u64::from(call.flags) & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0,
        };
        self.calls.insert(thread, Awaited::Filter(caught));
    }

    /// A call has returned this; `None` if that is not known.
    pub(super) fn leave(&mut self, thread: pid_t, result: Option<i64>) {
        let Some(call) = self.calls.remove(&thread) else { return };
        let Some(result) = result else { return };
        // Of TSYNC, a positive result is a thread that could not get the filter.
        let is_thread = |caught: &CaughtFilter| {
            caught.flags.contains(FilterFlags::TSYNC) && !caught.has_listener && result > 0
        };
        match call {
            _ if result < 0 => {}
            Awaited::Filter(caught) if is_thread(&caught) => {}
            Awaited::Filter(caught) if self.filters.len() < MAX_CAUGHT => self.filters.push(caught),
            Awaited::Filter(_) => self.more += 1,
            Awaited::Unread => self.unread += 1,
            Awaited::Mode if has_reporter_only(thread) => tracer::set_result(thread, 0),
            Awaited::Mode => {}
        }
    }
}

/// Whether a thread has no filter but the [`reporter`]. A filter of this process would be counted as well.
fn has_reporter_only(thread: pid_t) -> bool {
    let is_alone = ThreadStatus::of_this_thread().is_some_and(|own| own.mode == SeccompMode::Off);
    let filters = ThreadStatus::of(thread as u32).ok().and_then(|status| status.filters);
    is_alone && filters == Some(1)
}

/// A call about the seccomp mode.
struct Call {
    asks: Asks,
    /// The flags of a filter.
    flags: u32,
}

enum Asks {
    /// To install the filter at this address of a `struct sock_fprog`.
    Filter(u64),
    /// For the strict mode.
    Strict,
    /// Which mode it has.
    Mode,
}

impl Call {
    fn of(id: SyscallId, args: &[u64; 6]) -> Option<Call> {
        let [first, second, third, ..] = *args;
        let strict = Call { asks: Asks::Strict, flags: 0 };
        match (id.name()?, first as u32) {
            ("seccomp", libc::SECCOMP_SET_MODE_STRICT) => Some(strict),
            ("seccomp", libc::SECCOMP_SET_MODE_FILTER) => {
                Some(Call { asks: Asks::Filter(third), flags: second as u32 })
            }
            ("prctl", option) if option == libc::PR_SET_SECCOMP as u32 => match second as u32 {
                libc::SECCOMP_MODE_STRICT => Some(strict),
                libc::SECCOMP_MODE_FILTER => Some(Call { asks: Asks::Filter(third), flags: 0 }),
                _ => None,
            },
            ("prctl", option) if option == libc::PR_GET_SECCOMP as u32 => {
                Some(Call { asks: Asks::Mode, flags: 0 })
            }
            _ => None,
        }
    }
}

/// The program of a `struct sock_fprog` in the memory of a tracee; `None` if the kernel would not take it.
fn read_program(thread: pid_t, arch: Arch, address: u64) -> Option<Program> {
    // The pointer follows the length at its own alignment. x32 has pointers of 32 bits.
    let is_wide = arch.is_64bit() && arch != Arch::X32;
    let (at, size) = if is_wide { (8, 8) } else { (4, 4) };
    let mut header = [0; 16];
    tracer::read_memory(thread, address, header.get_mut(..at + size)?)?;
    let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
    let pointer = match is_wide {
        true => u64::from_ne_bytes(header.get(8..16)?.try_into().ok()?),
        false => u32::from_ne_bytes(header.get(4..8)?.try_into().ok()?).into(),
    };
    if !(1..=MAX_INSNS).contains(&len) {
        return None;
    }
    let mut bytes = vec![0; len * size_of::<sock_filter>()];
    tracer::read_memory(thread, pointer, &mut bytes)?;
    Program::from_bytes(&bytes, Arch::native()?.endian()).ok()
}

/// The program that stops the command where it may install a filter, and where it starts another program.
pub(super) fn reporter() -> &'static [sock_filter] {
    static REPORTER: OnceLock<Vec<sock_filter>> = OnceLock::new();
    REPORTER.get_or_init(|| {
        // A test builds it on this machine; the kernel refuses an empty program.
        let Some(program) = Arch::native().and_then(|native| report(native).ok()) else {
            return Vec::new();
        };
        let raw = |insn: &Insn| {
            let (code, jt, jf, k) = (insn.op.code(), insn.jt, insn.jf, insn.k);
            sock_filter { code, jt, jf, k }
        };
        program.iter().map(raw).collect()
    })
}

fn report(native: Arch) -> callgate::Result<Proved> {
    Filter::builder(abis(native))
        .default(Verdict::ALLOW)
        .bad_arch(Verdict::ALLOW)
        .rule(Verdict::trace(0), ["seccomp", "prctl", "execve"])?
        .build()?
        .compile()
}

#[cfg(test)]
mod tests {
    use callgate_core::SeccompData;

    use super::*;

    #[test]
    fn calls_that_may_install_a_filter_are_reported_on_every_abi() {
        let native = Arch::native().unwrap();
        assert!(!reporter().is_empty());
        let program = report(native).unwrap();
        for arch in abis(native) {
            for (nr, name) in callgate_bpf::SyscallTable::syscalls(arch) {
                let data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
                let reports = ["seccomp", "prctl", "execve"].contains(&name);
                let expected = if reports { Verdict::trace(0) } else { Verdict::ALLOW };
                assert_eq!(program.run(&data, native.endian()).verdict, expected, "{arch} {name}");
            }
        }
    }

    #[test]
    fn results_of_tsync_may_name_a_thread() {
        let program: Program = report(Arch::native().unwrap()).unwrap().into();
        let call = |flags, has_listener| CaughtFilter {
            process: 1,
            name: String::new(),
            arch: Arch::X86_64,
            program: program.clone(),
            flags,
            has_listener,
        };
        for (flags, has_listener, result, is_installed) in [
            (FilterFlags::NONE, false, 0, true),
            (FilterFlags::NONE, true, 3, true),
            (FilterFlags::TSYNC, false, 0, true),
            (FilterFlags::TSYNC, false, 77, false),
            (FilterFlags::TSYNC, true, 3, true),
            (FilterFlags::NONE, false, -1, false),
        ] {
            let mut installed = Installed::default();
            installed.calls.insert(5, Awaited::Filter(call(flags, has_listener)));
            assert!(installed.awaits(5));
            installed.leave(5, Some(result));
            assert!(!installed.awaits(5));
            assert_eq!(installed.filters.len(), usize::from(is_installed), "{flags} {result}");
        }
    }
}
