use proptest::prelude::*;

use super::builder::{MAX_BYTES, parse, parse_all};
use crate::CONTAINER_DEFAULT;
use crate::syntax::{
    json,
    tree::{Node, NodeKind},
};

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// The value of a plain scalar.
fn plain(value: &str) -> NodeKind<'static> {
    parse(&format!("- {value}\n")).unwrap().items()[0].kind.clone()
}

#[test]
fn every_key_and_value_has_its_offset() {
    let text = "# ü\né: ö\r\nlist:\r\n- 'x' # ä\r\n- {k: [v]}\r\nmore:\r\n  - |\r\n    ß\r\n  - >- \r\n    z\r\n";
    let offset = |what: &str| text.find(what).unwrap();
    let tree = parse(text).unwrap();
    let [first, list, more] = tree.members() else { panic!("three members") };
    assert_eq!((&*first.key, first.key_at), ("é", offset("é")));
    assert_eq!(first.value, Node { at: offset("ö"), kind: NodeKind::Text("ö".into()) });
    // The dashes of a list may have the indentation of its key.
    assert_eq!((list.key_at, list.value.at), (offset("list"), offset("- 'x'")));
    assert_eq!(list.value.items()[0].at, offset("'x'"));
    let inner = &list.value.items()[1];
    assert_eq!((inner.at, inner.get("k").unwrap().at), (offset("{"), offset("[")));
    assert_eq!(inner.get("k").unwrap().items()[0].at, offset("v]"));
    assert_eq!(more.value.at, offset("- |"));
    assert_eq!(more.value.items()[0], Node { at: offset("ß"), kind: NodeKind::Text("ß\n".into()) });
    assert_eq!(more.value.items()[1], Node { at: offset("z"), kind: NodeKind::Text("z".into()) });
}

#[test]
fn a_list_starts_at_its_first_dash() {
    let list_at = |text: &str| parse(text).unwrap().get("a").unwrap().at;
    assert_eq!(list_at("a:\n- x\n- z\n"), 3);
    assert_eq!(list_at("a:\n- - x\n"), 3);
    assert_eq!(list_at("a:\n- [x]\n"), 3);
    assert_eq!(list_at("a:\n  - x\n"), 5);
    assert_eq!(list_at("a:\n  [x]\n"), 5);
    assert_eq!(list_at("a: [x]\n"), 3);
    assert_eq!(parse("- a: [x]\n").unwrap().items()[0].get("a").unwrap().at, 5);
    assert_eq!(parse("- a:\n  - x\n").unwrap().items()[0].get("a").unwrap().at, 7);
}

#[test]
fn json_gives_the_same_tree_as_yaml() {
    for text in [CONTAINER_DEFAULT, "{\"é\": [1, -2.5e3, true, null, \"\\u00e9\\n\"],\n \"b\": {}}"]
    {
        assert_eq!(parse(text).unwrap(), json::parse(text).unwrap());
    }
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    for value in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(plain(value), NodeKind::Null, "{value}");
    }
    for (value, is) in [("true", true), ("True", true), ("FALSE", false), ("false", false)] {
        assert_eq!(plain(value), NodeKind::Bool(is), "{value}");
    }
    for value in [
        "0",
        "-1",
        "+12",
        "0o17",
        "0xfF",
        "1.5",
        ".5",
        "1.",
        "-1e3",
        "1E+3",
        "18446744073709551616",
    ] {
        assert_eq!(plain(value), NodeKind::Number(value.into()), "{value}");
    }
    for value in [
        "nULL",
        "tRUE",
        "yES",
        "0x",
        "0xg",
        "0o8",
        "0b2",
        ".",
        "..",
        "_1",
        "1e",
        "e1",
        "1.5.2",
        "+-1",
        "-.nan",
        "read",
        "v1.2",
        "+",
        "1:60",
        ":1",
        "a:30",
        "2024-01-01",
        "10.0.0.1",
        "1:2.3:4",
        "1:2.x",
        "=",
        "é",
    ] {
        assert_eq!(plain(value), NodeKind::Text(value.into()), "{value}");
        for quoted in [format!("'{value}'"), format!("\"{value}\"")] {
            assert_eq!(plain(&quoted), NodeKind::Text(value.into()), "{value}");
        }
    }
    for quoted in ["'5'", "\"0x10\"", "'null'", "\"true\"", "''"] {
        let inside = quoted[1..quoted.len() - 1].to_owned();
        assert_eq!(plain(quoted), NodeKind::Text(inside.into()), "{quoted}");
    }
    let keys = parse("1: a\n-7: b\n'~': c\n\"true\": d\n").unwrap();
    let keys: Vec<_> = keys.members().iter().map(|member| &*member.key).collect();
    assert_eq!(keys, ["1", "-7", "~", "true"]);
}

