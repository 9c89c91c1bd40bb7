//! Sources in a request.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_core::RawInsn;
use callgate_formats::syntax::reader::{Fields, KnownKey, Reader, key};
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::values::{arch, boolean, of_text, word};
use crate::settings::{format as source_format, set_reading};
use crate::source::Value;
use crate::source::{Reading, SourceContent, SourceText};

const KEYS: &[KnownKey] = &[
    key("text"),
    key("insns"),
    key("hex"),
    key("preset"),
    key("expression"),
    key("sources"),
    key("name"),
    key("format"),
    key("part"),
    key("files"),
    key("arches"),
    key("kernel"),
    key("caps"),
    key("enosys_above"),
    key("libseccomp"),
    key("runc"),
    key("crun"),
    key("systemd"),
    key("minijail_semantics"),
    key("strict"),
    key("endian"),
    key("define"),
    key("undefine"),
    key("set"),
];

/// The maximum number of sources to merge.
pub const MAX_SOURCES: usize = 64;

/// The keys with a filter itself.
const CONTENTS: [&str; 4] = ["text", "insns", "hex", "preset"];

/// Reads a source; `what` is its key, which is its name unless it has another.
pub(super) fn source(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    machine: Arch,
) -> Option<SourceText> {
    let fields = reader.fields(node, &format!("`{what}`"), KEYS)?;
    let Some(expression) = fields.get("expression") else {
        if let Some(sources) = fields.get("sources") {
            let message = "`sources` are those of an `expression`, which is missing";
            reader.error(sources.at, message);
            return None;
        }
        return simple(reader, &fields, what, machine);
    };
    if let Some(other) = CONTENTS.iter().find(|key| fields.get(key).is_some()) {
        let message = format!("`{what}` has both `expression` and `{other}`");
        reader.error(fields.at, message).help = "give exactly one of them".to_owned();
        return None;
    }
    let text = reader.text(expression, "`expression`")?.to_owned();
    let sources = operands(reader, fields.get("sources"), machine)?;
    described(reader, &fields, what, SourceContent::Expression(text, sources), machine)
}

/// The sources that an expression combines, by name. They are not expressions themselves.
fn operands(
    reader: &mut Reader<'_>,
    node: Option<&Node<'_>>,
    machine: Arch,
) -> Option<BTreeMap<String, SourceText>> {
    let mut sources = BTreeMap::new();
    let Some(node) = node else { return Some(sources) };
    if !matches!(node.kind, NodeKind::Map(_)) {
        reader.wrong_type(node, "`sources`", "an object");
        return None;
    }
    for member in node.members() {
        let name = member.key.to_string();
        let fields = reader.fields(&member.value, &format!("`{name}`"), KEYS)?;
        if let Some(node) = ["expression", "sources"].iter().find_map(|key| fields.get(key)) {
            let message = format!("`{name}` is an expression itself");
            reader.error(node.at, message).help =
                "write one expression with all operands".to_owned();
            return None;
        }
        let source = simple(reader, &fields, &name, machine)?;
        if sources.insert(name, source).is_some() {
            reader.error(member.key_at, "a source is given twice");
            return None;
        }
    }
    if sources.len() > MAX_SOURCES {
        let message =
            format!("`sources` has {} sources; the limit is {MAX_SOURCES}", sources.len());
        reader.error(node.at, message);
        return None;
    }
    Some(sources)
}

/// A source that is not an expression.
fn simple(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    what: &str,
    machine: Arch,
) -> Option<SourceText> {
    let content = content(reader, fields, what)?;
    described(reader, fields, what, content, machine)
}

/// A source with this content, and how it is read.
fn described(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    what: &str,
    content: SourceContent,
    machine: Arch,
) -> Option<SourceText> {
    let text = |reader: &mut Reader<'_>, key: &str| -> Option<Option<String>> {
        fields.get(key).map_or(Some(None), |node| {
            reader.text(node, &format!("`{key}`")).map(|text| Some(text.to_owned()))
        })
    };
    let format = match fields.get("format") {
        None => None,
        Some(node) => Some(of_text(reader, node, "`format`", source_format)?),
    };
    let name = text(reader, "name")?.unwrap_or_else(|| match &content {
        SourceContent::Preset(name) => SourceText::name_of_preset(name),
        _ => what.to_owned(),
    });
    let part = text(reader, "part")?;
    let files = files(reader, fields.get("files"))?;
    let values = values_of_variables(reader, fields.get("set"))?;
    let reading = reading(reader, fields, machine)?;
    Some(SourceText { name, format, part, files, values, ..SourceText::new(content, reading) })
}

