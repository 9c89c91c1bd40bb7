//! The files of a crate as a tree of modules, without its tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use syn::{Attribute, Item, UseTree};

/// A crate: its modules and files, the root first.
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
    pub(super) files: Vec<File>,
}

/// A source file.
pub(super) struct File {
    pub(super) path: PathBuf,
}

/// A module, in a file of its own or inline.
pub(super) struct Module {
    pub(super) file: usize,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// The names that `use` imports, and their paths.
    pub(super) imported: BTreeMap<String, Vec<String>>,
    pub(super) items: Vec<Item>,
}

impl Crate {
    /// Reads a crate from its `lib.rs` or `main.rs`.
    pub(super) fn read(start: &Path) -> Result<Crate> {
        let mut krate = Crate { modules: Vec::new(), files: Vec::new() };
        let directory = start.parent().unwrap_or(start).to_owned();
        let mut open = vec![(start.to_owned(), directory, None, String::new())];
        while let Some((path, directory, parent, name)) = open.pop() {
            let text = std::fs::read_to_string(&path)
                .map_err(|why| format!("{}: {why}", path.display()))?;
            let parsed = syn::parse_file(&text)
                .map_err(|why| format!("{}:{}: {why}", path.display(), why.span().start().line))?;
            let file = krate.files.len();
            krate.files.push(File { path });
            krate.add(file, parent, name, parsed.items, &directory, &mut open);
        }
        Ok(krate)
    }

    /// Adds a module and its inline modules; modules in files of their own are read later.
    fn add(
        &mut self,
        file: usize,
        parent: Option<usize>,
        name: String,
        items: Vec<Item>,
        directory: &Path,
        open: &mut Vec<(PathBuf, PathBuf, Option<usize>, String)>,
    ) {
        let number = self.modules.len();
        if let Some(parent) = parent {
            self.modules[parent].children.insert(name, number);
        }
        let items: Vec<Item> =
            items.into_iter().filter(|item| !is_test(attributes(item))).collect();
        let mut imported = BTreeMap::new();
        for item in &items {
            if let Item::Use(import) = item {
                collect(&import.tree, &mut Vec::new(), &mut |name, path| {
                    imported.insert(name, path);
                });
            }
        }
        let (modules, items): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| matches!(item, Item::Mod(_)));
        self.modules.push(Module { file, parent, children: BTreeMap::new(), imported, items });
        for module in modules {
            let Item::Mod(module) = module else { continue };
            // A file of another package, which is checked with that package.
            if module.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
                continue;
            }
            let name = module.ident.to_string();
            let inside = directory.join(&name);
            match module.content {
                Some((_, items)) => self.add(file, Some(number), name, items, &inside, open),
                None => {
                    let beside = directory.join(format!("{name}.rs"));
                    let path = if beside.exists() { beside } else { inside.join("mod.rs") };
                    open.push((path, inside, Some(number), name));
                }
            }
        }
    }
}

/// The names that a `use` imports, with their paths; a glob is `*`.
pub(super) fn collect(
    tree: &UseTree,
    path: &mut Vec<String>,
    each: &mut impl FnMut(String, Vec<String>),
) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            collect(&part.tree, path, each);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            each(path.last().cloned().unwrap_or_default(), path.clone());
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            each(name.clone(), [path.clone(), vec![name]].concat());
        }
        UseTree::Rename(name) => {
            each(name.rename.to_string(), [path.clone(), vec![name.ident.to_string()]].concat());
        }
        UseTree::Glob(_) => each("*".to_owned(), path.clone()),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, path, each);
            }
        }
    }
}

/// Whether an item exists only in tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|what| what == "test" || what == "doctest")
    })
}

/// The name that an item defines.
pub(super) fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
