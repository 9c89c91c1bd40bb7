//! Executed instructions, with the registers before each.

use std::fmt::Write;

use callgate_core::Step;

use callgate_requests::json::Json;

pub(super) fn trace_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for Step { index, a, x, insn } in steps {
        let _ = writeln!(text, "{index:>5}: a={a:#010x} x={x:#010x}  {insn}");
    }
    text
}

pub(super) fn trace_json(steps: &[Step]) -> Json {
    Json::array(steps.iter().map(|step| {
        Json::Object(vec![
            ("index", step.index.into()),
            ("insn", step.insn.to_string().into()),
            ("a", step.a.into()),
            ("x", step.x.into()),
        ])
    }))
}