/// The values are those of go-yaml and PyYAML.
#[test]
fn scalars_that_versions_of_yaml_read_differently_are_rejected() {
    let boolean = "is a boolean in YAML 1.1, which Kubernetes reads, but a string in YAML 1.2";
    let number = "is a number for some YAML readers, but a string for others";
    let leading = "is decimal in YAML 1.2, but octal in YAML 1.1";
    let infinite = "is a number that JSON does not have, so Kubernetes refuses the text";
    let rejected = |value: &str, why: &str| {
        match why == infinite {
            true => {
                assert_eq!(message(&format!("a: {value}")), format!("1:4: `{value}` {why}"));
                assert_eq!(message(&format!("é: [x, {value}]")), format!("1:8: `{value}` {why}"));
            }
            // Only a reader that needs the value reports it.
            false => {
                let NodeKind::Disputed(written, found) = plain(value) else { panic!("{value}") };
                assert_eq!((&*written, found.why()), (value, why));
            }
        }
        assert_eq!(message(&format!("{value}: x")), format!("1:1: `{value}` {why}"));
        for quoted in [format!("'{value}'"), format!("\"{value}\"")] {
            assert_eq!(plain(&quoted), NodeKind::Text(value.into()));
            let tree = parse(&format!("{quoted}: x")).unwrap();
            assert_eq!(tree.members()[0].key, value);
        }
    };
    for value in
        ["yes", "Yes", "YES", "y", "Y", "on", "On", "ON", "no", "No", "NO", "n", "N", "off", "OFF"]
    {
        rejected(value, boolean);
    }
    for value in [
        "1_000",
        "0b1",
        "-0b10",
        "0B1",
        "0X1F",
        "-0x1",
        "+0xF",
        "0O17",
        "-0o17",
        "0x_1f",
        "0x1_0",
        "1_",
        "1__0",
        "1_0.5",
        "1.5_0",
        ".5_",
        "1:30",
        "1:2:03",
        "-190:20:30",
        "190:20:30.15",
        "+9223372036854775808",
    ] {
        rejected(value, number);
    }
    for value in ["010", "0777", "08", "-010", "+00", "0_7", "00"] {
        rejected(value, leading);
    }
    for value in [".inf", "-.INF", "+.Inf", ".nan", ".NaN"] {
        rejected(value, infinite);
    }
    for (key, is) in [
        ("true", "the boolean true"),
        ("FALSE", "the boolean false"),
        ("~", "null"),
        ("1.5", "the number 1.5"),
        ("+1", "the number +1"),
        ("0x10", "the number 0x10"),
        ("-0", "the number -0"),
        ("9223372036854775808", "the number 9223372036854775808"),
    ] {
        let expected = format!("1:1: a key must be a string, but is {is}");
        assert_eq!(message(&format!("{key}: x")), expected);
    }
    assert_eq!(message("a:\n  ? \n  : x"), "3:3: a key must be a string, but is null");
}

