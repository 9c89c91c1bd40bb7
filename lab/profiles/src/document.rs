//! Reads the fields of a profile from JSON, as each program does.
//!
//! Docker, Podman and runc are written in Go, whose `encoding/json` matches keys without regard to case
//! (by Unicode's simple folding), lets later members change earlier ones, does not change a field for `null`, and
//! requires integers without fraction or exponent. crun uses libocispec on yajl: keys match exactly, the first of
//! equal keys counts, and a value of another type counts as absent. The OCI runtime specification has a JSON
//! Schema: keys match exactly, and the meaning of equal keys is undefined.

use crate::json::Json;

/// The program that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Go's `encoding/json`.
    Go,
    /// libocispec.
    Yajl,
    /// The schema.
    Schema,
}

/// A profile, before its conditions are evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// `defaultAction`; empty if absent.
    pub default_action: String,
    /// `defaultErrnoRet`.
    pub default_errno: Option<u64>,
    /// `defaultErrno`, of Podman.
    pub default_errno_name: String,
    /// `architectures`.
    pub architectures: Vec<String>,
    /// `archMap`, of Docker and Podman.
    pub arch_map: Vec<ArchMap>,
    /// `flags`.
    pub flags: Vec<String>,
    /// `listenerPath`.
    pub listener_path: String,
    /// `syscalls`.
    pub entries: Vec<Entry>,
    /// Why a strict reader may refuse the text although this program does not: programs interpret it differently
    /// (equal keys, keys in another case, wrong types), or it violates the format.
    pub doubt: Option<&'static str>,
}

/// A row of `archMap`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArchMap {
    /// `architecture`.
    pub architecture: String,
    /// `subArchitectures`.
    pub sub_architectures: Vec<String>,
}

/// An entry of `syscalls`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// `names`.
    pub names: Vec<String>,
    /// `name`, of old profiles of Docker and Podman.
    pub name: String,
    /// `action`.
    pub action: String,
    /// `errnoRet`.
    pub errno: Option<u64>,
    /// `errno`, of Podman.
    pub errno_name: String,
    /// `args`.
    pub args: Vec<Arg>,
    /// `includes`.
    pub includes: Filter,
    /// `excludes`.
    pub excludes: Filter,
}

/// A comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arg {
    /// `index`.
    pub index: u64,
    /// `value`.
    pub value: u64,
    /// `valueTwo`.
    pub value_two: u64,
    /// `op`.
    pub op: String,
}

/// When an entry applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// `caps`.
    pub caps: Vec<String>,
    /// `arches`.
    pub arches: Vec<String>,
    /// `minKernel`, of Docker.
    pub min_kernel: Option<String>,
}

/// The program whose extensions of the specification are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// None.
    Oci,
    /// Docker's.
    Docker,
    /// Podman's.
    Podman,
}

/// Reads a document.
///
/// # Errors
/// Why the program refuses it.
pub fn read(text: &str, style: Style, fields: Fields) -> Result<Document, String> {
    let root = Json::read(text)?;
    let mut document = Document::default();
    let mut reader = Reader { style, fields, doubt: None };
    reader.document(&mut document, &root)?;
    document.doubt = reader.doubt;
    Ok(document)
}

struct Reader {
    style: Style,
    fields: Fields,
    doubt: Option<&'static str>,
}

type Read<T> = fn(&mut Reader, &mut T, &Json) -> Result<(), String>;

impl Reader {
    /// The members of an object that are fields, by the name of the field.
    fn members<'a>(
        &mut self,
        value: &'a Json,
        fields: &[&'static str],
    ) -> Result<Vec<(&'static str, &'a Json)>, String> {
        let members = match value {
            Json::Object(members) => members,
            Json::Null => return Ok(Vec::new()),
            _ => return Err("not an object".to_owned()),
        };
        let mut found: Vec<(&str, &Json)> = Vec::new();
        for (i, (key, value)) in members.iter().enumerate() {
            if members[..i].iter().any(|(other, _)| fold(other) == fold(key)) {
                self.doubt = Some("a key occurs twice");
            }
            let exact = fields.iter().find(|field| *field == key);
            let folded = || fields.iter().find(|field| fold(field) == fold(key));
            if exact.is_none() && folded().is_some() {
                self.doubt = Some("a key is in another case");
            }
            let field = match self.style {
                Style::Go => exact.or_else(folded),
                Style::Yajl | Style::Schema => exact,
            };
            let Some(field) = field else { continue };
            let again = found.iter().any(|(other, _)| other == field);
            if self.style != Style::Yajl || !again {
                found.push((field, value));
            }
        }
        Ok(found)
    }

