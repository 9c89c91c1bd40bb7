//! Options about how sources are read.

mod arguments;
mod options;
mod readers;
mod values;
mod warnings;

pub(crate) use options::SourceOptions;
pub(crate) use values::{EndianArg, KernelArg, RUNNING};
