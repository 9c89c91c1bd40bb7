//! Socket filters: programs that take packets.
//!
//! A program is a socket filter if its format is `socket:`, if packets are given, or if it contains instructions that
//! only socket filters may use, like those of tcpdump: loads of bytes, of half words and relative to X. Programs that
//! could be either are seccomp filters by default.

use callgate_requests::source::{self, Filter, Kinds, SocketFilter, not_of_packets};

use super::content::Loaded;
use super::filter::warn_about_options;
use super::named::{Source, SourceKind};
use super::stack::into_filter;
use crate::options::{CompileOptions, SourceOptions};
use crate::packets::PacketOptions;
use crate::report::Result;

/// A seccomp filter or a socket filter.
pub(crate) enum AnyFilter {
    Syscalls(Box<Filter>),
    Packets(SocketFilter),
}

/// How either of them is read, and the packets for a socket filter.
#[derive(Debug, clap::Args)]
pub(crate) struct AnyFilterOptions {
    #[command(flatten)]
    pub(crate) packets: PacketOptions,

    #[command(flatten)]
    pub(crate) reading: SourceOptions,

    #[command(flatten)]
    pub(crate) compiling: CompileOptions,
}

impl Source {
    /// Reads a seccomp filter or a socket filter; if packets are given, it must be the latter. Prints
    /// warnings.
    pub(crate) fn read_any(&self, options: &AnyFilterOptions) -> Result<AnyFilter> {
        let AnyFilterOptions { packets, reading: options, compiling } = options;
        let packets = packets.are_given();
        let filter = self.any_filter(options, packets)?;
        match &filter {
            AnyFilter::Syscalls(filter) => {
                warn_about_options([&**filter], options);
            }
            AnyFilter::Packets(filter) => {
                let kinds = Kinds { program: true, ..Kinds::default() };
                options.warn_about_unused("", kinds);
                let why = "a socket filter is not compiled";
                compiling.warn_about_given(&filter.name, why, "omit it");
            }
        }
        Ok(filter)
    }

    fn any_filter(&self, options: &SourceOptions, packets: bool) -> Result<AnyFilter> {
        self.check_place(options)?;
        let syscalls = |filter| Ok(AnyFilter::Syscalls(Box::new(filter)));
        let Some(loaded) = self.content_for(packets)? else {
            return syscalls(into_filter(self.read_or_unrestricted(options)?)?);
        };
        match loaded.read_any(options, packets)? {
            source::AnyFilter::Syscalls(stack) => syscalls(into_filter(stack)?),
            source::AnyFilter::Packets(filter) => Ok(AnyFilter::Packets(filter)),
        }
    }

    /// The content of the source; `None` for processes and combinations, for which packets are an error.
    fn content_for(&self, packets: bool) -> Result<Option<Loaded>> {
        let (name, what) = match &self.kind {
            SourceKind::Process(process) => (process.name(), "the filter of a process"),
            SourceKind::Combined(_) => ("the combination".to_owned(), "a combination of filters"),
            _ => return self.content(),
        };
        if packets { Err(not_of_packets(&name, what).into()) } else { Ok(None) }
    }
}
