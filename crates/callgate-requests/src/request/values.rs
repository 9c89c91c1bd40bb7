//! Values of keys in requests.

use callgate::bpf::suggest::nearest;
use callgate::formats::syntax::reader::Reader;
use callgate::formats::syntax::tree::{Node, NodeKind};
use callgate::{Arch, diagnostic::Diagnostic};

/// A name out of a list.
pub(super) fn named<T: Copy>(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
    known: &[(&str, T)],
) -> Option<T> {
    let given = reader.text(node, what)?;
    let found = known.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let help = match nearest(given, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("{what} is one of {}", names.join(", ")),
        };
        let shown: String = given.chars().take(40).collect();
        reader.error(node.at, format!("unknown {what} \"{shown}\"")).help = help;
    }
    found
}

/// An architecture, by any of its names.
pub(super) fn arch(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Arch> {
    let given = reader.text(node, what)?;
    if let Some(arch) = Arch::from_name(given) {
        return Some(arch);
    }
    let known: Vec<(&str, Arch)> = Arch::ALL.iter().map(|arch| (arch.name(), *arch)).collect();
    named(reader, node, what, &known)
}

/// A boolean.
pub(super) fn boolean(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<bool> {
    match node.kind {
        NodeKind::Bool(value) => Some(value),
        _ => {
            reader.wrong_type(node, what, "true or false");
            None
        }
    }
}

/// A value with a parser of its own.
pub(super) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
) -> Option<T> {
    match reader.text(node, what)?.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            reader
                .add(Diagnostic::error(Some(reader.position(node.at)), format!("{what}: {error}")));
            None
        }
    }
}

/// A name, or a number as written.
pub(super) fn word(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<String> {
    match &node.kind {
        NodeKind::Text(text) => Some(text.to_string()),
        NodeKind::Number(digits) => Some(digits.to_string()),
        _ => {
            reader.wrong_type(node, what, "a string or a number");
            None
        }
    }
}
