//! The fields of a configuration that are about the filter. All others are skipped.

use super::decode::Decoded;
use super::scanner::{Malformed, Scanner};

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// The fields about the filter.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// The values of `seccomp_string`.
    pub(super) lines: Vec<Placed<Decoded>>,
    /// The values of `seccomp_policy_file`.
    pub(super) files: Vec<Placed<Decoded>>,
    /// The last value of `seccomp_log`.
    pub(super) log: bool,
    /// Where `seccomp_unotify` is true.
    pub(super) unotify: Option<usize>,
}

type Result<T> = std::result::Result<T, Malformed>;

/// A value of a field.
enum Value<'t> {
    Text(Decoded),
    Word(&'t str),
    /// A message.
    Other,
}

impl Fields {
    /// Reads the fields of a text.
    ///
    /// # Errors
    /// The first place at which the text is not in protobuf's text format, or a field about the filter has a value of another
    /// type.
    pub(super) fn read(text: &str) -> Result<Fields> {
        let mut scanner = Scanner::new(text);
        let mut fields = Fields::default();
        while scanner.peek().is_some() {
            let at = scanner.at;
            let name = name(&mut scanner)?;
            let has_colon = scanner.take(':');
            if scanner.take('[') {
                while !scanner.take(']') {
                    fields.value(name, &mut scanner)?;
                    if !scanner.take(',') && scanner.peek() != Some(']') {
                        return Err(unexpected(&mut scanner, "`,` or `]`"));
                    }
                }
            } else {
                if !has_colon && !matches!(scanner.peek(), Some('{' | '<')) {
                    let help = "write `name: value`, or `name { … }` for a message";
                    let message = format!("expected `:` after `{name}`");
                    return Err(Malformed { at, message, help });
                }
                fields.value(name, &mut scanner)?;
            }
            let _ = scanner.take(';') || scanner.take(',');
        }
        Ok(fields)
    }

    /// Takes a value of a field.
    fn value(&mut self, name: &str, scanner: &mut Scanner<'_>) -> Result<()> {
        scanner.peek();
        let at = scanner.at;
        let value = value(scanner)?;
        let wrong =
            |what: &str, help| Malformed { at, message: format!("`{name}` is {what}"), help };
        match name {
            "seccomp_string" | "seccomp_policy_file" => {
                let Value::Text(value) = value else {
                    return Err(wrong("a string", "write it in quotes"));
                };
                let values =
                    if name == "seccomp_string" { &mut self.lines } else { &mut self.files };
                values.push(Placed { at, value });
            }
            "seccomp_log" | "seccomp_unotify" => {
                let is_true = match value {
                    Value::Word("true" | "True" | "t" | "1") => true,
                    Value::Word("false" | "False" | "f" | "0") => false,
                    _ => return Err(wrong("true or false", "write true or false")),
                };
                match name {
                    "seccomp_log" => self.log = is_true,
                    _ => self.unotify = is_true.then_some(at),
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The name of a field; of an extension, its brackets.
fn name<'t>(scanner: &mut Scanner<'t>) -> Result<&'t str> {
    if scanner.take('[') {
        while !scanner.take(']') {
            if scanner.word().is_empty() && !scanner.take('/') {
                return Err(unexpected(scanner, "the name of an extension"));
            }
        }
        return Ok("[…]");
    }
    match scanner.word() {
        "" => Err(unexpected(scanner, "the name of a field")),
        name => Ok(name),
    }
}

fn value<'t>(scanner: &mut Scanner<'t>) -> Result<Value<'t>> {
    match scanner.peek() {
        Some('"' | '\'') => scanner.strings().map(Value::Text),
        Some('{' | '<') => skip(scanner).map(|()| Value::Other),
        _ => match scanner.word() {
            "" => Err(unexpected(scanner, "a value")),
            word => Ok(Value::Word(word)),
        },
    }
}

/// Skips a message: everything up to the end that belongs to its start.
fn skip(scanner: &mut Scanner<'_>) -> Result<()> {
    let mut open: Vec<(char, usize)> = Vec::new();
    loop {
        let next = scanner.peek();
        let at = scanner.at;
        let end = match next {
            Some('{') => Some('}'),
            Some('<') => Some('>'),
            Some('[') => Some(']'),
            _ => None,
        };
        match next {
            Some(start) if end.is_some() => {
                scanner.take(start);
                open.extend(end.map(|end| (end, at)));
            }
            Some(close @ ('}' | '>' | ']')) => {
                let (wanted, _) = open.pop().unwrap_or((close, at));
                if wanted != close {
                    return Err(unexpected(scanner, &format!("`{wanted}`")));
                }
                scanner.take(close);
                if open.is_empty() {
                    return Ok(());
                }
            }
            Some('"' | '\'') => {
                scanner.strings()?;
            }
            Some(mark @ (':' | ',' | ';' | '/')) => {
                scanner.take(mark);
            }
            Some(_) if !scanner.word().is_empty() => {}
            Some(_) => return Err(unexpected(scanner, "a field")),
            None => {
                let at = open.first().map_or(at, |(_, at)| *at);
                let message = "the message does not end".to_owned();
                return Err(Malformed { at, message, help: "end it with `}`" });
            }
        }
    }
}

fn unexpected(scanner: &mut Scanner<'_>, wanted: &str) -> Malformed {
    let message = match scanner.peek() {
        Some(found) => format!("expected {wanted}, but found {found:?}"),
        None => format!("expected {wanted}, but the text ends"),
    };
    Malformed { at: scanner.at, message, help: "the text format of protocol buffers is needed" }
}
