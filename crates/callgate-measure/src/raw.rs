//! Syscalls, time, and the processor to run on.

use std::io;

use libc::c_long;

/// A syscall with its arguments, which must not make the kernel write to memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSyscall {
    pub(crate) nr: c_long,
    pub(crate) args: [u64; 6],
    /// Whether the arguments are chosen, so that the process must have no descriptors.
    pub(crate) is_chosen: bool,
}

impl RawSyscall {
    /// A syscall with arguments of the caller.
    ///
    /// # Safety
    /// The kernel must not write to memory of this process, and the syscall must not change anything that this process or
    /// another one relies on. The process that makes it may have open descriptors.
    pub const unsafe fn new(nr: c_long, args: [u64; 6]) -> RawSyscall {
        RawSyscall { nr, args, is_chosen: false }
    }
}

/// Makes a syscall; returns the value of the kernel, which may be a negative errno.
///
/// # Safety
/// The effects of the syscall must not break anything that this process relies on.
#[inline(always)]
pub unsafe fn system_call(nr: c_long, args: [u64; 6]) -> i64 {
    let result: i64;
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: the kernel changes only rax, rcx and r11; the caller guarantees the rest.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") nr => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel changes only x0; the caller guarantees the rest.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") nr,
            inlateout("x0") args[0] => result,
            in("x1") args[1], in("x2") args[2], in("x3") args[3],
            in("x4") args[4], in("x5") args[5],
            options(nostack),
        );
    }
    #[cfg(not(any(
        all(target_arch = "x86_64", target_pointer_width = "64"),
        target_arch = "aarch64"
    )))]
    {
        let [a, b, c, d, e, f] = args.map(|arg| arg as c_long);
        // SAFETY: guaranteed by the caller.
        let returned = unsafe { libc::syscall(nr, a, b, c, d, e, f) };
        result = match returned {
            -1 => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
            returned => returned as i64,
        };
    }
    result
}

/// Makes a syscall in a function that returns afterwards, as programs make it through their C library.
///
/// A filter may make the next return of the program slower, because the kernel itself returns more often, or empties the processor's
/// predictor of returns: on one machine, the smallest filter adds 27 ns to the instruction alone, and 49 ns to this function.
///
/// # Safety
/// As of [`system_call`].
#[inline(never)]
pub(crate) unsafe fn called_system_call(nr: c_long, args: [u64; 6]) -> i64 {
    // SAFETY: guaranteed by the caller. The result is used, so the call is not the end of this function.
    std::hint::black_box(unsafe { system_call(nr, args) })
}

/// The monotonic clock in nanoseconds. Common machines read it without a syscall (vDSO); `None` if it needs one and a
/// filter denies it.
#[inline]
pub fn now() -> Option<u64> {
    read(libc::CLOCK_MONOTONIC)
}

/// The CPU time of this thread in nanoseconds; `None` if a filter denies the syscall.
pub fn processor_time() -> Option<u64> {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (failed == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The processors on which this thread may run.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a set of bits may be all zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the set is valid for writes and has this size.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: the number is below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Pins this thread to one processor.
///
/// # Errors
/// If the processor does not exist, or this thread may not run on it.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: a set of bits may be all zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: the number is below the size of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid and has this size.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes all descriptors of this process, and prevents new ones.
pub(crate) fn give_up_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: numbers only; nothing in this process uses a descriptor afterwards.
    let closed = unsafe {
        libc::syscall(libc::SYS_close_range, 0 as c_long, u32::MAX as c_long, 0 as c_long)
    };
    if closed != 0 {
        // Before Linux 5.9.
        for number in 0..limit.rlim_cur.min(1 << 20) {
            // SAFETY: as above.
            unsafe { libc::close(number as libc::c_int) };
        }
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is valid.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ignores SIGINT: the parent handles it and ends this process.
pub(crate) fn ignore_interrupts() {
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syscalls_return_errnos() {
        // SAFETY: closing no file does nothing.
        let closed = unsafe { system_call(libc::SYS_close, [u64::MAX, 0, 0, 0, 0, 0]) };
        assert_eq!(closed, -i64::from(libc::EBADF));
    }

    #[test]
    fn a_thread_can_be_pinned_to_what_it_may_run_on() {
        let Some(cpu) = allowed_cpus().pop() else { return };
        std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(allowed_cpus(), [cpu]);
        })
        .join()
        .unwrap();
        assert!(pin(1 << 20).is_err());
    }
}
