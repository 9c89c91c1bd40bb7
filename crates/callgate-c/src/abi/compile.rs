//! Compiles sources: options, and programs with variables.

use std::ffi::{c_char, c_int};

use callgate_core::template::MAX_VARIABLES;
use callgate_requests::source::{SourceContent, SourceText};
use callgate_requests::{Compiling, MAX_SOURCES, programs};

use super::call::{call, free, make};
use super::error::{elements, view};
use super::input::{CString, handle, handle_mut, list, setting, text};
use crate::error::{CDiagnostic, Error, Failure, warned};
use crate::program::{CProgram, CTemplate, CVariable};
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
        let (made, warnings) =
            warned(|warnings| programs::compile(&source.text, &compiling, warnings))?;
        Ok(CProgram::new(made, warnings))
    };
    // SAFETY: the caller promises it.
    unsafe { make(program, error, body) }
}

/// Compiles a text to a proved program, with all defaults.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_compile_text(
    data: *const c_char,
    length: usize,
    program: *mut *mut CProgram,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let text = unsafe { text(data, length, "the text")? };
        let source = Source::new(SourceContent::Text(text.to_owned()))?;
        let compiling = Compiling::default();
        let (made, warnings) =
            warned(|warnings| programs::compile(&source.text, &compiling, warnings))?;
        Ok(CProgram::new(made, warnings))
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
        let (made, warnings) =
            warned(|warnings| programs::template(&source.text, &compiling, warnings))?;
        Ok(CTemplate::new(made, warnings))
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
        let (made, warnings) = warned(|warnings| programs::merge(&all, &compiling, warnings))?;
        Ok(CProgram::new(made, warnings))
    };
    // SAFETY: the caller promises it.
    unsafe { make(program, error, body) }
}

/// `callgate_options`.
#[derive(Debug, Default)]
pub struct Options(Compiling);

/// The options; the defaults for null.
///
/// # Safety
/// The pointer is null, or it points to options that nothing changes while they are used.
unsafe fn read(options: *const Options) -> Compiling {
    // SAFETY: the caller promises it.
    unsafe { options.as_ref() }.map_or_else(Compiling::default, |options| options.0.clone())
}

/// The defaults.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_new(
    options: *mut *mut Options,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { make(options, error, || Ok(Options::default())) }
}

/// Changes an option.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_set(
    options: *mut Options,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (options, (key, value)) = unsafe {
            (
                handle_mut(options, "the options")?,
                setting((key, key_length), (value, value_length))?,
            )
        };
        options.0.set(key, value).map_err(Failure::of_argument)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Frees options.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_free(options: *mut Options) {
    // SAFETY: the caller promises it.
    unsafe { free(options) }
}

/// `callgate_value`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CValue {
    name: CString,
    value: u64,
}

/// The variables, and their number.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_template_variables(
    template: *const CTemplate,
    count: *mut usize,
) -> *const CVariable {
    // SAFETY: the caller promises it.
    unsafe { elements(template.as_ref().map(|template| template.variables.as_slice()), count) }
}

/// The warnings about the source.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_template_warnings(
    template: *const CTemplate,
    count: *mut usize,
) -> *const CDiagnostic {
    // SAFETY: the caller promises it.
    unsafe { view(template.as_ref().map(|template| &template.warnings), count) }
}

/// The program for these values.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_template_instantiate(
    template: *const CTemplate,
    values: *const CValue,
    count: usize,
    program: *mut *mut CProgram,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // More than all, so that the message names the one that is too many.
        let max = 2 * MAX_VARIABLES;
        // SAFETY: the caller promises it.
        let (template, values) = unsafe {
            (handle(template, "the template")?, list(values, count, max, "the list of values")?)
        };
        let mut named = Vec::new();
        for CValue { name, value } in values {
            // SAFETY: the caller promises it for each.
            named.push((unsafe { name.text("the name of a variable")? }, *value));
        }
        template.instantiate(&named)
    };
    // SAFETY: the caller promises it.
    unsafe { make(program, error, body) }
}

/// Frees a template.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_template_free(template: *mut CTemplate) {
    // SAFETY: the caller promises it.
    unsafe { free(template) }
}
