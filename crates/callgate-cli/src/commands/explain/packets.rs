//! What a socket filter does with packets.

use std::fmt::Write;

use callgate::socket_filters::{Results, Summary, summarize};
use callgate_core::{AncillaryWord, Insn, Operand, PACKET_BYTES};
use callgate_requests::json::Json;

use super::args::ExplainArgs;
use crate::markdown;
use crate::options::{PROMPT, TextFormat};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::socket_filters::{packet_json, packet_text};
use crate::source::SocketFilter;
use crate::text::printable;

/// Prints the explanation of a socket filter. Returns the exit status.
pub(super) fn explain(args: &ExplainArgs, filter: &SocketFilter) -> Result<u8> {
    if let [call, ..] = args.calls.as_slice() {
        let message = format!("{call}: this is a socket filter, which takes packets, not syscalls");
        return Err(Failure::about(&filter.name, message).help("omit the syscalls"));
    }
    if args.why {
        report::warn_about(
            &filter.name,
            "--why has no effect: a socket filter has no rules",
            "omit it",
        );
    }
    let summary = summarize(&filter.program, PROMPT);
    output::print(&match args.format {
        TextFormat::Text => text(&filter.name, &summary),
        TextFormat::Markdown => {
            format!("{}\n\n```text\n{}```\n", markdown::code(&filter.name), lines(&summary))
        }
        TextFormat::Json => format!("{}\n", json(&filter.name, &summary)),
    })?;
    Ok(0)
}

fn text(name: &str, summary: &Summary) -> String {
    format!("{}: a socket filter\n{}", printable(name), lines(summary))
}

/// Labelled lines.
fn lines(summary: &Summary) -> String {
    let mut out = String::new();
    let mut line = |label: &str, value: String| {
        let _ = write!(out, "{label:<20}");
        output::wrap(&mut out, &value, 20, 20);
    };
    line(
        "instructions",
        format!("{}, of which at most {} are executed", summary.insns, summary.longest),
    );
    let loads: Vec<String> = summary.loads.iter().map(|(_, insn)| load_text(*insn)).collect();
    line("loads", if loads.is_empty() { "none".to_owned() } else { loads.join(", ") });
    match &summary.results {
        Ok(results) => {
            line("depends on", depends_on(results));
            for one in &results.returned {
                let what = match one.value {
                    0 => "drops the packet",
                    1 => "keeps 1 byte",
                    _ => "keeps at most that many bytes",
                };
                let label = format!("returns {}", one.value);
                line(&label, format!("{what}, for example {}", packet_text(&one.shortest)));
            }
        }
        Err(error) => line("returns", format!("unknown: {error}")),
    }
    out
}

/// A load, with the name of an ancillary word.
fn load_text(insn: Insn) -> String {
    let word = AncillaryWord::from_offset(insn.k).filter(|word| !word.name().is_empty());
    match word.filter(|_| insn.op.operand() == Operand::Absolute) {
        Some(word) => format!("{} #{}", insn.op.mnemonic(), word.name()),
        None => insn.to_string(),
    }
}

/// The bytes on which the result depends.
fn depends_on(results: &Results) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !results.bytes.is_empty() {
        let ranges = results.bytes.iter().map(|range| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        });
        let is_one = matches!(&results.bytes[..], [only] if only.start() == only.end());
        let unit = if is_one { "byte" } else { "bytes" };
        parts.push(format!("{unit} {}", ranges.collect::<Vec<_>>().join(", ")));
    }
    if results.depends_on_length {
        parts.push("the length".to_owned());
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") }
}

fn json(name: &str, summary: &Summary) -> Json {
    let loads = summary.loads.iter().map(|(index, insn)| {
        Json::Object(vec![("insn", (*index).into()), ("text", load_text(*insn).into())])
    });
    let mut fields = vec![
        ("source", name.into()),
        ("input", "packets".into()),
        ("insns", summary.insns.into()),
        ("longest", summary.longest.into()),
        ("loads", Json::array(loads)),
    ];
    match &summary.results {
        Ok(results) => {
            let bytes = results
                .bytes
                .iter()
                .map(|range| Json::Array(vec![(*range.start()).into(), (*range.end()).into()]));
            let returned = results.returned.iter().map(|one| {
                Json::Object(vec![
                    ("value", one.value.into()),
                    ("shortest", packet_json(&one.shortest)),
                ])
            });
            fields.extend([
                ("known_bytes", PACKET_BYTES.into()),
                ("bytes", Json::array(bytes)),
                ("depends_on_length", results.depends_on_length.into()),
                ("returns", Json::array(returned)),
                ("unknown", Json::Null),
            ]);
        }
        Err(error) => fields.push(("unknown", error.to_string().into())),
    }
    Json::Object(fields)
}
