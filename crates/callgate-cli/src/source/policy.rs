//! Reads policies in the languages of the registry.

use callgate_formats::kafel::Included;
use callgate_formats::languages::{Files, Input, LanguageId, ReadSource, ReadingOption, Text};

use super::base::base;
use super::filter::{Filter, FilterContent};
use super::included::include;
use super::named_text::{NamedText, RAW_HELP, checked_text, failure, of_files, print};
use super::place::Place;
use super::recognize::check_encoding;
use super::stack::Stack;
use super::tree::Tree;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// A policy that is read.
pub(super) struct PolicySource<'a> {
    /// The language.
    pub(super) language: LanguageId,
    /// Where it is; `None` for a text on the command line.
    pub(super) place: Option<&'a Place>,
    /// The name in messages.
    pub(super) name: String,
    /// The part that is read.
    pub(super) part: Option<&'a str>,
}

/// Reads a policy from the bytes of a file. Prints warnings.
pub(super) fn read_policy(
    (place, language): (&Place, LanguageId),
    bytes: Vec<u8>,
    part: Option<&str>,
    options: &SourceOptions,
) -> Result<Stack> {
    check_encoding(place, &bytes)?;
    let help = language.language().utf8_help.unwrap_or(RAW_HELP);
    let text = checked_text(place, bytes, help, options)?;
    let texts = [NamedText::of(place.name(), text)];
    let source = PolicySource { language, place: Some(place), name: place.name(), part };
    let mut stack = source.read(&texts, options)?;
    if let Some(part) = part {
        let name = format!("{}#{part}", place.name());
        if let [only] = stack.filters.as_mut_slice() {
            only.name.clone_from(&name);
        }
        stack.name = name;
    }
    Ok(stack)
}

impl PolicySource<'_> {
    /// Reads the filters from these texts. Prints warnings, unless the options keep them.
    pub(super) fn read(&self, texts: &[NamedText], options: &SourceOptions) -> Result<Stack> {
        let PolicySource { language, place, name, part } = self;
        let reading = options.reading_of(*language)?;
        let shown: Vec<Text<'_>> = texts
            .iter()
            .map(|one| Text { text: &one.text, name: Some(&one.name), role: one.role })
            .collect();
        let file = place.map(Place::name);
        let identity = place.and_then(Place::identity);
        let input = Input {
            texts: &shown,
            name: language.given_name(),
            part: *part,
            file: file.as_deref(),
            identity: identity.as_deref(),
        };
        let stdin = Place::Stdin;
        let mut files = FilesOnDisk { place: place.unwrap_or(&stdin), options, tree: None };
        let of = language.language();
        let read = (of.read)(&input, &reading, &mut files)
            .and_then(ReadSource::with_filters)
            .map_err(|errors| failure(texts, errors.into_vec()))?;
        if !language.has_option(ReadingOption::Caps) {
            let has_kernel = language.has_option(ReadingOption::Kernel);
            options.warn_about_containers(name, of.what, has_kernel);
        }
        let mut filters = Vec::new();
        for filter in read.filters {
            let own = format!("{name}{}", filter.suffix);
            let filter = options
                .set_variables(filter)
                .map_err(|error| Failure::about(&own, error.to_string()))?;
            filters.push(Filter::of_read(own, filter));
        }
        if !options.keeps_warnings {
            print(texts, read.warnings);
        } else if let Some(FilterContent::Profile(rules)) =
            filters.first_mut().map(|filter| &mut filter.content)
        {
            let kept = of_files(texts, name, read.warnings);
            match of.editor.as_ref().is_some_and(|editor| editor.names_files) {
                true => rules.warnings_of_files = kept,
                false => rules.warnings = kept.into_iter().map(|(_, warning)| warning).collect(),
            }
        }
        Ok(Stack { name: name.clone(), filters })
    }
}

/// The files that a source names, relative to the file that names them; for standard input, relative to the current directory.
struct FilesOnDisk<'a> {
    place: &'a Place,
    options: &'a SourceOptions,
    /// The tree of the source, once it was needed.
    tree: Option<Tree>,
}

impl FilesOnDisk<'_> {
    fn tree(&mut self) -> &Tree {
        let place = self.place;
        self.tree.get_or_insert_with(|| Tree::of(place))
    }
}

impl Files for FilesOnDisk<'_> {
    fn include(&mut self, name: &str, from: Option<&str>) -> std::result::Result<Included, String> {
        let (place, strict) = (self.place, self.options.strict);
        include((place, self.tree()), strict, name, from)
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> std::result::Result<Included, String> {
        let (place, options) = (self.place, self.options);
        base((place, self.tree()), options, name, from)
    }
}
