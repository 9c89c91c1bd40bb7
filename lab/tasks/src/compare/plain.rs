//! Plain rules in JSON: for each syscall number a list of alternatives, each a list of comparisons that must
//! all hold.
//!
//! ```json
//! {"default_action": 327681, "bad_arch_action": 0, "arches": ["x86_64"],
//!  "rules": [{"nr": 16, "action": 2147418112,
//!             "alternatives": [[{"arg": 1, "op": "eq", "value": 21505, "mask": 0}]]}]}
//! ```

use std::collections::BTreeMap;

use callgate::{Arch, Verdict};
use callgate_core::policy::{Cmp, Field, Test};
use jsonc_parser::{JsonObject, JsonValue, parse_to_value};

use super::rules::{Alternative, Rules};
use callgate_tasks::Result;

/// Reads plain rules; `None` if the text has another form.
pub(super) fn read(text: &str) -> Option<Result<Rules>> {
    let value = parse_to_value(text, &Default::default()).ok()??;
    match &value {
        JsonValue::Object(object) if object.get_array("rules").is_some() => Some(rules(object)),
        _ => None,
    }
}

fn rules<'a>(object: &'a JsonObject<'_>) -> Result<Rules> {
    let own = Arch::X86_64.name();
    let arches = object.get_array("arches").into_iter().flat_map(|arches| arches.iter());
    let name = |arch: &'a JsonValue<'_>| match arch {
        JsonValue::String(name) => name.as_ref(),
        _ => "values that are not names",
    };
    let arches: Vec<&str> = arches.map(name).collect();
    if arches != [own] {
        return Err(format!("plain rules support only {own}, not {arches:?}"));
    }
    let mut syscalls = BTreeMap::new();
    for rule in object.get_array("rules").into_iter().flat_map(|rules| rules.iter()) {
        let JsonValue::Object(rule) = rule else {
            return Err("a rule is not an object".to_owned());
        };
        let verdict = Verdict(word(rule, "action")?);
        let alternatives: Result<Vec<Alternative>> = match rule.get_array("alternatives") {
            Some(all) if !all.is_empty() => {
                let tests = all.iter().map(conjunction);
                tests.map(|tests| Ok(Alternative { tests: tests?, verdict })).collect()
            }
            _ => Ok(vec![Alternative::always(verdict)]),
        };
        syscalls.insert(word(rule, "nr")?, alternatives?);
    }
    let default = Verdict(word(object, "default_action")?);
    let mut read = Rules::new(Arch::X86_64, default, syscalls);
    read.edges.bad_arch = Verdict(word(object, "bad_arch_action")?);
    read.edges.x32 = read.edges.x32.map(|(last, _)| (last, read.edges.bad_arch));
    Ok(read)
}

fn conjunction(value: &JsonValue<'_>) -> Result<Vec<Test>> {
    let JsonValue::Array(tests) = value else {
        return Err("an alternative is not an array".to_owned());
    };
    tests.iter().map(test).collect()
}

fn test(value: &JsonValue<'_>) -> Result<Test> {
    let JsonValue::Object(test) = value else { return Err("a test is not an object".to_owned()) };
    let arg = number(test, "arg")?;
    let field = u8::try_from(arg).ok().and_then(Field::arg);
    let field =
        field.ok_or_else(|| format!("argument {arg} does not exist; arguments are 0 to 5"))?;
    let value = number(test, "value")?;
    let op = test.get_string("op").map_or("", |op| op.as_ref());
    let cmp = match op {
        "masked_eq" => return Ok(Test::masked_eq(field, number(test, "mask")?, value)),
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" => Cmp::Lt,
        "le" => Cmp::Le,
        "gt" => Cmp::Gt,
        "ge" => Cmp::Ge,
        _ => return Err(format!("unknown comparison {op:?}")),
    };
    Ok(Test::new(field, cmp, value))
}

fn number(object: &JsonObject<'_>, key: &str) -> Result<u64> {
    let text = object.get_number(key).ok_or_else(|| format!("missing number {key:?}"))?;
    text.parse().map_err(|_| format!("{key:?} is {text}, which is not a 64-bit number"))
}

fn word(object: &JsonObject<'_>, key: &str) -> Result<u32> {
    let number = number(object, key)?;
    u32::try_from(number).map_err(|_| format!("{key:?} is {number}, which is not a 32-bit number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_rules_are_read() {
        let text = r#"{"default_action": 327681, "bad_arch_action": 0, "arches": ["x86_64"],
            "rules": [{"nr": 1, "action": 2147418112, "alternatives": []},
                      {"nr": 16, "action": 2147418112, "alternatives": [
                         [{"arg": 1, "op": "eq", "value": 5, "mask": 0}],
                         [{"arg": 2, "op": "masked_eq", "value": 2, "mask": 6}]]}]}"#;
        let rules = read(text).unwrap().unwrap();
        let syscalls = &rules.blocks[0].syscalls;
        assert_eq!(syscalls[&1], [Alternative::always(Verdict::ALLOW)]);
        let field = |arg| Field::arg(arg).unwrap();
        assert_eq!(syscalls[&16][0].tests, [Test::eq(field(1), 5)]);
        assert_eq!(syscalls[&16][1].tests, [Test::masked_eq(field(2), 6, 2)]);
        assert!(read("{}").is_none() && read("[").is_none());
        let bad = text.replace("\"eq\"", "\"is\"");
        assert!(read(&bad).unwrap().unwrap_err().contains("\"is\""));
        let other = text.replace("x86_64", "aarch64");
        assert!(read(&other).unwrap().unwrap_err().contains("not [\"aarch64\"]"));
    }
}
