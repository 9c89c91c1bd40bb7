//! `mod.rs` and `lib.rs` declare, re-export and document; what they would define has a file of its own.

use proc_macro2::Span;
use syn::Item;

use super::files::Crate;

/// The definitions in files that only declare: the file, and the line.
pub(super) fn definitions(krate: &Crate) -> Vec<(usize, usize)> {
    let declares = |file: usize| {
        let name = krate.files[file].path.file_name();
        name.is_some_and(|name| name == "mod.rs" || name == "lib.rs")
    };
    let modules = krate.modules.iter().filter(|module| declares(module.file));
    modules
        .flat_map(|module| {
            let spans = module.items.iter().filter_map(definition);
            spans.map(|span| (module.file, span.start().line))
        })
        .collect()
}

/// Where an item defines something. Macros do not count: they may have to be above the modules that use them.
fn definition(item: &Item) -> Option<Span> {
    Some(match item {
        Item::Const(item) => item.ident.span(),
        Item::Enum(item) => item.ident.span(),
        // The compiler requires that procedural macros are at the root of their crate.
        Item::Fn(item) if item.attrs.iter().any(|one| one.path().is_ident("proc_macro")) => {
            return None;
        }
        Item::Fn(item) => item.sig.ident.span(),
        Item::Impl(item) => item.impl_token.span,
        Item::Static(item) => item.ident.span(),
        Item::Struct(item) => item.ident.span(),
        Item::Trait(item) => item.ident.span(),
        Item::Type(item) => item.ident.span(),
        Item::Union(item) => item.ident.span(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_where_they_do_not_belong() {
        let directory =
            std::env::temp_dir().join(format!("callgate-structure-{}", std::process::id()));
        let inner = directory.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        let lib = "mod inner;\npub use inner::f;\nmacro_rules! m { () => {} }\n\
                   #[proc_macro]\npub fn n(input: TokenStream) -> TokenStream { input }\n\
                   #[cfg(doctest)]\nstruct Readme;\n#[cfg(test)]\nfn test() {}\n";
        let module = "mod beside;\nmod inline {\n    struct S;\n    impl S {}\n}\nconst C: u8 = 0;\n\
                      pub fn f() {}\n";
        for (path, text) in [
            (directory.join("lib.rs"), lib),
            (inner.join("mod.rs"), module),
            (inner.join("beside.rs"), "fn f() {}"),
        ] {
            std::fs::write(path, text).unwrap();
        }
        let krate = Crate::read(&directory.join("lib.rs")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let mut found: Vec<_> = definitions(&krate)
            .into_iter()
            .map(|(file, line)| (krate.files[file].path.ends_with("inner/mod.rs"), line))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(true, 3), (true, 4), (true, 6), (true, 7)]);
    }
}
