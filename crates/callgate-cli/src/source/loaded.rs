//! Sources with their texts in memory, which can be edited and read again.

use callgate::change::Language;
use callgate_requests::source::SourceFormat;

use super::android::Lists;
use super::detect::detect;
use super::named::{Source, SourceKind, checked, read_detectable, read_detected, read_stack_in};
use super::named_text::NamedText;
use super::part::PartSource;
use super::place::Place;
use super::read::BUILT_IN;
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
    pub(crate) language: Language,
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
                Stack::of(read_detected(place, *format, bytes.clone(), options)?)
            }
            Loaded::File { place, format, bytes, .. } => {
                read_stack_in(place, *format, bytes.clone(), options)?
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
                let name = place.name();
                let has_name = matches!(format, SourceFormat::Snap | SourceFormat::Android);
                let file = has_name.then(|| name.clone());
                let text = std::str::from_utf8(bytes).ok().zip(language(*format));
                let text =
                    text.map(|(text, language)| Text { index: 0, name, file, language, text });
                text.into_iter().collect()
            }
            Loaded::Unit { unit, texts } => {
                let language = if unit.is_filter() { Language::UnitFilter } else { Language::Unit };
                named(texts, language)
            }
            Loaded::Android(lists) => named(&lists.texts, Language::Android),
            Loaded::Other(_) => Vec::new(),
        }
    }

    /// What to do to allow the syscall with this name, for a source without a text that can be changed.
    pub(crate) fn without_text(&self, name: &str) -> Option<String> {
        let source = match &self.0 {
            Loaded::Other(source) => source,
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

/// Texts whose names are in the places of rules.
fn named(texts: &[NamedText], language: Language) -> Vec<Text<'_>> {
    let texts = texts.iter().enumerate();
    let named = texts.map(|(index, NamedText { name, text, .. })| Text {
        index,
        name: name.clone(),
        file: Some(name.clone()),
        language,
        text,
    });
    named.collect()
}

/// The language of a format.
fn language(format: SourceFormat) -> Option<Language> {
    match format {
        SourceFormat::Profile(_) => Some(Language::Profile),
        SourceFormat::Kafel => Some(Language::Kafel),
        SourceFormat::Firecracker => Some(Language::Firecracker),
        SourceFormat::Minijail => Some(Language::Minijail),
        SourceFormat::Lxc => Some(Language::Lxc),
        SourceFormat::Snap => Some(Language::Snap),
        SourceFormat::Android => Some(Language::Android),
        SourceFormat::Program(_) | SourceFormat::Socket => None,
    }
}
