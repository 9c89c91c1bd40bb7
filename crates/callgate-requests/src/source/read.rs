//! Reads a source in any format into its filters.

use std::collections::BTreeMap;

use callgate::counts::weights_of_frequencies;
use callgate::formats::systemd::{self, FileMessage, UnitText};
use callgate::formats::{
    self, PRESETS, Profile, abis, android, firecracker, kafel, lxc, minijail, oci, preset, snap,
};
use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::template::values_by_name;
use callgate_core::{LongProgram, RawInsn, SocketProgram};

use super::arches::arches_in;
use super::detect::{ambiguous, check_list_name, detect, is_unit};
use super::filter::{Filter, Stack};
use super::format::{ProgramForm, SourceFormat};
use super::listing::{Listing, ListingReading, from_linux3};
use super::message::{Message, Messages};
use super::options::Reading;
use super::recognize::{explained, of_no_format};
use super::unit::{UNIT_HEADER, suffix_of_unit, without_processes};
use super::variables::values_of;
use super::violations::{SOCKET_FILTER, is_not_seccomp, violations};
use crate::value::Value;

/// A source before it is read.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Its name in messages.
    pub name: String,
    /// The filter itself.
    pub content: Content,
    /// The format, if it is given.
    pub format: Option<Format>,
    /// The part of the text: the name of a resource of Kubernetes, or the thread of a document of Firecracker.
    pub part: Option<String>,
    /// The files that it may include, by name.
    pub files: BTreeMap<String, String>,
    /// Values of variables.
    pub values: Vec<(String, Value)>,
    /// How it is read.
    pub reading: Reading,
}

impl SourceText {
    /// The name of a source that has none.
    pub const UNNAMED: &str = "source";

    /// A source without a name, a format, files and values.
    pub fn new(content: Content, reading: Reading) -> SourceText {
        let name = match &content {
            Content::Preset(name) => format!("preset:{name}"),
            _ => SourceText::UNNAMED.to_owned(),
        };
        SourceText {
            name,
            content,
            format: None,
            part: None,
            files: BTreeMap::new(),
            values: Vec::new(),
            reading,
        }
    }

    /// The given format, or the one that the name and this text show.
    pub fn format_of(&self, text: &str) -> Format {
        let extension = self.name.rsplit_once('.').map(|(_, extension)| extension);
        let is_of_unit = suffix_of_unit(&self.name).is_some() || is_unit(text);
        self.format.unwrap_or_else(|| match is_of_unit {
            true => Format::Unit,
            false => Format::Source(detect(extension, text.as_bytes())),
        })
    }
}

/// A filter in one of its forms.
#[derive(Clone, Debug)]
pub enum Content {
    /// A policy, or a program as text.
    Text(String),
    /// Instructions.
    Insns(Vec<RawInsn>),
    /// Instructions as bytes.
    Bytes(Vec<u8>),
    /// The name of a preset.
    Preset(String),
}

/// A format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One of the formats of files.
    Source(SourceFormat),
    /// A unit of systemd, or directives of one.
    Unit,
}

/// The built-in profile.
const BUILT_IN: &str = "container-default";

/// Reads a source; adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn read(source: &SourceText, warnings: &mut Messages) -> Result<Stack, Messages> {
    let name = source.name.as_str();
    let mut own = Vec::new();
    if source.reading.strict {
        check_characters(source)?;
    }
    let stack = match &source.content {
        Content::Text(text) => of_text(source, text, &mut own),
        Content::Preset(preset) => of_preset(source, preset, &mut own).map(Stack::of),
        Content::Insns(insns) => {
            source.reading.of_program().map_err(|error| vec![error]).and_then(|endian| {
                let program = LongProgram::from_raw(insns).map_err(|error| violations(&error))?;
                Ok(Stack::of(of_program(source, program, endian)))
            })
        }
        Content::Bytes(bytes) => {
            source.reading.of_program().map_err(|error| vec![error]).and_then(|endian| {
                let program = LongProgram::from_bytes(bytes, endian);
                let program = program.or_else(|error| {
                    let translated = from_linux3(bytes, endian).and_then(|(insns, warning)| {
                        let program = LongProgram::from_raw(&insns).ok()?;
                        own.push(warning);
                        Some(program)
                    });
                    translated.ok_or_else(|| violations(&error))
                });
                Ok(Stack::of(of_program(source, program?, endian)))
            })
        }
    };
    let own = Message::all(name, own);
    match stack.and_then(|stack| set_variables(stack, &source.values)) {
        Ok(stack) => {
            warnings.extend(own);
            Ok(stack)
        }
        Err(errors) => Err(own.into_iter().chain(Message::all(name, errors)).collect()),
    }
}

