//! The content of a source: what the library reads.

use callgate_formats::languages::LanguageId;
use callgate_formats::systemd::SystemdVersion;
use callgate_requests::source::{
    AnyFilter, NamedText, SourceContent, SourceFormat, SourceStack, SourceText, Texts,
};

use super::filter::WORDING;
use super::loader::FilesOnDisk;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::Result;

/// The content of a source.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) content: SourceContent,
    /// Where it is; `None` for a text on the command line.
    pub(super) place: Option<Place>,
    /// The given format.
    pub(super) format: Option<SourceFormat>,
    pub(super) part: Option<String>,
    /// The version of systemd that reads it on this machine, unless an option says another one.
    pub(super) systemd: Option<SystemdVersion>,
}

impl Loaded {
    /// Content with a name that is not at a place.
    pub(super) fn of(name: String, content: SourceContent) -> Loaded {
        Loaded { name, content, place: None, format: None, part: None, systemd: None }
    }

    /// Texts that are read together.
    pub(super) fn of_texts(name: String, language: LanguageId, texts: Vec<NamedText>) -> Loaded {
        Loaded::of(name, SourceContent::Texts(Texts { language, texts, are_files: true }))
    }

    /// A file with this content.
    pub(super) fn at(place: &Place, content: SourceContent) -> Loaded {
        Loaded { place: Some(place.clone()), ..Loaded::of(place.name(), content) }
    }

    /// The source for the library.
    pub(super) fn text(&self, options: &SourceOptions) -> Result<SourceText> {
        let mut reading = options.reading()?;
        reading.systemd = reading.systemd.or(self.systemd);
        Ok(SourceText {
            name: self.name.clone(),
            format: self.format,
            part: self.part.clone(),
            identity: self.place.as_ref().and_then(Place::identity),
            values: options.values(),
            ignores_values: true,
            keeps_warnings: options.keeps_warnings,
            wording: WORDING,
            ..SourceText::new(self.content.clone(), reading)
        })
    }

    /// Reads the filters. Prints warnings.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<SourceStack> {
        let text = self.text(options)?;
        FilesOnDisk::of(self.place.as_ref(), options).read(&text).map(|stack| self.named(stack))
    }

    /// The filters with the name of the part of the file.
    fn named(&self, mut stack: SourceStack) -> SourceStack {
        if let (Some(part), SourceContent::File(_)) = (&self.part, &self.content) {
            stack.name = format!("{}#{part}", self.name);
            if let [only] = stack.filters.as_mut_slice() {
                only.name.clone_from(&stack.name);
            }
        }
        stack
    }

    /// Reads filters or a socket filter. Prints warnings.
    pub(super) fn read_any(&self, options: &SourceOptions, packets: bool) -> Result<AnyFilter> {
        let text = self.text(options)?;
        Ok(match FilesOnDisk::of(self.place.as_ref(), options).read_any(&text, packets)? {
            AnyFilter::Syscalls(stack) => AnyFilter::Syscalls(self.named(stack)),
            packets @ AnyFilter::Packets(_) => packets,
        })
    }
}
