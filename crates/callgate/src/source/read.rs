//! Reads a source in any format into its filters.

use std::collections::BTreeMap;

use crate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::values_by_name;
use callgate_core::{LongProgram, RawInsn, SocketProgram};
use callgate_formats::kafel::Included;
use callgate_formats::languages::{Files, Input, LanguageId, Parts, ReadSource, Reading, Text};
use callgate_formats::{CONTAINER_DEFAULT, PRESETS, abis, hidden_characters, oci, preset};

use super::ambiguous::ambiguous;
use super::arches::arches_in;
use super::filter::{Filter, Stack};
use super::format::{ProgramForm, SourceFormat};
use super::listing::{Listing, ListingReading, from_linux3, raw_insns};
use super::message::{Message, Messages};
use super::recognize::{explained, of_no_format};
use super::value::Value;
use super::variables::values_of;
use super::violations::{SOCKET_FILTER, is_not_seccomp, violations};

/// A source before it is read.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Its name in messages.
    pub name: String,
    /// The filter itself.
    pub content: Content,
    /// The format, if it is given.
    pub format: Option<SourceFormat>,
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
    pub fn format_of(&self, text: &str) -> SourceFormat {
        let extension = self.name.rsplit_once('.').map(|(_, extension)| extension);
        self.format.unwrap_or_else(|| SourceFormat::detect(extension, text.as_bytes()))
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

/// The built-in profile.
const BUILT_IN: &str = "container-default";

/// Reads a source, whose files it has itself; adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn read(source: &SourceText, warnings: &mut Messages) -> Result<Stack, Messages> {
    read_with(source, &mut Given(source), warnings)
}

