//! The report of `callgate fuzz`.

use std::fmt::Write;

use callgate::fuzz::{Comparison, Contradiction, Coverage, Edge, Mismatch, WithoutCoverage};
use callgate::{SeccompData, Verdict};

use super::outcome::{FilterForm, FuzzOutcome, Omission, Reproduction};
use crate::text::{printable, shell_word};
use callgate_requests::json::Json;
use callgate_requests::syscall;

pub(super) fn text(outcome: &FuzzOutcome) -> String {
    let report = &outcome.report;
    let other = outcome.other.as_deref().map(|other| format!(" and {}", printable(other)));
    let mut text = format!(
        "{}{}: {} syscalls, seed {}, {:.2} s\n",
        printable(&outcome.source),
        other.unwrap_or_default(),
        report.syscalls,
        report.seed,
        outcome.elapsed.as_secs_f64()
    );
    if !report.coverage.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<32}{:>14}{:>20}{:>13}",
            "executed", "instructions", "branch edges", "unreachable"
        );
    }
    for one in &report.coverage {
        let _ = writeln!(
            text,
            "{:<32}{:>14}{:>20}{:>13}",
            one.name,
            format!("{}/{}", one.insns_executed, one.insns),
            format!("{}/{}", one.edges_taken, one.edges),
            one.dead_edges.len()
        );
    }
    for one in &report.coverage {
        let insns = one.dead_insns.iter().map(ToString::to_string);
        list(&mut text, &format!("unreachable instructions in {}", one.name), insns);
        let dead = one.dead_edges.iter().map(edge_text);
        list(&mut text, &format!("unreachable edges in {}", one.name), dead);
        let missed = one.missed_edges.iter().map(edge_text);
        list(&mut text, &format!("edges not taken in {}", one.name), missed);
    }
    for WithoutCoverage { name, why, .. } in &report.without_coverage {
        let _ = writeln!(text, "{}, rules: no unoptimized program: {why}", printable(name));
    }
    text.push('\n');
    if let Some(Comparison { left, .. }) = report.comparisons.first() {
        let title = format!("compared with \"{left}\"");
        let _ = writeln!(text, "{title:<46}{:>14}{:>13}", "syscalls", "mismatches");
    }
    for one in &report.comparisons {
        let _ = writeln!(text, "{:<46}{:>14}{:>13}", one.right, one.syscalls, one.mismatches);
    }
    for Omission { name, why, .. } in &outcome.omissions {
        let _ = writeln!(text, "{name}: not compared: {}", printable(why));
    }
    for (comparison, form) in comparisons(outcome) {
        if let Some(first) = &comparison.first {
            mismatch(&mut text, outcome, comparison, form, first);
        }
    }
    for one in &report.contradictions {
        contradiction(&mut text, outcome, one);
    }
    if report.comparisons.is_empty() {
        text.push_str("\nnothing was compared\n");
    } else if report.agrees() {
        text.push_str("\nno mismatch\n");
    }
    text
}

/// The comparisons with their forms.
fn comparisons(outcome: &FuzzOutcome) -> impl Iterator<Item = (&Comparison, &FilterForm)> {
    outcome.report.comparisons.iter().zip(outcome.forms.iter().skip(1))
}

fn edge_text(edge: &Edge) -> String {
    format!("{} if {}", edge.index, edge.holds)
}

/// Appends a line with as many items as fit; nothing if there are none.
fn list(text: &mut String, what: &str, items: impl ExactSizeIterator<Item = String>) {
    const WIDTH: usize = 80;
    let room = " and 9999 more".len();
    let all = items.len();
    let mut line = format!("  {what}: ");
    for (number, item) in items.enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        if number > 0 && line.len() + comma.len() + item.len() + room > WIDTH {
            let _ = write!(line, " and {} more", all - number);
            break;
        }
        let _ = write!(line, "{comma}{item}");
    }
    if all > 0 {
        let _ = writeln!(text, "{line}");
    }
}

fn mismatch(
    text: &mut String,
    outcome: &FuzzOutcome,
    comparison: &Comparison,
    form: &FilterForm,
    first: &Mismatch,
) {
    let Mismatch { data, left, right } = first;
    let _ = writeln!(
        text,
        "\nfirst mismatch of \"{}\": {}\n  - {left} from \"{}\"\n  + {right} from \"{}\"",
        form.name,
        shown(data),
        comparison.left,
        comparison.right
    );
    for command in commands(outcome, form, data) {
        let _ = writeln!(text, "  {command}");
    }
}