    /// How a value of the wrong type is handled.
    fn mistyped(&mut self, value: &Json, wanted: &str) -> Result<(), String> {
        match (self.style, value) {
            (Style::Go, Json::Null) => Ok(()),
            (Style::Schema, Json::Null) => {
                self.doubt = Some("null for an optional value");
                Ok(())
            }
            (Style::Yajl, _) => {
                if *value != Json::Null {
                    self.doubt = Some("a value has another type");
                }
                Ok(())
            }
            _ => Err(format!("{value} is not {wanted}")),
        }
    }

    fn string(&mut self, field: &mut String, value: &Json) -> Result<(), String> {
        match value {
            Json::String(text) => {
                text.clone_into(field);
                Ok(())
            }
            _ => self.mistyped(value, "a string"),
        }
    }

    fn number(&mut self, field: &mut u64, value: &Json) -> Result<(), String> {
        match value {
            Json::Number(number) => {
                *field = *number;
                Ok(())
            }
            Json::Float(_) => Err(format!("{value} is not an unsigned integer")),
            _ => self.mistyped(value, "a number"),
        }
    }

    fn maybe_number(&mut self, field: &mut Option<u64>, value: &Json) -> Result<(), String> {
        if let (Style::Go, Json::Null) = (self.style, value) {
            *field = None;
            return Ok(());
        }
        let mut number = 0;
        self.number(&mut number, value)?;
        if let Json::Number(_) = value {
            *field = Some(number);
        }
        Ok(())
    }

    /// An array; Go reads elements into the elements of an earlier array of the same field.
    fn array<T: Clone + Default>(
        &mut self,
        field: &mut Vec<T>,
        value: &Json,
        read: Read<T>,
    ) -> Result<(), String> {
        let items = match (value, self.style) {
            (Json::Array(items), _) => items,
            (Json::Null, Style::Go) => {
                field.clear();
                return Ok(());
            }
            _ => return self.mistyped(value, "an array"),
        };
        let before = std::mem::take(field);
        for (i, item) in items.iter().enumerate() {
            let mut element = before.get(i).cloned().unwrap_or_default();
            read(self, &mut element, item)?;
            field.push(element);
        }
        Ok(())
    }

    fn document(&mut self, document: &mut Document, value: &Json) -> Result<(), String> {
        let mut fields = vec![
            "defaultAction",
            "defaultErrnoRet",
            "architectures",
            "flags",
            "listenerPath",
            "syscalls",
        ];
        if self.fields != Fields::Oci {
            fields.push("archMap");
        }
        if self.fields == Fields::Podman {
            fields.push("defaultErrno");
        }
        for (key, value) in self.members(value, &fields)? {
            match key {
                "defaultAction" => self.string(&mut document.default_action, value)?,
                "defaultErrnoRet" => self.maybe_number(&mut document.default_errno, value)?,
                "defaultErrno" => self.string(&mut document.default_errno_name, value)?,
                "architectures" => {
                    self.array(&mut document.architectures, value, Reader::string)?
                }
                "flags" => self.array(&mut document.flags, value, Reader::string)?,
                "listenerPath" => self.string(&mut document.listener_path, value)?,
                "archMap" => self.array(&mut document.arch_map, value, Reader::arch_map)?,
                _ => self.array(&mut document.entries, value, Reader::entry)?,
            }
        }
        Ok(())
    }