/// The only key of those with the filter itself.
fn content(reader: &mut Reader<'_>, fields: &Fields<'_>, what: &str) -> Option<SourceContent> {
    let mut given = CONTENTS.iter().filter_map(|key| Some((*key, fields.get(key)?)));
    let has_files = fields.get("files").is_some() && fields.get("format").is_some();
    if has_files && CONTENTS.iter().all(|key| fields.get(key).is_none()) {
        return Some(SourceContent::Files);
    }
    let (Some((key, node)), None) = (given.next(), given.next()) else {
        let message = format!("`{what}` must have one of `text`, `insns`, `hex` and `preset`");
        reader.error(fields.at, message).help = "give exactly one of them".to_owned();
        return None;
    };
    match key {
        "insns" => insns(reader, node).map(SourceContent::Insns),
        "hex" => bytes(reader, node).map(SourceContent::Bytes),
        _ => {
            let text = reader.text(node, &format!("`{key}`"))?.to_owned();
            Some(if key == "text" {
                SourceContent::Text(text)
            } else {
                SourceContent::Preset(text)
            })
        }
    }
}

/// Instructions as lists of their fields.
fn insns(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Vec<RawInsn>> {
    let items = reader.list(node, "`insns`")?;
    let mut insns = Vec::new();
    for item in items {
        let [code, jt, jf, k] = reader.list(item, "an instruction")? else {
            reader.error(item.at, "an instruction is a list of four numbers: [code, jt, jf, k]");
            return None;
        };
        let mut field = |node, what, max: u64| reader.integer(node, what, max);
        insns.push(RawInsn {
            code: field(code, "the code", u16::MAX.into())? as u16,
            jt: field(jt, "jt", u8::MAX.into())? as u8,
            jf: field(jf, "jf", u8::MAX.into())? as u8,
            k: field(k, "k", u32::MAX.into())? as u32,
        });
    }
    Some(insns)
}

/// Bytes as hexadecimal digits.
fn bytes(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Vec<u8>> {
    let digits = reader.text(node, "`hex`")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    let bytes = bytes.filter(|_| rest.is_empty());
    if bytes.is_none() {
        reader.error(node.at, "`hex` must be pairs of hexadecimal digits");
    }
    bytes
}

/// Texts by name.
fn files(reader: &mut Reader<'_>, node: Option<&Node<'_>>) -> Option<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let Some(node) = node else { return Some(files) };
    if !matches!(node.kind, NodeKind::Map(_)) {
        reader.wrong_type(node, "`files`", "an object");
        return None;
    }
    for member in node.members() {
        let text = reader.text(&member.value, "a file")?.to_owned();
        if files.insert(member.key.to_string(), text).is_some() {
            reader.error(member.key_at, "a file is given twice");
            return None;
        }
    }
    Some(files)
}

/// Values by the names of their variables.
fn values_of_variables(
    reader: &mut Reader<'_>,
    node: Option<&Node<'_>>,
) -> Option<Vec<(String, Value)>> {
    let mut values = Vec::new();
    let Some(node) = node else { return Some(values) };
    if !matches!(node.kind, NodeKind::Map(_)) {
        reader.wrong_type(node, "`set`", "an object");
        return None;
    }
    for member in node.members() {
        let (name, node) = (member.key.to_string(), &member.value);
        let text = word(reader, node, "a value of `set`")?;
        match Value::parse(&text) {
            Ok(value) => values.push((name, value)),
            Err(error) => {
                reader.error(node.at, format!("a value of `set`: {error}"));
                return None;
            }
        }
    }
    Some(values)
}

fn reading(reader: &mut Reader<'_>, fields: &Fields<'_>, machine: Arch) -> Option<Reading> {
    let mut reading = Reading::new(machine);
    if let Some(node) = fields.get("arches") {
        for item in reader.list(node, "`arches`")? {
            reading.arches.push(arch(reader, item, "architecture")?);
        }
    }
    let words = [
        "kernel",
        "caps",
        "systemd",
        "minijail_semantics",
        "enosys_above",
        "libseccomp",
        "runc",
        "endian",
    ];
    for key in words {
        if let Some(node) = fields.get(key) {
            of_text(reader, node, &format!("`{key}`"), |text| {
                set_reading(&mut reading, key, text)
            })?;
        }
    }
    for key in ["define", "undefine"] {
        let Some(node) = fields.get(key) else { continue };
        for item in reader.list(node, &format!("`{key}`"))? {
            of_text(reader, item, &format!("`{key}`"), |text| {
                set_reading(&mut reading, key, text)
            })?;
        }
    }
    if let Some(node) = fields.get("crun") {
        let is_given = boolean(reader, node, "`crun`")?;
        set_reading(&mut reading, "crun", if is_given { "true" } else { "false" }).ok()?;
    }
    if let Some(node) = fields.get("strict") {
        reading.strict = boolean(reader, node, "`strict`")?;
    }
    Some(reading)
}
