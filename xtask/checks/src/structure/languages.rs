//! The registry of languages is the only list of them: elsewhere, no enum has variants for several languages, and no code
//! knows a language by its name.

use std::path::Path;

use callgate_formats::languages::LanguageId;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, LitStr, Macro};

use super::files::Crate;

/// The package with the registry.
pub(super) const REGISTRY: &str = "callgate-formats";

/// Enums whose variants have names of languages but are something else, and what.
const OTHERS: &[(&str, &str)] =
    &[("Runtime", "programs that install filters, and the syscalls that each then makes")];

/// Files in which the name of a language is that of something else, and what.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("callgate-trace/src/generate/runtime.rs", "programs that install filters"),
    ("callgate-requests/src/request/source.rs", "the key of a request with the version of systemd"),
    ("callgate-requests/src/settings.rs", "the setting with the version of systemd"),
    ("callgate-cli/src/options/source/sides.rs", "the option with the version of systemd"),
    ("callgate-cli/src/commands/check.rs", "the option with the version of systemd"),
    ("callgate-cli/src/source/installed.rs", "the directory of systemd"),
    ("callgate-cli/src/commands/record/container.rs", "commands of runtimes"),
    ("callgate-formats/src/capabilities.rs", "sets of capabilities of runtimes"),
];

/// Strings that are the name of a language: the file, the line, the name. The registry and the directories of languages, each
/// of which has a file `language.rs`, may have them.
pub(super) fn strings(krate: &Crate) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for module in &krate.modules {
        let path = &krate.files[module.file].path;
        let is_other = OTHER_NAMES.iter().any(|(file, _)| path.ends_with(file));
        if is_other || path.ancestors().skip(1).any(is_of_language) {
            continue;
        }
        let mut strings = Strings { names: &names(), found: Vec::new() };
        module.items.iter().for_each(|item| strings.visit_item(item));
        found.extend(strings.found.into_iter().map(|(line, name)| (module.file, line, name)));
    }
    found
}

/// Whether a directory is one of a language, or the registry.
fn is_of_language(directory: &Path) -> bool {
    let is_registry =
        directory.parent().is_some_and(|parent| parent.ends_with("callgate-formats/src"));
    is_registry && directory.join("language.rs").exists()
}

/// The strings of items that are names of languages, with their lines.
struct Strings<'n> {
    names: &'n [String],
    found: Vec<(usize, String)>,
}

impl Strings<'_> {
    fn add(&mut self, literal: &LitStr) {
        if self.names.contains(&literal.value()) {
            self.found.push((literal.span().start().line, literal.value()));
        }
    }

    fn add_all(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.add_all(group.stream()),
                TokenTree::Literal(literal) => {
                    let token = TokenStream::from(TokenTree::Literal(literal));
                    syn::parse2::<LitStr>(token).iter().for_each(|literal| self.add(literal));
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Strings<'_> {
    fn visit_lit_str(&mut self, literal: &'ast LitStr) {
        self.add(literal);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.add_all(call.tokens.clone());
    }

    /// Documentation, and names of options.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// All names of all languages.
fn names() -> Vec<String> {
    let names = LanguageId::all().flat_map(|id| [Some(id.name()), id.alias()]);
    names.flatten().map(str::to_owned).collect()
}

/// The enums with variants for several languages: the file, the line, the name of the enum, and these variants.
pub(super) fn enums(krate: &Crate) -> Vec<(usize, usize, String, Vec<String>)> {
    let names = names();
    let mut found = Vec::new();
    for module in &krate.modules {
        for item in &module.items {
            let Item::Enum(item) = item else { continue };
            let is_other = OTHERS.iter().any(|(name, _)| item.ident == name);
            let variants = item.variants.iter().map(|variant| variant.ident.to_string());
            let own: Vec<String> =
                variants.filter(|name| names.contains(&name.to_ascii_lowercase())).collect();
            if own.len() > 1 && !is_other {
                let line = item.ident.span().start().line;
                found.push((module.file, line, item.ident.to_string(), own));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_languages_are_found() {
        let directory =
            std::env::temp_dir().join(format!("callgate-language-names-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let lib = "/// \"kafel\"\nfn f(a: Id) -> bool {\n    a.name() == \"kafel\" || matches!(a.name(), \"k8s\" | \"x\")\n}\n\
                   const NAME: &str = \"kafels\";\n#[cfg(test)]\nmod tests { const A: &str = \"lxc\"; }\n";
        std::fs::write(directory.join("lib.rs"), lib).unwrap();
        let found = strings(&Crate::read(&directory.join("lib.rs")).unwrap());
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, [(0, 3, "kafel".to_owned()), (0, 3, "k8s".to_owned())]);
    }

    #[test]
    fn enums_of_languages_are_found() {
        let directory =
            std::env::temp_dir().join(format!("callgate-languages-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let lib = "enum Format { Kafel, Lxc(u8), Other }\nenum One { Kafel, Other }\nenum Runtime { Oci, Systemd }\n\
                   mod inner {\n    pub enum Target { Docker, Kubernetes }\n}\n";
        std::fs::write(directory.join("lib.rs"), lib).unwrap();
        let krate = Crate::read(&directory.join("lib.rs")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let found: Vec<_> =
            enums(&krate).into_iter().map(|(_, line, name, own)| (line, name, own)).collect();
        let of = |line, name: &str, own: [&str; 2]| {
            (line, name.to_owned(), own.map(str::to_owned).to_vec())
        };
        assert_eq!(
            found,
            [of(1, "Format", ["Kafel", "Lxc"]), of(5, "Target", ["Docker", "Kubernetes"])]
        );
    }
}
