//! A language of policies as one value: how a text in it is recognized, read, written and edited.
//!
//! Each language is a directory of this crate, and the file `language.rs` in it has this value. The
//! [registry](super) lists all of them, and whatever needs to know the languages asks it.
//!
//! # Invariants
//!
//! - A name is that of one language only.
//! - What a writer writes, the reader of the same language reads.
//! - A reader does no I/O: [`Files`] finds what a text names.

use std::fmt;

use super::reading::Reading;
use crate::annotated::AnnotatedWriter;
use crate::change::Allowed;
use crate::change::input::{Edit, EditInput};
use crate::convert::ConvertError;
use crate::convert::fit::Fit;
use crate::files::{FileErrors, FileMessage};
use crate::included::Included;
use crate::oci::{Dialect, EnosysAbove};
use crate::profile::{Listener, Profile};
use crate::systemd::SystemdVersion;
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Count, Weights};
use callgate_core::Arch;
use callgate_core::diagram::{Func, Store};

/// A language.
pub struct Language {
    /// What a text in it is, with an article: `a Kafel policy`.
    pub what: &'static str,
    /// Its names, at least one. A container profile has one for each runtime.
    pub names: &'static [Name],
    /// The forms of sources in it, each with a description, for help.
    pub forms: &'static [(&'static str, &'static str)],
    /// What to do if a text is not UTF-8, where that is not to read it as a program.
    pub utf8_help: Option<&'static str>,
    /// The page of its documentation: `docs/reference/languages/PAGE.md`.
    pub page: &'static str,
    /// How much the extension of a file and its text look like this language.
    pub likeness: fn(extension: Option<&str>, text: &[u8]) -> Likeness,
    /// Reads texts: one, unless [`Language::files`] says otherwise.
    pub read: ReadFn,
    /// The options of [`Reading`] that have an effect besides the architectures and `strict`.
    pub options: &'static [ReadingOption],
    /// Whether a text has parts, one of which is read.
    pub parts: Parts,
    /// The files of a source, besides those that a text names.
    pub files: SourceFiles,
    /// Whether build scripts read it: it is a policy for one program, in one filter.
    pub for_builds: bool,
    /// How a text is changed to allow a syscall.
    pub editor: Option<Editor>,
}

impl Language {
    /// A language with one kind of texts, each of them a policy for one program, that nothing recognizes or changes.
    pub(crate) const fn of(what: &'static str, page: &'static str, read: ReadFn) -> Language {
        Language {
            what,
            names: &[],
            forms: &[],
            utf8_help: None,
            page,
            likeness: |_, _| Likeness::None,
            read,
            options: &[],
            parts: Parts::None,
            files: SourceFiles::One,
            for_builds: true,
            editor: None,
        }
    }
}

/// How a language reads texts.
pub type ReadFn = fn(&Input<'_>, &Reading, &mut dyn Files) -> ReadResult;

/// The filters of a source, or all messages about it.
pub type ReadResult = Result<ReadSource, FileErrors>;

/// A name of a language.
pub struct Name {
    /// The name.
    pub name: &'static str,
    /// Another one that is understood, too.
    pub alias: Option<&'static str>,
    /// Whether `NAME:FILE` is a source.
    pub is_read: bool,
    /// How a policy is written under this name.
    pub writer: Option<&'static Writer>,
}

impl Name {
    /// A name of a language that is only read.
    pub const fn read(name: &'static str) -> Name {
        Name { name, alias: None, is_read: true, writer: None }
    }

    /// A name of a language that is read and written.
    ///
    /// With `--cfg callgate_reads_only`, nothing is written, and the linker leaves out all writers: the WebAssembly module of the
    /// bindings, whose requests write no policies, gets a tenth smaller.
    pub const fn written(name: &'static str, writer: &'static Writer) -> Name {
        let writer = if cfg!(callgate_reads_only) { None } else { Some(writer) };
        Name { name, alias: None, is_read: true, writer }
    }
}

/// How much a text looks like a language: the most wins, and of several the first in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Not at all.
    None,
    /// The text may be in this language, if in no other.
    Rest,
    /// The text begins as in this language.
    Text,
    /// The extension of the file is one of this language, if not of another.
    RestOfExtension,
    /// The extension of the file, and where that is ambiguous the text, are of this language.
    Extension,
    /// The text cannot be anything else, whatever the extension is.
    Certain,
}