/// Refuses texts that are not what they look like.
fn check_characters(source: &SourceText) -> Result<(), Messages> {
    let own = match &source.content {
        Content::Text(text) => Some((source.name.as_str(), text.as_str())),
        _ => None,
    };
    let files = source.files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let messages = own
        .into_iter()
        .chain(files)
        .flat_map(|(name, text)| Message::all(name, formats::hidden_characters(text)));
    let messages: Messages = messages.collect();
    if messages.is_empty() { Ok(()) } else { Err(messages) }
}

/// Gives the variables their values; without any, they remain variables.
fn set_variables(mut stack: Stack, values: &[(String, Value)]) -> Read<Stack> {
    if values.is_empty() {
        return Ok(stack);
    }
    let named = values.iter().map(|(name, value)| (name.as_str(), *value));
    let set = match stack.filters.as_mut_slice() {
        [Filter { content: super::filter::Content::Policy(policy), statements, .. }] => {
            values_of(policy, named).and_then(|values| {
                if let Some(statements) = statements {
                    statements.give(&values);
                }
                policy.given(&values).map(|given| **policy = given)
            })
        }
        // Neither programs nor sources of several filters have variables.
        _ => values_by_name(&[], named.map(|(name, value)| (name, value.bits()))).map(drop),
    };
    set.map_err(|error| vec![Diagnostic::error(None, error.to_string())])?;
    Ok(stack)
}

/// The outcome of a reader, with all messages about the source if it failed.
type Read<T> = Result<T, Vec<Diagnostic>>;

