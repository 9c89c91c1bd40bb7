//! Programs as source code in C, Rust and Go: an array, and functions that set variables and install the filter.
//!
//! ```
//! use callgate::emit::{SourceLanguage, SourceOptions, source};
//! use callgate::{Arch, Filter};
//!
//! let program = Filter::builder(Arch::X86_64).allow(["read"])?.build()?.compile()?;
//! let options = SourceOptions { installer: true, ..SourceOptions::new(SourceLanguage::C) };
//! let text = source(&program, &options)?;
//! assert!(text.contains("static inline int install_filter(void)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program with variables becomes a function with a parameter for each variable, so that the compiler of the language
//! rejects a missing value and one of the wrong type:
//!
//! ```
//! use callgate::emit::{SourceLanguage, SourceOptions, template_source};
//! use callgate::{Arch, Filter, arg, var};
//!
//! let builder = Filter::builder(Arch::X86_64);
//! let filter = builder.allow_if("read", arg("fd").eq(var("input")))?.build()?;
//! let template = filter.compile_template()?;
//! let text = template_source(&template, &SourceOptions::new(SourceLanguage::Rust))?;
//! assert!(text.contains("pub const fn filter(input: u32) -> [libc::sock_filter;"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod installer;
mod language;
mod names;
mod source;
mod variables;

pub use language::{EmitError, EmitErrorKind, SourceLanguage, target_condition};
pub use source::{
    SourceOptions, TargetCode, TargetProgram, parameters, source, source_for_targets,
    template_source,
};
