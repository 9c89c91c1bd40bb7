//! Safe wrappers around ptrace(2), waitpid(2) and signals. `unsafe` code.

use std::io;

use callgate::Arch;
use callgate_linux::sys::PtraceRequest;
use libc::{c_int, c_ulong, c_void, pid_t, siginfo_t};

/// Events that tracees report, besides signals and their ends.
const OPTIONS: c_int = libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// `PTRACE_GET_SYSCALL_INFO` of `include/uapi/linux/ptrace.h`, since Linux 5.3.
const GET_SYSCALL_INFO: PtraceRequest = 0x420e;

/// A syscall that is about to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syscall {
    /// The arch token.
    pub(super) arch: u32,
    pub(super) nr: u32,
    /// The address of the next instruction.
    pub(super) ip: u64,
    pub(super) args: [u64; 6],
}

/// `struct ptrace_syscall_info`, with the members for syscall-enter stops and seccomp stops.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    ip: u64,
    sp: u64,
    nr: u64,
    args: [u64; 6],
    data: u32,
    reserved: u32,
}

/// `PTRACE_SYSCALL_INFO_ENTRY`, `PTRACE_SYSCALL_INFO_EXIT` and `PTRACE_SYSCALL_INFO_SECCOMP`.
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const SECCOMP: u8 = 3;

/// A request whose arguments are integers.
fn request(request: PtraceRequest, pid: pid_t, addr: usize, data: usize) -> io::Result<()> {
    // SAFETY: the requests of the callers take integers and touch no memory of this process.
    let result = unsafe { libc::ptrace(request, pid, addr as *mut c_void, data as *mut c_void) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Starts to trace a process, without stopping it.
pub(super) fn seize(pid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, 0, OPTIONS as usize)
}

/// Resumes a tracee with a signal or 0; if `stops_at_syscalls` is set, until the next start or end of a syscall.
pub(super) fn resume(pid: pid_t, stops_at_syscalls: bool, signal: c_int) -> io::Result<()> {
    let how = if stops_at_syscalls { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    request(how, pid, 0, signal as usize)
}

/// Leaves a tracee in its group-stop, and reports when it continues.
pub(super) fn listen(pid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, pid, 0, 0)
}

/// Stops a tracee, without a signal.
pub(super) fn interrupt(pid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, pid, 0, 0)
}

/// Kills the process of a tracee that was not reaped.
pub(super) fn kill(pid: pid_t) {
    // SAFETY: takes numbers; no other process has this ID until it is reaped.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// The new process of a fork event, or the former thread ID of an exec event.
pub(super) fn event_message(pid: pid_t) -> io::Result<pid_t> {
    let mut message: c_ulong = 0;
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: the kernel writes one `unsigned long` at the pointer, which is valid for it.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, none, &raw mut message) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(message as pid_t) }
}

/// The syscall at whose start a tracee is stopped; `None` if it is stopped elsewhere.
pub(super) fn syscall(pid: pid_t) -> io::Result<Option<Syscall>> {
    let CallInfo { op, arch, ip, nr, args, .. } = call_info(pid)?;
    let syscall = Syscall { arch, nr: nr as u32, ip, args };
    Ok(matches!(op, ENTRY | SECCOMP).then_some(syscall))
}

/// The result of the syscall at whose end a tracee is stopped; `None` if it is stopped elsewhere or was killed.
pub(super) fn result(pid: pid_t) -> Option<i64> {
    let info = call_info(pid).ok()?;
    // At the end of a syscall, the result is in the place of the number.
    (info.op == EXIT).then_some(info.nr as i64)
}