fn contradiction(text: &mut String, outcome: &FuzzOutcome, one: &Contradiction) {
    let Contradiction { name, edge, data, taken, .. } = one;
    let _ = writeln!(
        text,
        "\nbug in callgate: in \"{name}\", branch {} is {} by {}",
        edge_text(edge),
        if *taken {
            "classified as unreachable, but taken"
        } else {
            "predicted to be taken, but not taken"
        },
        shown(data)
    );
    if let Some(form) = outcome.forms.iter().find(|form| form.name == *name) {
        let _ = writeln!(text, "  {} --trace", command(outcome, form, data));
    }
}

fn shown(data: &SeccompData) -> String {
    let arch = syscall::arch_of(data);
    format!("{} {}", syscall::arch_name(arch, data.arch), syscall::show(arch, data))
}

/// The commands that reproduce a mismatch: for the reference and for the other form.
pub(super) fn commands(
    outcome: &FuzzOutcome,
    form: &FilterForm,
    data: &SeccompData,
) -> [String; 2] {
    let reference = outcome.forms.first().unwrap_or(form);
    [reference, form].map(|form| command(outcome, form, data))
}

/// The command that evaluates one form for a syscall.
fn command(outcome: &FuzzOutcome, form: &FilterForm, data: &SeccompData) -> String {
    let words = |verb: &str| {
        let mut words = vec!["callgate".to_owned(), verb.to_owned()];
        words.extend_from_slice(&outcome.source_arguments);
        words
    };
    let mut words = match &form.by {
        Reproduction::Simulate(arguments) => [words("simulate"), arguments.clone()].concat(),
        Reproduction::SimulateOther(arguments) => {
            let verb = ["callgate", "simulate"].map(str::to_owned);
            verb.iter().chain(arguments).cloned().collect()
        }
        Reproduction::Fuzz => {
            let mut words = words("fuzz");
            words.push("--kernel".to_owned());
            words.extend_from_slice(&outcome.own_arguments);
            return quoted(&words);
        }
    };
    words.extend(["--token".to_owned(), format!("{:#010x}", data.arch)]);
    if data.instruction_pointer != 0 {
        words.extend(["--ip".to_owned(), format!("{:#x}", data.instruction_pointer)]);
    }
    words.push(data.nr.to_string());
    let used = data.args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
    words.extend(data.args.iter().take(used).map(|arg| format!("{arg:#x}")));
    quoted(&words)
}

/// Words as a shell reads them.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

pub(super) fn json(outcome: &FuzzOutcome) -> String {
    let report = &outcome.report;
    let value = Json::Object(vec![
        ("source", outcome.source.as_str().into()),
        ("other", outcome.other.as_deref().into()),
        ("agrees", report.agrees().into()),
        ("complete", report.is_complete().into()),
        ("calls", report.syscalls.into()),
        ("seed", report.seed.into()),
        ("seconds", outcome.elapsed.as_secs_f64().into()),
        ("coverage", Json::array(report.coverage.iter().map(coverage))),
        (
            "without_coverage",
            Json::array(report.without_coverage.iter().map(|one| {
                Json::Object(vec![
                    ("program", one.name.as_str().into()),
                    ("why", one.why.to_string().into()),
                ])
            })),
        ),
        (
            "comparisons",
            Json::array(comparisons(outcome).map(|(comparison, form)| {
                let first = comparison.first.as_ref();
                Json::Object(vec![
                    ("with", comparison.left.as_str().into()),
                    ("program", comparison.right.as_str().into()),
                    ("calls", comparison.syscalls.into()),
                    ("mismatches", comparison.mismatches.into()),
                    ("first", first.map(|first| first_json(outcome, form, first)).into()),
                ])
            })),
        ),
        (
            "not_compared",
            Json::array(outcome.omissions.iter().map(|omission| {
                Json::Object(vec![
                    ("program", omission.name.as_str().into()),
                    ("why", omission.why.as_str().into()),
                ])
            })),
        ),
        (
            "contradictions",
            Json::array(report.contradictions.iter().map(|one| {
                let mut fields = vec![("program", one.name.as_str().into())];
                fields.extend(edge_fields(&one.edge));
                fields.push(("taken", one.taken.into()));
                fields.extend(syscall::fields(syscall::arch_of(&one.data), &one.data));
                Json::Object(fields)
            })),
        ),
    ]);
    format!("{value}\n")
}

fn coverage(one: &Coverage) -> Json {
    let edges =
        |edges: &[Edge]| Json::array(edges.iter().map(|edge| Json::Object(edge_fields(edge))));
    Json::Object(vec![
        ("program", one.name.as_str().into()),
        ("insns", one.insns.into()),
        ("insns_executed", one.insns_executed.into()),
        ("unreachable_insns", Json::array(one.dead_insns.iter().copied())),
        ("directions", one.edges.into()),
        ("directions_taken", one.edges_taken.into()),
        ("unreachable_directions", edges(&one.dead_edges)),
        ("missed_directions", edges(&one.missed_edges)),
        ("why", one.why.map(|why| why.to_string()).into()),
    ])
}

