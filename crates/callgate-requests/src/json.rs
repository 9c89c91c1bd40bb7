//! JSON output. Objects keep the order of their keys, so that the text is stable.

use std::fmt::{self, Write as _};

use callgate_formats::layout::QuotedString;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer, with all its digits.
    Int(i128),
    /// Three decimals; NaN and infinities become null, because JSON has neither.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Json>),
    /// Members in their order.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// An array of the items of an iterator.
    pub fn array<T: Into<Json>>(items: impl IntoIterator<Item = T>) -> Json {
        Json::Array(items.into_iter().map(Into::into).collect())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Int(value) => write!(f, "{value}"),
            Json::Float(value) if !value.is_finite() => f.write_str("null"),
            Json::Float(value) => {
                let text = format!("{value:.3}");
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Json::Text(text) => write!(f, "{}", QuotedString(text)),
            // Arrays of scalars stay on one line.
            Json::Array(items) if items.iter().all(Json::is_scalar) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    item.write(f, indent)?;
                }
                f.write_str("]")
            }
            Json::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write!(f, "\n{:1$}", "", indent + 2)?;
                    item.write(f, indent + 2)?;
                }
                write!(f, "\n{:1$}]", "", indent)
            }
            Json::Object(fields) if fields.is_empty() => f.write_str("{}"),
            Json::Object(fields) => {
                f.write_str("{")?;
                for (i, (key, value)) in fields.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write!(f, "\n{:1$}", "", indent + 2)?;
                    write!(f, "{}: ", QuotedString(key))?;
                    value.write(f, indent + 2)?;
                }
                write!(f, "\n{:1$}}}", "", indent)
            }
        }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }
}

/// An object that begins with a long array of objects or arrays, written in pieces. Together, the pieces equal the
/// object written as [`Json`].
pub struct LongArray {
    key: &'static str,
    is_empty: bool,
}

impl LongArray {
    /// An array with this key.
    pub fn new(key: &'static str) -> LongArray {
        LongArray { key, is_empty: true }
    }

    /// The next item.
    pub fn item(&mut self, item: &Json) -> String {
        let before = match std::mem::replace(&mut self.is_empty, false) {
            true => format!("{{\n  \"{}\": [", self.key),
            false => ",".to_owned(),
        };
        format!("{before}\n    {}", Indented(item, 4))
    }

    /// The other fields of the object.
    pub fn end(self, fields: &[(&'static str, Json)]) -> String {
        let mut text = match self.is_empty {
            true => format!("{{\n  \"{}\": []", self.key),
            false => "\n  ]".to_owned(),
        };
        for (key, value) in fields {
            let _ = write!(text, ",\n  \"{key}\": {}", Indented(value, 2));
        }
        text + "\n}\n"
    }
}

/// A nested value.
struct Indented<'a>(&'a Json, usize);

impl fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, self.1)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $json:expr;)*) => {
        $(impl From<$type> for Json {
            fn from($value: $type) -> Json { $json }
        })*
    };
}

from! {
    bool => |value| Json::Bool(value);
    f64 => |value| Json::Float(value);
    u8 => |value| Json::Int(value.into());
    u16 => |value| Json::Int(value.into());
    u32 => |value| Json::Int(value.into());
    u64 => |value| Json::Int(value.into());
    usize => |value| Json::Int(value as i128);
    &str => |value| Json::Text(value.to_owned());
    String => |value| Json::Text(value);
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json() {
        let value = Json::Object(vec![
            ("text", "a\"b\\\n\u{1}".into()),
            ("numbers", Json::array([1u64, u64::MAX])),
            ("mean", Json::Float(8.7004)),
            ("whole", Json::Float(20.0)),
            ("none", Json::Float(f64::NAN)),
            ("list", Json::array([Json::Object(vec![("a", true.into())])])),
            ("empty", Json::Object(vec![])),
        ]);
        assert_eq!(
            value.to_string(),
            "{\n  \"text\": \"a\\\"b\\\\\\n\\u0001\",\n  \
             \"numbers\": [1, 18446744073709551615],\n  \
             \"mean\": 8.7,\n  \"whole\": 20,\n  \"none\": null,\n  \
             \"list\": [\n    {\n      \"a\": true\n    }\n  ],\n  \"empty\": {}\n}"
        );
    }

    #[test]
    fn a_long_array_in_pieces_equals_the_whole() {
        let item =
            |number: u64| Json::Object(vec![("n", number.into()), ("all", Json::array([1u8]))]);
        let rest = || vec![("count", 2u8.into()), ("more", item(7))];
        for count in 0..3 {
            let mut array = LongArray::new("items");
            let pieces: String = (0..count).map(|number| array.item(&item(number))).collect();
            let items = ("items", Json::array((0..count).map(item)));
            let whole = Json::Object([items].into_iter().chain(rest()).collect());
            assert_eq!(pieces + &array.end(&rest()), format!("{whole}\n"));
        }
    }
}
