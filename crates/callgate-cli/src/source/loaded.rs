//! Sources with their texts in memory, which can be edited and read again.

use callgate_formats::BuiltIn;
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd;
use callgate_requests::source::{NamedText, SourceContent, SourceFormat, SourceStack, Texts};

use super::content::Loaded;
use super::named::{Source, SourceKind, checked, read_detectable};
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::Result;

/// A source whose own files were read. Files that it includes are read again each time.
#[derive(Clone, Debug)]
pub(crate) struct LoadedSource {
    source: Source,
    /// `None` for sources that are read from others: processes and combinations.
    loaded: Option<Loaded>,
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

impl Text<'_> {
    /// Whether the text is that of a file which a change would make.
    pub(crate) fn is_new(&self) -> bool {
        self.role == systemd::NEW_DROP_IN
    }
}

impl Source {
    /// Reads the files of the source.
    pub(crate) fn load(&self) -> Result<LoadedSource> {
        Ok(LoadedSource { source: self.clone(), loaded: self.content()? })
    }

    /// The content of the source; `None` for processes and combinations.
    pub(super) fn content(&self) -> Result<Option<Loaded>> {
        Ok(Some(match &self.kind {
            SourceKind::Combined(_) | SourceKind::Process(_) => return Ok(None),
            SourceKind::BuiltIn(source) => source.load(),
            SourceKind::Preset(preset) => {
                Loaded::of(preset.name(), SourceContent::Preset(preset.0.to_owned()))
            }
            SourceKind::At { place, format: None } => detectable(place)?,
            SourceKind::At { place, format } => {
                Loaded { format: *format, ..Loaded::at(place, SourceContent::File(place.read()?)) }
            }
            SourceKind::Part(part) => part.load()?,
            SourceKind::Files(files) => files.load()?,
        }))
    }
}

/// A file whose format is detected.
fn detectable(place: &Place) -> Result<Loaded> {
    let bytes = read_detectable(place)?;
    let language = LanguageId::of(&systemd::LANGUAGE);
    // A unit of Podman looks like one of systemd.
    let is_of_systemd =
        || SourceFormat::of_file(&place.name(), &bytes).language() == Some(language);
    let text = std::str::from_utf8(&bytes).ok();
    Ok(match text.filter(|text| systemd::is_unit(text) && is_of_systemd()) {
        Some(text) => {
            let texts = vec![NamedText::of(place.name(), text, systemd::FILE)];
            let loaded = Loaded::of_texts(place.name(), language, texts);
            Loaded { place: Some(place.clone()), ..loaded }
        }
        None => Loaded::at(place, SourceContent::File(bytes)),
    })
}

impl LoadedSource {
    /// Reads the filters. Prints warnings.
    pub(crate) fn read(&self, options: &SourceOptions) -> Result<SourceStack> {
        match &self.loaded {
            None => self.source.read(options),
            Some(loaded) => {
                self.source.check_place(options)?;
                Ok(checked(loaded.read(options)?, options))
            }
        }
    }

    /// What is assumed about the systemd that reads it, as [`Source::assumed`].
    pub(crate) fn assumed(&self, stack: &SourceStack, options: &SourceOptions) -> Option<String> {
        self.source.assumed(stack, options)
    }

    /// Whether only this machine has it: the filters of a process.
    pub(crate) fn is_of_machine(&self) -> bool {
        matches!(self.source.kind, SourceKind::Process(_))
    }

    /// The format of a source that is one file.
    fn format(&self) -> Option<SourceFormat> {
        let loaded = self.loaded.as_ref()?;
        match &loaded.content {
            SourceContent::File(bytes) => {
                let detect = || SourceFormat::of_file(&loaded.name, bytes);
                Some(loaded.format.unwrap_or_else(detect))
            }
            _ => None,
        }
    }

    /// The names under which programs read it, if they differ: those of container runtimes for a profile.
    pub(crate) fn other_readings(&self) -> Vec<LoadedSource> {
        let Some(language) = self.format().and_then(SourceFormat::language) else {
            return Vec::new();
        };
        let names = 0..language.language().names.len();
        let names = names.map(|name| LanguageId::of_name(language.language(), name));
        let names: Vec<LanguageId> = names.filter(|name| name.is_read()).collect();
        if names.len() < 2 {
            return Vec::new();
        }
        let under = |name: LanguageId| {
            let mut other = self.clone();
            if let Some(loaded) = &mut other.loaded {
                loaded.format = Some(SourceFormat::Policy(name));
            }
            other
        };
        names.into_iter().map(under).collect()
    }

    /// Its texts in the languages that can be edited.
    pub(crate) fn texts(&self) -> Vec<Text<'_>> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        match &loaded.content {
            SourceContent::File(bytes) => {
                let language = self.format().and_then(SourceFormat::language);
                let language = language.filter(|one| one.language().editor.is_some());
                let text = std::str::from_utf8(bytes).ok().zip(language);
                let text = text.map(|(text, language)| of(language, 0, &loaded.name, text, ""));
                text.into_iter().collect()
            }
            SourceContent::Texts(Texts { language, texts, .. }) => {
                let language = LanguageId::of(language.language());
                let texts = texts.iter().enumerate();
                texts.map(|(at, one)| of(language, at, &one.name, &one.text, one.role)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The name of a unit whose file belongs to a package: it is changed by drop-ins.
    pub(crate) fn shipped_unit(&self) -> Option<String> {
        let texts = self.texts();
        let new = texts.iter().find(|text| text.is_new())?;
        let directory = new.name.rsplit('/').nth(1)?;
        directory.strip_suffix(".d").map(str::to_owned)
    }

    /// What to do to allow the syscall with this name, for a source without a text that can be changed.
    pub(crate) fn without_text(&self, name: &str) -> Option<String> {
        Some(match &self.source.kind {
            SourceKind::BuiltIn(source) => {
                let built_in = &source.0;
                let name = built_in.split('@').next().unwrap_or(built_in);
                let extension = BuiltIn::named(name).map_or("json", BuiltIn::extension);
                let file = format!("{name}.{extension}");
                format!(
                    "the profile is built in; `callgate convert {built_in} --original -o {file}` writes its text, which can be \
                     changed; give {file} then"
                )
            }
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
            _ => match self.format().and_then(SourceFormat::language) {
                Some(language) if language.language().editor.is_none() => {
                    let what = language.language().what;
                    format!("{what} is not changed by the command; change it by hand")
                }
                _ if self.texts().is_empty() => {
                    "it has no rules to change; change the profile from which it was made".to_owned()
                }
                _ => return None,
            },
        })
    }

    /// The source with another text at an index.
    pub(crate) fn with_text(&self, index: usize, text: String) -> LoadedSource {
        let mut changed = self.clone();
        match changed.loaded.as_mut().map(|loaded| &mut loaded.content) {
            Some(SourceContent::File(bytes)) => *bytes = text.into_bytes(),
            Some(SourceContent::Texts(Texts { texts, .. })) => {
                if let Some(own) = texts.get_mut(index) {
                    own.text = text;
                }
            }
            _ => {}
        }
        changed
    }
}

fn of<'t>(
    language: LanguageId,
    index: usize,
    name: &str,
    text: &'t str,
    role: &'static str,
) -> Text<'t> {
    let names_files = language.language().editor.as_ref().is_some_and(|one| one.names_files);
    let name = name.to_owned();
    Text { index, file: names_files.then(|| name.clone()), name, language, role, text }
}
