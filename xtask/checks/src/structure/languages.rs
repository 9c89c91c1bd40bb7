//! The registry of languages is the only list of them: elsewhere, no enum has variants for several languages.

use callgate_formats::languages::LanguageId;
use syn::Item;

use super::files::Crate;

/// The package with the registry.
pub(super) const REGISTRY: &str = "callgate-formats";

/// Enums whose variants have names of languages but are something else, and what.
const OTHERS: &[(&str, &str)] =
    &[("Runtime", "programs that install filters, and the syscalls that each then makes")];

/// The enums with variants for several languages: the file, the line, the name of the enum, and these variants.
pub(super) fn enums(krate: &Crate) -> Vec<(usize, usize, String, Vec<String>)> {
    let names: Vec<String> = LanguageId::all()
        .flat_map(|id| [Some(id.name()), id.alias()])
        .flatten()
        .map(str::to_owned)
        .collect();
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
