//! Mutations of texts: what is different to parsers, and what hides from people.

use callgate_bpf::random::Rng;

use super::driver::Syntax;
use super::generate::folded;

/// Characters that end a line for some programs, and others that some programs refuse.
const LINE_ENDS: &[&str] =
    &["\u{85}", "\u{2028}", "\u{2029}", "\r", "\u{b}", "\u{c}", "\n", "\u{feff}", "\r\n"];

const YAML_PIECES: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\t",
    "\n\t",
    "#",
    " #",
    "# ",
    ": ",
    ":",
    " :",
    "- ",
    "-",
    "\n- ",
    "? ",
    "?",
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    "\"",
    "'",
    "''",
    "\\",
    "\\\n",
    "\\u2028",
    "\\L",
    "\\x0a",
    "\\/",
    "\\e",
    "\\_",
    "|",
    "|-",
    ">",
    "|\n  ",
    "&a ",
    "*a",
    "*a ",
    "! ",
    "!!str ",
    "!!int ",
    "!<x> ",
    "<<: ",
    "<<: {names: [ptrace]}\n",
    "---\n",
    "\n---\n",
    "\n--- ",
    "\n---",
    "...\n",
    "\n...\n",
    "\n%YAML 1.1\n",
    "%TAG ! x\n",
    "~",
    "null",
    "yes",
    "no ",
    "0x",
    "0o",
    "0b1",
    "0",
    "_",
    "1:30",
    "e3",
    ".0",
    "+",
    "@",
    "`",
    "=",
    "\0",
    "\u{a0}",
    "\u{7f}",
    "\u{fffe}",
    "é",
    "\u{1f600}",
    "\u{202e}",
    "\u{200b}",
    "\n\n",
    "\n ",
    "\n#\n",
    "\nkind: x\n",
    "\nspec: {}\n",
    "{a: b}",
    "[a: b]",
    "{a}",
    "\"a\":b",
    "'a':b",
    "a:b",
    "{? a : b}",
    "- - ",
    "  # x",
];

const JSON_PIECES: &[&str] = &[
    " ",
    "\n",
    "\t",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\u0073",
    "\\u017f",
    "\\u212a",
    "\\ud800",
    "\\ud83d\\ude00",
    "\\udc00",
    "\\/",
    "\\x",
    "null",
    "true",
    "0",
    "-",
    "-0",
    ".0",
    "e3",
    "E0",
    "+",
    "NaN",
    "Infinity",
    "//x\n",
    "/**/",
    "'",
    "\u{a0}",
    "\u{b}",
    "\u{c}",
    "\u{feff}",
    "\u{2028}",
    "\0",
    "\u{1}",
    "é",
    "\u{1f600}",
    "{}",
    "[]",
    "\"a\":1,",
    "\"names\":null,",
    "\"Names\":[\"ptrace\"],",
    "\"names\":[\"ptrace\"],",
    "\"ACTION\":\"SCMP_ACT_ALLOW\",",
    "\"\":1,",
    "\"args\":[],",
    "\"args\":null,",
    "\"comment\":5,",
    "\"priority\":\"x\",",
    "\"ociVersion\":7,",
    "\"kind\":7,",
    "\"linux\":0,",
    "\"flags\":[7],",
    "\"archMap\":{},",
    "\"listenerPath\":7,",
    "\"errno\":7,",
    "\"includes\":[],",
    "\"excludes\":null,",
    "\"includes\":{\"caps\":7},",
    "\"name\":\"\",",
    "\"name\":7,",
    "\"defaultErrno\":7,",
    "\"spec\":7,",
    "\"state\":7,",
];

/// Keys whose case is changed.
const KEYS: &[&str] = &[
    "names",
    "action",
    "args",
    "index",
    "value",
    "valueTwo",
    "op",
    "errnoRet",
    "syscalls",
    "defaultAction",
    "architectures",
    "flags",
    "spec",
    "kind",
    "linux",
    "seccomp",
    "includes",
    "excludes",
    "caps",
    "minKernel",
    "archMap",
    "comment",
];

/// Numbers in other forms.
const NUMBERS: &[&str] = &[
    "010",
    "0o10",
    "0x10",
    "0X10",
    "0b10",
    "1_0",
    "1:30",
    "1e3",
    "1.0",
    "+1",
    "-1",
    "-0",
    ".5",
    "1.",
    "\"1\"",
    "'1'",
    "~",
    "0x1_0",
    "18446744073709551616",
    "18446744073709551615",
    "9223372036854775808",
    "9223372036854775809",
    "1E3",
    "00",
    "08",
    "0x",
    "1e400",
    "true",
    ".inf",
    "null",
    "- 1",
    "2147483648",
];

