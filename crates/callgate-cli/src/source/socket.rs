//! Socket filters: programs that are asked about packets.
//!
//! A program is one when its format is `socket:`, when packets are given, or when it has instructions
//! that only socket filters have, as those of tcpdump have: loads of bytes and half words, loads relative
//! to X. Many programs would be accepted as either; without a word about it they are about calls.

use callgate::bpf::SocketProgram;

use super::detect::detect;
use super::filter::{Filter, warn_about_options};
use super::format::{Format, ProgramForm};
use super::named::{Source, SourceKind};
use super::read::{BUILT_IN, built_in, read_filter, read_program};
use crate::options::{CompileOptions, SourceOptions};
use crate::packets::PacketOptions;
use crate::report::{Failure, Result};

/// A program that is asked about packets.
pub(crate) struct SocketFilter {
    /// The source, as messages name it.
    pub(crate) name: String,
    pub(crate) program: SocketProgram,
}

/// What may be asked about calls or about packets.
pub(crate) enum Subject {
    Calls(Filter),
    Packets(SocketFilter),
}

/// How either of them is read, and what a socket filter is asked about.
#[derive(Debug, clap::Args)]
pub(crate) struct SubjectOptions {
    #[command(flatten)]
    pub(crate) packets: PacketOptions,

    #[command(flatten)]
    pub(crate) reading: SourceOptions,

    #[command(flatten)]
    pub(crate) compiling: CompileOptions,
}

impl Source {
    /// Reads a filter of calls or a socket filter; where packets are given, it must be the latter. Warnings
    /// are printed.
    pub(crate) fn read_subject(&self, options: &SubjectOptions) -> Result<Subject> {
        let SubjectOptions { packets, reading: options, compiling } = options;
        let packets = packets.are_given();
        let mut subject = self.subject(options, packets)?;
        match &mut subject {
            Subject::Calls(filter) => {
                filter.strict = options.strict;
                warn_about_options([&*filter], options, compiling.has_weights());
            }
            Subject::Packets(filter) => {
                options.warn_about_unused(false, true, false);
                let why = "a socket filter is not compiled, and packets are no calls";
                compiling.warn_about_given(&filter.name, why, "leave it out");
            }
        }
        Ok(subject)
    }

    fn subject(&self, options: &SourceOptions, packets: bool) -> Result<Subject> {
        let no_packets = |name: String, what: &str| {
            Failure::about(name, format!("{what} is about calls, and packets are given"))
                .help("packets are for socket filters, such as `tcpdump -ddd` prints")
        };
        let (place, format) = match &self.kind {
            SourceKind::BuiltIn if packets => {
                return Err(no_packets(BUILT_IN.to_owned(), "a profile"));
            }
            SourceKind::BuiltIn => return built_in(options).map(Subject::Calls),
            SourceKind::Process(process) => {
                let filter = process.read(options)?.into_filter()?;
                return if packets {
                    Err(no_packets(filter.name, "the filter of a process"))
                } else {
                    Ok(Subject::Calls(filter))
                };
            }
            SourceKind::At { place, format } => (place, *format),
        };
        let bytes = place.read()?;
        let detected = detect(place, &bytes);
        let (form, sure) = match (format.unwrap_or(detected), detected) {
            (Format::Program(form), _) => (form, packets),
            (Format::Socket, Format::Program(form)) => (form, true),
            // Nothing that the content could tell: the reader of text says what is wrong.
            (Format::Socket, _) => (ProgramForm::Text, true),
            (Format::Profile(_), _) if packets && bytes.trim_ascii().is_empty() => {
                (ProgramForm::Text, true)
            }
            (Format::Profile(_), _) if packets => {
                return Err(no_packets(place.name(), "a profile"));
            }
            (profile, _) => {
                return read_filter(place, profile, bytes, options).map(Subject::Calls);
            }
        };
        let socket = |bytes| {
            let (program, _) = read_program(place, form, bytes, options)?;
            Ok(SocketFilter { name: place.name(), program })
        };
        if sure {
            return socket(bytes).map(Subject::Packets);
        }
        match read_filter(place, Format::Program(form), bytes.clone(), options) {
            Ok(filter) => Ok(Subject::Calls(filter)),
            Err(failure) => match socket(bytes) {
                Ok(filter) if filter.is_nothing_else() => Ok(Subject::Packets(filter)),
                _ => Err(failure),
            },
        }
    }
}

impl SocketFilter {
    /// Whether it has instructions that no filter of calls has.
    fn is_nothing_else(&self) -> bool {
        self.program.iter().any(|insn| !insn.op.in_seccomp())
    }
}
