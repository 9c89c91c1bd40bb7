//! Writes a tree as JSON or YAML, in one of many ways that mean the same.

use std::fmt::Write as _;

use callgate_bpf::random::Rng;

use super::tree::Value;

/// The tree as JSON, with random white space and escapes.
pub(super) fn json(rng: &mut Rng, value: &Value) -> String {
    let mut text = String::new();
    let is_wide = rng.below(2) == 0;
    write_json(rng, &mut text, value, is_wide, 0);
    text
}

fn write_json(rng: &mut Rng, out: &mut String, value: &Value, is_wide: bool, depth: usize) {
    let line = |out: &mut String, depth: usize| {
        if is_wide {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth));
        }
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => _ = write!(out, "{value}"),
        Value::Number(number) => out.push_str(number),
        Value::Text(text) => quoted(rng, out, text),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_json(rng, out, item, is_wide, depth + 1);
            }
            out.push(']');
        }
        Value::Map(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth + 1);
                quoted(rng, out, key);
                out.push_str(": ");
                write_json(rng, out, value, is_wide, depth + 1);
            }
            line(out, depth);
            out.push('}');
        }
    }
}

/// A string in double quotes, with escapes that JSON has; some characters are escaped without need.
fn quoted(rng: &mut Rng, out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let must = matches!(c, '"' | '\\' | '\0'..'\u{20}');
        let may = !c.is_ascii_alphanumeric() && c != '_';
        match c {
            '\n' => out.push_str("\\n"),
            '"' | '\\' => _ = write!(out, "\\{c}"),
            _ if must || may && rng.below(3) == 0 || rng.below(200) == 0 => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// The tree as YAML.
pub(super) fn yaml(rng: &mut Rng, value: &Value) -> String {
    let mut text = String::new();
    if rng.below(6) == 0 {
        text.push_str(
            rng.pick(&["---\n", "# profile\n---\n", "\u{feff}", "--- # x\n", "# c\n\n"])
                .unwrap_or_default(),
        );
    }
    let step = 1 + rng.below(3);
    block(rng, &mut text, value, 0, step);
    if rng.below(12) == 0 {
        let end = ["...\n", "---\n", "---\nkind: ConfigMap\n", "# end", "...\n---\n~\n", "\n\n"];
        text.push_str(rng.pick(&end).unwrap_or_default());
    }
    if rng.below(10) == 0 { text.replace('\n', "\r\n") } else { text }
}

/// Writes a value in block style from the beginning of a line.
fn block(rng: &mut Rng, out: &mut String, value: &Value, indent: usize, step: usize) {
    let pad = " ".repeat(indent);
    match value {
        Value::Map(members) if !members.is_empty() => {
            for (key, value) in members {
                noise(rng, out, &pad);
                out.push_str(&pad);
                scalar(rng, out, &Value::Text(key.clone()), indent, true);
                out.push(':');
                below(rng, out, value, indent, step, true);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for item in items {
                noise(rng, out, &pad);
                out.push_str(&pad);
                out.push('-');
                below(rng, out, item, indent, step, false);
            }
        }
        _ => {
            out.push_str(&pad);
            flow(rng, out, value, indent);
            out.push('\n');
        }
    }
}

/// Writes a value behind `key:` or `-`.
fn below(
    rng: &mut Rng,
    out: &mut String,
    value: &Value,
    indent: usize,
    step: usize,
    is_member: bool,
) {
    let is_long = match value {
        Value::Map(members) => !members.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => false,
    };
    if is_long && rng.below(4) > 0 {
        if !is_member && rng.below(3) > 0 {
            // A collection in the line of its dash.
            let mut inner = String::new();
            block(rng, &mut inner, value, indent + 2, step);
            let compact = inner.strip_prefix(&" ".repeat(indent + 2));
            if let Some(compact) = compact.filter(|compact| !compact.starts_with([' ', '#', '\n']))
            {
                out.push(' ');
                out.push_str(compact);
                return;
            }
        }
        out.push_str(rng.pick(&["\n", "\n", " \n", " # below\n"]).unwrap_or("\n"));
        let is_flush = is_member && matches!(value, Value::List(_)) && rng.below(3) == 0;
        block(rng, out, value, if is_flush { indent } else { indent + step }, step);
        return;
    }
    out.push_str(rng.pick(&[" ", " ", " ", "  "]).unwrap_or(" "));
    flow(rng, out, value, indent + step);
    out.push_str(rng.pick(&["\n", "\n", "\n", "\n", " # c\n", "  \n", "\t# c\n"]).unwrap_or("\n"));
}

/// Sometimes an empty line or a comment.
fn noise(rng: &mut Rng, out: &mut String, pad: &str) {
    match rng.below(30) {
        0 => out.push('\n'),
        1 => _ = writeln!(out, "{pad}# a: b"),
        2 => out.push_str("# c\n"),
        _ => {}
    }
}

/// Writes a value in flow style.
fn flow(rng: &mut Rng, out: &mut String, value: &Value, indent: usize) {
    let separator = |rng: &mut Rng, out: &mut String| match rng.below(8) {
        0 => _ = write!(out, ",\n{}", " ".repeat(indent + 1)),
        1 => out.push(','),
        _ => out.push_str(", "),
    };
    match value {
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    separator(rng, out);
                }
                flow_item(rng, out, item, indent);
            }
            out.push_str(if rng.below(8) == 0 && !items.is_empty() { ",]" } else { "]" });
        }
        Value::Map(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    separator(rng, out);
                }
                flow_item(rng, out, &Value::Text(key.clone()), indent);
                out.push_str(": ");
                flow_item(rng, out, value, indent);
            }
            out.push('}');
        }
        _ => scalar(rng, out, value, indent, false),
    }
}

