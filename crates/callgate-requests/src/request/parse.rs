//! Reads a request.

use callgate::Arch;
use callgate::lint::{AllowError, Level};
use callgate::sets::Arguments;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::KeyMatching;
use callgate_formats::syntax::reader::{Fields, KnownKey, Reader, key};
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::model::{Call, Operation, Recorded, Request};
use super::options::compiling;
use super::source::{MAX_SOURCES, source};
use super::values::{arch, boolean, named, word};
use crate::lint::Choice;
use crate::source::SourceText;

#[derive(Clone, Copy)]
enum Kind {
    Compile,
    Template,
    Optimize,
    Merge,
    Explain,
    Diff,
    Subset,
    Simulate,
    Lint,
    Recording,
}

/// The requests, by name.
const KINDS: &[(&str, Kind)] = &[
    ("compile", Kind::Compile),
    ("template", Kind::Template),
    ("optimize", Kind::Optimize),
    ("merge", Kind::Merge),
    ("explain", Kind::Explain),
    ("diff", Kind::Diff),
    ("subset", Kind::Subset),
    ("simulate", Kind::Simulate),
    ("lint", Kind::Lint),
    ("recording", Kind::Recording),
];

impl Kind {
    /// The keys of a request besides `request` and `machine`.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Kind::Compile | Kind::Template | Kind::Optimize => &["source", "options"],
            Kind::Merge => &["sources", "options"],
            Kind::Explain => &["source", "syscalls"],
            Kind::Diff | Kind::Subset => &["a", "b", "max", "arguments"],
            Kind::Simulate => {
                &["source", "options", "syscall", "args", "arch", "instruction_pointer"]
            }
            Kind::Lint => &["source", "level", "allow"],
            Kind::Recording => &["text", "name", "strict", "partial"],
        }
    }
}

/// Parses a request.
///
/// # Errors
/// All messages about it.
pub(crate) fn parse(text: &str) -> Result<Request, Vec<Diagnostic>> {
    let document = json::parse(text).map_err(|error| vec![error])?;
    let mut reader = Reader::new(text, KeyMatching::Exact).refusing_unknown_keys();
    let request = request(&mut reader, &document).filter(|_| !reader.failed());
    request.ok_or_else(|| reader.finish())
}

fn request(reader: &mut Reader<'_>, document: &Node<'_>) -> Option<Request> {
    if !matches!(document.kind, NodeKind::Map(_)) {
        reader.wrong_type(document, "a request", "an object");
        return None;
    }
    let Some(node) = document.get("request") else {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        reader.error(document.at, "missing key `request`").help =
            format!("the requests are {}", names.join(", "));
        return None;
    };
    let kind = named(reader, node, "request", KINDS)?;
    let keys: Vec<KnownKey> =
        ["request", "machine"].iter().chain(kind.keys()).map(|name| key(name)).collect();
    let fields = reader.fields(document, "the request", &keys)?;
    let machine = required(reader, &fields, "machine")?;
    let machine = arch(reader, machine, "machine")?;
    let operation = operation(reader, &fields, kind, machine)?;
    Some(Request { machine, operation })
}

