//! Explains and compares sources.

use std::ffi::c_int;
use std::ptr::null_mut;

use callgate::sets::Arguments;
use callgate_requests::json::Json;
use callgate_requests::source::{Messages, SourceText};
use callgate_requests::{Operation, Request, run};

use super::call::{call, make};
use super::input::{CString, handle, list, null};
use super::text::Text;
use crate::error::{Error, Failure, Result};
use crate::source::Source;

/// The maximum number of syscalls that one explanation is about.
const MAX_SYSCALLS: usize = 4096;

/// The value of `max` for all differences.
const ALL: u32 = u32::MAX;

/// Executes an operation on sources, the first of which says what the machine is.
pub(super) fn execute(first: &SourceText, operation: Operation) -> Result<(Json, Messages)> {
    let mut warnings = Messages::new();
    let request = Request { machine: first.reading.machine, operation };
    match run(&request, &mut warnings) {
        Ok(json) => Ok((json, warnings)),
        Err(errors) => Err(Failure::source(warnings, errors)),
    }
}

/// A member of an object.
fn boolean(json: &Json, key: &str) -> Option<bool> {
    let Json::Object(fields) = json else { return None };
    fields.iter().find_map(|(name, value)| match value {
        Json::Bool(value) if *name == key => Some(*value),
        _ => None,
    })
}

/// Lists what a filter does with each syscall, or with these.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_explain(
    source: *const Source,
    syscalls: *const CString,
    count: usize,
    json: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (source, names) = unsafe {
            (
                handle(source, "the source")?,
                list(syscalls, count, MAX_SYSCALLS, "the list of syscalls")?,
            )
        };
        let mut syscalls = Vec::new();
        for name in names {
            // SAFETY: the caller promises it for each.
            syscalls.push(unsafe { name.text("the name of a syscall")? }.to_owned());
        }
        let operation = Operation::Explain { source: source.text.clone(), syscalls };
        let (json, warnings) = execute(&source.text, operation)?;
        Ok(Text::new(&format!("{json}\n"), warnings))
    };
    // SAFETY: the caller promises it.
    unsafe { make(json, error, body) }
}

/// Compares two filters for all syscalls.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_diff(
    a: *const Source,
    b: *const Source,
    max: u32,
    same: *mut bool,
    json: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    let operation = |filters, max| Operation::Diff { filters, max, arguments: Arguments::Filter };
    // SAFETY: the caller promises it.
    unsafe { compare(a, b, max, "same", operation, same, json, error) }
}

/// Whether a filter permits nothing that another one does not, as the kernel reads arguments.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_subset(
    a: *const Source,
    b: *const Source,
    max: u32,
    subset: *mut bool,
    json: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    let operation =
        |filters, max| Operation::Subset { filters, max, arguments: Some(Arguments::Kernel) };
    // SAFETY: the caller promises it.
    unsafe { compare(a, b, max, "subset", operation, subset, json, error) }
}

/// Compares two sources, and writes the member `key` of the result and, unless `out` is null, all of it.
///
/// # Safety
/// As for both functions above.
#[expect(
    clippy::too_many_arguments,
    reason = "those of the functions above, and what distinguishes them"
)]
unsafe fn compare(
    a: *const Source,
    b: *const Source,
    max: u32,
    key: &str,
    operation: impl FnOnce([SourceText; 2], Option<u32>) -> Operation,
    outcome: *mut bool,
    out: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    if !out.is_null() {
        // SAFETY: the caller promises it.
        unsafe { out.write(null_mut()) };
    }
    let body = || {
        // SAFETY: the caller promises it.
        let (a, b) = unsafe { (handle(a, "the first source")?, handle(b, "the second source")?) };
        if outcome.is_null() {
            return Err(null("the pointer to the outcome"));
        }
        let max = Some(max).filter(|max| *max != ALL);
        let filters = [a.named("a"), b.named("b")];
        let (json, warnings) = execute(&a.text, operation(filters, max))?;
        let Some(holds) = boolean(&json, key) else {
            return Err(Failure::panic("a comparison has no outcome"));
        };
        if !out.is_null() {
            let text = Box::new(Text::new(&format!("{json}\n"), warnings));
            // SAFETY: the caller promises it.
            unsafe { out.write(Box::into_raw(text)) };
        }
        // SAFETY: it is not null, so the caller promises that it is writable.
        unsafe { outcome.write(holds) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}