    fn arch_map(&mut self, row: &mut ArchMap, value: &Json) -> Result<(), String> {
        for (key, value) in self.members(value, &["architecture", "subArchitectures"])? {
            match key {
                "architecture" => self.string(&mut row.architecture, value)?,
                _ => self.array(&mut row.sub_architectures, value, Reader::string)?,
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &mut Entry, value: &Json) -> Result<(), String> {
        let mut fields = vec!["names", "action", "errnoRet", "args"];
        if self.fields != Fields::Oci {
            fields.extend(["name", "includes", "excludes"]);
        }
        if self.fields == Fields::Podman {
            fields.push("errno");
        }
        for (key, value) in self.members(value, &fields)? {
            match key {
                "names" => self.array(&mut entry.names, value, Reader::string)?,
                "name" => self.string(&mut entry.name, value)?,
                "action" => self.string(&mut entry.action, value)?,
                "errnoRet" => self.maybe_number(&mut entry.errno, value)?,
                "errno" => self.string(&mut entry.errno_name, value)?,
                "args" => self.array(&mut entry.args, value, Reader::arg)?,
                "includes" => self.filter(&mut entry.includes, value)?,
                _ => self.filter(&mut entry.excludes, value)?,
            }
        }
        Ok(())
    }

    fn arg(&mut self, arg: &mut Arg, value: &Json) -> Result<(), String> {
        for (key, value) in self.members(value, &["index", "value", "valueTwo", "op"])? {
            match key {
                "index" => self.number(&mut arg.index, value)?,
                "value" => self.number(&mut arg.value, value)?,
                "valueTwo" => self.number(&mut arg.value_two, value)?,
                _ => self.string(&mut arg.op, value)?,
            }
        }
        Ok(())
    }

    fn filter(&mut self, filter: &mut Filter, value: &Json) -> Result<(), String> {
        if *value == Json::Null && self.fields == Fields::Docker {
            // A pointer in Docker, a plain structure in Podman.
            *filter = Filter::default();
        }
        let mut fields = vec!["caps", "arches"];
        if self.fields == Fields::Docker {
            fields.push("minKernel");
        }
        for (key, value) in self.members(value, &fields)? {
            match (key, value) {
                ("caps", _) => self.array(&mut filter.caps, value, Reader::string)?,
                ("arches", _) => self.array(&mut filter.arches, value, Reader::string)?,
                (_, Json::Null) => filter.min_kernel = None,
                (_, Json::String(text)) => filter.min_kernel = Some(kernel_version(text)?),
                _ => return Err(format!("invalid kernel version: {value}")),
            }
        }
        Ok(())
    }
}

/// A version in Docker's form, `X.Y`: two numbers below 256, not both zero; or nothing.
fn kernel_version(text: &str) -> Result<String, String> {
    let error = || format!("invalid kernel version: {text}");
    if text.is_empty() {
        return Ok("0.0".to_owned());
    }
    let (kernel, major) = text.split_once('.').ok_or_else(error)?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u8>().map_err(|_| error()),
        false => Err(error()),
    };
    match (number(kernel)?, number(major)?) {
        (0, 0) => Err(error()),
        (kernel, major) => Ok(format!("{kernel}.{major}")),
    }
}

/// A key with case folded as in Unicode's simple folding, for the ASCII letters of the fields (U+017F folds to
/// `s`, U+212A to `k`).
fn fold(key: &str) -> String {
    let letter = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => c.to_ascii_lowercase(),
    };
    key.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_folds_keys_and_lets_later_members_win() {
        let text = r#"{"DEFAULTACTION": "a", "\u017fyscalls": [{"action": "x", "ACTION": "y"}]}"#;
        let document = read(text, Style::Go, Fields::Oci).unwrap();
        assert_eq!(document.default_action, "a");
        assert_eq!(document.entries[0].action, "y");
        assert!(document.doubt.is_some());
        let crun = read(text, Style::Yajl, Fields::Oci).unwrap();
        assert_eq!((crun.default_action.as_str(), crun.entries.len()), ("", 0));
    }

    #[test]
    fn go_reads_a_second_array_into_what_the_first_one_left() {
        let text = r#"{"syscalls": [{"args": [{"index": 1, "value": 2, "valueTwo": 3}],
                                     "args": [{"index": 4, "value": 5}]}]}"#;
        let arg = Arg { index: 4, value: 5, value_two: 3, op: String::new() };
        assert_eq!(read(text, Style::Go, Fields::Oci).unwrap().entries[0].args, [arg]);
        let crun = read(text, Style::Yajl, Fields::Oci).unwrap();
        assert_eq!(crun.entries[0].args[0].index, 1);
    }

    #[test]
    fn kernel_versions_are_two_small_numbers() {
        for (text, wanted) in [("4.8", Some("4.8")), ("", Some("0.0")), ("5.010", Some("5.10"))] {
            assert_eq!(kernel_version(text).ok().as_deref(), wanted, "{text}");
        }
        for text in ["4", "4.8.1", "256.1", "0.0", "+4.8", "4.", "a.b"] {
            assert!(kernel_version(text).is_err(), "{text}");
        }
    }
}
