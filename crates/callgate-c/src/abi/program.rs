//! Compiled programs.

use std::ffi::c_int;
use std::os::fd::IntoRawFd as _;

use callgate::SeccompData;

use super::call::{call, free, put};
use super::error::{elements, view};
use super::input::{handle, null};
use crate::error::{CDiagnostic, Error};
use crate::program::{CProgram, SockFilter};

/// `struct seccomp_data`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSeccompData {
    nr: c_int,
    arch: u32,
    instruction_pointer: u64,
    args: [u64; 6],
}

/// The instructions, and their number.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_program_instructions(
    program: *const CProgram,
    count: *mut usize,
) -> *const SockFilter {
    // SAFETY: the caller promises it.
    unsafe { elements(program.as_ref().map(|program| program.instructions.as_slice()), count) }
}

/// The flags with which the source wants to be installed.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_program_flags(program: *const CProgram) -> u32 {
    // SAFETY: the caller promises it.
    unsafe { program.as_ref() }.map_or(0, |program| program.flags().bits())
}

/// The warnings about the source.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_program_warnings(
    program: *const CProgram,
    count: *mut usize,
) -> *const CDiagnostic {
    // SAFETY: the caller promises it.
    unsafe { view(program.as_ref().map(|program| &program.warnings), count) }
}

/// The verdict for a syscall.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_simulate(
    program: *const CProgram,
    data: *const CSeccompData,
    verdict: *mut u32,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let program = unsafe { handle(program, "the program")? };
        if data.is_null() {
            return Err(null("the data of the syscall"));
        }
        if verdict.is_null() {
            return Err(null("the pointer to the verdict"));
        }
        // SAFETY: the caller promises that it is readable.
        let data = unsafe { data.read_unaligned() };
        let CSeccompData { nr, arch, instruction_pointer, args } = data;
        let data = SeccompData { nr: nr as u32, arch, instruction_pointer, args };
        // SAFETY: the caller promises that it is writable.
        unsafe { verdict.write(program.run(&data).0) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Sets `no_new_privs` and installs the program without a listener.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_install(
    program: *const CProgram,
    flags: u32,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: the caller promises it.
    let body = || unsafe { handle(program, "the program")? }.install(flags, true);
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Installs the program with or without `no_new_privs` and a listener.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_install_with(
    program: *const CProgram,
    flags: u32,
    no_new_privs: bool,
    listener: *mut c_int,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { put(listener, -1) };
    let body = || {
        // SAFETY: the caller promises it.
        let program = unsafe { handle(program, "the program")? };
        if listener.is_null() {
            return program.install(flags, no_new_privs);
        }
        let fd = program.install_with_listener(flags, no_new_privs)?;
        // SAFETY: the caller promises it.
        unsafe { put(listener, fd.into_raw_fd()) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Frees a program.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_program_free(program: *mut CProgram) {
    // SAFETY: the caller promises it.
    unsafe { free(program) }
}
