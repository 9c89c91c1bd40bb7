//! The options of the compiler in a request.

use callgate::codegen::{Aim, Instructions, Model};
use callgate::formats::syntax::reader::{KnownKey, Reader, key};
use callgate::formats::syntax::tree::Node;

use super::model::Compiling;
use super::values::named;

const KEYS: &[KnownKey] = &[key("model"), key("optimize"), key("instructions"), key("weights")];

/// Reads the options.
pub(super) fn compiling(reader: &mut Reader<'_>, node: Option<&Node>) -> Option<Compiling> {
    let mut compiling = Compiling::default();
    let Some(node) = node else { return Some(compiling) };
    let fields = reader.fields(node, "`options`", KEYS)?;
    if let Some(node) = fields.get("model") {
        let known: Vec<_> = Model::ALL.iter().map(|model| (model.name(), *model)).collect();
        compiling.model = named(reader, node, "`model`", &known)?;
    }
    if let Some(node) = fields.get("optimize") {
        let known: Vec<_> = Aim::ALL.iter().map(|aim| (aim.name(), *aim)).collect();
        compiling.aim = named(reader, node, "`optimize`", &known)?;
    }
    if let Some(node) = fields.get("instructions") {
        let known: Vec<_> = Instructions::ALL.iter().map(|set| (set.name(), *set)).collect();
        compiling.instructions = named(reader, node, "`instructions`", &known)?;
    }
    if let Some(node) = fields.get("weights") {
        compiling.weights = Some(reader.text(node, "`weights`")?.to_owned());
    }
    Some(compiling)
}
