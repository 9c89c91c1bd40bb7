//! Values of keys in requests.

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use crate::settings;

/// The value of a text at a node; an error of the function has the position of the node.
pub(super) fn of_text<T>(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    value: impl FnOnce(&str) -> Result<T, Diagnostic>,
) -> Option<T> {
    match value(reader.text(node, what)?) {
        Ok(value) => Some(value),
        Err(error) => {
            reader.add(Diagnostic { position: Some(reader.position(node.at)), ..error });
            None
        }
    }
}

/// A name out of a list.
pub(super) fn named<T: Copy>(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    known: &[(&str, T)],
) -> Option<T> {
    of_text(reader, node, what, |given| settings::named(what, given, known))
}

/// An architecture, by any of its names.
pub(super) fn arch(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arch> {
    of_text(reader, node, what, |given| settings::arch(what, given))
}

/// A boolean.
pub(super) fn boolean(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<bool> {
    match node.kind {
        NodeKind::Bool(value) => Some(value),
        _ => {
            reader.wrong_type(node, what, "true or false");
            None
        }
    }
}

/// A name, or a number as written.
pub(super) fn word(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<String> {
    match &node.kind {
        NodeKind::Text(text) => Some(text.to_string()),
        NodeKind::Number(digits) => Some(digits.to_string()),
        _ => {
            reader.wrong_type(node, what, "a string or a number");
            None
        }
    }
}
