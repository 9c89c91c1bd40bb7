//! Calls that a signal interrupts while they wait for the listener. `unsafe` code: registers of a tracee.
//!
//! Until the listener has received a call, a signal ends its wait (`seccomp_do_user_notification` of
//! `kernel/seccomp.c`) with ERESTARTSYS. If a handler without SA_RESTART runs, the program would be told EINTR
//! by a call that was never made, and by calls that never tell it. The tracer sees the tracee just before the
//! handler runs (signal-delivery-stop), and changes the result to ERESTARTNOINTR, with which a call always
//! begins anew (`handle_signal` of `arch/x86/kernel/signal.c`).
//!
//! A call that is being made, and blocks, also ends with ERESTARTSYS, and must be left alone. It was received.
//! So an interrupted call that is not the one received last was not received. If it looks the same, as in a
//! loop, it was not received if it is one of those that no signal can interrupt.

use std::fs;

use callgate::Arch;
use callgate::recording::CallId;
use libc::pid_t;

use crate::record::tracer::{self, Call, Registers};

/// Of `include/linux/errno.h`.
const ERESTARTSYS: i64 = 512;
const ERESTARTNOINTR: i64 = 513;

/// Puts it right that a tracee, which is about to be given a signal, was interrupted before its call was made.
/// `received` is its last call that was.
pub(super) fn begin_anew(pid: pid_t, received: Option<&Call>) {
    let Some(registers) = tracer::registers(pid) else { return };
    if registers.result != -ERESTARTSYS || registers.nr == u32::MAX {
        return;
    }
    let blocks = received.is_some_and(|call| is_in(&registers, call) && may_block(pid, call));
    if !blocks {
        tracer::set_result(pid, -ERESTARTNOINTR);
    }
}

/// Whether these are registers during this call.
fn is_in(registers: &Registers, call: &Call) -> bool {
    let args = if call.arch == Arch::X86.token() { registers.args_32 } else { registers.args };
    (registers.nr, registers.ip, args) == (call.nr, call.ip, call.args)
}

/// Whether a signal may interrupt the call after it began: signal(7), "Interruption of system calls and
/// library functions by signal handlers".
fn may_block(pid: pid_t, call: &Call) -> bool {
    let name = CallId::of(call.arch, call.nr).and_then(CallId::name);
    match name.unwrap_or_default() {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64" | "writev"
        | "pwritev" | "pwritev2" | "ioctl" => {
            // Disks do not count as slow.
            let file = format!("/proc/{pid}/fd/{}", call.args[0] as i32);
            !fs::metadata(file).is_ok_and(|file| file.is_file() || file.is_dir())
        }
        "fcntl" | "fcntl64" => {
            matches!(call.args[1] as i32, libc::F_SETLKW | libc::F_OFD_SETLKW | F_SETLKW64_OF_X86)
        }
        "open"
        | "openat"
        | "openat2"
        | "creat"
        | "wait4"
        | "waitid"
        | "waitpid"
        | "accept"
        | "accept4"
        | "connect"
        | "recv"
        | "recvfrom"
        | "recvmsg"
        | "recvmmsg"
        | "recvmmsg_time64"
        | "send"
        | "sendto"
        | "sendmsg"
        | "sendmmsg"
        | "socketcall"
        | "ipc"
        | "flock"
        | "futex"
        | "futex_time64"
        | "futex_wait"
        | "futex_waitv"
        | "mq_open"
        | "mq_timedreceive"
        | "mq_timedreceive_time64"
        | "mq_timedsend"
        | "mq_timedsend_time64"
        | "getrandom"
        | "sendfile"
        | "sendfile64"
        | "splice"
        | "tee"
        | "vmsplice"
        | "copy_file_range"
        | "io_getevents"
        | "io_pgetevents"
        | "io_uring_enter"
        | "request_key"
        | "add_key"
        | "keyctl"
        | "finit_module"
        | "init_module" => true,
        _ => false,
    }
}

/// `F_SETLKW64` of `include/uapi/asm-generic/fcntl.h`, for 32-bit programs.
const F_SETLKW64_OF_X86: i32 = 14;