impl Likeness {
    /// The likeness of a text that begins as in a language, or does not.
    pub(crate) const fn of_text(is_like: bool) -> Likeness {
        if is_like { Likeness::Text } else { Likeness::None }
    }
}

/// An option that affects how some languages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingOption {
    /// The version of the kernel.
    Kernel,
    /// The capabilities of the process.
    Caps,
    /// What newer syscalls get.
    EnosysAbove,
    /// The version of systemd.
    Systemd,
    /// Values of variables.
    Variables,
    /// Which compiler of minijail decides.
    MinijailSemantics,
    /// Macros of C.
    Definitions,
}

/// Whether a text has parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// It has none.
    None,
    /// A file may have several parts with names, such as Kubernetes resources and arrays in source code.
    Some,
    /// Each part has a name, such as the filters of threads.
    Always,
}

/// The files of a source, besides those that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFiles {
    /// One.
    One,
    /// One, and drop-ins: files that change it, in directories beside it.
    DropIns {
        /// What the texts of these files are, as [`Text::role`].
        role: &'static str,
    },
    /// Several in a directory; the part selects them.
    Directory {
        /// What their texts are, as [`Text::role`], in the order in which they are read.
        roles: &'static [&'static str],
    },
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'t> {
    /// The texts, in the order in which they are read.
    pub texts: &'t [Text<'t>],
    /// The name under which the language is given; `None` if it was detected.
    pub name: Option<&'t str>,
    /// The part that is read.
    pub part: Option<&'t str>,
    /// The name of the file, if it is one: the language may depend on it, as for units.
    pub file: Option<&'t str>,
    /// Tells the text from the files that it includes, as [`Included::identity`]; `None` if it is not known.
    pub identity: Option<&'t str>,
}

/// A text of a source.
#[derive(Clone, Copy, Debug)]
pub struct Text<'t> {
    /// The text.
    pub text: &'t str,
    /// Its name in the places of rules; `None` for the only text of a source.
    pub name: Option<&'t str>,
    /// What it is in its source, for languages with several kinds of texts; empty if its content decides.
    pub role: &'t str,
}

impl<'t> Text<'t> {
    /// The only text of a source.
    pub const fn of(text: &'t str) -> Text<'t> {
        Text { text, name: None, role: "" }
    }
}

impl<'t> Input<'t> {
    /// Texts without a name.
    pub const fn of(texts: &'t [Text<'t>]) -> Input<'t> {
        Input { texts, name: None, part: None, file: None, identity: None }
    }

    /// The first text.
    pub(crate) fn text(&self) -> &'t str {
        self.texts.first().map_or("", |text| text.text)
    }
}

/// Finds the files that a text names. `from` is the name of the file that names it; `None` for the source itself. The error
/// says why it cannot be read.
pub trait Files {
    /// A file that a text includes.
    ///
    /// # Errors
    /// If it cannot be read.
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String>;

    /// A file that a text includes if it exists; `None` if it does not.
    ///
    /// # Errors
    /// If it exists, but cannot be read.
    fn include_if_present(
        &mut self,
        name: &str,
        from: Option<&str>,
    ) -> Result<Option<Included>, String>;

    /// The file of a base profile.
    ///
    /// # Errors
    /// If it cannot be read.
    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String>;
}

/// No files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        crate::included::no_files(name, from)
    }

    fn include_if_present(&mut self, _: &str, _: Option<&str>) -> Result<Option<Included>, String> {
        Ok(None)
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        crate::included::no_files(name, from)
    }
}

/// What was read: filters on top of each other.
#[derive(Clone, Debug)]
pub struct ReadSource {
    /// The filters, the oldest first.
    pub filters: Vec<ReadFilter>,
    /// Warnings, with the index of the text that each is about.
    pub warnings: Vec<FileMessage>,
    /// Why there are no filters, if there are none: then all syscalls are allowed.
    pub missing: Option<Diagnostic>,
}

