//! Reads requests.

use callgate::{Arch, emit::SourceLanguage};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_formats::languages::LanguageId;
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::KeyMatching;
use callgate_formats::syntax::reader::{Fields, Reader, key};
use callgate_formats::syntax::tree::{Node, NodeKind};
use callgate_formats::{PRESETS, built_in};
use callgate_requests::source::{ProgramForm, Reading, SourceContent, SourceFormat, SourceText};
use callgate_requests::written::Written;
use callgate_requests::{Call, Value, arch_named, set};

use super::wording::PAGE;

/// A request.
pub(crate) enum Asked {
    /// About Callgate itself.
    About,
    /// What names of constants mean.
    Constants,
    /// A view of a filter, and its tests.
    Filter(View, Box<SourceText>, String),
    /// The denials of a log without the filter; the architecture is that of reports that do not name one.
    Log(String, Arch),
}

/// What is shown of a filter.
pub(crate) enum View {
    Explanation,
    Findings,
    Program,
    Compare(Box<SourceText>),
    Convert {
        to: Target,
        closest: bool,
    },
    Simulate(Call),
    /// Why the filter denied what a log says.
    Denied(String),
}

/// What a filter is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Policy(LanguageId),
    Code(SourceLanguage),
    Assembly,
}

impl Target {
    /// The outputs besides policy languages, by name, with a title.
    pub(crate) const CODE: [(&str, &str, Target); 4] = [
        ("c", "C", Target::Code(SourceLanguage::C)),
        ("rust", "Rust", Target::Code(SourceLanguage::Rust)),
        ("go", "Go", Target::Code(SourceLanguage::Go)),
        ("asm", "BPF assembly", Target::Assembly),
    ];

    fn named(name: &str) -> Option<Target> {
        let code = Target::CODE.iter().find(|(own, ..)| *own == name);
        let policy = || {
            let id = name.parse::<LanguageId>().ok()?;
            id.writer().map(|_| Target::Policy(id))
        };
        code.map(|(.., written)| *written).or_else(policy)
    }
}

type Read<T> = Result<T, Vec<Diagnostic>>;

fn one<T>(message: impl Into<String>) -> Read<T> {
    Err(vec![Diagnostic::error(None, message)])
}

/// Parses a request.
///
/// # Errors
/// All messages about it.
pub(crate) fn parse(text: &str) -> Read<Asked> {
    let document = json::parse(text).map_err(|error| vec![error])?;
    let mut reader = Reader::new(text, KeyMatching::Exact).refusing_unknown_keys();
    let keys =
        ["view", "source", "before", "to", "closest", "call", "arch", "log", "tests"].map(key);
    let Some(fields) = reader.fields(&document, "the request", &keys) else {
        return Err(reader.finish());
    };
    let text = |key: &str| fields.get(key).and_then(Node::text);
    let view = text("view").unwrap_or_default();
    match view {
        "about" => return Ok(Asked::About),
        "constants" => return Ok(Asked::Constants),
        _ => {}
    }
    let source = match fields.get("source") {
        Some(node) => source(node)?,
        None if view == "denied" => {
            return Ok(Asked::Log(log(&fields)?, arch(&fields)?.unwrap_or(Arch::X86_64)));
        }
        None => return one("missing key `source`"),
    };
    let view = match view {
        "explanation" => View::Explanation,
        "findings" => View::Findings,
        "program" => View::Program,
        "compare" => match fields.get("before") {
            Some(node) => View::Compare(Box::new(self::source(node)?)),
            None => return one("missing key `before`"),
        },
        "convert" => match text("to").and_then(Target::named) {
            Some(to) => View::Convert { to, closest: is_true(fields.get("closest")) },
            None => return one("`to` is not a language"),
        },
        "simulate" => View::Simulate(call(&fields)?),
        "denied" => View::Denied(log(&fields)?),
        _ => return one("unknown `view`"),
    };
    let tests = text("tests").unwrap_or_default().to_owned();
    Ok(Asked::Filter(view, Box::new(source), tests))
}

fn log(fields: &Fields<'_>) -> Read<String> {
    match fields.get("log").and_then(Node::text) {
        Some(log) => Ok(log.to_owned()),
        None => one("missing key `log`"),
    }
}

fn arch(fields: &Fields<'_>) -> Read<Option<Arch>> {
    let Some(name) = fields.get("arch").and_then(Node::text) else { return Ok(None) };
    match arch_named(name) {
        Some(arch) => Ok(Some(arch)),
        None => one("unknown architecture"),
    }
}

fn is_true(node: Option<&Node<'_>>) -> bool {
    matches!(node.map(|node| &node.kind), Some(NodeKind::Bool(true)))
}

/// A source: a text or a preset, and settings.
fn source(node: &Node<'_>) -> Read<SourceText> {
    let content = match (node.get("text"), node.get("preset")) {
        (Some(text), None) => text.text().map(of_text),
        (None, Some(name)) => name.text().map(|name| SourceContent::Preset(name.to_owned())),
        _ => None,
    };
    let Some(content) = content else { return one("a source has a `text` or a `preset`") };
    let mut source = SourceText::new(content, Reading::new(Arch::X86_64));
    source.reading.statements = true;
    source.wording = PAGE;
    let is_text = matches!(source.content, SourceContent::Text(_));
    for member in node.members() {
        // Messages about a built-in profile have its own name, as its text is not in the field.
        if matches!(&*member.key, "text" | "preset") || (&*member.key == "name" && !is_text) {
            continue;
        }
        let Some(value) = member.value.text() else {
            return one(format!("`{}` is not a string", member.key));
        };
        match &*member.key {
            "set" => source.values = values(value)?,
            key => set(&mut source, key, value).map_err(|error| vec![error])?,
        }
    }
    // Fields have texts only, so that messages should be about characters, not about bytes.
    if let SourceContent::Text(text) = &source.content {
        let raw = SourceFormat::Program(ProgramForm::Raw);
        if source.format_of(text.as_bytes()) == raw {
            source.format = Some(SourceFormat::Program(ProgramForm::Text));
        }
    }
    Ok(source)
}

/// A text, unless it is the name of a built-in profile or preset, such as `docker-default@28`.
fn of_text(text: &str) -> SourceContent {
    let name = text.trim();
    match built_in(name).is_some() || PRESETS.contains(&name) {
        true => SourceContent::Preset(name.to_owned()),
        false => SourceContent::Text(text.to_owned()),
    }
}

/// The values of variables: `log=2, fd=0x10`.
fn values(text: &str) -> Read<Vec<(String, Value)>> {
    let mut values: Vec<(String, Value)> = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let parsed =
            pair.split_once('=').map(|(name, value)| (name.trim(), Value::parse(value.trim())));
        let (name, value) = match parsed {
            Some((name, Ok(value))) => (name.trim_start_matches('$').to_owned(), value),
            Some((name, Err(error))) => {
                return one(format!("the value of the variable \"{name}\" is {error}"));
            }
            None => return one(format!("variables: \"{pair}\" is not NAME=VALUE")),
        };
        if values.iter().any(|(other, _)| *other == name) {
            return one(format!("the variable \"{name}\" has two values"));
        }
        values.push((name, value));
    }
    Ok(values)
}

fn call(fields: &Fields<'_>) -> Read<Call> {
    let Some(text) = fields.get("call").and_then(Node::text) else {
        return one("missing key `call`");
    };
    let Some(written) = Written::of_words(text) else { return one("missing syscall") };
    let call = Call::of_written(&written).map_err(|error| vec![error])?;
    Ok(Call { arch: call.arch.or(arch(fields)?), ..call })
}
