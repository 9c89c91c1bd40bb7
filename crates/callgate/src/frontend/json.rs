//! JSON text into a [`Node`] tree.
//!
//! Strict JSON: no comments, no trailing commas, no second value. Nesting deeper than 512 is an
//! error (a limit of the `jsonc-parser` crate, which does the scanning), so no input overflows the
//! stack. What that crate accepts beyond JSON is refused by [`strict`](super::strict).

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::strict;
use super::tree::{Kind, Member, Node};
use crate::diagnostic::{Diagnostic, Position};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The tree of a JSON text.
pub(crate) fn parse(text: &str) -> Result<Node, Diagnostic> {
    if text.starts_with('\u{feff}') {
        return Err(Diagnostic::error(
            Some(Position { line: 1, column: 1 }),
            "the text starts with a byte order mark, which JSON does not allow",
        )
        .help("save the file as UTF-8 without a byte order mark"));
    }
    match jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => match parsed.value {
            Some(_) if let Some(violation) = strict::violation(text) => Err(violation),
            Some(value) => Ok(node(value)),
            None => Err(Diagnostic::error(None, "the text is empty, but must be a JSON object")
                .help(
                    "give a seccomp profile, for example {\"defaultAction\": …, \"syscalls\": […]}",
                )),
        },
        Err(error) => Err(explain(text, &error)),
    }
}

fn explain(text: &str, error: &jsonc_parser::errors::ParseError) -> Diagnostic {
    use jsonc_parser::ParseStringErrorKind::UnterminatedStringLiteral;
    let start = error.range().start;
    let position = Some(Position::of(text, start));
    let cut_off = "the text ends too early; check that the file is complete";
    let open = |what: &str| {
        Diagnostic::error(position, format!("the {what} that starts here is never closed"))
            .help(cut_off)
    };
    match error.kind() {
        ParseErrorKind::UnterminatedObject => open("object"),
        ParseErrorKind::UnterminatedArray => open("list"),
        ParseErrorKind::String(UnterminatedStringLiteral) => open("string"),
        ParseErrorKind::ExpectedObjectValue | ParseErrorKind::ExpectedColonAfterObjectKey
            if text.get(start..).is_none_or(|rest| rest.trim().is_empty()) =>
        {
            Diagnostic::error(position, "the text ends in the middle of an object").help(cut_off)
        }
        ParseErrorKind::NestingDepthExceeded => {
            Diagnostic::error(position, "nested deeper than 512 levels, the limit").help(
                "profiles and recordings nest ten levels deep at most; check what file this is",
            )
        }
        ParseErrorKind::CommentsNotAllowed => {
            Diagnostic::error(position, "JSON has no comments").help("use a \"comment\" member")
        }
        kind => Diagnostic::error(position, format!("this is not JSON: {kind}")),
    }
}

fn node(value: ast::Value<'_>) -> Node {
    let at = value.range().start;
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(literal) => Kind::Bool(literal.value),
        ast::Value::NumberLit(literal) => Kind::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        ast::Value::Array(list) => Kind::List(list.elements.into_iter().map(node).collect()),
        ast::Value::Object(map) => Kind::Map(map.properties.into_iter().map(member).collect()),
    };
    Node { at, kind }
}

fn member(property: ast::ObjectProp<'_>) -> Member {
    let key_at = property.name.range().start;
    Member { key: property.name.into_string(), key_at, value: node(property.value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_key_and_value_has_its_place() {
        let tree = parse("{\"é\": [1, \"x\"],\n \"b\": null}").unwrap();
        let [first, second] = tree.members() else { panic!("two members") };
        assert_eq!((first.key.as_str(), first.key_at, first.value.at), ("é", 1, 7));
        assert_eq!(first.value.items()[1], Node { at: 11, kind: Kind::Text("x".to_owned()) });
        assert_eq!((second.key_at, second.value.at), (18, 23));
        assert_eq!(tree.get("b"), None);
    }

    #[test]
    fn numbers_keep_every_digit() {
        let tree = parse("[18446744073709551616, -1, 1.50]").unwrap();
        let written: Vec<_> = tree.items().iter().map(Node::describe).collect();
        assert_eq!(
            written,
            ["the number 18446744073709551616", "the number -1", "the number 1.50"]
        );
    }

    #[test]
    fn what_is_not_json_is_named_with_its_place() {
        assert_eq!(message(""), "the text is empty, but must be a JSON object");
        assert_eq!(message("{\"a\": [1,\n {"), "2:2: the object that starts here is never closed");
        assert_eq!(message("[1"), "1:1: the list that starts here is never closed");
        assert_eq!(message("{\"abc"), "1:2: the string that starts here is never closed");
        assert_eq!(message("{\"a\": "), "1:7: the text ends in the middle of an object");
        assert_eq!(
            message("{} {}"),
            "1:4: this is not JSON: Text cannot contain more than one JSON value"
        );
        assert_eq!(message("[1,]"), "1:3: this is not JSON: Trailing commas are not allowed");
        assert_eq!(message("// x\n{}"), "1:1: JSON has no comments");
        assert!(message("\u{feff}{}").contains("byte order mark"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        for open in ["[", "{\"a\":"] {
            assert!(message(&open.repeat(100_000)).contains("deeper than 512 levels"));
        }
        assert!(parse(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_ok());
    }
}