fn operation(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Kind,
    machine: Arch,
) -> Option<Operation> {
    Some(match kind {
        Kind::Compile => Operation::Compile {
            source: one_source(reader, fields, "source", machine)?,
            compiling: compiling(reader, fields.get("options"))?,
        },
        Kind::Template => Operation::Template {
            source: one_source(reader, fields, "source", machine)?,
            compiling: compiling(reader, fields.get("options"))?,
        },
        Kind::Optimize => Operation::Optimize {
            source: one_source(reader, fields, "source", machine)?,
            compiling: compiling(reader, fields.get("options"))?,
        },
        Kind::Merge => Operation::Merge {
            sources: sources(reader, fields, machine)?,
            compiling: compiling(reader, fields.get("options"))?,
        },
        Kind::Explain => {
            let source = one_source(reader, fields, "source", machine)?;
            let syscalls = match fields.get("syscalls") {
                Some(node) => words(reader, node, "`syscalls`")?,
                None => Vec::new(),
            };
            Operation::Explain { source, syscalls }
        }
        Kind::Diff | Kind::Subset => {
            let filters = [
                one_source(reader, fields, "a", machine)?,
                one_source(reader, fields, "b", machine)?,
            ];
            let max = match fields.get("max") {
                Some(node) => Some(reader.integer(node, "`max`", u32::MAX.into())? as u32),
                None => None,
            };
            let arguments = match fields.get("arguments") {
                Some(node) => {
                    let known = [Arguments::Filter, Arguments::Kernel].map(|one| (one.name(), one));
                    Some(named(reader, node, "`arguments`", &known)?)
                }
                None => None,
            };
            match kind {
                Kind::Diff => {
                    let arguments = arguments.unwrap_or(Arguments::Filter);
                    Operation::Diff { filters, max, arguments }
                }
                _ => Operation::Subset { filters, max, arguments },
            }
        }
        Kind::Simulate => Operation::Simulate {
            source: one_source(reader, fields, "source", machine)?,
            compiling: compiling(reader, fields.get("options"))?,
            call: call(reader, fields)?,
        },
        Kind::Lint => Operation::Lint {
            source: one_source(reader, fields, "source", machine)?,
            choice: choice(reader, fields)?,
        },
        Kind::Recording => Operation::Recording(recorded(reader, fields)?),
    })
}

/// The value of a key that must be there.
fn required<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    key: &'static str,
) -> Option<&'n Node<'n>> {
    let node = fields.get(key);
    if node.is_none() {
        reader.error(fields.at, format!("missing key `{key}`"));
    }
    node
}

fn one_source(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &'static str,
    machine: Arch,
) -> Option<SourceText> {
    let node = required(reader, fields, key)?;
    source(reader, node, key, machine)
}

fn sources(reader: &mut Reader<'_>, fields: &Fields<'_>, machine: Arch) -> Option<Vec<SourceText>> {
    let node = required(reader, fields, "sources")?;
    let items = reader.list(node, "`sources`")?;
    if items.is_empty() || items.len() > MAX_SOURCES {
        let message =
            format!("`sources` has {} items, but must have 1 to {MAX_SOURCES}", items.len());
        reader.error(node.at, message);
        return None;
    }
    let name = |at: usize| format!("sources[{at}]");
    items.iter().enumerate().map(|(at, node)| source(reader, node, &name(at), machine)).collect()
}

fn call(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Call> {
    let node = required(reader, fields, "syscall")?;
    let mut call = Call { syscall: word(reader, node, "`syscall`")?, ..Call::default() };
    if let Some(node) = fields.get("args") {
        call.args = words(reader, node, "`args`")?;
    }
    if let Some(node) = fields.get("arch") {
        call.arch = Some(arch(reader, node, "architecture")?);
    }
    if let Some(node) = fields.get("instruction_pointer") {
        call.instruction_pointer = reader.integer(node, "`instruction_pointer`", u64::MAX)?;
    }
    Some(call)
}

fn choice(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Choice> {
    let mut choice = Choice::default();
    if let Some(node) = fields.get("level") {
        let levels = Level::ALL.map(|level| (level.name(), level));
        choice.level = named(reader, node, "level", &levels)?;
    }
    if let Some(node) = fields.get("allow") {
        for item in reader.list(node, "`allow`")? {
            match reader.text(item, "each item of `allow`")?.parse() {
                Ok(allow) => choice.allow.push(allow),
                Err(error) => {
                    reader.error(item.at, AllowError::to_string(&error));
                    return None;
                }
            }
        }
    }
    Some(choice)
}

fn recorded(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Recorded> {
    let text = required(reader, fields, "text")?;
    let text = reader.text(text, "`text`")?.to_owned();
    let name = match fields.get("name") {
        Some(node) => reader.text(node, "`name`")?.to_owned(),
        None => "recording".to_owned(),
    };
    let mut flag = |key: &str| match fields.get(key) {
        Some(node) => boolean(reader, node, &format!("`{key}`")),
        None => Some(false),
    };
    let (strict, partial) = (flag("strict")?, flag("partial")?);
    Some(Recorded { text, name, strict, partial })
}

/// Names or numbers.
fn words(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Vec<String>> {
    let items = reader.list(node, what)?;
    let item = format!("each item of {what}");
    items.iter().map(|node| word(reader, node, &item)).collect()
}