fn call_info(pid: pid_t) -> io::Result<CallInfo> {
    let mut info = CallInfo::default();
    let size = size_of::<CallInfo>();
    // SAFETY: the kernel writes at most `size` bytes at the pointer, which is valid for them; each
    // member is an integer, so that any bytes are a valid value.
    let result = unsafe { libc::ptrace(GET_SYSCALL_INFO, pid, size as *mut c_void, &raw mut info) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// Eight bytes of a tracee's memory.
pub(super) fn memory(pid: pid_t, address: u64) -> Option<u64> {
    let mut word = [0; 8];
    read_memory(pid, address, &mut word)?;
    Some(u64::from_ne_bytes(word))
}

/// Reads as many bytes of a tracee's memory as there is room for; `None` if it does not have all of them.
pub(super) fn read_memory(pid: pid_t, address: u64, bytes: &mut [u8]) -> Option<()> {
    let len = bytes.len();
    let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
    let from = libc::iovec { iov_base: address as usize as *mut c_void, iov_len: len };
    // SAFETY: the kernel writes at most `len` bytes to `bytes`; the other address is the tracee's.
    let read = unsafe { libc::process_vm_readv(pid, &raw const to, 1, &raw const from, 1, 0) };
    (read == len as isize).then_some(())
}

/// Whether a thread is the main thread of its process.
pub(super) fn is_process(pid: pid_t) -> bool {
    // SAFETY: takes numbers; signal 0 only checks that the thread belongs to the process.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, 0) == 0 }
}

/// Whether a thread has this ID, including zombies.
pub(super) fn exists(thread: pid_t) -> bool {
    // SAFETY: takes numbers; signal 0 only checks that the target exists.
    let result = unsafe { libc::kill(thread, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Waits for a stop or the end of one child or tracee of this thread, or of any (`pid` -1).
pub(super) fn wait(pid: pid_t) -> io::Result<(pid_t, c_int)> {
    wait_for(pid, 0)
}

/// A child or tracee of this thread that has stopped or ended, if there is one.
pub(super) fn next() -> io::Result<Option<(pid_t, c_int)>> {
    wait_for(-1, libc::WNOHANG).map(|event| Some(event).filter(|(pid, _)| *pid != 0))
}

/// Waits until a child has ended, without reaping it: its process ID stays its own.
pub(super) fn wait_for_end(pid: pid_t) -> io::Result<()> {
    look(pid, libc::WEXITED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD).map(drop)
}

/// Whether a child has ended and was not reaped.
pub(super) fn has_ended(pid: pid_t) -> bool {
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    !look(pid, how).is_ok_and(|(who, _)| who == 0)
}

/// What has changed for a child, by waitid(2): its ID, or 0 if nothing has changed, and its status.
fn look(pid: pid_t, how: c_int) -> io::Result<(pid_t, c_int)> {
    // SAFETY: a structure of zeros is a valid value.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to `info`.
    match unsafe { libc::waitid(libc::P_PID, pid as u32, &raw mut info, how) } {
        // SAFETY: `waitid` wrote both, or left them 0.
        0 => Ok(unsafe { (info.si_pid(), info.si_status()) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn wait_for(pid: pid_t, flags: c_int) -> io::Result<(pid_t, c_int)> {
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::__WNOTHREAD | flags) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok((pid, status)),
    }
}

/// Information about the signal that is about to be delivered to a tracee.
pub(super) fn signal_info(pid: pid_t) -> Option<siginfo_t> {
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: a structure of zeros is a valid value.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes this structure.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, pid, none, &raw mut info) };
    (result != -1).then_some(info)
}

/// Changes this information. Does nothing if the tracee was killed.
pub(super) fn set_signal_info(pid: pid_t, info: &siginfo_t) {
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: the kernel reads this structure.
    unsafe { libc::ptrace(libc::PTRACE_SETSIGINFO, pid, none, &raw const *info) };
}

/// Sends a signal to a tracee. Returns false if its queue is full, but true if it has ended.
pub(super) fn send(thread: pid_t, signal: c_int) -> bool {
    // SAFETY: takes numbers; no other thread has this ID until it is reaped.
    let result = unsafe { libc::syscall(libc::SYS_tkill, thread, signal) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN)
}

/// Whether [`send`] may have sent a signal.
pub(super) fn is_sent(info: &siginfo_t) -> bool {
    // SAFETY: with this code the kernel wrote a sender, which is 0 in another PID namespace.
    info.si_code == libc::SI_TKILL && unsafe { [0, libc::getpid()].contains(&info.si_pid()) }
}

/// The signal for which a tracee has stopped, 0 for another reason; `None` if it has not stopped. Does not reap it.
pub(super) fn signal_of_stop(pid: pid_t) -> Option<c_int> {
    let (who, status) = look(pid, libc::WSTOPPED | libc::WNOHANG | libc::__WALL).ok()?;
    (who != 0).then_some(if status >> 8 == 0 { status } else { 0 })
}

/// The registers of a stopped tracee that describe its syscall.
pub(super) struct Registers {
    /// The number of the syscall; all ones outside of a syscall.
    pub(super) nr: u32,
    pub(super) ip: u64,
    pub(super) args: [u64; 6],
    /// The arguments of a 32-bit program.
    pub(super) args_32: [u64; 6],
    /// The result of the syscall.
    pub(super) result: i64,
}

/// `ERESTARTSYS` of `include/linux/errno.h`.
const ERESTARTSYS: i64 = 512;

impl Registers {
    /// Whether a signal interrupted the syscall.
    pub(super) fn is_interrupted(&self) -> bool {
        self.result == -ERESTARTSYS && self.nr != u32::MAX
    }

    /// Whether the tracee is in this syscall.
    pub(super) fn are_in(&self, syscall: &Syscall) -> bool {
        let args = if syscall.arch == Arch::X86.token() { self.args_32 } else { self.args };
        (self.nr, self.ip, args) == (syscall.nr, syscall.ip, syscall.args)
    }
}

/// `None` if the tracee was killed, and on machines other than x86-64.
#[cfg(target_arch = "x86_64")]
pub(super) fn registers(pid: pid_t) -> Option<Registers> {
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: all members are integers.
    let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes this structure.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, none, &raw mut regs) };
    (result != -1).then_some(Registers {
        nr: regs.orig_rax as u32,
        ip: regs.rip,
        args: [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9],
        args_32: [regs.rbx, regs.rcx, regs.rdx, regs.rsi, regs.rdi, regs.rbp]
            .map(|register| u64::from(register as u32)),
        result: regs.rax as i64,
    })
}

/// Changes the result of a syscall. Does nothing if the tracee was killed.
#[cfg(target_arch = "x86_64")]
pub(super) fn set_result(pid: pid_t, result: i64) {
    let offset = std::mem::offset_of!(libc::user_regs_struct, rax);
    let _ = request(libc::PTRACE_POKEUSER, pid, offset, result as usize);
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn registers(_: pid_t) -> Option<Registers> {
    None
}

/// Changes the result of a syscall. Does nothing if the tracee was killed.
#[cfg(target_arch = "aarch64")]
pub(super) fn set_result(pid: pid_t, result: i64) {
    // `struct user_pt_regs`: x0 to x30, sp, pc, pstate.
    let mut registers = [0_u64; 34];
    let mut vector =
        libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size_of_val(&registers) };
    for request in [libc::PTRACE_GETREGSET, libc::PTRACE_SETREGSET] {
        let which = libc::NT_PRSTATUS as usize as *mut c_void;
        // SAFETY: the kernel writes or reads at most `iov_len` bytes at the registers.
        if unsafe { libc::ptrace(request, pid, which, &raw mut vector) } == -1 {
            return;
        }
        registers[0] = result as u64;
    }
}

/// Does nothing: the registers of this machine are not known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn set_result(_: pid_t, _: i64) {}
