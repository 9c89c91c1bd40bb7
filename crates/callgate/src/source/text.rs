//! Sources before they are read.

use std::collections::BTreeMap;

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::RawInsn;
use callgate_formats::built_in;
use callgate_formats::languages::{LanguageId, Reading};

use super::format::SourceFormat;
use super::value::Value;
use super::wording::Wording;

/// A source before it is read.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Its name in messages.
    pub name: String,
    /// The filter itself.
    pub content: Content,
    /// The format, if it is given.
    pub format: Option<SourceFormat>,
    /// The part of the text: the name of a Kubernetes resource, the thread of a Firecracker document, or the name or line
    /// of an array in source code.
    pub part: Option<String>,
    /// The files that it may include, or of which it consists, by name.
    pub files: BTreeMap<String, String>,
    /// Tells it from the files that it includes; by default, its name.
    pub identity: Option<String>,
    /// Values of variables.
    pub values: Vec<(String, Value)>,
    /// Whether values for variables that it does not have are ignored.
    pub ignores_values: bool,
    /// Whether its filters keep the warnings of the reader, which are not returned then.
    pub keeps_warnings: bool,
    /// How it is read.
    pub reading: Reading,
    /// The words of the caller.
    pub wording: &'static Wording,
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
    /// A file in any format.
    File(Vec<u8>),
    /// Texts in a language that are read together.
    Texts(Texts),
    /// The files that are given with it: the lists of a filter of Android, or drop-ins of a systemd unit.
    Files,
    /// The name of a preset, or of a built-in profile with or without a version.
    Preset(String),
    /// A combination of sources that these names stand for; each is read with its own options.
    Expression(String, BTreeMap<String, SourceText>),
}

/// Texts that are read together, such as a unit with its drop-ins.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Their language.
    pub language: LanguageId,
    /// The texts, in the order in which they are read.
    pub texts: Vec<NamedText>,
    /// Whether they are files: the name of a file may tell what it is.
    pub are_files: bool,
}

/// A text with its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
    /// Why it is refused if sources are read with `strict`. Messages do not quote such a text.
    pub refusal: Option<Diagnostic>,
    /// What it is in its source, as the languages call it.
    pub role: &'static str,
}

impl NamedText {
    /// A text that may be quoted.
    pub fn of(name: impl Into<String>, text: impl Into<String>, role: &'static str) -> NamedText {
        NamedText { name: name.into(), text: text.into(), refusal: None, role }
    }
}

/// The built-in profile that is used where none is given.
pub const BUILT_IN: &str = "container-default";

impl SourceText {
    /// The name of a source that has none.
    pub const UNNAMED: &str = "source";

    /// A source without a name, a format, files and values.
    pub fn new(content: Content, reading: Reading) -> SourceText {
        let name = match &content {
            Content::Preset(name) => SourceText::name_of_preset(name),
            _ => SourceText::UNNAMED.to_owned(),
        };
        SourceText {
            name,
            content,
            format: None,
            part: None,
            files: BTreeMap::new(),
            identity: None,
            values: Vec::new(),
            ignores_values: false,
            keeps_warnings: false,
            reading,
            wording: Wording::REQUEST,
        }
    }

    /// The name of a preset or built-in profile in messages, with the version that it is.
    pub fn name_of_preset(name: &str) -> String {
        match built_in(name) {
            Some(Ok(found)) if !found.releases.is_empty() => found.name,
            _ => format!("preset:{name}"),
        }
    }

    /// The given format, or the one that the name and this content show.
    pub fn format_of(&self, bytes: &[u8]) -> SourceFormat {
        self.format.unwrap_or_else(|| SourceFormat::of_file(&self.name, bytes))
    }
}
