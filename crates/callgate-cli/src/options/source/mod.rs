//! Options about how sources are read.

mod arguments;
mod base;
mod definition;
mod include_root;
mod options;
mod readers;
mod setting;
mod sides;
mod values;
mod warnings;

pub(crate) use definition::Macros;
pub(crate) use options::SourceOptions;
pub(crate) use sides::{OptionsOfA, OptionsOfB};
pub(crate) use values::{EndianArg, KernelArg, RUNNING};
