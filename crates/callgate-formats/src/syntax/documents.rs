//! The documents of a text, whether it is JSON or YAML.

use super::json;
use super::tree::Node;
#[cfg(feature = "yaml")]
use super::yaml;
use callgate_bpf::diagnostic::Diagnostic;

/// Parses the documents of a text in either language, at least one.
pub(crate) fn parse_documents(text: &str) -> Result<Vec<Node<'_>>, Diagnostic> {
    if is_json(text) { Ok(vec![json::parse(text)?]) } else { parse_yaml(text) }
}

#[cfg(feature = "yaml")]
fn parse_yaml(text: &str) -> Result<Vec<Node<'static>>, Diagnostic> {
    yaml::parse_all(text)
}

#[cfg(not(feature = "yaml"))]
fn parse_yaml(_: &str) -> Result<Vec<Node<'static>>, Diagnostic> {
    Err(Diagnostic::error(None, "the text is not JSON, and YAML support is not compiled in")
        .help("give the profile in JSON, or enable the feature `yaml` of callgate"))
}

/// Whether to read a text as JSON. For a text without content, and for one that starts with a JavaScript comment,
/// the JSON parser gives the better message.
fn is_json(text: &str) -> bool {
    let content = text.trim_start_matches('\u{feff}').trim_start();
    content.is_empty() || content.starts_with(['{', '[', '/'])
}
