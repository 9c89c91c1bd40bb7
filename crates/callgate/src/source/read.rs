//! Reads a source in any format into its filters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Arch;
use callgate_bpf::diagnostic::{Diagnostic, Help};
use callgate_bpf::syscalls::is_known_name;
use callgate_bpf::values_by_name;
use callgate_formats::diagnostics::quote::without_quotes;
use callgate_formats::languages::{
    Input, LanguageId, Parts, ReadFilter, ReadSource, Reading, ReadingOption, SourceFiles, Text,
};
use callgate_formats::systemd::FileMessage;
use callgate_formats::{BUILT_INS, PRESETS, abis, built_in, hidden_characters, preset};

use super::ambiguous::ambiguous;
use super::directory::{GivenFiles, android_lists, drop_ins, is_beside};
use super::encoding::{unread_encoding, utf8};
use super::expression::Expression;
use super::filter::SourceFilter;
use super::format::{ProgramForm, SourceFormat};
use super::loader::{FilesOf, Given, Loader};
use super::message::{Message, Messages};
use super::operands::Operands;
use super::recognize::{explained, file_name, of_no_format};
use super::stack::SourceStack;
use super::surroundings::policy_within;
use super::text::{Content, NamedText, SourceText, Texts};
use super::variables::values_of;
use super::violations::SOCKET_FILTER;
use super::wording::Wording;

/// The first bytes of programs and libraries, which look like the raw instructions of a filter.
const ELF: &[u8] = b"\x7fELF";

/// Reads a source, whose files it has itself; adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn read(source: &SourceText, warnings: &mut Messages) -> Result<SourceStack, Messages> {
    read_with(source, &mut Given(source), warnings)
}

/// Reads a source; `loader` finds the files that it names. Adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn read_with(
    source: &SourceText,
    loader: &mut dyn Loader,
    warnings: &mut Messages,
) -> Result<SourceStack, Messages> {
    reading(source, loader, warnings, Reader::read)
}

/// Reads a source; the warnings are in front of the errors, or are added if there are none.
pub(super) fn reading<'a, T>(
    source: &'a SourceText,
    loader: &'a mut dyn Loader,
    warnings: &mut Messages,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Messages>,
) -> Result<T, Messages> {
    let mut reader = Reader { source, loader, warnings: Messages::new() };
    match read(&mut reader) {
        Ok(result) => {
            warnings.extend(reader.warnings);
            Ok(result)
        }
        Err(errors) => Err(reader.warnings.into_iter().chain(errors).collect()),
    }
}

/// A source while it is read.
pub(super) struct Reader<'a> {
    pub(super) source: &'a SourceText,
    loader: &'a mut dyn Loader,
    pub(super) warnings: Messages,
}