/// U+2028 is the case of a rule that is part of a comment for some readers only.
#[test]
fn characters_that_end_a_line_for_some_readers_are_rejected() {
    let hidden = "syscalls:\n- names: [read] # ü\u{2028}- names: [ptrace]\n";
    assert_eq!(
        message(hidden),
        "2:20: the text contains the character U+2028 (line separator), which ends the line, and so a comment, for some \
         YAML readers (Kubernetes, PyYAML), but not for others"
    );
    for (c, shown) in [
        ('\u{85}', "U+0085 (next line), which ends the line, and so"),
        ('\u{2029}', "U+2029 (paragraph separator), which ends the line, and so"),
        ('\u{b}', "U+000B (vertical tab), which YAML does not allow, and which some programs"),
        ('\u{c}', "U+000C (form feed), which YAML does not allow, and which some programs"),
        ('\r', "U+000D (carriage return), without a line feed after it"),
        ('\u{feff}', "U+FEFF (byte order mark), which some YAML readers skip at the beginning"),
        ('\0', "U+0000, which YAML does not allow"),
        ('\u{1b}', "U+001B, which YAML does not allow"),
        ('\u{7f}', "U+007F, which YAML does not allow"),
        ('\u{9f}', "U+009F, which YAML does not allow"),
        ('\u{fffe}', "U+FFFE, which YAML does not allow"),
        ('\u{ffff}', "U+FFFF, which YAML does not allow"),
    ] {
        for (text, place) in [
            (format!("a: b\r\né: x # ä{c}y\n"), "2:9"),
            (format!("a: 'é{c}'\n"), "1:6"),
            (format!("a: |\n  x{c}z\n"), "2:4"),
            (format!("a: b{c}"), "1:5"),
        ] {
            let message = message(&text);
            let expected = format!("{place}: the text contains the character {shown}");
            assert!(message.starts_with(&expected), "{text:?}\n{message}");
        }
    }
    for c in ['\t', '\u{a0}', '\u{202e}', '\u{fffd}', '\u{1f600}'] {
        assert!(parse(&format!("a: 'b{c}' # {c}\n")).is_ok(), "{c:?}");
    }
    assert_eq!(parse("\u{feff}a: b").unwrap().get("a").unwrap().text(), Some("b"));
    let escapes = parse("a: \"\\N\\L\\P\\u2028\\x0b\"").unwrap();
    assert_eq!(escapes.get("a").unwrap().text(), Some("\u{85}\u{2028}\u{2029}\u{2028}\u{b}"));
}

/// `kubectl` splits a text at these lines before it parses YAML.
#[test]
fn lines_that_begin_with_three_dashes_are_only_markers() {
    let refused = "this line begins with `---` and goes on: Kubernetes splits the text here, or refuses it, wherever the \
                   line is";
    for (text, place) in [
        ("--- {a: b}\n", "1:1"),
        ("--- a\n", "1:1"),
        ("---a: b\n", "1:1"),
        ("a: b\n---\u{a0}\nc: d", "2:1"),
        ("a: b\n---# c\nc: d", "2:1"),
        ("a: 'b\n---c'\n", "2:1"),
        ("a: b\n---- \n", "2:1"),
    ] {
        assert_eq!(message(text), format!("{place}: {refused}"), "{text:?}");
    }
    assert!(parse("--- \t # x\r\na: b\n ---c\n").is_ok());
    assert!(parse("a: |\n  ---\n  --- b\n").is_ok());
    let rest = "there is more text after `...`, which ends the document: Kubernetes ignores it";
    assert_eq!(parse_all("a: b\n...\nc: d\n").unwrap_err().to_string(), format!("3:1: {rest}"));
    assert_eq!(parse_all("a: b\n...\n---\nc: d\n...\n").unwrap().len(), 2);
}

