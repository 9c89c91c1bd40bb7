//! The top level of a recording: whether it is one, and of which version.

use callgate_bpf::advice::Advice;
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::Node;

use super::fields::required;

/// The version of recordings in JSON.
pub(super) const VERSION: u64 = 1;

/// The tree of a recording in a supported version; reports why there is none.
pub(crate) fn parse<'t>(text: &'t str, reader: &mut Reader<'_>) -> Option<Node<'t>> {
    match json::parse(text) {
        Ok(tree) => check(tree, reader),
        Err(error) => {
            reader.add(error);
            None
        }
    }
}

/// Whether a tree claims to be a recording.
pub(super) fn is_recording(tree: &Node<'_>) -> bool {
    tree.get("callgate").and_then(Node::text) == Some("recording")
}

/// Returns the tree if it is a recording in a supported version; reports why it is not.
pub(super) fn check<'t>(tree: Node<'t>, reader: &mut Reader<'_>) -> Option<Node<'t>> {
    reader.no_duplicates(&tree, &["callgate", "version", "calls"]);
    if !is_recording(&tree) {
        let given = tree.get("callgate").unwrap_or(&tree);
        let message = "this JSON is not a recording: missing `\"callgate\": \"recording\"`";
        reader.error(given.at, message).set_help(Advice::GiveRecording);
        return None;
    }
    let version = required(reader, &tree, "version", "the recording")?;
    let given = reader.integer(version, "`version`", u32::MAX.into())?;
    if given != VERSION {
        let message = format!("`version` is {given}, but only version {VERSION} is supported");
        reader.error(version.at, message).help =
            "record again, or use the version of callgate that made the recording".to_owned();
        return None;
    }
    Some(tree)
}
