//! Reader of `architectures` and `archMap`.

use crate::oci::model::{ArchMapEntry, ProfileArches};
use crate::syntax::reader::{Fields, Reader, key};
use crate::syntax::tree::Node;

/// The architectures that a profile names.
pub(super) fn arches<'n>(reader: &mut Reader<'_>, fields: &Fields<'n>) -> ProfileArches<'n> {
    let list = fields.get("architectures");
    let map = fields.get("archMap");
    let given = |node: Option<&Node<'_>>| node.is_some_and(|node| !node.items().is_empty());
    if given(list) && given(map) {
        let at = map.map_or(fields.at, |node| node.at);
        reader
            .error(at, "a profile must have either `architectures` or `archMap`, not both")
            .help = "remove one of them: Docker and Podman reject the profile".to_owned();
        return ProfileArches::Unspecified;
    }
    let names = list.and_then(|node| reader.texts(node, "`architectures`"));
    let rows = map.and_then(|node| reader.list(node, "`archMap`"));
    if let Some(names) = names.filter(|names| !names.is_empty()) {
        return ProfileArches::List(names);
    }
    let Some(nodes) = rows else { return ProfileArches::Unspecified };
    let known = [key("architecture"), key("subArchitectures")];
    let mut entries = Vec::new();
    for node in nodes {
        let Some(fields) = reader.fields(node, "an entry of `archMap`", &known) else { continue };
        let Some(arch) = fields.get("architecture") else {
            reader.error(fields.at, "missing `architecture` in an entry of `archMap`").help =
                "name one, such as \"SCMP_ARCH_X86_64\"".to_owned();
            continue;
        };
        let Some(name) = reader.text(arch, "`architecture`") else { continue };
        let sub_arches = fields
            .get("subArchitectures")
            .and_then(|node| reader.texts(node, "`subArchitectures`"))
            .unwrap_or_default();
        entries.push(ArchMapEntry { arch: (arch.at, name), sub_arches });
    }
    ProfileArches::Map(entries)
}