#[test]
fn ambiguous_yaml_is_rejected() {
    for (text, expected) in [
        ("a: &x 1\nb: *x", "1:4: YAML anchors are not supported"),
        ("a: &x [1]", "1:4: YAML anchors are not supported"),
        ("&x a: 1", "1:1: YAML anchors are not supported"),
        ("a:\n  b: *x", "2:6: YAML aliases are not supported"),
        ("*x : a", "1:1: YAML aliases are not supported"),
        ("<<: {a: b}", "1:1: YAML merge keys are not supported"),
        ("a: !!str 5", "1:4: YAML tags are not supported"),
        ("a: !x {b: c}", "1:4: YAML tags are not supported"),
        ("# x\n%YAML 1.1\n---\na: b", "2:1: YAML directives are not supported"),
        ("\r\n%ö ö\n---\na: b", "2:1: YAML directives are not supported"),
        ("? [a]\n: b", "1:3: a key must be a string, but is a list"),
        ("{a: b}: c", "1:1: a key must be a string, but is an object"),
        ("a: 1\nb: 2\n'a': 3\nb: 4\n", "3:1: `a` is given twice, first at 1:1"),
        ("x: [{ä: 1, ä: 2}]", "1:12: `ä` is given twice, first at 1:6"),
        ("\u{feff}a: 1\na: 2", "2:1: `a` is given twice, first at 1:1"),
    ] {
        assert_eq!(message(text), expected, "{text:?}");
    }
    assert!(parse("'<<': a\n\"*x\": '&y'\n").is_ok());
}

#[test]
fn a_text_is_exactly_one_document() {
    let second = "a second YAML document starts here; a profile is a single document";
    assert_eq!(message("a: b\n---\nc: d\n"), format!("2:1: {second}"));
    assert_eq!(message("---\na: b\n---\n"), format!("3:1: {second}"));
    assert_eq!(message("a: b\n...\n---\nc: d\n"), format!("3:1: {second}"));
    let empty = "the text has no content; expected a YAML mapping";
    assert_eq!([message(""), message("# a: b\n"), message("\n \n")], [empty; 3]);
    for text in ["a: b", "---\na: b\n...\n", "# x\n--- # y\na: b # z\n"] {
        assert_eq!(parse(text).unwrap().get("a").unwrap().text(), Some("b"), "{text:?}");
    }
}

#[test]
fn a_text_may_have_several_documents() {
    let kinds = |text: &str| -> Result<Vec<String>, String> {
        let documents = parse_all(text).map_err(|error| error.to_string())?;
        Ok(documents.iter().map(Node::describe).collect())
    };
    let of = |kinds: &[&str]| Ok(kinds.iter().map(|kind| (*kind).to_owned()).collect());
    assert_eq!(kinds("a: b\n---\nc\n"), of(&["an object", "the string \"c\""]));
    assert_eq!(kinds("---\na: b\n---\n# nothing\n---\n- c\n---\n"), of(&["an object", "a list"]));
    assert_eq!(kinds("~\n---\n"), of(&["null"]));
    assert_eq!(kinds("# x\n"), Err("the text has no content; expected a YAML mapping".to_owned()));
    let documents = parse_all("a: b\n--- # x\nü: c\n").unwrap();
    assert_eq!(documents[1].members()[0].key_at, 13);
    for (text, expected) in [
        ("a: b\n---\na: [\n", "3:4: the list that starts here is not closed"),
        ("a: b\n---\na: b\na: c\n", "4:1: `a` is given twice, first at 3:1"),
        ("a: b\n...\n%YAML 1.2\n---\nc: d\n", "3:1: YAML directives are not supported"),
    ] {
        assert_eq!(kinds(text).unwrap_err(), expected, "{text:?}");
    }
    assert!(kinds("a: |\n  %x\n---\nb: c\n").is_ok());
    assert!(parse_all(&"a: b\n---\n".repeat(999)).is_ok());
    let error = parse_all(&"a: b\n---\n".repeat(1001)).unwrap_err().to_string();
    assert_eq!(error, "2000:1: the text has more than 1000 YAML documents, the limit");
}

