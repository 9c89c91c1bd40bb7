//! Compiles sources.

use std::ffi::c_int;

use callgate_requests::source::{Messages, SourceText};
use callgate_requests::{MAX_SOURCES, programs};

use super::call::make;
use super::input::{handle, list};
use super::options::{Options, options as read};
use crate::error::{Error, Failure};
use crate::program::{CProgram, CTemplate};
use crate::source::Source;

/// Compiles a source to a proved program.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_compile(
    source: *const Source,
    options: *const Options,
    program: *mut *mut CProgram,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, compiling) = unsafe { (handle(source, "the source")?, read(options)) };
        let mut warnings = Messages::new();
        match programs::compile(&source.text, &compiling, &mut warnings) {
            Ok(made) => Ok(CProgram::new(made, warnings)),
            Err(errors) => Err(Failure::source(warnings, errors)),
        }
    };
    // SAFETY: the caller promises it.
    unsafe { make(program, error, body) }
}

/// Compiles a policy to a program that is proved for all values of its variables.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_compile_template(
    source: *const Source,
    options: *const Options,
    template: *mut *mut CTemplate,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, compiling) = unsafe { (handle(source, "the source")?, read(options)) };
        let mut warnings = Messages::new();
        match programs::template(&source.text, &compiling, &mut warnings) {
            Ok(made) => Ok(CTemplate::new(made, warnings)),
            Err(errors) => Err(Failure::source(warnings, errors)),
        }
    };
    // SAFETY: the caller promises it.
    unsafe { make(template, error, body) }
}

/// Merges the filters of sources into one proved program.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_merge(
    sources: *const *const Source,
    count: usize,
    options: *const Options,
    program: *mut *mut CProgram,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (handles, compiling) =
            unsafe { (list(sources, count, MAX_SOURCES, "the list of sources")?, read(options)) };
        if handles.is_empty() {
            return Err(Failure::argument("the list of sources is empty", ""));
        }
        let mut all: Vec<SourceText> = Vec::new();
        for (nth, one) in handles.iter().enumerate() {
            // SAFETY: the caller promises it for each.
            let one = unsafe { handle(*one, "one of the sources")? };
            all.push(one.named(format!("sources[{nth}]")));
        }
        let mut warnings = Messages::new();
        match programs::merge(&all, &compiling, &mut warnings) {
            Ok(made) => Ok(CProgram::new(made, warnings)),
            Err(errors) => Err(Failure::source(warnings, errors)),
        }
    };
    // SAFETY: the caller promises it.
    unsafe { make(program, error, body) }
}
