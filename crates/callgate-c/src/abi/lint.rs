//! Mistakes in a source, and ways to evade it.

use std::ffi::c_int;
use std::ptr::null_mut;

use callgate::lint::{Allow, AllowError, Level};
use callgate_requests::Operation;
use callgate_requests::json::Json;
use callgate_requests::lint::Choice;

use super::call::call;
use super::compare::execute;
use super::input::{CString, handle, list, null};
use super::text::Text;
use crate::error::{Error, Failure, Result};
use crate::source::Source;

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
    if !json.is_null() {
        // SAFETY: the caller promises it.
        unsafe { json.write(null_mut()) };
    }
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
        let (result, warnings) = execute(&source.text, operation)?;
        let found = length(&result, "findings")
            .ok_or_else(|| Failure::panic("lint has no list of findings"))?;
        if !json.is_null() {
            let text = Box::new(Text::new(&format!("{result}\n"), warnings));
            // SAFETY: the caller promises it.
            unsafe { json.write(Box::into_raw(text)) };
        }
        // SAFETY: it is not null, so the caller promises that it is writable.
        unsafe { findings.write(found) };
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

/// The number of items of a member of an object.
fn length(json: &Json, key: &str) -> Option<usize> {
    let Json::Object(fields) = json else { return None };
    fields.iter().find_map(|(name, value)| match value {
        Json::Array(items) if *name == key => Some(items.len()),
        _ => None,
    })
}