#[test]
fn tabs_in_indentation_are_rejected() {
    for (text, place) in [
        ("spec:\n\ta: b", "2:1"),
        ("spec:\n  a: b\n\tc: d", "3:1"),
        ("spec:\n \ta: b", "2:2"),
        ("\ta: b", "1:1"),
        ("a:\n- b\n\t- c\n", "3:1"),
        ("a: 'b'\n\tc: d\n", "2:1"),
    ] {
        assert_eq!(message(text), format!("{place}: this line is indented with a tab"), "{text:?}");
    }
    for (text, place) in [
        ("- \ta", "1:3"),
        ("-\t", "1:2"),
        ("a:\n-\t\n  b: c\n", "2:2"),
        ("a: b\n\t\n", "2:1"),
        ("a: b\n\t# c\n", "2:1"),
        ("a: b\n \t", "2:2"),
        ("\t\na: b", "1:1"),
    ] {
        assert_eq!(message(text), format!("{place}: this line is indented with a tab"), "{text:?}");
    }
    for text in [
        "{\n\t\"a\": [\n\t\tb]}",
        "a: \tb",
        "a: b\t# c\n",
        "- b\t# c\n- -5 \t# d\n",
        "a: |\n  \tb\n",
        "a:\t# c\n  b: c\n",
    ] {
        assert!(parse(text).is_ok(), "{text:?}");
    }
}

/// Found by `cargo lab yaml`: go-yaml refuses it.
#[test]
fn the_end_of_a_document_before_the_first_one_is_refused() {
    for (place, text) in
        [("1:1", "...\na: 1\n"), ("2:1", "\n...\na: 1\n"), ("2:1", "# x\n...\n---\na: 1\n")]
    {
        let message = message(text);
        assert!(message.starts_with(&format!("{place}: `...` ends a document")), "{message}");
    }
    assert!(parse("a: 1\n...\n").is_ok());
}

/// Found by `cargo lab yaml`: go-yaml refuses them.
#[test]
fn forms_that_only_some_readers_accept_are_rejected() {
    let quotes = |text: &str| format!("`{text}` needs quotes: some YAML readers refuse it");
    let line =
        "a key in brackets and its colon must be in one line: some YAML readers refuse others";
    for (text, expected) in [
        ("[?]", format!("1:2: {}", quotes("?"))),
        ("[a, b?c]", format!("1:5: {}", quotes("b?c"))),
        ("{a: x, :b}", format!("1:8: {}", quotes(":b"))),
        ("{|: a}", format!("1:2: {}", quotes("|"))),
        ("{\"a\nb\": c}", format!("1:2: {line}")),
        ("{a\n: b}", format!("1:2: {line}")),
        ("{a # x\n: b}", format!("1:2: {line}")),
        (
            "é: \"\\\\/ü\\/\"",
            "1:9: YAML 1.1, which Kubernetes reads, does not have the escape `\\/`".to_owned(),
        ),
    ] {
        assert_eq!(message(text), expected, "{text:?}");
    }
    for text in [
        "a: b?c",
        "{a, b: c}",
        "{a: b,\n c: d}",
        "{\"a\" : b}",
        "['?', \":a\"]",
        "a: '\\/'",
        "a: +9223372036854775807",
    ] {
        assert!(parse(text).is_ok(), "{text:?}");
    }
}

#[test]
fn syntax_errors_have_a_position() {
    for (text, expected) in [
        ("a: [b, c\n", "1:4: the list that starts here is not closed"),
        ("a:\n  {b: c", "2:3: the object that starts here is not closed"),
        ("a: \"b\n  c", "1:4: the string that starts here is not closed"),
        ("a: 'b", "1:4: the string that starts here is not closed"),
        ("a: b\n  ab\nac\n", "3:1: this line is neither `key: value` nor `- item`"),
        ("a: b\nac\nd: e", "2:1: this line is neither `key: value` nor `- item`"),
        ("a: b: c", "1:5: a key is not allowed here"),
        ("a: b\n c: d", "2:3: a key is not allowed here"),
        ("a:\n   b: c\n  d: e", "3:3: this is not a key of the mapping above"),
        ("a: b]\nc: [d]]", "2:7: invalid YAML: misplaced bracket"),
        ("a: @b", "1:4: invalid YAML: unexpected character: `@'"),
    ] {
        assert_eq!(message(text), expected, "{text:?}");
    }
}

