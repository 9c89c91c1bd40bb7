//! Reader of the `spec` of a `SeccompProfile` resource, with the entries of its base profiles.
//!
//! The operator writes it as a profile to the node. It drops an `errnoRet` of 0, so that runtimes use their default, and
//! has no `defaultErrnoRet`.

use super::combined::combine;
use super::entry::entry_of_resource;
use super::profile::{Entries, check_not_empty, entries, known_keys, model};
use crate::diagnostics::quote::shorten;
use crate::oci::bases::Base;
use crate::oci::dialect::Dialect;
use crate::oci::model::Model;
use crate::syntax::reader::{Fields, KnownKey, Reader, foreign_key, key};
use crate::syntax::tree::{Node, NodeKind};
use callgate_core::Arch;

/// Reads the `spec` of a resource. `None` only after an error was reported.
pub(in crate::oci) fn resource<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    bases: &'n [Base],
    dialect: Dialect,
    native: Arch,
) -> Option<Model<'n>> {
    check_not_empty(reader, node)?;
    let known = known_keys_of_resource(dialect);
    let fields = reader.fields(node, "a profile", &known)?;
    check_state(reader, &fields);
    if let Some(node) = fields.get("baseProfileName") {
        reader.text(node, "`baseProfileName`");
    }
    let read = |reader: &mut Reader<'_>, fields: &Fields<'n>| {
        entries(reader, fields, |reader, node| entry_of_resource(reader, node, dialect, native))
    };
    let own = read(reader, &fields);
    let mut all = Entries::default();
    for base in bases.iter().rev() {
        let fields = reader.fields(base.profile(), "a base profile", &known)?;
        let of_base = read(reader, &fields);
        all.valid.extend(of_base.valid);
        all.is_given |= of_base.is_given;
    }
    all.valid.extend(own.valid);
    all.is_given |= own.is_given;
    if !bases.is_empty() {
        combine(reader, &mut all.valid);
    }
    model(reader, &fields, all, dialect, native)
}

fn known_keys_of_resource(dialect: Dialect) -> Vec<KnownKey> {
    let mut known = known_keys(dialect);
    known.extend([
        foreign_key("defaultErrnoRet", "profiles of container runtimes"),
        key("baseProfileName"),
        key("disabled"),
        key("state"),
    ]);
    known
}

/// Checks that the operator installs the profile: `state`, or `disabled` in older versions of the resource.
fn check_state(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    let disabled = fields.get("disabled").filter(|node| match node.kind {
        NodeKind::Bool(disabled) => disabled,
        _ => {
            reader.wrong_type(node, "`disabled`", "true or false");
            false
        }
    });
    let state = fields.get("state").filter(|node| {
        let state = reader.text(node, "`state`");
        if let Some(other) = state.filter(|state| !matches!(*state, "" | "Enabled" | "Disabled")) {
            let message = format!(
                "`state` is \"{}\", but must be \"Enabled\" or \"Disabled\"",
                shorten(other)
            );
            reader.error(node.at, message);
        }
        state == Some("Disabled")
    });
    for (node, key) in [(disabled, "disabled"), (state, "state")] {
        if let Some(node) = node {
            reader.error(node.at, "this profile is disabled, so there is no filter").help =
                format!("remove `{key}`");
        }
    }
}
