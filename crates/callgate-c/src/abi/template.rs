//! Programs with variables.

use std::ffi::c_int;

use callgate_core::template::MAX_VARIABLES;

use super::call::{free, make};
use super::error::{elements, view};
use super::input::{CString, handle, list};
use crate::error::{CDiagnostic, Error};
use crate::program::{CProgram, CTemplate, CVariable};

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
