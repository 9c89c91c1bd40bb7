//! Tokens of a macro's input, without the compiler, so that they can be parsed in tests.

use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word(String),
    /// As it is written.
    Literal(String),
    Punct(char),
    /// The tokens in brackets.
    Brackets(Vec<Token<()>>),
    /// Anything else.
    Other,
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<S> {
    pub(crate) kind: Kind,
    pub(crate) at: S,
}

/// The tokens of an input.
pub(crate) fn tokens(input: TokenStream) -> Vec<Token<Span>> {
    let token = |tree: TokenTree| Token { kind: kind(&tree), at: tree.span() };
    input.into_iter().map(token).collect()
}

fn kind(tree: &TokenTree) -> Kind {
    match tree {
        TokenTree::Ident(word) => Kind::Word(word.to_string()),
        TokenTree::Literal(literal) => Kind::Literal(literal.to_string()),
        TokenTree::Punct(punct) => Kind::Punct(punct.as_char()),
        TokenTree::Group(group) => match group.delimiter() {
            Delimiter::Bracket => Kind::Brackets(flat(group.stream())),
            // A literal that comes from another macro is in a group without delimiters.
            Delimiter::None => {
                let mut inner = group.stream().into_iter();
                match (inner.next(), inner.next()) {
                    (Some(TokenTree::Literal(literal)), None) => Kind::Literal(literal.to_string()),
                    _ => Kind::Other,
                }
            }
            Delimiter::Parenthesis | Delimiter::Brace => Kind::Other,
        },
    }
}

/// The tokens in brackets; brackets in brackets mean nothing here.
fn flat(stream: TokenStream) -> Vec<Token<()>> {
    let kind = |tree: TokenTree| match tree {
        TokenTree::Literal(literal) => Kind::Literal(literal.to_string()),
        TokenTree::Punct(punct) => Kind::Punct(punct.as_char()),
        TokenTree::Ident(_) | TokenTree::Group(_) => Kind::Other,
    };
    stream.into_iter().map(|tree| Token { kind: kind(tree), at: () }).collect()
}
