//! Variables of programs in JSON and in messages.

use callgate::bpf::template::{Half, Template};

use crate::report::Failure;
use callgate_requests::json::Json;

/// The variables, and the instructions whose constants depend on them.
pub(super) fn json(template: &Template) -> [(&'static str, Json); 2] {
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

/// The error for a form that needs values.
pub(super) fn without_values(template: &Template) -> Failure {
    let names: Vec<&str> = template.variables().iter().map(|variable| variable.name()).collect();
    let example = names.first().copied().unwrap_or("name");
    Failure::new(format!("the variables ${} have no values", names.join(", $"))).help(format!(
        "give their values (--set {example}=1), or write source code that takes them: --emit c, rust or go"
    ))
}