fn edge_fields(edge: &Edge) -> Vec<(&'static str, Json)> {
    vec![("index", edge.index.into()), ("holds", edge.holds.into())]
}

fn first_json(outcome: &FuzzOutcome, form: &FilterForm, first: &Mismatch) -> Json {
    let verdict = |verdict: Verdict| {
        Json::Object(vec![("verdict", verdict.to_string().into()), ("value", verdict.0.into())])
    };
    let mut fields = syscall::fields(syscall::arch_of(&first.data), &first.data);
    fields.push(("expected", verdict(first.left)));
    fields.push(("given", verdict(first.right)));
    fields.push(("commands", Json::array(commands(outcome, form, &first.data))));
    Json::Object(fields)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use callgate::fuzz::{Input, Search, Subject, fuzz};
    use callgate::{Arch, Endian};
    use callgate_core::{Insn, Op, Program};

    use super::*;

    #[test]
    fn commands_survive_the_shell() {
        let words = ["callgate", "it's here.json", "--arch=x86", "", "$HOME"].map(String::from);
        assert_eq!(quoted(&words), r"callgate 'it'\''s here.json' --arch=x86 '' '$HOME'");
    }

    /// A report on two programs of which one is broken.
    fn broken() -> FuzzOutcome {
        let filter = |k| {
            let ret = |errno| Insn::new(Op::RetK, Verdict::errno(errno).0);
            Program::new(vec![
                Insn::new(Op::LdWordAbs, 0),
                Insn::branch(Op::JeqK, 41, 0, 3),
                Insn::new(Op::LdWordAbs, 16),
                Insn::branch(Op::JgtK, k, 0, 1),
                ret(1),
                ret(2),
            ])
            .unwrap()
        };
        let programs =
            [Subject::new("given", filter(0x7f)), Subject::new("size uncached", filter(0x80))];
        let arches = [Arch::X86_64];
        let input =
            Input { policy: None, programs: &programs, arches: &arches, endian: Endian::Little };
        let form = |name: &str, arguments: &[&str]| FilterForm {
            name: name.to_owned(),
            by: Reproduction::Simulate(arguments.iter().map(|word| (*word).to_owned()).collect()),
        };
        FuzzOutcome {
            source: "my filter.bpf".to_owned(),
            other: None,
            forms: vec![
                form("given", &["--by", "program"]),
                form(
                    "size uncached",
                    &["--by", "optimized", "--model=uncached", "--optimize=size"],
                ),
            ],
            report: fuzz(&input, &Search::default(), &mut |_| true),
            omissions: Vec::new(),
            elapsed: Duration::from_millis(1230),
            source_arguments: ["my filter.bpf", "--arch", "x86_64"].map(String::from).to_vec(),
            own_arguments: vec!["--seed=1".to_owned()],
        }
    }

    #[test]
    fn a_mismatch_is_shown_with_commands_that_reproduce_it() {
        assert_eq!(super::super::run::status(&broken()).unwrap(), 1);
        let text = text(&broken());
        assert!(text.starts_with("my filter.bpf: "), "{text}");
        let call = "--token 0xc000003e 41 0x80";
        let start = "callgate simulate 'my filter.bpf' --arch x86_64";
        for line in [
            "first mismatch of \"size uncached\": x86_64 socket(0x80)".to_owned(),
            "  - ERRNO(EPERM) from \"given\"".to_owned(),
            "  + ERRNO(ENOENT) from \"size uncached\"".to_owned(),
            format!("  {start} --by program {call}"),
            format!("  {start} --by optimized --model=uncached --optimize=size {call}"),
        ] {
            assert!(text.lines().any(|given| given == line), "{line}\n{text}");
        }
        assert!(!text.contains("no mismatch"), "{text}");
        assert!(text.lines().filter(|line| !line.contains("callgate ")).all(|l| l.len() <= 80));
        let json = json(&broken());
        assert!(json.contains("\"agrees\": false") && json.contains(call), "{json}");
    }

    #[test]
    fn long_lists_are_cut() {
        let mut text = String::new();
        list(&mut text, "places", (1000..2000).map(|n| n.to_string()));
        assert!(text.len() <= 81 && text.ends_with(" more\n"), "{text}");
        let shown = text.matches(',').count() + 1;
        assert!(text.ends_with(&format!("and {} more\n", 1000 - shown)), "{text}");
        text.clear();
        list(&mut text, "places", Vec::<String>::new().into_iter());
        assert_eq!(text, "");
    }
}