/// A filter of a source.
#[derive(Clone, Debug)]
pub struct ReadFilter {
    /// What follows the name of the source in the name of the filter; empty if there is only one.
    pub suffix: String,
    /// The filter, without warnings.
    pub profile: Profile,
    /// The architectures that results are about.
    pub arches: Vec<Arch>,
    /// How often syscalls occur according to the source.
    pub weights: Option<Weights>,
    /// The directive of a systemd unit that installs the filter.
    pub directive: Option<&'static str>,
}

impl ReadSource {
    /// The only filter of a source with one text.
    pub(crate) fn of(mut profile: Profile) -> ReadSource {
        let warnings = of_first(std::mem::take(&mut profile.warnings));
        ReadSource { filters: vec![ReadFilter::of(profile)], warnings, missing: None }
    }

    /// The same, where the source says how often syscalls occur.
    pub(crate) fn with_weights(mut self, weights: Option<Weights>) -> ReadSource {
        for filter in &mut self.filters {
            filter.weights.clone_from(&weights);
        }
        self
    }

    /// The same, for callers that need a filter.
    ///
    /// # Errors
    /// All messages, if there is none.
    pub fn with_filters(mut self) -> Result<ReadSource, FileErrors> {
        match self.missing.take() {
            None => Ok(self),
            Some(diagnostic) => {
                let file = self.warnings.last().map_or(0, |warning| warning.file);
                self.warnings.push(FileMessage { file, diagnostic });
                Err(self.warnings.into())
            }
        }
    }
}

impl ReadFilter {
    /// The only filter of a source.
    pub(crate) fn of(profile: Profile) -> ReadFilter {
        let arches = profile.policy.arches().collect();
        ReadFilter { suffix: String::new(), profile, arches, weights: None, directive: None }
    }
}

/// The weights of these counts; `None` if there are none.
pub(crate) fn weights_of(
    counts: impl Iterator<Item = Count>,
) -> Result<Option<Weights>, Diagnostic> {
    let mut counts = counts.peekable();
    if counts.peek().is_none() {
        return Ok(None);
    }
    Weights::of(counts).map(Some).map_err(|error| Diagnostic::error(None, error.to_string()))
}

/// Messages about the first text.
pub(crate) fn of_first(messages: impl IntoIterator<Item = Diagnostic>) -> Vec<FileMessage> {
    messages.into_iter().map(|diagnostic| FileMessage { file: 0, diagnostic }).collect()
}

/// How a policy is written.
pub struct Writer {
    /// Writes what the language can express of a filter; the rest is noted as losses.
    pub write: fn(&mut Fit<'_>, &Writing<'_>) -> Result<String, ConvertError>,
    /// The dialect in which a container profile is read back. Such a policy also names its architectures, the flags for
    /// `seccomp(2)`, and the listener.
    pub dialect: Option<Dialect>,
    /// Whether the reader must be told all architectures of the filter, which the text does not name.
    pub for_arches: bool,
    /// Which programs add runc's rule, that numbers above the largest named one fail with ENOSYS.
    pub enosys_rule: EnosysRule,
    /// The architectures of the machines on which the policy is installed, if no other token occurs there.
    pub machines: Option<fn(Arch, SystemdVersion) -> Vec<Arch>>,
    /// A usual name of a file.
    pub file: &'static str,
    /// How policies with comments, such as generated ones, are laid out.
    pub annotated: Option<AnnotatedWriter>,
    /// What the name that may be given to the written policy is.
    pub naming: Option<Naming>,
}

impl Writer {
    /// A writer of policies that no container runtime reads, without a name; `file` is a usual name of a file.
    pub(crate) const fn of(
        file: &'static str,
        write: fn(&mut Fit<'_>, &Writing<'_>) -> Result<String, ConvertError>,
    ) -> Writer {
        Writer {
            write,
            dialect: None,
            for_arches: false,
            enosys_rule: EnosysRule::Never,
            machines: None,
            file,
            annotated: None,
            naming: None,
        }
    }
}

/// Which programs add runc's rule to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnosysRule {
    /// None.
    Never,
    /// All.
    Always,
    /// runc, but not the others that read the policy.
    OnlyRunc,
    /// runc, if it is the runtime of the cluster.
    Perhaps,
}

/// The name of a written policy.
#[derive(Clone, Copy)]
pub struct Naming {
    /// What has the name: `thread`.
    pub what: &'static str,
    /// Whether a name may be given.
    pub is_valid: fn(&str) -> bool,
    /// The rules for names.
    pub rules: &'static str,
    /// Whether the name of the file is the default.
    pub is_of_file: bool,
}

