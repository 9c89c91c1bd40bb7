//! The fields of a configuration that are about the filter, in protobuf's text format. All others are skipped.

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

/// What is wrong with the form of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Reads a text from its start.
#[derive(Clone, Copy, Debug)]
struct Scanner<'t> {
    text: &'t str,
    pub(super) at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, after white space and comments; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_ascii_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return trimmed.chars().next();
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Takes this character if it is the next one.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    /// The next word or number; empty for anything else.
    pub(super) fn word(&mut self) -> &'t str {
        self.peek();
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Adjacent strings, of which there is at least one.
    pub(super) fn strings(&mut self) -> Result<Decoded> {
        let mut decoded = Decoded::default();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.string(quote, &mut decoded)?;
        }
        Ok(decoded)
    }

    /// A string in these quotes.
    fn string(&mut self, quote: char, decoded: &mut Decoded) -> Result<()> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(end) = rest.find([quote, '\\']) else {
                let message = "the string does not end".to_owned();
                return Err(Malformed { at: start, message, help: "end it with the same quote" });
            };
            decoded.push(rest.as_bytes().get(..end).unwrap_or_default(), self.at);
            self.at += end;
            if self.rest().starts_with(quote) {
                self.at += 1;
                return Ok(());
            }
            self.escape(decoded)?;
        }
    }

    /// An escape, of which the backslash is next.
    fn escape(&mut self, decoded: &mut Decoded) -> Result<()> {
        let at = self.at;
        let mut rest = self.rest().chars().skip(1);
        let kind = rest.next();
        let digits = |radix: u32, from: usize, most: usize| {
            let text = self.rest().get(from..).unwrap_or_default();
            let end = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len()).min(most);
            let text = text.get(..end).unwrap_or_default();
            (u32::from_str_radix(text, radix).ok(), from + end)
        };
        let wrong = |message: &str| Malformed {
            at,
            message: message.to_owned(),
            help: "write a backslash as \\\\",
        };
        let simple = match kind {
            Some('a') => Some(7),
            Some('b') => Some(8),
            Some('f') => Some(12),
            Some('n') => Some(b'\n'),
            Some('r') => Some(b'\r'),
            Some('t') => Some(b'\t'),
            Some('v') => Some(11),
            Some(c @ ('?' | '\\' | '\'' | '"')) => u8::try_from(c).ok(),
            _ => None,
        };
        if let Some(byte) = simple {
            decoded.push_byte(byte, at);
            self.at += 2;
            return Ok(());
        }
        let (value, end) = match kind {
            Some('0'..='7') => digits(8, 1, 3),
            Some('x' | 'X') => digits(16, 2, 2),
            Some('u') => digits(16, 2, 4),
            Some('U') => digits(16, 2, 8),
            _ => return Err(wrong("unknown escape in a string")),
        };
        let is_character = matches!(kind, Some('u' | 'U'));
        match (value, is_character) {
            (Some(value), true) => {
                let character = char::from_u32(value).ok_or_else(|| wrong("no such character"))?;
                decoded.push_char(character, at);
            }
            (Some(value), false) => match u8::try_from(value) {
                Ok(byte) => decoded.push_byte(byte, at),
                Err(_) => return Err(wrong("the escape is larger than a byte")),
            },
            (None, _) => return Err(wrong("the escape has no digits")),
        }
        self.at += end;
        Ok(())
    }
}

/// A text that was put together from strings, and the places of its characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Offsets in the text, each with the offset in the configuration from which the bytes after it come.
    runs: Vec<(usize, usize)>,
}

impl Decoded {
    /// Adds bytes that are the same in the configuration, from this offset on.
    pub(super) fn push(&mut self, bytes: &[u8], at: usize) {
        self.mark(at);
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the character of an escape at this offset.
    fn push_char(&mut self, character: char, at: usize) {
        self.mark(at);
        let mut buffer = [0; 4];
        self.bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }

    /// Adds the byte of an escape at this offset.
    pub(super) fn push_byte(&mut self, byte: u8, at: usize) {
        self.mark(at);
        self.bytes.push(byte);
    }

    /// Adds another text.
    pub(super) fn append(&mut self, other: &Decoded) {
        let start = self.bytes.len();
        self.runs.extend(other.runs.iter().map(|(own, at)| (start + own, *at)));
        self.bytes.extend_from_slice(&other.bytes);
    }

    fn mark(&mut self, at: usize) {
        let own = self.bytes.len();
        // What follows without a gap needs no place of its own.
        let is_next = self.runs.last().is_some_and(|(start, from)| own - start + from == at);
        if !is_next {
            self.runs.push((own, at));
        }
    }

    /// The offset in the configuration from which a byte comes.
    pub(super) fn origin(&self, own: usize) -> usize {
        let after = self.runs.partition_point(|(start, _)| *start <= own);
        let run = after.checked_sub(1).and_then(|index| self.runs.get(index));
        let next = self.runs.get(after).map(|(_, at)| *at);
        // An escape is longer than its character.
        run.map_or(0, |(start, at)| match next {
            Some(next) if *at < next => (at + own - start).min(next - 1),
            _ => at + own - start,
        })
    }
}