impl Reader<'_> {
    pub(super) fn read(&mut self) -> Result<SourceStack, Messages> {
        let source = self.source;
        self.check_given_texts()?;
        let stack = match &source.content {
            Content::Text(text) => self.detected(text.as_bytes(), Some(text))?,
            Content::File(bytes) => self.detected(bytes, None)?,
            Content::Texts(texts) => self.texts(texts, source.part.as_deref())?,
            Content::Files => self.files()?,
            Content::Preset(name) => self.preset(name)?,
            Content::Expression(text, sources) => self.expression(text, sources)?,
            Content::Insns(_) | Content::Bytes(_) => self.program(ProgramForm::Raw, &[], None)?,
        };
        let is_policy = stack.filters.iter().any(SourceFilter::is_profile);
        let is_preset = matches!(source.content, Content::Preset(_));
        if !source.ignores_values && !source.values.is_empty() && (!is_policy || is_preset) {
            // Neither programs nor presets have variables.
            let named = source.values.iter().map(|(name, value)| (name.as_str(), value.bits()));
            let given = values_by_name(&[], named);
            given.map_err(|error| self.error(error.to_string(), ""))?;
        }
        Ok(stack)
    }

    /// An error about the source.
    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<Help>) -> Messages {
        Message::error(&self.source.name, message, help)
    }

    /// Messages about the source.
    pub(super) fn all(&self, messages: impl Into<Vec<Diagnostic>>) -> Messages {
        Message::all(&self.source.name, messages)
    }

    /// With `strict`, refuses texts with hidden characters, and texts that the caller marked as refused.
    fn check_given_texts(&self) -> Result<(), Messages> {
        if !self.source.reading.strict {
            return Ok(());
        }
        let mut messages = Messages::new();
        match &self.source.content {
            Content::Text(text) => messages.extend(self.all(hidden_characters(text))),
            Content::Texts(Texts { texts, .. }) => {
                for one in texts {
                    if let Some(refusal) = &one.refusal {
                        return Err(vec![Message::of_request(refusal.clone())]);
                    }
                    let hidden = hidden_characters(&one.text);
                    if !hidden.is_empty() {
                        return Err(Message::all(&one.name, hidden));
                    }
                }
            }
            _ => {}
        }
        for (name, text) in &self.source.files {
            messages.extend(Message::all(name, hidden_characters(text)));
        }
        if messages.is_empty() { Ok(()) } else { Err(messages) }
    }

    /// Reads a source in its format; says what it is instead if it is something else. `text` are the bytes, if they are known
    /// to be text.
    fn detected(&mut self, bytes: &[u8], text: Option<&str>) -> Result<SourceStack, Messages> {
        let source = self.source;
        self.check_not_empty(bytes)?;
        let mut format = source.format_of(bytes);
        let within = match format {
            // With `strict`, a text that other programs refuse is not read.
            SourceFormat::Program(ProgramForm::Text)
                if source.format.is_none() && !source.reading.strict =>
            {
                std::str::from_utf8(bytes).ok().and_then(policy_within)
            }
            _ => None,
        };
        let (bytes, text) = match &within {
            Some(inner) => (inner.as_bytes(), text.map(|_| inner.as_str())),
            None => (bytes, text),
        };
        if within.is_some() {
            format = SourceFormat::detect(None, bytes);
        }
        if source.part.is_some() && format.parts() == Parts::None {
            let [message, help] = source.wording.no_parts;
            return Err(self.error(message, help));
        }
        let is_detected = source.format.is_none() && source.part.is_none();
        if is_detected {
            self.check_ambiguous(format, bytes)?;
        }
        self.in_format(format, bytes, text).map_err(|errors| {
            let help = source.wording.give_content;
            match text.and_then(|text| file_name(text, help)) {
                Some(error) => self.all([error]),
                None if is_detected => self.explained(errors, format, bytes),
                None => errors,
            }
        })
    }

    pub(super) fn check_not_empty(&self, bytes: &[u8]) -> Result<(), Messages> {
        let Wording { empty, .. } = self.source.wording;
        match bytes.is_empty() && self.source.format.is_none() {
            true => Err(self.error(
                "the input is empty; expected a profile or a BPF program",
                empty(&self.source.name),
            )),
            false => Ok(()),
        }
    }

    pub(super) fn check_ambiguous(
        &self,
        format: SourceFormat,
        bytes: &[u8],
    ) -> Result<(), Messages> {
        match ambiguous(format, bytes, self.source.wording.choose_format) {
            Some(error) => Err(self.all([error])),
            None => Ok(()),
        }
    }

    /// The messages about a source that could not be read in the detected format. If its true format is known, a message
    /// about that replaces `errors`.
    fn explained(&self, errors: Messages, format: SourceFormat, bytes: &[u8]) -> Messages {
        let Reading { arches, machine, .. } = &self.source.reading;
        // A message about the whole is not about its content.
        let has_place = errors.iter().any(|error| error.diagnostic.position.is_some());
        let is_one =
            !matches!(format.language().map(LanguageId::files), Some(SourceFiles::DropIns { .. }));
        let is_listing = format == SourceFormat::Program(ProgramForm::Text);
        if is_one && (has_place || is_listing || bytes.starts_with(ELF)) {
            let machine = arches.first().copied().unwrap_or(*machine);
            if let Some(error) = explained(bytes, Some(machine)) {
                return self.all([error]);
            }
        }
        match format {
            SourceFormat::Program(ProgramForm::Text) if has_place => {
                let errors = errors.into_iter().map(|error| error.diagnostic).collect();
                self.all(of_no_format(errors, bytes, self.source.wording.give_format))
            }
            _ => errors,
        }
    }

    fn in_format(
        &mut self,
        format: SourceFormat,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<SourceStack, Messages> {
        if text.is_none() {
            self.check_encoding(bytes)?;
        }
        match format {
            SourceFormat::Policy(language) => {
                let help = language.language().utf8_help;
                let text = match text {
                    Some(text) => text,
                    None => self.text(bytes, help.unwrap_or(self.source.wording.give_raw))?,
                };
                let mut texts = vec![NamedText::of(&self.source.name, text, "")];
                if let SourceFiles::DropIns { role } = language.files() {
                    texts.extend(drop_ins(self.source, true, role));
                    self.check_drop_ins()?;
                }
                self.policy((language, self.source.part.as_deref()), &texts, true)
            }
            SourceFormat::Program(form) => self.program(form, bytes, text),
            SourceFormat::Socket => {
                Err(self.error(SOCKET_FILTER, self.source.wording.socket_filters))
            }
        }
    }

    /// Refuses drop-ins that are given with a unit, but belong to another one.
    fn check_drop_ins(&self) -> Result<(), Messages> {
        let is_drop_in = |path: &str| path.ends_with(".conf") && path.contains(".d/");
        match self
            .source
            .files
            .keys()
            .find(|path| is_drop_in(path) && !is_beside(self.source, path))
        {
            Some(path) => {
                let name = &self.source.name;
                let message = format!("\"{path}\" does not belong to the unit {name}");
                let help = format!(
                    "put it into the directory {name}.d, or give the unit the name that it has"
                );
                Err(self.error(message, help))
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_encoding(&self, bytes: &[u8]) -> Result<(), Messages> {
        let SourceText { name, wording, .. } = self.source;
        match unread_encoding(bytes, &|command| (wording.converted)(command, name)) {
            Some(error) => Err(self.all([error])),
            None => Ok(()),
        }
    }

    /// The text of a file; `help` is for one that is not text.
    pub(super) fn text<'t>(&self, bytes: &'t [u8], help: &str) -> Result<&'t str, Messages> {
        let text =
            utf8(bytes, "the input is not text: ", help).map_err(|error| self.all([error]))?;
        let strict = self.source.reading.strict;
        let hidden = if strict { hidden_characters(text) } else { Vec::new() };
        if hidden.is_empty() { Ok(text) } else { Err(self.all(hidden)) }
    }

    fn texts(&mut self, texts: &Texts, part: Option<&str>) -> Result<SourceStack, Messages> {
        self.policy((texts.language, part), &texts.texts, texts.are_files)
    }

    /// The files that are given with the source.
    fn files(&mut self) -> Result<SourceStack, Messages> {
        let SourceText { name, part, wording, .. } = self.source;
        let language = self.source.format.and_then(SourceFormat::language);
        match language.map(|language| (language.language(), language.files())) {
            Some((_, SourceFiles::Directory { .. })) => {
                let mut files = GivenFiles(self.source);
                let (texts, part) = android_lists(&mut files, name, part.as_deref(), wording)?;
                self.texts(&texts, Some(part).filter(|part| !part.is_empty()))
            }
            Some((language, SourceFiles::DropIns { role })) => {
                let texts = drop_ins(self.source, false, role);
                if texts.is_empty() {
                    let help = "give a unit, or its drop-ins";
                    return Err(self.error("there are no files with the suffix .conf", help));
                }
                self.policy((LanguageId::of(language), None), &texts, true)
            }
            _ => {
                let of_several = LanguageId::read().filter(|id| id.files() != SourceFiles::One);
                let names: Vec<&str> = of_several.map(LanguageId::name).collect();
                Err(self.error(
                    "the source consists of several files, which its format does not allow",
                    format!("{}: {}", wording.give_format, names.join(" or ")),
                ))
            }
        }
    }

    /// A policy in a language.
    fn policy(
        &mut self,
        (language, part): (LanguageId, Option<&str>),
        texts: &[NamedText],
        are_files: bool,
    ) -> Result<SourceStack, Messages> {
        let source = self.source;
        let (name, of) = (source.name.as_str(), language.language());
        let is_one = matches!(source.content, Content::Text(_) | Content::Preset(_));
        let shown: Vec<Text<'_>> = texts
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let name = (!is_one || at > 0).then_some(one.name.as_str());
                Text { text: &one.text, name, role: one.role }
            })
            .collect();
        let input = Input {
            texts: &shown,
            name: language.given_name(),
            part,
            file: are_files.then_some(name),
            identity: Some(source.identity.as_deref().unwrap_or(name)),
        };
        let mut reading = Cow::Borrowed(&source.reading);
        if reading.kernel.is_none() && language.has_option(ReadingOption::Kernel) {
            let kernel = self.loader.kernel().transpose();
            let kernel = kernel.map_err(|error| vec![Message::of_request(error)])?;
            if kernel.is_some() {
                reading.to_mut().kernel = kernel;
            }
        }
        let read = (of.read)(&input, &reading, &mut FilesOf(self.loader));
        let read = read.and_then(ReadSource::with_filters);
        let read = read.map_err(|errors| named(texts, name, errors.into_vec()))?;
        self.warn_without_effect(of.what, of.options);
        let mut filters = Vec::new();
        for filter in read.filters {
            let mut filter = self.of_caller(self.given(filter)?);
            filter.kinds.semantics = language.has_option(ReadingOption::MinijailSemantics);
            filter.kinds.macros = language.has_option(ReadingOption::Definitions);
            filters.push(filter);
        }
        let own = named(texts, name, read.warnings);
        let names_files = of.editor.as_ref().is_some_and(|editor| editor.names_files);
        match filters.first_mut().filter(|_| source.keeps_warnings) {
            None => self.warnings.extend(own),
            Some(first) if names_files => {
                let own = own.into_iter();
                first.warnings_of_files =
                    own.map(|one| (one.source.unwrap_or_default(), one.diagnostic)).collect();
            }
            Some(first) => first.warnings = own.into_iter().map(|one| one.diagnostic).collect(),
        }
        Ok(SourceStack { name: name.to_owned(), filters })
    }

    /// Warns about options that have no effect on what was read.
    fn warn_without_effect(&mut self, what: &str, options: &[ReadingOption]) {
        let own = self.loader.without_effect(what, options);
        self.warnings.extend(Message::all(&self.source.name, own));
    }

    /// The filter with the values of its variables; without any, with its variables.
    fn given(&self, filter: ReadFilter) -> Result<SourceFilter, Messages> {
        let SourceText { name, values, ignores_values, .. } = self.source;
        let has_variables = !filter.profile.policy.variables().is_empty();
        if values.is_empty() || (*ignores_values && !has_variables) {
            return Ok(SourceFilter::of_read(name, filter));
        }
        let own_name = format!("{name}{}", filter.suffix);
        let named = values.iter().map(|(name, value)| (name.as_str(), *value));
        let profile = values_of(&filter.profile.policy, named)
            .and_then(|values| filter.profile.given(&values))
            .map_err(|error| Message::error(&own_name, error.to_string(), ""))?;
        let mut filter = SourceFilter::of_read(name, ReadFilter { profile, ..filter });
        filter.kinds.variables = has_variables;
        Ok(filter)
    }

    pub(super) fn of_caller(&self, filter: SourceFilter) -> SourceFilter {
        let SourceText { wording, reading, .. } = self.source;
        SourceFilter { wording, strict: reading.strict, ..filter }
    }

    fn preset(&mut self, name: &str) -> Result<SourceStack, Messages> {
        let SourceText { reading, wording, .. } = self.source;
        if let Some(found) = built_in(name) {
            let found = found.map_err(|error| self.all([error]))?;
            let text = NamedText::of(&self.source.name, found.text, "");
            let before = self.warnings.len();
            let stack = self.policy((found.language, None), &[text], true)?;
            // Rules without effect are in the engine's profile as well, and cannot be changed here.
            let mut at = 0;
            self.warnings.retain(|warning| {
                at += 1;
                at <= before || warning.diagnostic.position.is_none()
            });
            return Ok(stack);
        }
        let arches: Vec<Arch> = match reading.arches.as_slice() {
            [] => abis(reading.machine),
            given => given.to_vec(),
        };
        if !PRESETS.contains(&name) {
            let names = BUILT_INS.iter().map(|one| one.name).chain(PRESETS);
            let help = format!("the presets are {}", names.collect::<Vec<_>>().join(", "));
            return Err(self.error(format!("unknown preset \"{name}\""), help));
        }
        self.warn_without_effect("a preset", &[]);
        let Some(policy) = preset(name, &arches) else {
            let help = format!("{}, and compile a filter for each architecture", wording.one_arch);
            return Err(self.error("no kernel runs these architectures together", help));
        };
        let filter = SourceFilter::of_policy(self.source.name.clone(), policy, arches);
        Ok(SourceStack::of(self.of_caller(filter)))
    }

    /// A combination of other sources.
    fn expression(
        &mut self,
        text: &str,
        sources: &BTreeMap<String, SourceText>,
    ) -> Result<SourceStack, Messages> {
        let SourceText { name, format, part, wording, .. } = self.source;
        if format.is_some() || part.is_some() {
            let help = "give them with the sources that it combines";
            return Err(self.error("an expression has no format and no part", help));
        }
        if let Some(given) = sources.keys().find(|name| is_known_name(name)) {
            let help = "give the source another name";
            return Err(self.error(format!("\"{given}\" is the name of a syscall"), help));
        }
        let mut terms = Operands::new(sources, self.source);
        let expression = Expression::parse(text, &mut terms)?;
        if let Some(unused) = sources.keys().find(|name| !terms.used.contains(*name)) {
            let help = "omit it, or name it in the expression";
            return Err(
                self.error(format!("the source \"{unused}\" is not in the expression"), help)
            );
        }
        let (warnings, loader) = (&mut self.warnings, &mut *self.loader);
        let combination = expression.combine(wording, &mut |source: &SourceText| {
            if let Content::Expression(..) = source.content {
                let help = "write one expression with all operands";
                return Err(Message::error(&source.name, "this operand is an expression", help));
            }
            let stack = match source.files.is_empty() {
                true => read_with(source, loader, warnings),
                false => read(source, warnings),
            };
            stack?.into_filter()
        })?;
        let filter = combination.into_filter(&mut self.warnings)?;
        Ok(SourceStack::of(SourceFilter { name: name.clone(), ..filter }))
    }
}

/// Messages with the names of their texts; `name` is that of all.
fn named(texts: &[NamedText], name: &str, messages: Vec<FileMessage>) -> Messages {
    let named = |FileMessage { file, diagnostic }| match texts.get(file) {
        None => Message::about(name, diagnostic),
        Some(NamedText { name, refusal: None, .. }) => Message::about(name, diagnostic),
        Some(NamedText { name, .. }) => Message::about(name, without_quotes(diagnostic)),
    };
    messages.into_iter().map(named).collect()
}
