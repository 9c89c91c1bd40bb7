//! Socket filters: programs that take packets.
//!
//! A program is a socket filter in any of these cases:
//!
//! - its format is `socket:`
//! - packets are given
//! - it contains an instruction that seccomp refuses, like the programs of tcpdump: a load of a byte, of a half word or
//!   relative to X
//! - `diff` compares it with a socket filter
//!
//! Any other program is a seccomp filter.

use callgate_requests::source::{
    self, Kinds, SocketFilter, SourceFilter, SourceStack, not_of_packets,
};

use super::content::Loaded;
use super::filter::warn_about_options;
use super::named::{Source, SourceKind, checked};
use super::stack::into_filter;
use crate::options::{CompileOptions, SourceOptions};
use crate::packets::PacketOptions;
use crate::report::{Failure, Result};

/// A seccomp filter or a socket filter.
pub(crate) enum AnyFilter {
    Syscalls(Box<SourceFilter>),
    Packets(SocketFilter),
}

/// Two sources of one kind.
pub(crate) enum AnyBoth {
    Syscalls(Box<(SourceStack, SourceStack)>),
    Packets(Box<(SocketFilter, SocketFilter)>),
}

/// Why the options of a compilation have no effect on a socket filter.
pub(crate) const NOT_COMPILED: &str = "a socket filter is not compiled";

/// A source that can be read as either kind.
enum AnySource<'s> {
    /// With its content, which is read once.
    Content(Loaded),
    /// A process or a combination, which has seccomp filters only.
    Other(&'s Source),
}

impl AnySource<'_> {
    fn open<'s>(source: &'s Source, options: &SourceOptions) -> Result<AnySource<'s>> {
        source.check_place(options)?;
        Ok(match source.content_for(false)? {
            Some(loaded) => AnySource::Content(loaded),
            None => AnySource::Other(source),
        })
    }

    fn read(&self, options: &SourceOptions, packets: bool) -> Result<source::AnyFilter> {
        match self {
            AnySource::Content(loaded) => loaded.read_any(options, packets),
            AnySource::Other(source) => {
                source.read_or_unrestricted(options).map(source::AnyFilter::Syscalls)
            }
        }
    }

    /// Reads a program that could be of either kind, and was read as a seccomp filter, as a socket filter.
    fn packets(&self, options: &SourceOptions, stack: &SourceStack) -> Result<SocketFilter> {
        let is_program = matches!(&stack.filters[..], [only] if only.given_program().is_some());
        match is_program.then(|| self.read(options, true)).transpose()? {
            Some(source::AnyFilter::Packets(filter)) => Ok(filter),
            _ => Err(Failure::about(
                &stack.name,
                "it takes syscalls, and the other filter takes packets",
            )
            .help("compare filters of one kind; socket:FILE is a socket filter")),
        }
    }
}

/// Warns about options that have no effect on a socket filter.
fn warn_without_effect(options: &SourceOptions, suffix: &'static str) {
    options.warn_about_unused(suffix, Kinds { program: true, macros: true, ..Kinds::default() });
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
                warn_without_effect(options, "");
                compiling.warn_about_given(&filter.name, NOT_COMPILED, "omit it");
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

    /// As [`Source::read`], but also reads socket filters.
    pub(crate) fn read_any_stack(&self, options: &SourceOptions) -> Result<source::AnyFilter> {
        self.any_stack(options, Source::read_or_unrestricted)
    }

    /// As [`Source::read_to_compile`], but also reads socket filters, which are not compiled.
    pub(crate) fn read_any_to_compile(&self, options: &SourceOptions) -> Result<AnyFilter> {
        Ok(match self.any_stack(options, Source::read_stack)? {
            source::AnyFilter::Syscalls(stack) => {
                AnyFilter::Syscalls(Box::new(into_filter(stack)?))
            }
            source::AnyFilter::Packets(filter) => AnyFilter::Packets(filter),
        })
    }

    /// Filters or a socket filter. `others` reads processes and combinations. Prints warnings.
    fn any_stack(
        &self,
        options: &SourceOptions,
        others: impl FnOnce(&Source, &SourceOptions) -> Result<SourceStack>,
    ) -> Result<source::AnyFilter> {
        self.check_place(options)?;
        let any = match self.content_for(false)? {
            None => source::AnyFilter::Syscalls(others(self, options)?),
            Some(loaded) => loaded.read_any(options, false)?,
        };
        Ok(match any {
            source::AnyFilter::Syscalls(stack) => {
                source::AnyFilter::Syscalls(checked(stack, options))
            }
            packets @ source::AnyFilter::Packets(_) => {
                warn_without_effect(options, "");
                packets
            }
        })
    }

    /// Like [`Source::read_both`], but also reads two socket filters. If a program could be of either kind, the other source
    /// decides.
    pub(crate) fn read_any_both(
        [a, b]: [&Source; 2],
        options: &SourceOptions,
        own: [(&'static str, &SourceOptions); 2],
    ) -> Result<AnyBoth> {
        Source::check_inputs(a, b)?;
        let [of_a, of_b] = own.map(|(suffix, own)| own.or(suffix, options));
        let read_a = AnySource::open(a, &of_a)?;
        let read_b = AnySource::open(b, &of_b)?;
        let any_a = read_a.read(&of_a, false)?;
        let (a, b) = match (any_a, read_b.read(&of_b, false)) {
            (source::AnyFilter::Syscalls(a), Ok(source::AnyFilter::Syscalls(b))) => {
                let both = Source::check_both((a, b), options, own)?;
                return Ok(AnyBoth::Syscalls(Box::new(both)));
            }
            (source::AnyFilter::Packets(a), Ok(source::AnyFilter::Packets(b))) => (a, b),
            (source::AnyFilter::Packets(a), Ok(source::AnyFilter::Syscalls(stack))) => {
                let b = read_b.packets(&of_b, &stack)?;
                (a, b)
            }
            (source::AnyFilter::Syscalls(stack), Ok(source::AnyFilter::Packets(b))) => {
                (read_a.packets(&of_a, &stack)?, b)
            }
            (source::AnyFilter::Packets(a), Err(failure)) => match read_b.read(&of_b, true) {
                Ok(source::AnyFilter::Packets(b)) => (a, b),
                _ => return Err(failure),
            },
            (source::AnyFilter::Syscalls(_), Err(failure)) => return Err(failure),
        };
        warn_without_effect(options, "");
        for (suffix, own) in own {
            warn_without_effect(own, suffix);
        }
        Ok(AnyBoth::Packets(Box::new((a, b))))
    }

    /// The content of the source; `None` for a process or a combination. With packets, those are an error.
    fn content_for(&self, packets: bool) -> Result<Option<Loaded>> {
        let (name, what) = match &self.kind {
            SourceKind::Process(process) => (process.name(), "the filter of a process"),
            SourceKind::Combined(_) => ("the combination".to_owned(), "a combination of filters"),
            _ => return self.content(),
        };
        if packets { Err(not_of_packets(&name, what).into()) } else { Ok(None) }
    }
}