/// How a text is changed.
pub struct Editor {
    /// Edits, each of which may allow the syscall.
    pub edits: fn(&EditInput<'_>) -> Vec<Vec<Edit>>,
    /// The syscall with the arguments that the language can compare, if it cannot compare all.
    pub comparable: Option<fn(&Allowed) -> Allowed>,
    /// Whether it can compare some bits of an argument.
    pub compares_bits: bool,
    /// Whether the places of rules have the name of their file.
    pub names_files: bool,
}

impl Editor {
    /// An editor of languages that compare any argument as a whole.
    pub(crate) const fn of(edits: fn(&EditInput<'_>) -> Vec<Vec<Edit>>) -> Editor {
        Editor { edits, comparable: None, compares_bits: false, names_files: false }
    }
}

/// A language, under one of its names.
#[derive(Clone, Copy)]
pub struct LanguageId {
    language: &'static Language,
    /// The index of the name; `None` for a language that was detected.
    name: Option<usize>,
}

impl LanguageId {
    /// A language that is not given by a name.
    pub const fn of(language: &'static Language) -> LanguageId {
        LanguageId { language, name: None }
    }

    /// A language by the index of one of its names.
    pub const fn of_name(language: &'static Language, index: usize) -> LanguageId {
        LanguageId { language, name: Some(index) }
    }

    /// The language.
    pub fn language(self) -> &'static Language {
        self.language
    }

    /// The name under which it is given; `None` if it was detected.
    pub fn given_name(self) -> Option<&'static str> {
        self.name.and_then(|index| self.language.names.get(index)).map(|name| name.name)
    }

    /// The name; of a language that was detected, the first one.
    pub fn name(self) -> &'static str {
        self.own().map_or("", |name| name.name)
    }

    /// Another name that is understood, too.
    pub fn alias(self) -> Option<&'static str> {
        self.own().and_then(|name| name.alias)
    }

    /// How a policy is written in it.
    pub fn writer(self) -> Option<&'static Writer> {
        self.own().and_then(|name| name.writer)
    }

    /// The files of a source in it.
    pub fn files(self) -> SourceFiles {
        self.language.files
    }

    /// How policies with comments are laid out in it.
    pub fn annotated(self) -> Option<&'static AnnotatedWriter> {
        self.writer().and_then(|writer| writer.annotated.as_ref())
    }

    /// Whether an option affects how it is read.
    pub fn has_option(self, option: ReadingOption) -> bool {
        self.language.options.contains(&option)
    }

    /// Whether sources are read under this name.
    pub fn is_read(self) -> bool {
        self.own().is_some_and(|name| name.is_read)
    }

    fn own(self) -> Option<&'static Name> {
        self.language.names.get(self.name.unwrap_or(0))
    }
}

impl PartialEq for LanguageId {
    fn eq(&self, other: &LanguageId) -> bool {
        std::ptr::eq(self.language, other.language) && self.name == other.name
    }
}

impl Eq for LanguageId {}

impl fmt::Debug for LanguageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LanguageId({self})")
    }
}

impl fmt::Display for LanguageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether all bytes are text: no control characters but white space.
pub(crate) fn is_text(text: &[u8]) -> bool {
    text.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// What writers of languages are told besides the filter.
pub struct Writing<'o> {
    /// The name under which the language is written.
    pub(crate) target: &'static str,
    /// The dialect of a container profile.
    pub(crate) dialect: Option<Dialect>,
    /// Whether the nearest stricter policy is written.
    pub(crate) closest: bool,
    /// How a container profile is read back.
    pub(crate) enosys_above: Option<EnosysAbove>,
    /// The version of systemd.
    pub(crate) systemd: SystemdVersion,
    /// The name of what is written, if one is given.
    pub(crate) name: Option<&'o str>,
    /// The flags with which the filter is installed.
    pub(crate) flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub(crate) listener: Option<&'o Listener>,
    /// The function of a text in the language, read for these architectures.
    pub(crate) read_back: &'o ReadBack<'o>,
}

/// Reads a text back.
type ReadBack<'o> = dyn Fn(&mut Store, &str, &[Arch]) -> Result<Func, ConvertError> + 'o;