/// Reads a text in its format; says what it is instead if it is something else.
fn of_text(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Stack> {
    in_format(source, text, warnings).map_err(|errors| {
        let has_place = errors.iter().any(|error| error.position.is_some());
        let is_detected = source.format.is_none() && source.part.is_none() && has_place;
        let is_unit = source.format_of(text) == Format::Unit;
        let machine = source.reading.arches.first().copied().unwrap_or(source.reading.machine);
        let instead = (is_detected && !is_unit).then(|| explained(text.as_bytes(), Some(machine)));
        if let Some(error) = instead.flatten() {
            return vec![error];
        }
        let is_listing =
            source.format_of(text) == Format::Source(SourceFormat::Program(ProgramForm::Text));
        match is_detected && is_listing {
            true => of_no_format(errors, text.as_bytes(), "give its `format`"),
            false => errors,
        }
    })
}

fn in_format(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Stack> {
    if text.is_empty() && source.format.is_none() {
        let message = "the input is empty; expected a profile or a BPF program";
        return Err(vec![Diagnostic::error(None, message)]);
    }
    let reading = &source.reading;
    let one = |error: Diagnostic| vec![error];
    let name = || source.name.clone();
    let format = source.format_of(text);
    let has_parts =
        matches!(format, Format::Source(SourceFormat::Profile(_) | SourceFormat::Firecracker));
    if source.part.is_some() && !has_parts {
        return Err(one(Diagnostic::error(None, "a text in this format has no parts with names")
            .help("`part` is for resources of Kubernetes and threads of Firecracker")));
    }
    let format = match format {
        Format::Unit => return of_unit(source, text, warnings),
        Format::Source(format) => format,
    };
    if source.format.is_none()
        && let Some(error) = ambiguous(format, text.as_bytes(), "give its `format`: oci or bpftext")
    {
        return Err(one(error));
    }
    let profile = match format {
        SourceFormat::Profile(dialect) => {
            let mut options = reading.of_profile(dialect).map_err(one)?;
            options.resource.clone_from(&source.part);
            options.identity = Some(source.name.clone());
            oci::read_with_bases(text, &options, &mut bases(source))?
        }
        SourceFormat::Kafel => {
            let options =
                kafel::ReadOptions { identity: Some(source.name.clone()), ..reading.of_kafel() };
            kafel::read_with_includes(text, &options, &mut files(source))?
        }
        SourceFormat::Firecracker => {
            let mut options = reading.of_firecracker().map_err(one)?;
            options.thread.clone_from(&source.part);
            firecracker::read(text, &options)?
        }
        SourceFormat::Lxc => lxc::read(text, &reading.of_lxc())?,
        SourceFormat::Minijail => return of_minijail(source, text, warnings).map(Stack::of),
        SourceFormat::Snap => return of_snap(source, text, warnings),
        SourceFormat::Android => return of_android(source, text, warnings).map(Stack::of),
        SourceFormat::Program(ProgramForm::Text) => {
            return of_listing(source, text, warnings).map(Stack::of);
        }
        SourceFormat::Program(ProgramForm::Raw) => {
            return Err(one(Diagnostic::error(None, "raw instructions are not text")
                .help("give them as `insns` or `hex`, or give the `format` of the text")));
        }
        SourceFormat::Socket => {
            return Err(one(Diagnostic::error(None, SOCKET_FILTER)));
        }
    };
    warnings.extend(profile.warnings.iter().cloned());
    Ok(Stack::of(Filter::of_profile(name(), profile)))
}

/// Finds the files that a source includes.
fn files(source: &SourceText) -> impl FnMut(&str, Option<&str>) -> Result<kafel::Included, String> {
    |name, _| file(source, name).ok_or_else(|| "it is not in `files`".to_owned())
}

/// A file by its name, which may begin with the directory of the source.
fn file(source: &SourceText, name: &str) -> Option<kafel::Included> {
    let names = [name, name.trim_start_matches("./")];
    let (name, text) = names.into_iter().find_map(|name| source.files.get_key_value(name))?;
    Some(kafel::Included {
        name: name.clone(),
        identity: name.clone(),
        text: text.clone(),
        is_private: false,
    })
}

/// Finds base profiles: a file with this name, or with an extension after it, as beside a resource.
fn bases(source: &SourceText) -> impl FnMut(&str, Option<&str>) -> Result<kafel::Included, String> {
    |name, _| {
        if let Some(file) = file(source, name) {
            return Ok(file);
        }
        let names = ["yaml", "yml", "json"].map(|extension| format!("{name}.{extension}"));
        let mut found = names.iter().filter_map(|name| file(source, name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err("it is not in `files`".to_owned()),
            (Some(one), Some(other)) => Err(format!("{} and {} exist", one.name, other.name)),
        }
    }
}

fn of_minijail(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Filter> {
    let options = source.reading.of_minijail().map_err(|error| vec![error])?;
    let options = minijail::ReadOptions { identity: Some(source.name.clone()), ..options };
    let policy = minijail::read_with_includes(text, &options, &mut files(source))?;
    warnings.extend(policy.profile.warnings.iter().cloned());
    let mut filter = Filter::of_profile(source.name.clone(), policy.profile);
    filter.weights = weights_of_frequencies(options.arch, policy.frequencies)
        .map_err(|error| vec![Diagnostic::error(None, error.to_string())])?;
    Ok(filter)
}

fn of_snap(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Stack> {
    let mut ids = |_, user: &str| snap::system_id(user);
    let filters = snap::read(text, &source.reading.of_snap(), &mut ids)?;
    warnings.extend(filters.warnings);
    let name = &source.name;
    let [of_deny, of_allow] = match filters.statements {
        Some(statements) => statements.map(Some),
        None => [None, None],
    };
    let filter = |what: &str, policy, statements| {
        Filter::of_policy(format!("{name} ({what})"), policy, Vec::new())
            .with_statements(statements)
    };
    let filters =
        vec![filter("deny", filters.deny, of_deny), filter("allow", filters.allow, of_allow)];
    Ok(Stack { name: name.clone(), filters })
}

/// A single list of Android: the filter that allows only its syscalls.
fn of_android(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Filter> {
    check_list_name(&source.name).map_err(|error| vec![error])?;
    let lists = [android::ListText::new(android::ListKind::Allow, text)];
    let diagnostics = |messages: Vec<FileMessage>| -> Vec<Diagnostic> {
        messages.into_iter().map(|message| message.diagnostic).collect()
    };
    let policy = android::read(&lists, &source.reading.of_android())
        .map_err(|errors| diagnostics(errors.into_vec()))?;
    warnings.extend(diagnostics(policy.warnings));
    let profile = Profile { statements: policy.statements, ..Profile::of(policy.policy) };
    Ok(Filter::of_profile(source.name.clone(), profile))
}

fn of_unit(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Stack> {
    let mut options = source.reading.of_unit().map_err(|error| vec![error])?;
    if let Some(suffix) = without_processes(&source.name) {
        let message = format!("a {suffix} unit executes no processes, so it has no filters");
        let help = "give a service, socket, mount or swap unit";
        return Err(vec![Diagnostic::error(None, message).help(help)]);
    }
    options.section = suffix_of_unit(&source.name);
    let diagnostics = |messages: Vec<FileMessage>| -> Vec<Diagnostic> {
        messages.into_iter().map(|message| message.diagnostic).collect()
    };
    let is_file = options.section.is_some() || source.name.ends_with(".conf");
    let is_part = systemd::is_without_section(text) && !is_file;
    if is_part && source.format.is_none() {
        warnings.push(Diagnostic::warning(None, UNIT_HEADER));
    }
    let unit_text = if is_part {
        UnitText::directives(text)
    } else if is_unit(text) || is_file {
        UnitText::unit(text)
    } else if text.contains('=') {
        UnitText::directives(text)
    } else {
        UnitText::filter(text)
    };
    let unit =
        systemd::read(&[unit_text], &options).map_err(|errors| diagnostics(errors.into_vec()))?;
    warnings.extend(diagnostics(unit.warnings));
    if unit.filters.is_empty() {
        let message = "the unit has no filter, so all syscalls are allowed";
        return Err(vec![
            Diagnostic::error(None, message)
                .help("directives such as SystemCallFilter= install filters; see docs/systemd.md"),
        ]);
    }
    let name = &source.name;
    let filter = |filter: systemd::UnitFilter| {
        let arch = filter.arch.map_or_else(String::new, |arch| format!(" ({arch})"));
        let name = format!("{name}: {}={arch}", filter.directive);
        let mut own = Filter::of_policy(name, filter.policy, source.reading.arches.clone());
        own.is_of_unit = true;
        own.with_statements(filter.statements)
    };
    let filters = unit.filters.into_iter().map(filter).collect();
    Ok(Stack { name: name.clone(), filters })
}

fn of_preset(source: &SourceText, name: &str, warnings: &mut Vec<Diagnostic>) -> Read<Filter> {
    let reading = &source.reading;
    if name == BUILT_IN {
        let options = reading.of_profile(None).map_err(|error| vec![error])?;
        let profile = formats::container_default(&options)?;
        warnings.extend(profile.warnings.iter().cloned());
        return Ok(Filter::of_profile(source.name.clone(), profile));
    }
    let arches: Vec<Arch> = match reading.arches.as_slice() {
        [] => abis(reading.machine),
        given => given.to_vec(),
    };
    if !PRESETS.contains(&name) {
        let message = format!("unknown preset \"{name}\"");
        let help = format!("the presets are {BUILT_IN}, {}", PRESETS.join(", "));
        return Err(vec![Diagnostic::error(None, message).help(help)]);
    }
    match preset(name, &arches) {
        Some(policy) => Ok(Filter::of_policy(source.name.clone(), policy, arches)),
        None => Err(vec![
            Diagnostic::error(None, "no kernel runs these architectures together")
                .help("give one architecture, and compile a filter for each"),
        ]),
    }
}

/// A program as text.
fn of_listing(source: &SourceText, text: &str, warnings: &mut Vec<Diagnostic>) -> Read<Filter> {
    let Listing { insns, endian, warnings: own } = listing(source, text)?;
    warnings.extend(own);
    let program = LongProgram::from_raw(&insns).map_err(|error| violations(&error))?;
    Ok(of_program(source, program, endian))
}

fn listing(source: &SourceText, text: &str) -> Read<Listing> {
    let reading = &source.reading;
    let listing = ListingReading {
        endian: reading.of_program().map_err(|error| vec![error])?,
        is_fixed: reading.fixes_endian(),
        arches: reading.arches.clone(),
        advice: "omit the architectures and the byte order, or give that of the text",
        one_arch: "give one architecture",
        machine: Some(reading.machine),
        definitions: reading.definitions.clone(),
        strict: reading.strict,
    };
    listing.read(text)
}

/// The message about a source that could not be read as a filter, if it is a socket filter.
pub(crate) fn socket_filter(source: &SourceText) -> Option<Message> {
    let insns = match &source.content {
        Content::Text(text) => {
            let is_listing =
                source.format_of(text) == Format::Source(SourceFormat::Program(ProgramForm::Text));
            listing(source, text).ok().filter(|_| is_listing)?.insns
        }
        Content::Insns(insns) => insns.clone(),
        Content::Bytes(bytes) => {
            let endian = source.reading.of_program().ok()?;
            let (insns, rest) = bytes.as_chunks();
            let insns = insns.iter().map(|insn| RawInsn::from_bytes(*insn, endian));
            rest.is_empty().then(|| insns.collect())?
        }
        Content::Preset(_) => return None,
    };
    let program = SocketProgram::from_raw(&insns).ok()?;
    is_not_seccomp(&program)
        .then(|| Message::about(&source.name, Diagnostic::error(None, SOCKET_FILTER)))
}

fn of_program(source: &SourceText, program: LongProgram, endian: Endian) -> Filter {
    let mut arches = source.reading.arches.clone();
    if arches.is_empty() {
        arches = arches_in(&program, endian);
    }
    if arches.is_empty() {
        arches = vec![source.reading.machine];
    }
    Filter::of_program(source.name.clone(), program, endian, arches)
}
