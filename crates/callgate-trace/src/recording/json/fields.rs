//! Fields that objects of different kinds have in common.

use callgate_bpf::diagnostic::Severity;
use callgate_bpf::suggest::nearest;
use callgate_core::Arch;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use crate::names::MAX_SUGGESTIONS;

/// Whether a node is an object; otherwise reports that `what` must be `expected`.
pub(super) fn is_object(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    expected: &str,
) -> bool {
    let is_object = matches!(node.kind, NodeKind::Map(_));
    if !is_object {
        reader.wrong_type(node, what, expected);
    }
    is_object
}

/// The value of a key; reports if it is missing.
pub(super) fn required<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    key: &str,
    what: &str,
) -> Option<&'n Node<'n>> {
    let found = node.get(key);
    if found.is_none() {
        reader.error(node.at, format!("missing `{key}` in {what}")).help =
            "record again".to_owned();
    }
    found
}

/// An architecture by its name.
pub(super) fn arch(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arch> {
    let given = reader.text(node, "`arch`")?;
    let arch = Arch::from_name(given);
    if arch.is_none() {
        let names = || Arch::ALL.iter().map(|arch| arch.name());
        let message = format!("`arch` must be an architecture, but is {}", node.describe());
        let suggest = reader.reported(Severity::Error) < MAX_SUGGESTIONS;
        let near = if suggest { nearest(given, names()) } else { None };
        reader.error(node.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known architectures: {}", names().collect::<Vec<_>>().join(", ")),
        };
    }
    arch
}
