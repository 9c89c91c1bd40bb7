//! Programs with variables as JSON.

use callgate_core::template::{Half, Template};

use crate::json::Json;

/// The variables, and the instructions whose constants depend on them.
pub fn variables_json(template: &Template) -> [(&'static str, Json); 2] {
    let variables = template.variables().iter().map(|variable| {
        Json::Object(vec![("name", variable.name().into()), ("bits", variable.bits().into())])
    });
    let patches = template.patches().iter().map(|patch| {
        let half = match patch.half {
            Half::Low => "low",
            Half::High => "high",
        };
        Json::Object(vec![
            ("insn", patch.insn.into()),
            ("variable", patch.symbol.variable().into()),
            ("half", half.into()),
            ("addend", format!("{:#x}", patch.symbol.addend()).into()),
            ("complement", patch.symbol.is_complement().into()),
        ])
    });
    [("variables", Json::Array(variables.collect())), ("patches", Json::Array(patches.collect()))]
}
