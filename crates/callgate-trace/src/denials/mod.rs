//! Denials in logs: which syscalls a filter denied, how often, and to which programs.
//!
//! | form | example |
//! |---|---|
//! | audit record of auditd, `ausearch -i`, `dmesg`, the journal | `type=1326 audit(…): … comm="x" … arch=c000003e syscall=165 … code=0x50001` |
//! | `journalctl -o json` | a record in `MESSAGE` |
//! | fields of the journal (`-o export`, `-o json-pretty`, `-o verbose`) | a record behind `MESSAGE=` or `"MESSAGE" : "` |
//! | `SIGSYS` in a strace log | `--- SIGSYS {…, si_syscall=__NR_mount, si_arch=AUDIT_ARCH_X86_64} ---` |
//! | `$_siginfo` of gdb | `_sigsys = {_call_addr = 0x…, _syscall = 165, _arch = 3221225534}` |
//! | reports of programs | `blocked syscall: mount` (minijail), `bad syscall (165)` (Firecracker), `failure in syscall nr=0xa5 arg1=0x0` (Chromium), `seccomp sandbox violation: … syscall 165, args 0 …` (Firefox), `bad syscall attempt (syscall mount)` (Tor), `unexpected system call (arch:0xc000003e,syscall:165 @ …)` (OpenSSH) |
//! | reports of Sandbox2, Inspektor Gadget, snappy-debug, gVisor | `SANDBOX VIOLATION : … [X86-64] mount [165](…)`, `{"syscall":"mount","code":"kill_thread"}`, `Log: auid=… arch=c000003e 165(mount) …` |
//! | stacks of native code | `terminated with signal SIGSYS`, with the innermost function below: `#0  0x7f… in clone3 ()` |
//! | tracebacks of Go | `SIGSYS: bad system call`, with the registers or the frames below |
//! | any other line that says that something was denied, and names the syscall | `the clone3 syscall was blocked by seccomp`, `arch=c000003e syscall=165` |
//! | error logs of the JVM | `#  SIGSYS (0x1f) at pc=0x…`, with the registers below |
//! | crash dumps of Android | `disallowed x86_64 system call 165`, with the registers below |
//! | a syscall in a strace log | `mount("a", "b", …) = -1 EPERM (Operation not permitted)`, `mount(…) = ?` |
//! | error messages of programs | `unshare: unshare failed: Operation not permitted`, `mbind: Operation not permitted` |
//!
//! A syscall that failed may have other reasons than a filter. Therefore the caller of [`DenialReader`] says which
//! calls count, and which arguments matter for them; all other arguments are dropped, so that equal denials are one. The
//! memory is bounded for any log: at most [`MAX_DENIALS`] distinct denials are kept, lines of at most 16 MiB, and what
//! [strace logs](crate::read) need.
//!
//! Lines of other kinds are skipped. A line that looks like a denial (`logs/markers.rs` has the texts), but whose syscall is not
//! known, is counted, with the reason. [`DenialLog::is_recognized`] says whether the log is one that could have denials. The
//! text may contain any bytes.

mod audit;
mod error_hints;
mod error_message;
mod error_sentences;
mod error_text;
mod free_text;
mod go_traceback;
mod jvm;
mod line;
mod model;
mod other_records;
mod reader;
mod recognized;
mod report;
mod sandboxes;
mod signals;
mod stack;
mod strace;
mod tally;
mod tombstone;
mod translations;
mod wrapped;
mod wrappers;

pub use model::{
    Denial, DenialLog, Evidence, LoggedCall, MAX_DENIALS, OtherDenials, SecurityModule, Unread,
    UnreadLine,
};
pub use reader::DenialReader;

#[cfg(test)]
mod go_tests;
#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod tests;
