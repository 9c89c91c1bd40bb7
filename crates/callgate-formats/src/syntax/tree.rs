//! A document as a tree in which every key and every value knows where it stands.
//!
//! [`json`](super::json) and [`yaml`](super::yaml) build it; the readers of JSON-shaped languages walk it with
//! [`Reader`](super::reader::Reader). Places are byte offsets; they become line and column only
//! when a message needs them. Depth is bounded by the parser, so walking and dropping a tree may
//! recurse.

/// A value and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Byte offset of its first character.
    pub at: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as written: readers decide which numbers they take, and lose no digit of any.
    Number(Box<str>),
    /// A string, without its escapes.
    Text(Box<str>),
    /// A list.
    List(Box<[Node]>),
    /// Members in the order of the text; a key may be there twice.
    Map(Box<[Member]>),
}

/// One `key: value` of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key.
    pub key: Box<str>,
    /// Byte offset of the key.
    pub key_at: usize,
    /// The value.
    pub value: Node,
}

impl Node {
    /// What it is, for a message: `the number 5`, `a list`.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => format!("the boolean {value}"),
            Kind::Number(digits) => format!("the number {}", shorten(digits)),
            Kind::Text(text) => format!("the string \"{}\"", shorten(text)),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "an object".to_owned(),
        }
    }

    /// The value of the first member with that key, when this is a map that has one; null counts
    /// as absent, as it does for every consumer of these formats.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members()
            .iter()
            .find(|member| *member.key == *key)
            .map(|member| &member.value)
            .filter(|value| value.kind != Kind::Null)
    }

    /// The members of a map; none for anything else.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Map(members) => members,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value of a number as written, when it is an integer from 0 to 2⁶⁴ − 1: decimal, or `0x` and `0o`,
/// which only YAML has.
pub fn integer(written: &str) -> Option<u64> {
    if let Some(digits) = written.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = written.strip_prefix("0o") {
        u64::from_str_radix(digits, 8).ok()
    } else {
        written.parse().ok()
    }
}

/// Whether a number as written is an integer with zeros in front, which JSON does not allow, and about
/// whose base the versions of YAML disagree.
pub fn is_padded(written: &str) -> bool {
    let digits = written.strip_prefix(['-', '+']).unwrap_or(written);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

/// At most forty characters of a text that stands in a message.
pub fn shorten(text: &str) -> String {
    const LIMIT: usize = 40;
    let mut short: String = text.chars().take(LIMIT).collect();
    if text.chars().nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}
