//! The functions. `callgate.h` documents them for C; here are only their conditions of safety.
//!
//! # Safety
//!
//! A pointer to a handle is null, or a function returned it for a handle of this type that has not been freed. A pointer with
//! a length is null, or at least that many elements are readable. A pointer to a result is null or writable. During a call,
//! no other thread modifies or frees its arguments.

mod call;
mod compare;
mod compile;
mod error;
mod input;
mod program;
mod source;
mod text;

pub use compare::{callgate_diff, callgate_explain, callgate_lint, callgate_subset};
pub use compile::{
    CValue, Options, callgate_compile, callgate_compile_template, callgate_compile_text,
    callgate_merge, callgate_options_free, callgate_options_new, callgate_options_set,
    callgate_template_free, callgate_template_instantiate, callgate_template_variables,
    callgate_template_warnings,
};
pub use error::{
    callgate_error_diagnostics, callgate_error_errno, callgate_error_free, callgate_error_text,
};
pub use input::CString;
pub use program::{
    CSeccompData, callgate_install, callgate_install_with, callgate_program_flags,
    callgate_program_free, callgate_program_instructions, callgate_program_warnings,
    callgate_simulate,
};
pub use source::{
    callgate_source_add_file, callgate_source_add_source, callgate_source_expression,
    callgate_source_free, callgate_source_preset, callgate_source_program, callgate_source_set,
    callgate_source_set_variable, callgate_source_text,
};
pub use text::{
    Text, callgate_answer, callgate_text_data, callgate_text_free, callgate_text_warnings,
    callgate_version,
};
