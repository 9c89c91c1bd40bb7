//! Sources.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};

use callgate_core::RawInsn;
use callgate_requests::MAX_REQUEST;
use callgate_requests::source::SourceContent;

use super::call::{call, free, make};
use super::input::{handle, handle_mut, list, setting, text};
use crate::error::{Error, Failure};
use crate::program::SockFilter;
use crate::source::Source;

/// A policy, or a program as text.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_text(
    data: *const c_char,
    length: usize,
    source: *mut *mut Source,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let text = unsafe { text(data, length, "the text")? };
        Source::new(SourceContent::Text(text.to_owned()))
    };
    // SAFETY: the caller promises it.
    unsafe { make(source, error, body) }
}

/// A preset by its name.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_preset(
    name: *const c_char,
    length: usize,
    source: *mut *mut Source,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let name = unsafe { text(name, length, "the name")? };
        Source::new(SourceContent::Preset(name.to_owned()))
    };
    // SAFETY: the caller promises it.
    unsafe { make(source, error, body) }
}

/// A program.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_program(
    instructions: *const SockFilter,
    count: usize,
    source: *mut *mut Source,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        let max = MAX_REQUEST / size_of::<SockFilter>();
        // SAFETY: the caller promises it.
        let insns = unsafe { list(instructions, count, max, "the program")? };
        let insn = |insn: &SockFilter| {
            let SockFilter { code, jt, jf, k } = *insn;
            RawInsn { code, jt, jf, k }
        };
        Source::new(SourceContent::Insns(insns.iter().map(insn).collect()))
    };
    // SAFETY: the caller promises it.
    unsafe { make(source, error, body) }
}

/// A combination of other sources.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_expression(
    data: *const c_char,
    length: usize,
    source: *mut *mut Source,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let text = unsafe { text(data, length, "the expression")? };
        Source::new(SourceContent::Expression(text.to_owned(), BTreeMap::new()))
    };
    // SAFETY: the caller promises it.
    unsafe { make(source, error, body) }
}

/// Adds a source that an expression combines.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_add_source(
    expression: *mut Source,
    name: *const c_char,
    name_length: usize,
    source: *const Source,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it. The source is copied before the expression is borrowed, as both may be the same.
        let source = unsafe { handle(source, "the source")? }.text.clone();
        // SAFETY: the caller promises it.
        let (expression, name) = unsafe {
            (handle_mut(expression, "the expression")?, text(name, name_length, "the name")?)
        };
        expression.add_source(name, source)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Changes how a source is read.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_set(
    source: *mut Source,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, (key, value)) = unsafe {
            (handle_mut(source, "the source")?, setting((key, key_length), (value, value_length))?)
        };
        callgate_requests::set(&mut source.text, key, value).map_err(Failure::of_argument)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Adds a file that the source may include.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_add_file(
    source: *mut Source,
    name: *const c_char,
    name_length: usize,
    data: *const c_char,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, name, text) = unsafe {
            (
                handle_mut(source, "the source")?,
                text(name, name_length, "the name")?,
                text(data, length, "the text")?,
            )
        };
        source.add_file(name, text)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Gives a variable of the policy a value.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_set_variable(
    source: *mut Source,
    name: *const c_char,
    name_length: usize,
    value: u64,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, name) = unsafe {
            (handle_mut(source, "the source")?, text(name, name_length, "the name of a variable")?)
        };
        source.set_variable(name, value)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Frees a source.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_source_free(source: *mut Source) {
    // SAFETY: the caller promises it.
    unsafe { free(source) }
}
