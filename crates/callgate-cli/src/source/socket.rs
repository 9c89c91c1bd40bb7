//! Socket filters: programs that take packets.
//!
//! A program is a socket filter if its format is `socket:`, if packets are given, or if it contains instructions that
//! only socket filters may use, like those of tcpdump: loads of bytes, of half words and relative to X. Programs that
//! could be either are seccomp filters by default.

use callgate_core::SocketProgram;
use callgate_requests::source::{ProgramForm, SourceFormat, is_not_seccomp};

use super::detect::{detect, explain_detected};
use super::filter::{Filter, warn_about_options};
use super::named::{Source, SourceKind, check_ambiguous, read_detectable};
use super::read::{BUILT_IN, built_in, read_program, read_stack};
use super::recognize::{check_encoding, explain_input};
use super::stack::Stack;
use super::unit::UnitSource;
use crate::options::{CompileOptions, Kinds, SourceOptions};
use crate::packets::PacketOptions;
use crate::report::{self, Failure, Result};

/// A program that takes packets.
pub(crate) struct SocketFilter {
    /// The name of the source in messages.
    pub(crate) name: String,
    pub(crate) program: SocketProgram,
}

/// A seccomp filter or a socket filter.
pub(crate) enum AnyFilter {
    Syscalls(Filter),
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
        let mut filter = self.any_filter(options, packets)?;
        match &mut filter {
            AnyFilter::Syscalls(filter) => {
                filter.strict = options.strict;
                warn_about_options([&*filter], options);
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
        let no_packets = |name: String, what: &str| {
            Failure::about(name, format!("{what} takes syscalls, but packets are given"))
                .help("use packets with a socket filter, such as the output of `tcpdump -ddd`")
        };
        self.check_place(options)?;
        let (place, format) = match &self.kind {
            SourceKind::BuiltIn if packets => {
                return Err(no_packets(BUILT_IN.to_owned(), "a profile"));
            }
            SourceKind::BuiltIn => return built_in(options).map(AnyFilter::Syscalls),
            SourceKind::Process(process) => {
                let filter = process.read_or_unrestricted(options)?.into_filter()?;
                return if packets {
                    Err(no_packets(filter.name, "the filter of a process"))
                } else {
                    Ok(AnyFilter::Syscalls(filter))
                };
            }
            SourceKind::Preset(preset) if packets => {
                return Err(no_packets(preset.name(), "a preset"));
            }
            SourceKind::Preset(preset) => return preset.read(options).map(AnyFilter::Syscalls),
            SourceKind::Combined(_) if packets => {
                return Err(no_packets("the combination".to_owned(), "a combination of filters"));
            }
            SourceKind::Combined(combination) => {
                let filter = |source: &Source| source.read_stack(options)?.into_filter();
                return combination.load(filter)?.into_filter().map(AnyFilter::Syscalls);
            }
            SourceKind::Unit(_) if packets => {
                return Err(no_packets("the unit".to_owned(), "a unit of systemd"));
            }
            SourceKind::Unit(unit) => {
                return unit.read(options)?.into_filter().map(AnyFilter::Syscalls);
            }
            SourceKind::Part(part) if packets => {
                return Err(no_packets(part.place.name(), "a profile"));
            }
            SourceKind::Part(part) => return part.read(options).map(AnyFilter::Syscalls),
            SourceKind::Android(lists) if packets => {
                return Err(no_packets(lists.place.name(), "a profile"));
            }
            SourceKind::Android(lists) => return lists.read(options).map(AnyFilter::Syscalls),
            SourceKind::At { place, format } => (place, *format),
        };
        let bytes = match format {
            Some(_) => place.read()?,
            None => read_detectable(place)?,
        };
        if let Some(unit) = UnitSource::of_content(place, &bytes).filter(|_| format.is_none()) {
            return match packets {
                true => Err(no_packets(place.name(), "a unit of systemd")),
                false => unit.read(options)?.into_filter().map(AnyFilter::Syscalls),
            };
        }
        check_encoding(place, &bytes)?;
        let detected = detect(place, &bytes);
        if format.is_none() {
            check_ambiguous(place, detected, &bytes)?;
        }
        let (form, sure) = match (format.unwrap_or(detected), detected) {
            (SourceFormat::Program(form), _) => (form, packets),
            (SourceFormat::Socket, SourceFormat::Program(form)) => (form, true),
            // Not recognizable as a program: the reader of text has the best message.
            (SourceFormat::Socket, _) => (ProgramForm::Text, true),
            (SourceFormat::Policy(_), _) if packets && bytes.trim_ascii().is_empty() => {
                (ProgramForm::Text, true)
            }
            (SourceFormat::Policy(_), _) if packets => {
                return Err(no_packets(place.name(), "a profile"));
            }
            (profile, _) => {
                let explain = |failure| match format {
                    Some(_) => failure,
                    None => explain_input(failure, place, &bytes, options),
                };
                return read_stack(place, profile, bytes.clone(), options)
                    .and_then(Stack::into_filter)
                    .map(AnyFilter::Syscalls)
                    .map_err(explain);
            }
        };
        let socket = |bytes| {
            let (program, _, warnings) = read_program(place, form, bytes, options)?;
            report::warn_all(&place.name(), &warnings);
            Ok(SocketFilter { name: place.name(), program })
        };
        if sure {
            return socket(bytes).map(AnyFilter::Packets);
        }
        match read_stack(place, SourceFormat::Program(form), bytes.clone(), options)
            .and_then(Stack::into_filter)
        {
            Ok(filter) => Ok(AnyFilter::Syscalls(filter)),
            Err(failure) => match socket(bytes.clone()) {
                Ok(filter) if is_not_seccomp(&filter.program) => Ok(AnyFilter::Packets(filter)),
                _ if format.is_none() => {
                    let failure = explain_detected(failure, SourceFormat::Program(form), &bytes);
                    Err(explain_input(failure, place, &bytes, options))
                }
                _ => Err(failure),
            },
        }
    }
}
