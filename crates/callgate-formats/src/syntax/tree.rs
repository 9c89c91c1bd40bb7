//! A document as a tree in which every key and every value has its byte offset.
//!
//! [`json`](super::json) and [`yaml`](super::yaml) build it. Offsets become line and column only when a message
//! needs them. Strings without escapes are borrowed from the text. The parsers bound the depth, so walking and dropping a
//! tree may recurse.

use std::borrow::Cow;

use crate::diagnostics::quote::shorten;

/// A value with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'t> {
    /// Byte offset of its first character.
    pub at: usize,
    /// Its type and content.
    pub kind: NodeKind<'t>,
}

/// The type of a value, and the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as written, with all its digits: readers decide which numbers they accept.
    Number(Cow<'t, str>),
    /// A string, with its escapes decoded.
    Text(Cow<'t, str>),
    /// A list.
    List(Box<[Node<'t>]>),
    /// Members in the order of the text; the same key may occur twice.
    Map(Box<[Member<'t>]>),
    /// A scalar of YAML as written, which programs read differently. A reader that needs the value reports it; in a
    /// part of a document that no profile is read from, it does not matter.
    Disputed(Cow<'t, str>, Dispute),
}

/// Why programs read a scalar of YAML differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispute {
    /// A boolean in YAML 1.1, a string in YAML 1.2.
    Boolean,
    /// A number to some programs, a string to others.
    Number,
    /// A number with leading zeros.
    LeadingZeros,
    /// Infinity, or not a number.
    NotFinite,
}

impl Dispute {
    /// What is wrong with the scalar, as written: the rest of a sentence about it.
    pub fn why(self) -> &'static str {
        match self {
            Dispute::Boolean => {
                "is a boolean in YAML 1.1, which Kubernetes reads, but a string in YAML 1.2"
            }
            Dispute::Number => "is a number for some YAML readers, but a string for others",
            Dispute::LeadingZeros => "is decimal in YAML 1.2, but octal in YAML 1.1",
            Dispute::NotFinite => {
                "is a number that JSON does not have, so Kubernetes refuses the text"
            }
        }
    }

    /// What to do.
    pub fn help(self) -> &'static str {
        match self {
            Dispute::Boolean => "put it in quotes, or write true or false",
            Dispute::Number => "put it in quotes, or write the number in decimal",
            Dispute::LeadingZeros => {
                "write it without leading zeros, or in hexadecimal (0x…), or put it in quotes"
            }
            Dispute::NotFinite => "put it in quotes, or remove it",
        }
    }
}

/// One `key: value` of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'t> {
    /// The key.
    pub key: Cow<'t, str>,
    /// Byte offset of the key.
    pub key_at: usize,
    /// The value.
    pub value: Node<'t>,
}

impl<'t> Node<'t> {
    /// A description for a message: `the number 5`, `a list`.
    pub fn describe(&self) -> String {
        match &self.kind {
            NodeKind::Null => "null".to_owned(),
            NodeKind::Bool(value) => format!("the boolean {value}"),
            NodeKind::Number(digits) => format!("the number {}", shorten(digits)),
            NodeKind::Text(text) => format!("the string \"{}\"", shorten(text)),
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "an object".to_owned(),
            NodeKind::Disputed(written, why) => {
                format!("`{}`, which {}", shorten(written), why.why())
            }
        }
    }

    /// The value of the first member with this key, if this is a map that has one. Null counts as absent, as
    /// it does in every program that reads these formats.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.members()
            .iter()
            .find(|member| *member.key == *key)
            .map(|member| &member.value)
            .filter(|value| value.kind != NodeKind::Null)
    }

    /// Moves all byte offsets in this tree by a distance.
    pub(crate) fn shift(&mut self, distance: usize) {
        let mut nodes = vec![self];
        while let Some(node) = nodes.pop() {
            node.at += distance;
            match &mut node.kind {
                NodeKind::List(items) => nodes.extend(items.iter_mut()),
                NodeKind::Map(members) => {
                    for member in members {
                        member.key_at += distance;
                        nodes.push(&mut member.value);
                    }
                }
                NodeKind::Null
                | NodeKind::Bool(_)
                | NodeKind::Number(_)
                | NodeKind::Text(_)
                | NodeKind::Disputed(..) => {}
            }
        }
    }

    /// The same tree, which borrows nothing from the text.
    pub fn into_owned(self) -> Node<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let kind = match self.kind {
            NodeKind::Null => NodeKind::Null,
            NodeKind::Bool(value) => NodeKind::Bool(value),
            NodeKind::Number(digits) => NodeKind::Number(owned(digits)),
            NodeKind::Text(text) => NodeKind::Text(owned(text)),
            NodeKind::List(items) => {
                NodeKind::List(items.into_iter().map(Node::into_owned).collect())
            }
            NodeKind::Map(members) => {
                let member = |Member { key, key_at, value }| Member {
                    key: owned(key),
                    key_at,
                    value: value.into_owned(),
                };
                NodeKind::Map(members.into_iter().map(member).collect())
            }
            NodeKind::Disputed(written, why) => NodeKind::Disputed(owned(written), why),
        };
        Node { at: self.at, kind }
    }

    /// The members of a map; empty for any other value.
    pub fn members(&self) -> &[Member<'t>] {
        match &self.kind {
            NodeKind::Map(members) => members,
            _ => &[],
        }
    }

    /// The items of a list; empty for any other value.
    pub fn items(&self) -> &[Node<'t>] {
        match &self.kind {
            NodeKind::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a string; `None` for any other value.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value of a number as written, if it is an integer from 0 to 2⁶⁴ − 1: decimal, or in YAML also
/// hexadecimal (`0x`) and octal (`0o`).
pub fn integer(written: &str) -> Option<u64> {
    if let Some(digits) = written.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = written.strip_prefix("0o") {
        u64::from_str_radix(digits, 8).ok()
    } else {
        written.parse().ok()
    }
}
