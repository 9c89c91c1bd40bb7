//! Installs several filters, one on top of the other.

use std::io;

use callgate::needs_listener;
use callgate_bpf::FilterFlags;
use callgate_core::Program;
use libc::sock_filter;

use super::error::NOTIFIES;
use super::installer::code_of;
use crate::sys;

/// Installs several filters for the calling thread, the first one first, like
/// [`install_unproved`](super::install_unproved) without flags. Allocates memory before the first and makes as few
/// syscalls as possible afterwards, because each filter may deny the syscall that installs the next one.
///
/// # Errors
/// The index of the first filter that the kernel refuses, or that notifies a listener (EINVAL), and the reason. The filters before it stay installed.
pub fn install_unproved_stack(programs: &[Program]) -> Result<(), (usize, io::Error)> {
    install_all(programs, FilterFlags::NONE)
}

/// The same for all threads of the process, none of which may have a filter of its own.
///
/// # Errors
/// As for [`install_unproved_stack`]; ESRCH if a thread has another filter.
pub fn install_unproved_stack_in_all_threads(
    programs: &[Program],
) -> Result<(), (usize, io::Error)> {
    install_all(programs, FilterFlags::TSYNC)
}

/// Installs filters, the last one with these flags: with TSYNC, other threads get those before it, too.
fn install_all(programs: &[Program], last: FilterFlags) -> Result<(), (usize, io::Error)> {
    if let Some(number) = programs.iter().position(|program| needs_listener(program.insns())) {
        return Err((number, io::Error::new(io::ErrorKind::InvalidInput, NOTIFIES)));
    }
    let codes: Vec<Vec<sock_filter>> = programs.iter().map(code_of).collect();
    if !codes.is_empty() {
        sys::set_no_new_privs().map_err(|why| (0, why))?;
    }
    for (number, code) in codes.iter().enumerate() {
        let flags = if number + 1 == codes.len() { last } else { FilterFlags::NONE };
        match sys::seccomp_set_filter(code, flags.bits()) {
            Ok(0) => {}
            // The thread that could not be synchronised.
            Ok(_) => return Err((number, io::Error::from_raw_os_error(libc::ESRCH))),
            // An old kernel does not know the syscall, and a filter may allow only prctl(2).
            Err(why) if flags.is_empty() => {
                sys::prctl_set_filter(code).map_err(|_| (number, why))?;
            }
            Err(why) => return Err((number, why)),
        }
    }
    Ok(())
}