#[test]
fn deep_nesting_is_an_error_not_a_stack_overflow() {
    for open in ["[", "{a: ", "- ", "? ", "[{a: "] {
        let text = open.repeat(100_000);
        let message = message(&text);
        assert!(
            message.contains("deeper than the limit of 255 levels")
                || message.contains("a key must be"),
            "{message}"
        );
    }
    let blocks: String = (0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(message(&blocks), "256:256: nesting is deeper than the limit of 255 levels");
    assert!(parse(&format!("{}x", "- ".repeat(255))).is_ok());
    assert!(parse(&format!("{}{}", "[".repeat(255), "]".repeat(255))).is_ok());
    assert!(message(&format!("- {}{}", "[".repeat(255), "]".repeat(255))).contains("deeper"));
}

#[test]
fn a_text_above_the_limit_is_an_error() {
    let comment = "#".repeat(MAX_BYTES);
    assert!(message(&comment).contains("no content"));
    assert_eq!(
        message(&format!("{comment}\n")),
        "the text has 2097153 bytes; the limit for YAML is 2097152 bytes (2 MiB)"
    );
}

/// Checks that the text at every offset starts with the value, or with a quotation mark.
fn check_offsets(text: &str, node: &Node) {
    let rest = text.get(node.at..).expect("the start of a character");
    match &node.kind {
        NodeKind::Null => {}
        NodeKind::Bool(value) => {
            assert!(rest.to_ascii_lowercase().starts_with(&value.to_string()), "{text:?}")
        }
        NodeKind::Number(written) => assert!(rest.starts_with(&**written), "{text:?}"),
        NodeKind::Disputed(written, _) => assert!(rest.starts_with(&**written), "{text:?}"),
        NodeKind::Text(value) => {
            let word: String = value.chars().take_while(|c| !c.is_whitespace()).collect();
            assert!(rest.starts_with(['"', '\'']) || rest.starts_with(&word), "{text:?}");
        }
        NodeKind::List(items) => items.iter().for_each(|item| check_offsets(text, item)),
        NodeKind::Map(members) => members.iter().for_each(|member| {
            assert!(text.is_char_boundary(member.key_at));
            check_offsets(text, &member.value);
        }),
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "é", "5", "0x", "~", ": ", ":", "- ", "? ", "[", "]", "{", "}", ", ", "\"", "'", "#",
                " #", "|", ">", "|-\n", "&a ", "*a", "!", "!!int ", "%", "@", "\\", "\\x", "<<", "...",
                "---", "\n---\n", "\n", "\n  ", "\n    ", "\n\t", "\t", " ", "\r\n", "\r", "\0", "\u{85}",
                "\u{2028}", "\u{feff}", "\u{10ffff}",
            ]),
            0..40,
        )
    ) {
        let text = pieces.concat();
        if let Ok(tree) = parse(&text) {
            check_offsets(&text, &tree);
        }
    }

    #[test]
    fn no_truncated_text_makes_the_parser_panic(end in 0_usize..400) {
        let text = "# é\napiVersion: x/v1\nkind: SeccompProfile\nspec:\n  defaultAction: SCMP_ACT_ERRNO\n  \
                    syscalls:\n  - action: \"SCMP_ACT_ALLOW\"\n    names: [read, 'write']\n    args:\n    \
                    - {index: 0, value: 0x10, op: SCMP_CMP_EQ}\n    - index: 1\n      value: 0o17\n";
        if let Some(text) = text.get(..end)
            && let Ok(tree) = parse(text)
        {
            check_offsets(text, &tree);
        }
    }
}
