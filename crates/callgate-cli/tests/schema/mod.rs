//! Compares JSON with the schemas in `docs/schemas`.

use std::path::Path;

use serde_json::Value;

/// Panics if a value is not what the schema with this name describes.
#[track_caller]
pub(crate) fn must_match(name: &str, value: &Value) {
    if let Some(error) = difference(name, value) {
        panic!("{error}");
    }
}

/// Why a value is not what the schema with this name describes.
pub(crate) fn difference(name: &str, value: &Value) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas").join(name);
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    mismatch(&schema, &schema, value, "$")
}

/// Why a value does not match, for the keywords of JSON Schema that the document uses.
fn mismatch(root: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |what: &str| Some(format!("{place}: {what}: {value}"));
    for (keyword, rule) in schema.as_object().unwrap() {
        let found = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => None,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                mismatch(root, &root["$defs"][name], value, place)
            }
            "oneOf" => {
                let all = rule.as_array().unwrap().iter();
                let errors: Vec<_> = all.map(|one| mismatch(root, one, value, place)).collect();
                match errors.iter().filter(|error| error.is_none()).count() {
                    1 => None,
                    count => wrong(&format!("matches {count}: {errors:?}")),
                }
            }
            "type" => {
                let own = std::slice::from_ref(rule);
                let types = rule.as_array().map_or(own, Vec::as_slice);
                let is = |name: &Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("unknown type {other}"),
                };
                if types.iter().any(is) { None } else { wrong(&format!("is not {rule}")) }
            }
            "const" => {
                if value == rule {
                    None
                } else {
                    wrong("is another constant")
                }
            }
            "enum" => match rule.as_array().unwrap().contains(value) {
                true => None,
                false => wrong("is not in the list"),
            },
            "minimum" | "maximum" => {
                let (limit, own) = (rule.as_f64().unwrap(), value.as_f64());
                let is_within =
                    |own| if keyword == "minimum" { own >= limit } else { own <= limit };
                if own.is_none_or(is_within) { None } else { wrong(keyword) }
            }
            "minItems" | "maxItems" => {
                let (limit, own) =
                    (rule.as_u64().unwrap(), value.as_array().map(|own| own.len() as u64));
                let is_within =
                    |own| if keyword == "minItems" { own >= limit } else { own <= limit };
                if own.is_none_or(is_within) { None } else { wrong(keyword) }
            }
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .filter(|_| value.is_object())
                .find(|key| value.get(key.as_str().unwrap()).is_none())
                .map(|key| format!("{place}: missing {key}")),
            "additionalProperties" => value.as_object().and_then(|object| {
                let known = schema["properties"].as_object().unwrap();
                let other = object.keys().find(|key| !known.contains_key(*key))?;
                Some(format!("{place}: unknown key {other}"))
            }),
            "properties" => rule.as_object().unwrap().iter().find_map(|(key, rule)| {
                mismatch(root, rule, value.get(key)?, &format!("{place}.{key}"))
            }),
            "items" => value.as_array().and_then(|items| {
                items
                    .iter()
                    .enumerate()
                    .find_map(|(at, item)| mismatch(root, rule, item, &format!("{place}[{at}]")))
            }),
            other => panic!("the test does not know the keyword {other}"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
