//! Part of the command `callgate`, without a stable interface.
//!
//! Callgate as one function from JSON to JSON: the interface of the bindings for other languages, and what they share
//! with the command.
//!
//! [`answer`] takes a request and returns an answer. It does no I/O and reads no clock, and it never panics: whatever is
//! wrong is an error in the answer, with the line and column in the source or in the request.
//!
//! ```
//! let answer = callgate_requests::answer(
//!     r#"{"request": "compile", "machine": "x86_64", "source": {"format": "kafel", "text": "ALLOW { read } DEFAULT KILL"}}"#,
//! );
//! assert!(answer.contains("\"proved\": true"));
//! ```
//!
//! # Requests
//!
//! A request is an object. Unknown keys are errors.
//!
//! | key | in | value |
//! |---|---|---|
//! | `request` | all | `compile`, `template`, `optimize`, `merge`, `explain`, `diff`, `subset`, `simulate`, `lint` or `recording` |
//! | `machine` | all | the architecture of the machine: the default where a source names none |
//! | `source` | `compile`, `template`, `optimize`, `explain`, `simulate`, `lint` | a source |
//! | `sources` | `merge` | a list of sources, the oldest filter first |
//! | `a`, `b` | `diff`, `subset` | two sources |
//! | `options` | `compile`, `template`, `optimize`, `merge`, `simulate` | `model`, `optimize`, `instructions`: as the options of `callgate compile`; `weights`: the text of a file of weights |
//! | `syscalls` | `explain` | names or numbers; all without it |
//! | `max` | `diff`, `subset` | the maximum number of differences; all without it |
//! | `arguments` | `diff`, `subset` | which bits of arguments count: `filter` (all 64; default of `diff`) or `kernel` (those that the kernel reads; default of `subset`) |
//! | `level`, `allow` | `lint` | the least serious findings that count, `note`, `warning` (the default) or `error`; a list of silenced checks, each `ID` or `ID=SYSCALL` |
//! | `text`, `name`, `strict`, `partial` | `recording` | a recording as text, in any format of `callgate check`; its name in messages; whether unknown names are errors; whether the complete entries of truncated JSON are read |
//! | `syscall`, `args`, `arch`, `instruction_pointer` | `simulate` | a name or a number; numbers or strings such as `O_RDWR`; the ABI |
//!
//! A source is an object with exactly one of `text`, `insns` (a list of `[code, jt, jf, k]`), `hex` (a program as bytes),
//! `preset` (the name of a preset, or `container-default`) and `expression`, and with these keys:
//!
//! | key | value |
//! |---|---|
//! | `name` | the name in messages; its extension helps to recognize the format |
//! | `format` | a format such as `docker` or `kafel`; without it, the content decides as in the command |
//! | `files` | an object from names to texts: the files that a policy includes, base profiles, or the drop-ins of a unit (`UNIT.d/*.conf`) |
//! | `part` | the part of a text with several: the name of a Kubernetes resource, the thread of a Firecracker document, or the name or line of an array in source code |
//! | `sources` | for `expression`: an object from names to the sources that it combines, which are not expressions |
//! | `arches` | a list of architectures |
//! | `kernel` | the kernel version for conditions of a profile; required for profiles and units |
//! | `set` | an object from the names of variables to their values: numbers, or strings such as `0x10` and `-1` |
//! | `define`, `undefine` | lists of macros of C, `"NAME=VALUE"`, `"NAME"`, that a program as text is read with |
//! | `caps`, `enosys_above`, `libseccomp`, `runc`, `crun`, `systemd`, `minijail_semantics`, `strict`, `endian` | as the options of the command |
//!
//! An expression combines sources, as `A + B - C ^ D` in the command: `app + ptrace - preset:no-io-uring`. Its names are those of
//! `sources`, of presets and of syscalls. Its sources are read with their own keys.
//!
//! With `format` but without any of these, a source consists of its `files`: the lists of bionic, of which `part` chooses a
//! filter (`android`), or drop-ins alone (`systemd`).
//!
//! `compile` and all others need the values of variables; `template` returns a program without them, whose result has the
//! keys of `compile` and `variables`, `patches` as `callgate compile --emit json`.
//!
//! # Answers
//!
//! `{"result": …, "warnings": […]}` or `{"errors": […]}`. Results have the keys of `--format json`, without times. A
//! message has the keys `severity`, `source`, `line`, `column`, `message` and `help`; `source` is null for a message about
//! the request, whose line and column are then those in the request. Errors have warnings among them.
//!
//! The result of `recording` has an item of `calls` for each syscall: `arch`, `call` (its name), `nr`, `count`, `runs`, and
//! `args`, an object per argument: `observed`, how often its value is known, with all `values`, or with `min`, `max`, `ever`
//! and `always` if there were more than 32. `null` or a missing item: no value is known. `runs` and `caveats` are as in a
//! recording, except that integers are numbers.
//!
//! # Without JSON
//!
//! A program in the same process need not write and parse JSON: [`run`] takes a [`Request`], and [`programs`] returns
//! programs.
//!
//! # As a WebAssembly module
//!
//! [`export_module!`] makes a module without imports from a function such as [`answer`]; `cargo xtask wasm` builds it.
//!
//! # Limits
//!
//! A request has at most 32 MiB and 512 levels of nesting, `merge` takes at most 64 sources, and each reader and diagram
//! has its own limits (`docs/reference/limits.md`), so that memory and time are bounded.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
pub mod any_values;
mod arch;
pub mod differences;
pub mod expectations;
pub mod explanation;
pub mod fallback;
pub mod ignored;
pub mod json;
pub mod kernel_checks;
pub mod lint;
pub mod logged;
mod module;
mod operations;
pub mod programs;
mod recording;
mod request;
mod settings;
pub mod syscall;
pub mod template;
pub mod written;

pub use answer::{MAX_REQUEST, answer, not_utf8};
pub use arch::arch_named;
pub use callgate::source::{self, Value};
pub use operations::run;
pub use request::{Call, Compiling, MAX_SOURCES, Operation, Recorded, Request};
pub use settings::set;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