/// Reads a source; `files` finds the files that it names. Adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn read_with(
    source: &SourceText,
    files: &mut dyn Files,
    warnings: &mut Messages,
) -> Result<Stack, Messages> {
    let name = source.name.as_str();
    let mut own = Vec::new();
    if source.reading.strict {
        check_characters(source)?;
    }
    let stack = match &source.content {
        Content::Text(text) => of_text(source, text, files, &mut own),
        Content::Preset(preset) => of_preset(source, preset, files, &mut own),
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
        .flat_map(|(name, text)| Message::all(name, hidden_characters(text)));
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
fn of_text(
    source: &SourceText,
    text: &str,
    files: &mut dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Read<Stack> {
    in_format(source, text, files, warnings).map_err(|errors| {
        let has_place = errors.iter().any(|error| error.position.is_some());
        let is_detected = source.format.is_none() && source.part.is_none() && has_place;
        let format = source.format_of(text);
        let is_certain = format.language().is_some_and(|language| language.name() == "systemd");
        let machine = source.reading.arches.first().copied().unwrap_or(source.reading.machine);
        let instead =
            (is_detected && !is_certain).then(|| explained(text.as_bytes(), Some(machine)));
        if let Some(error) = instead.flatten() {
            return vec![error];
        }
        let is_listing = format == SourceFormat::Program(ProgramForm::Text);
        match is_detected && is_listing {
            true => of_no_format(errors, text.as_bytes(), "give its `format`"),
            false => errors,
        }
    })
}

fn in_format(
    source: &SourceText,
    text: &str,
    files: &mut dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Read<Stack> {
    if text.is_empty() && source.format.is_none() {
        let message = "the input is empty; expected a profile or a BPF program";
        return Err(vec![Diagnostic::error(None, message)]);
    }
    let one = |error: Diagnostic| vec![error];
    let format = source.format_of(text);
    if source.part.is_some() && format.parts() == Parts::None {
        return Err(one(Diagnostic::error(None, "a text in this format has no parts with names")
            .help("`part` is for resources of Kubernetes and threads of Firecracker")));
    }
    let advice = "give its `format`: oci or bpftext";
    let contradiction = ambiguous(format, text.as_bytes(), advice);
    if let Some(error) = contradiction.filter(|_| source.format.is_none()) {
        return Err(one(error));
    }
    match format {
        SourceFormat::Policy(language) => of_policy((source, text), language, files, warnings),
        SourceFormat::Program(ProgramForm::Text) => {
            of_listing(source, text, warnings).map(Stack::of)
        }
        SourceFormat::Program(ProgramForm::Raw) => {
            Err(one(Diagnostic::error(None, "raw instructions are not text")
                .help("give them as `insns` or `hex`, or give the `format` of the text")))
        }
        SourceFormat::Socket => Err(one(Diagnostic::error(None, SOCKET_FILTER))),
    }
}

/// A policy in a language.
fn of_policy(
    (source, text): (&SourceText, &str),
    language: LanguageId,
    files: &mut dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Read<Stack> {
    let name = source.name.as_str();
    let texts = [Text::of(text)];
    let input = Input {
        name: language.given_name(),
        part: source.part.as_deref(),
        file: Some(name),
        identity: Some(name),
        ..Input::of(&texts)
    };
    let read = (language.language().read)(&input, &source.reading, files);
    let read = read.and_then(ReadSource::with_filters);
    let read = read.map_err(|errors| -> Vec<Diagnostic> {
        errors.into_vec().into_iter().map(|message| message.diagnostic).collect()
    })?;
    let own: Vec<Diagnostic> = read.warnings.into_iter().map(|one| one.diagnostic).collect();
    warnings.extend(own.iter().cloned());
    let mut filters: Vec<Filter> =
        read.filters.into_iter().map(|filter| Filter::of_read(name, filter)).collect();
    if let Some(first) = filters.first_mut() {
        first.warnings = own;
    }
    Ok(Stack { name: name.to_owned(), filters })
}

/// The files that are given with a source.
struct Given<'s>(&'s SourceText);

impl Files for Given<'_> {
    fn include(&mut self, name: &str, _: Option<&str>) -> Result<Included, String> {
        file(self.0, name).ok_or_else(|| "it is not in `files`".to_owned())
    }

    /// A file with this name, or with an extension after it, as beside a resource.
    fn base(&mut self, name: &str, _: Option<&str>) -> Result<Included, String> {
        if let Some(file) = file(self.0, name) {
            return Ok(file);
        }
        let names = ["yaml", "yml", "json"].map(|extension| format!("{name}.{extension}"));
        let mut found = names.iter().filter_map(|name| file(self.0, name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err("it is not in `files`".to_owned()),
            (Some(one), Some(other)) => Err(format!("{} and {} exist", one.name, other.name)),
        }
    }
}

/// A file by its name, which may begin with the directory of the source.
fn file(source: &SourceText, name: &str) -> Option<Included> {
    let names = [name, name.trim_start_matches("./")];
    let (name, text) = names.into_iter().find_map(|name| source.files.get_key_value(name))?;
    Some(Included {
        name: name.clone(),
        identity: name.clone(),
        text: text.clone(),
        is_private: false,
    })
}

fn of_preset(
    source: &SourceText,
    name: &str,
    files: &mut dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Read<Stack> {
    let reading = &source.reading;
    if name == BUILT_IN {
        let built_in = SourceText { part: None, ..source.clone() };
        let text = CONTAINER_DEFAULT;
        return of_policy((&built_in, text), oci::DOCKER, files, warnings);
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
        Some(policy) => Ok(Stack::of(Filter::of_policy(source.name.clone(), policy, arches))),
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
pub fn socket_filter(source: &SourceText) -> Option<Message> {
    let insns = match &source.content {
        Content::Text(text) => {
            let is_listing = source.format_of(text) == SourceFormat::Program(ProgramForm::Text);
            listing(source, text).ok().filter(|_| is_listing)?.insns
        }
        Content::Insns(insns) => insns.clone(),
        Content::Bytes(bytes) => {
            let endian = source.reading.of_program().ok()?;
            raw_insns(bytes, endian)?
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
