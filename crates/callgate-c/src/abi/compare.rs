//! Explains, compares and checks sources.

use std::ffi::c_int;
use std::ptr::null_mut;

use callgate::lint::{Allow, AllowError, Level};
use callgate::sets::Arguments;
use callgate_requests::json::Json;
use callgate_requests::lint::Choice;
use callgate_requests::source::{Messages, SourceText};
use callgate_requests::{Operation, Request, run};

use super::call::{call, make, put};
use super::input::{CString, handle, list, null};
use super::text::Text;
use crate::error::{Error, Failure, Result, warned};
use crate::source::Source;

/// The maximum number of syscalls that one explanation is about.
const MAX_SYSCALLS: usize = 4096;

/// The value of `max` for all differences.
const ALL: u32 = u32::MAX;

/// Executes an operation on sources, the first of which says what the machine is.
fn execute(first: &SourceText, operation: Operation) -> Result<(Json, Messages)> {
    let request = Request { machine: first.reading.machine, operation };
    warned(|warnings| run(&request, warnings))
}

/// A member of an object.
fn member<'j>(json: &'j Json, key: &str) -> Option<&'j Json> {
    let Json::Object(fields) = json else { return None };
    fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Writes what matters of a result, and all of it unless the second pointer is null.
///
/// # Safety
/// The pointers are null or writable.
unsafe fn write<T>(
    outcome: *mut T,
    value: T,
    out: *mut *mut Text,
    (json, warnings): (Json, Messages),
) {
    let text = (!out.is_null()).then(|| Text::new(&format!("{json}\n"), warnings));
    let text = text.map_or(null_mut(), |text| Box::into_raw(Box::new(text)));
    // SAFETY: the caller promises it.
    unsafe {
        put(out, text);
        put(outcome, value);
    }
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
    // SAFETY: the caller promises it.
    unsafe { put(out, null_mut()) };
    let body = || {
        // SAFETY: the caller promises it.
        let (a, b) = unsafe { (handle(a, "the first source")?, handle(b, "the second source")?) };
        if outcome.is_null() {
            return Err(null("the pointer to the outcome"));
        }
        let max = Some(max).filter(|max| *max != ALL);
        let filters = [a.named("a"), b.named("b")];
        let result = execute(&a.text, operation(filters, max))?;
        let Some(Json::Bool(holds)) = member(&result.0, key).cloned() else {
            return Err(Failure::panic("a comparison has no outcome"));
        };
        // SAFETY: the caller promises it.
        unsafe { write(outcome, holds, out, result) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// The maximum number of silenced checks.
const MAX_ALLOW: usize = 4096;

/// The findings of a filter.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_lint(
    source: *const Source,
    level: u32,
    allow: *const CString,
    count: usize,
    findings: *mut usize,
    json: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { put(json, null_mut()) };
    let body = || {
        // SAFETY: the caller promises it.
        let (source, names) = unsafe {
            (
                handle(source, "the source")?,
                list(allow, count, MAX_ALLOW, "the list of silenced checks")?,
            )
        };
        if findings.is_null() {
            return Err(null("the pointer to the number of findings"));
        }
        let mut choice = Choice { level: self::level(level)?, ..Choice::default() };
        for name in names {
            // SAFETY: the caller promises it for each.
            let name = unsafe { name.text("the identifier of a check")? };
            let silenced: std::result::Result<Allow, AllowError> = name.parse();
            choice.allow.push(silenced.map_err(|error| Failure::argument(error.to_string(), ""))?);
        }
        let operation = Operation::Lint { source: source.text.clone(), choice };
        let result = execute(&source.text, operation)?;
        let Some(Json::Array(items)) = member(&result.0, "findings") else {
            return Err(Failure::panic("lint has no list of findings"));
        };
        let count = items.len();
        // SAFETY: the caller promises it.
        unsafe { write(findings, count, json, result) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// A value of `enum callgate_level`.
fn level(value: u32) -> Result<Level> {
    let found = usize::try_from(value).ok().and_then(|index| Level::ALL.get(index));
    found.copied().ok_or_else(|| {
        let message = format!("the level is {value}, which is not a callgate_level");
        Failure::argument(message, "give CALLGATE_LEVEL_NOTE, _WARNING or _ERROR")
    })
}