fn flow_item(rng: &mut Rng, out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::List(_) | Value::Map(_) => flow(rng, out, value, indent),
        _ => scalar(rng, out, value, indent, true),
    }
}

/// Writes a scalar; `is_inline` if it must be in one line and not in block style.
fn scalar(rng: &mut Rng, out: &mut String, value: &Value, indent: usize, is_inline: bool) {
    match value {
        Value::Null => out.push_str(rng.pick(&["null", "~", "Null", ""]).unwrap_or_default()),
        Value::Bool(value) => {
            let texts = if *value {
                ["true", "True", "TRUE", "yes"]
            } else {
                ["false", "False", "FALSE", "no"]
            };
            out.push_str(rng.pick(&texts).unwrap_or_default());
        }
        Value::Number(number) => match (rng.below(120), number.parse::<u64>()) {
            (0, Ok(value)) => _ = write!(out, "{value:#x}"),
            (1, Ok(value)) => _ = write!(out, "{value:#o}"),
            (2, Ok(value)) => _ = write!(out, "0{value:o}"),
            (3, Ok(value)) => _ = write!(out, "{value:#b}"),
            (4, Ok(value)) => _ = write!(out, "+{value}"),
            (5, Ok(value)) => _ = write!(out, "{value}.0"),
            (6, Ok(value)) => _ = write!(out, "\"{value}\""),
            (7, Ok(value)) => _ = write!(out, "{value:#X}"),
            _ => out.push_str(number),
        },
        Value::Text(text) => {
            let is_plain = !text.is_empty()
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
                && text.starts_with(|c: char| c.is_ascii_alphanumeric());
            match rng.below(60) {
                0..50 if is_plain => out.push_str(text),
                50 if !is_inline => {
                    let header =
                        rng.pick(&["|-", ">-", "|-", ">-", ">", "|+", "|2-", ">2-"]).unwrap_or("|");
                    let pad = " ".repeat(indent);
                    let lines: Vec<String> =
                        text.split('\n').map(|line| format!("{pad}{line}")).collect();
                    let _ = write!(out, "{header}\n{}", lines.join("\n"));
                }
                51..53 => _ = write!(out, "'{}'", text.replace('\'', "''")),
                53 => out.push_str(text),
                54 if text.len() > 3 && text.is_ascii() => {
                    // A quoted scalar in two lines, with an escaped line break.
                    let _ = write!(
                        out,
                        "\"{}\\\n{}{}\"",
                        &text[..2],
                        " ".repeat(indent + 1),
                        &text[2..]
                    );
                }
                _ => quoted(rng, out, text),
            }
        }
        Value::List(_) | Value::Map(_) => flow(rng, out, value, indent),
    }
}
