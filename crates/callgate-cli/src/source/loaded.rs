//! Sources with their texts in memory, which can be edited and read again.

use callgate_formats::languages::LanguageId;
use callgate_formats::{android, systemd};
use callgate_requests::source::SourceFormat;

use super::android::Lists;
use super::detect::detect;
use super::named::{Source, SourceKind, checked, read_detectable, read_detected};
use super::named_text::NamedText;
use super::part::PartSource;
use super::place::Place;
use super::read::{BUILT_IN, read_stack as read_in};
use super::stack::Stack;
use super::unit::UnitSource;
use crate::options::SourceOptions;
use crate::report::Result;

/// A source whose own files were read. Files that it includes are read again each time.
#[derive(Clone, Debug)]
pub(crate) struct LoadedSource(Loaded, Source);

#[derive(Clone, Debug)]
enum Loaded {
    /// One file.
    File { place: Place, format: SourceFormat, is_detected: bool, bytes: Vec<u8> },
    /// A part of a file.
    Part { part: PartSource, format: SourceFormat, bytes: Vec<u8> },
    /// A unit with its drop-ins.
    Unit { unit: UnitSource, texts: Vec<NamedText> },
    /// Lists of Android.
    Android(Lists),
    /// A source without a text.
    Other(Source),
}

/// A text of a source.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    /// The index of the text in its source.
    pub(crate) index: usize,
    /// The name in messages.
    pub(crate) name: String,
    /// The name in the places of rules.
    pub(crate) file: Option<String>,
    pub(crate) language: LanguageId,
    /// What the text is in its source.
    pub(crate) role: &'static str,
    pub(crate) text: &'a str,
}

impl Source {
    /// Reads the files of the source.
    pub(crate) fn load(&self) -> Result<LoadedSource> {
        let loaded = match &self.kind {
            SourceKind::At { place, format: Some(format) } => Loaded::File {
                place: place.clone(),
                format: *format,
                is_detected: false,
                bytes: place.read()?,
            },
            SourceKind::At { place, format: None } => {
                let bytes = read_detectable(place)?;
                match UnitSource::of_content(place, &bytes) {
                    Some(unit) => Loaded::Unit { texts: unit.load()?, unit },
                    None => Loaded::File {
                        place: place.clone(),
                        format: detect(place, &bytes),
                        is_detected: true,
                        bytes,
                    },
                }
            }
            SourceKind::Part(part) => {
                let bytes = part.place.read()?;
                Loaded::Part { part: part.clone(), format: part.detect(&bytes)?, bytes }
            }
            SourceKind::Unit(unit) => Loaded::Unit { texts: unit.load()?, unit: unit.clone() },
            SourceKind::Android(lists) => Loaded::Android(lists.load()?),
            _ => Loaded::Other(self.clone()),
        };
        Ok(LoadedSource(loaded, self.clone()))
    }
}

impl LoadedSource {
    /// Reads the filters. Prints warnings.
    pub(crate) fn read(&self, options: &SourceOptions) -> Result<Stack> {
        self.1.check_place(options)?;
        let stack = match &self.0 {
            Loaded::File { place, format, is_detected: true, bytes } => {
                read_detected(place, *format, bytes.clone(), options)?
            }
            Loaded::File { place, format, bytes, .. } => {
                read_in(place, *format, bytes.clone(), options)?
            }
            Loaded::Part { part, format, bytes } => {
                Stack::of(part.read_bytes(*format, bytes.clone(), options)?)
            }
            Loaded::Unit { unit, texts } => unit.read_texts(texts, options)?,
            Loaded::Android(lists) => Stack::of(lists.read(options)?),
            Loaded::Other(source) => return source.read(options),
        };
        Ok(checked(stack, options))
    }

    /// Whether only this machine has it: the filters of a process.
    pub(crate) fn is_of_machine(&self) -> bool {
        matches!(&self.0, Loaded::Other(source) if matches!(source.kind, SourceKind::Process(_)))
    }

    /// Its texts in the languages that can be edited.
    pub(crate) fn texts<'a>(&'a self) -> Vec<Text<'a>> {
        match &self.0 {
            Loaded::File { place, format, bytes, .. }
            | Loaded::Part { part: PartSource { place, .. }, format, bytes } => {
                let language = format.language().filter(|one| one.language().editor.is_some());
                let text = std::str::from_utf8(bytes).ok().zip(language);
                let text = text.map(|(text, language)| of(language, 0, place.name(), text, ""));
                text.into_iter().collect()
            }
            Loaded::Unit { texts, .. } => named(texts, LanguageId::of(&systemd::LANGUAGE)),
            Loaded::Android(lists) => named(&lists.texts, LanguageId::of(&android::LANGUAGE)),
            Loaded::Other(_) => Vec::new(),
        }
    }

    /// What to do to allow the syscall with this name, for a source without a text that can be changed.
    pub(crate) fn without_text(&self, name: &str) -> Option<String> {
        let source = match &self.0 {
            Loaded::Other(source) => source,
            Loaded::File { format: SourceFormat::Policy(language), .. }
                if language.language().editor.is_none() =>
            {
                let what = language.language().what;
                return Some(format!("{what} is not changed by the command; change it by hand"));
            }
            _ if self.texts().is_empty() => {
                let program =
                    "it has no rules to change; change the profile from which it was made";
                return Some(program.to_owned());
            }
            _ => return None,
        };
        Some(match &source.kind {
            SourceKind::BuiltIn => format!(
                "the profile is built in; '{BUILT_IN} + {name}' is a source that allows {name} as well"
            ),
            SourceKind::Combined(expression) => {
                format!("add the syscall to the combination: '{} + {name}'", expression.text())
            }
            SourceKind::Preset(preset) => {
                format!("{} has no text; omit it, or choose another preset", preset.name())
            }
            SourceKind::Process(_) => {
                "a process keeps its filters; change the profile from which they were made, and restart it"
                    .to_owned()
            }
            _ => return None,
        })
    }

    /// The source with another text at an index.
    pub(crate) fn with_text(&self, index: usize, text: String) -> LoadedSource {
        let mut changed = self.clone();
        match &mut changed.0 {
            Loaded::File { bytes, .. } | Loaded::Part { bytes, .. } => {
                *bytes = text.into_bytes();
            }
            Loaded::Unit { texts, .. } | Loaded::Android(Lists { texts, .. }) => {
                if let Some(own) = texts.get_mut(index) {
                    own.text = text;
                }
            }
            Loaded::Other(_) => {}
        }
        changed
    }
}

/// The texts of a source with several.
fn named(texts: &[NamedText], language: LanguageId) -> Vec<Text<'_>> {
    let texts = texts.iter().enumerate();
    texts.map(|(index, one)| of(language, index, one.name.clone(), &one.text, one.role)).collect()
}

fn of<'t>(
    language: LanguageId,
    index: usize,
    name: String,
    text: &'t str,
    role: &'static str,
) -> Text<'t> {
    let names_files = language.language().editor.as_ref().is_some_and(|one| one.names_files);
    Text { index, file: names_files.then(|| name.clone()), name, language, role, text }
}
