//! Expansions of the macros.

use super::arguments::{Wrong, parse, text};
use super::tokens::{Kind, tokens};
use crate::{Arch, Error, Generated, Policy, rust_condition};
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use std::path::PathBuf;

/// For each target that has the architecture: `#[cfg(…)] ::callgate_macros::__filter_for_target! { "ARCH", INPUT }`. A macro
/// does not know the target, but the compiler removes the other invocations before it expands them.
pub fn for_all_targets(input: TokenStream) -> TokenStream {
    // So that a wrong option is reported for an unknown target, too.
    if let Err(wrong) = parse(&tokens(input.clone())) {
        return wrong_arguments(&wrong);
    }
    let mut out = TokenStream::new();
    let mut conditions = Vec::new();
    for arch in Arch::ALL {
        let Some(condition) = rust_condition(*arch) else { continue };
        out.extend(code(&format!("#[cfg({condition})] ::callgate_macros::__filter_for_target!")));
        let mut inside = code(&format!("{:?},", arch.name()));
        inside.extend(input.clone());
        out.extend([TokenTree::from(Group::new(Delimiter::Brace, inside))]);
        conditions.push(condition);
    }
    let message = "callgate does not know the syscalls of this target";
    out.extend(code(&format!(
        "#[cfg(not(any({})))] ::core::compile_error!({message:?});",
        conditions.join(", ")
    )));
    out
}

/// The items for a target.
pub fn for_target(input: TokenStream) -> TokenStream {
    let tokens = tokens(input);
    let mut parts = tokens.splitn(2, |token| token.kind == Kind::Punct(','));
    let target = match parts.next() {
        Some([name]) => text(name).ok().and_then(|name| Arch::from_name(&name)),
        _ => None,
    };
    let (Some(target), Some(rest)) = (target, parts.next()) else {
        return error("call `filter!` instead", Span::call_site());
    };
    let arguments = match parse(rest) {
        Ok(arguments) => arguments,
        Err(wrong) => return wrong_arguments(&wrong),
    };
    let Some(directory) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else {
        return error("CARGO_MANIFEST_DIR is not set: build with cargo", arguments.path);
    };
    let policy: Policy = arguments.policy.directory(directory);
    match policy.generate(target) {
        Ok(generated) => items(&generated, arguments.path),
        Err(failed) => errors(&failed, arguments.path),
    }
}

/// The source code, and a reference to each file that was read, so that the compiler tracks it.
fn items(generated: &Generated, at: Span) -> TokenStream {
    let mut text = generated.source().to_owned();
    for file in generated.files() {
        let Some(path) = file.to_str() else {
            return error(&format!("the path {} is not UTF-8", file.display()), at);
        };
        text += &format!("const _: &[u8] = ::core::include_bytes!({path:?});\n");
    }
    match text.parse() {
        Ok(items) => items,
        Err(why) => {
            error(&format!("the generated code is not valid (a defect of callgate): {why}"), at)
        }
    }
}

/// An error for each message of the policy. Warnings are shown only among errors, and as errors that say so: a macro cannot
/// emit warnings.
fn errors(failed: &Error, at: Span) -> TokenStream {
    texts(failed).map(|text| error(&text, at)).collect()
}

fn texts(failed: &Error) -> impl Iterator<Item = String> + '_ {
    failed.messages().iter().map(|message| match message.is_error() {
        true => message.to_string(),
        false => format!("warning: {message}"),
    })
}

fn wrong_arguments(wrong: &Wrong<Span>) -> TokenStream {
    error(&wrong.message, wrong.at.unwrap_or_else(Span::call_site))
}

/// `::core::compile_error! { "MESSAGE" }` at a place.
fn error(message: &str, at: Span) -> TokenStream {
    let punct = |c, spacing| TokenTree::from(Punct::new(c, spacing));
    let word = |name| TokenTree::from(Ident::new(name, at));
    let message = TokenTree::from(Literal::string(message));
    let path = [
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        word("core"),
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        word("compile_error"),
        punct('!', Spacing::Alone),
        TokenTree::from(Group::new(Delimiter::Brace, message.into())),
    ];
    let mut out = TokenStream::new();
    for mut token in path {
        token.set_span(at);
        out.extend([token]);
    }
    out
}

/// Tokens of a text that is valid.
fn code(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_among_errors_say_so() {
        let text = "POLICY p { ALLOW { read, read { fd == 1 }, nonesuch } } USE p DEFAULT KILL";
        let directory =
            std::env::temp_dir().join(format!("callgate-filter-macro-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("p.kafel"), text).unwrap();
        let policy = Policy::new("p.kafel").directory(directory.clone());
        let failed = policy.generate(Arch::X86_64).unwrap_err();
        std::fs::remove_dir_all(directory).unwrap();
        let shown: Vec<String> = texts(&failed).collect();
        assert!(shown.iter().any(|one| one.starts_with("warning: p.kafel:1:")), "{shown:?}");
        assert!(shown.iter().any(|one| one.starts_with("p.kafel:1:")), "{shown:?}");
    }
}