/// A text with up to four mutations.
pub(super) fn mutated(rng: &mut Rng, syntax: Syntax, text: String) -> String {
    let number = [0, 1, 1, 1, 2, 2, 3, 4];
    let number = rng.pick(&number).unwrap_or(1);
    (0..number).fold(text, |text, _| mutation(rng, syntax, text))
}

fn mutation(rng: &mut Rng, syntax: Syntax, mut text: String) -> String {
    let is_yaml = syntax == Syntax::Yaml;
    match rng.below(12) {
        0..3 => {
            let pieces = if is_yaml { YAML_PIECES } else { JSON_PIECES };
            let at = boundary(rng, &text);
            text.insert_str(at, rng.pick(pieces).unwrap_or_default());
        }
        // Where a new member or item could begin.
        3 => {
            let pieces = if is_yaml { YAML_PIECES } else { JSON_PIECES };
            let after = if is_yaml { &['\n', ':', '-', ' '][..] } else { &['{', ','][..] };
            let places: Vec<usize> =
                text.match_indices(after).map(|(at, c)| at + c.len()).collect();
            let at = rng.pick(&places).unwrap_or(0);
            text.insert_str(at, rng.pick(pieces).unwrap_or_default());
        }
        4 => {
            let (from, to) = (boundary(rng, &text), boundary(rng, &text));
            let from = from.min(to);
            let to = text[from..]
                .char_indices()
                .nth(1 + rng.below(6))
                .map_or(text.len(), |(at, _)| from + at);
            text.replace_range(from..to, "");
        }
        5 => text = on_lines(rng, &text),
        6 if is_yaml => text = with_hidden_rule(rng, &text),
        6 | 7 => {
            let at = boundary(rng, &text);
            text.insert_str(at, rng.pick(LINE_ENDS).unwrap_or_default());
        }
        8 => {
            let key = rng.pick(KEYS).unwrap_or_default();
            let places: Vec<usize> = text.match_indices(key).map(|(at, _)| at).collect();
            if let Some(at) = rng.pick(&places) {
                let other = folded(rng, key);
                text.replace_range(at..at + key.len(), &other);
            }
        }
        9 | 10 => {
            let is_start = |at: usize| at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
            let places: Vec<usize> = text
                .match_indices(|c: char| c.is_ascii_digit())
                .map(|(at, _)| at)
                .filter(|at| is_start(*at))
                .collect();
            if let Some(at) = rng.pick(&places) {
                let end = text[at..]
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .map_or(text.len(), |len| at + len);
                text.replace_range(at..end, rng.pick(NUMBERS).unwrap_or_default());
            }
        }
        _ => {
            // A part of the text again, somewhere else.
            let from = boundary(rng, &text);
            let to = text[from..]
                .char_indices()
                .nth(rng.below(60))
                .map_or(text.len(), |(at, _)| from + at);
            let copy = text[from..to].to_owned();
            let at = boundary(rng, &text);
            text.insert_str(at, &copy);
        }
    }
    text
}

/// The beginning of a character.
fn boundary(rng: &mut Rng, text: &str) -> usize {
    let at = rng.below(text.len() + 1);
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Repeats, removes, moves or indents a line.
fn on_lines(rng: &mut Rng, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = rng.below(lines.len());
    match rng.below(6) {
        0 => lines.insert(at, lines[at].clone()),
        1 => _ = lines.remove(at),
        2 => {
            let line = lines.remove(at);
            lines.insert(rng.below(lines.len() + 1), line);
        }
        3 => lines[at] = lines[at].strip_prefix(' ').unwrap_or(&lines[at]).to_owned(),
        4 => lines[at].insert(0, '\t'),
        _ => lines[at].insert(0, ' '),
    }
    lines.concat()
}

/// A text with a rule behind a comment, after a character that may end a line.
fn with_hidden_rule(rng: &mut Rng, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = rng.below(lines.len());
    let end = rng.pick(LINE_ENDS).unwrap_or_default();
    let indent = " ".repeat(rng.below(5));
    let rule = rng.pick(&[
        "- {action: SCMP_ACT_ALLOW, names: [ptrace]}",
        "- ptrace",
        "action: SCMP_ACT_LOG",
        "---",
        "x: y",
    ]);
    let line = lines[at].trim_end_matches(['\n', '\r']);
    lines[at] = format!("{line} # reviewed{end}{indent}{}\n", rule.unwrap_or_default());
    lines.concat()
}
