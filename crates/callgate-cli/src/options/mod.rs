//! Options that subcommands share.

mod compile;
mod machine;
mod output;
mod parse;
mod source;

pub(crate) use callgate_requests::source::PROMPT;
pub(crate) use compile::CompileOptions;
pub(crate) use machine::{NATIVE_ENDIAN, native_arch};
pub(crate) use output::{DenialFormat, Format, Switch, TextFormat};
pub(crate) use parse::{ArchParser, parse_u32, parse_u64};
pub(crate) use source::{
    EndianArg, KernelArg, Macros, OptionsOfA, OptionsOfB, RUNNING, SourceOptions,
};
