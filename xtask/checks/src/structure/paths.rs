//! The imports between files.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::files::{Crate, Module, collect, name};
use super::graph::Edges;

/// The maximum number of re-exports followed for a name.
const MAX_REEXPORTS: usize = 8;

/// The imports between files of a crate: by `use`, and by paths in code that start with a module.
pub(super) fn imports(krate: &Crate) -> Edges {
    let mut edges = BTreeMap::new();
    for (number, module) in krate.modules.iter().enumerate() {
        let mut found = Found { paths: Vec::new() };
        for item in &module.items {
            found.visit_item(item);
        }
        for path in found.paths {
            let Some((file, name)) = krate.resolve(number, &path, MAX_REEXPORTS) else { continue };
            if file != module.file {
                let names: &mut std::collections::BTreeSet<String> =
                    edges.entry((module.file, file)).or_default();
                names.insert(name);
            }
        }
    }
    edges
}

/// Collects paths.
struct Found {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        collect(&import.tree, &mut Vec::new(), &mut |_, path| self.paths.push(path));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.paths.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// `pub(in crate::module)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

impl Crate {
    /// The file that defines the item of a path in a module, and the last segment of the path. `None` for items of
    /// other crates.
    fn resolve(&self, from: usize, path: &[String], reexports: usize) -> Option<(usize, String)> {
        let mut at = from;
        let mut rest = path;
        let mut is_inside = false;
        while let Some((first, behind)) = rest.split_first() {
            let next = match first.as_str() {
                "crate" if !is_inside => Some(0),
                "self" => Some(at),
                "super" => self.modules[at].parent,
                name => self.modules[at].children.get(name).copied(),
            };
            let Some(next) = next else { break };
            (at, rest, is_inside) = (next, behind, true);
        }
        let module = &self.modules[at];
        let Some(first) = rest.first() else {
            return Some((module.file, path.last()?.clone()));
        };
        if !is_inside {
            // The name of another crate, or an imported name, whose import is counted itself.
            return None;
        }
        if !module.defines(first) && reexports > 0 {
            let reexported = module.imported.get(first);
            if let Some(target) = reexported
                && let Some(found) = self.resolve(at, target, reexports - 1)
            {
                return Some(found);
            }
            if reexported.is_some() {
                return None;
            }
        }
        Some((module.file, first.clone()))
    }
}

impl Module {
    fn defines(&self, wanted: &str) -> bool {
        self.items.iter().any(|item| name(item).is_some_and(|name| name == wanted))
    }
}
