//! What is asked about an input, and how both answers are compared.

use std::process::{Command, Output};

use callgate_bpf::printable::visible;
use serde_json::{Value, json};

use crate::parity::inputs::Input;

/// What the command and the bindings are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    Explain,
    Lint,
    Compile,
    Simulate,
    Diff,
    Subset,
    Recording,
}

/// The syscalls of simulations.
const CALLS: &[(&str, &[&str])] = &[
    ("read", &[]),
    ("socket", &["AF_NETLINK", "3"]),
    ("ioctl", &["0", "TIOCSTI"]),
    ("clone", &["CLONE_NEWUSER|17"]),
    ("personality", &["0xffffffff"]),
    ("9999", &["-1"]),
];

/// The other filter of comparisons.
const OTHER: &str = "container-default";

impl Asked {
    /// What is asked about the input with this number: the semantics of each, and one of the rest in turns, so that the test
    /// takes less than a minute. The tables have 10, 11 or 15 inputs of a kind, so that each kind gets each question.
    pub(crate) fn of(number: usize, is_all: bool) -> Vec<Asked> {
        let turns = [
            Asked::Lint,
            Asked::Compile,
            Asked::Simulate,
            Asked::Diff,
            Asked::Lint,
            Asked::Subset,
            Asked::Recording,
        ];
        let mut asked = vec![Asked::Explain];
        match is_all {
            true => asked.extend(turns),
            false => asked.push(turns[number % turns.len()]),
        }
        asked.sort_unstable();
        asked.dedup();
        asked
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Asked::Explain => "explain",
            Asked::Lint => "lint",
            Asked::Compile => "compile",
            Asked::Simulate => "simulate",
            Asked::Diff => "diff",
            Asked::Subset => "subset",
            Asked::Recording => "recording",
        }
    }
}

/// The differences between both answers about an input, and whether they are answers, not errors.
pub(crate) fn differences(input: &Input, asked: Asked) -> (Vec<String>, bool) {
    if asked == Asked::Recording && !input.is_file()
        // For the command, a syscall belongs to the only --arch.
        || asked == Asked::Simulate && input.options.arches.len() > 1
    {
        return (Vec::new(), false);
    }
    let output = run(input, asked);
    let answered = |request: Value| -> Value {
        let answer = callgate_requests::answer(&request.to_string());
        serde_json::from_str(&answer).expect("answers are JSON")
    };
    let mut answer = answered(request(input, asked));
    if asked == Asked::Compile && answer.to_string().contains("the filter has variables") {
        // Then the command writes a template.
        let mut template = request(input, asked);
        template["request"] = "template".into();
        answer = answered(template);
    }
    // Requests are about syscalls only (docs/reference/socket-filters.md).
    if answer.to_string().contains("only socket filters may use this") {
        return (Vec::new(), false);
    }
    let is_answer = answer.get("result").is_some();
    let status = output.status.code();
    let has_failed = !matches!(status, Some(0 | 1));
    let mut found = Vec::new();
    if is_answer == has_failed {
        found.push(format!(
            "the command has the status {status:?} and says {:?}; the bindings answer {}",
            String::from_utf8_lossy(&output.stderr),
            short(&answer)
        ));
        return (found, is_answer);
    }
    let (mut printed, mut given) = (printed(&output.stderr), given(&answer));
    if !is_answer && asked == Asked::Lint {
        // Warnings are findings, of which there are none.
        for all in [&mut printed, &mut given] {
            all.retain(|line| !line.contains("warning: "));
        }
    }
    // Readers of logs read them in pieces or as a whole, and find other errors first.
    let is_compared = is_answer || asked != Asked::Recording;
    if is_compared && printed != given {
        found.push(format!("messages of the command: {printed:?}; of the bindings: {given:?}"));
    }
    if let Some(result) = answer.get("result") {
        let shown = shown(asked, &output);
        let result = match asked {
            Asked::Recording => recorded(result),
            _ => result.clone(),
        };
        // What the command adds is in no request: times, a summary, places of rules.
        contained("", &result, &shown, &mut found);
    }
    (found, is_answer)
}

fn run(input: &Input, asked: Asked) -> Output {
    let source = input.argument.as_str();
    let (call, args) = CALLS[input.number % CALLS.len()];
    let mut words: Vec<&str> = Vec::new();
    match asked {
        Asked::Explain => words.extend(["explain", "--format", "json", source]),
        Asked::Lint => words.extend(["lint", "--level", "note", "--format", "json", source]),
        Asked::Compile => words.extend(["compile", "--emit", "json", source]),
        Asked::Simulate => {
            words.extend(["simulate", "--format", "json", source, call]);
            words.extend(args);
        }
        Asked::Diff | Asked::Subset => {
            words.extend([asked.name(), "--max", "4", "--format", "json", source, OTHER]);
        }
        Asked::Recording => words.extend(["record", "merge", source]),
    }
    let options = match asked {
        Asked::Recording => Vec::new(),
        _ => input.options.words(),
    };
    let at = if asked == Asked::Recording { 2 } else { 1 };
    let (command, rest) = words.split_at(at);
    Command::new(env!("CARGO_BIN_EXE_callgate"))
        .current_dir(&input.directory)
        .args(command)
        .args(options)
        .args(rest)
        .output()
        .expect("the command runs")
}

fn request(input: &Input, asked: Asked) -> Value {
    let source = || input.source();
    let (call, args) = CALLS[input.number % CALLS.len()];
    let mut request = match asked {
        Asked::Explain | Asked::Compile => json!({ "source": source() }),
        Asked::Lint => json!({ "source": source(), "level": "note" }),
        Asked::Simulate => json!({ "source": source(), "syscall": call, "args": args }),
        Asked::Diff | Asked::Subset => {
            let mut other = input.options.of_source();
            other.insert("preset".to_owned(), OTHER.into());
            other.insert("name".to_owned(), OTHER.into());
            json!({ "a": source(), "b": other, "max": 4 })
        }
        Asked::Recording => json!({ "text": input.text(), "name": input.argument }),
    };
    request["request"] = asked.name().into();
    request["machine"] = crate::parity::inputs::machine().into();
    request
}

/// The answer of the command in the form of the bindings.
fn shown(asked: Asked, output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut shown: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    match asked {
        Asked::Lint => shown["sources"][0].take(),
        Asked::Recording => recorded(&shown),
        _ => shown,
    }
}

/// The counts of a recording, which is all that both have in one form.
fn recorded(recording: &Value) -> Value {
    let calls = recording["calls"].as_array().into_iter().flatten();
    let calls = calls.map(|call| json!([call["arch"], call["nr"], call["count"]]));
    json!({ "calls": calls.collect::<Value>() })
}

/// The messages on standard error, without what is about the command line. What is said about a source as a whole may also
/// be said about the options with which it is read, so its name does not count.
fn printed(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(|line| line.strip_prefix("callgate: "));
    let is_about_options = |line: &&str| {
        line.contains("warning: --") || line.contains("warning: this program is for ")
    };
    let has_place = |before: &str| {
        let mut parts = before.trim_end_matches(": ").rsplit(':');
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number)
    };
    let shown = |line: &str| {
        let at = ["error: ", "warning: "].iter().filter_map(|word| line.find(word)).min();
        let (before, message) = line.split_at(at.unwrap_or(0));
        without_reason(if has_place(before) { line } else { message })
    };
    // Which version of a built-in profile was read; the answer has it as the name of the source.
    let is_version = |line: &&str| {
        line.split_once(" is ").is_some_and(|(name, rest)| {
            let name = name.split('@').next().unwrap_or(name);
            rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'))
        })
    };
    lines.filter(|line| !is_about_options(line) && !is_version(line)).map(shown).collect()
}

/// The messages of an answer, as the command prints them.
fn given(answer: &Value) -> Vec<String> {
    let messages = answer.get("errors").or(answer.get("warnings")).and_then(Value::as_array);
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    let line = |message: &Value| {
        let mut line = String::new();
        if let (Some(source), Some(at), Some(column)) =
            (message["source"].as_str(), message["line"].as_u64(), message["column"].as_u64())
        {
            line += &format!("{}:{at}:{column}: ", visible(source));
        }
        line += &format!("{}: {}", text(&message["severity"]), text(&message["message"]));
        without_reason(&line)
    };
    messages.into_iter().flatten().map(line).collect()
}

/// A message without the reason why a file cannot be read: the command has files, and requests have `files`.
fn without_reason(line: &str) -> String {
    for (start, end) in [("cannot read the base profile `", "`: "), ("cannot include \"", "\": ")] {
        if let Some((_, rest)) = line.split_once(start)
            && let Some((_, reason)) = rest.split_once(end)
        {
            return line[..line.len() - reason.len()].to_owned();
        }
    }
    line.to_owned()
}

/// Notes what of a value is not in another one.
fn contained(path: &str, value: &Value, other: &Value, found: &mut Vec<String>) {
    match (value, other) {
        (Value::Object(fields), Value::Object(others)) => {
            // `--emit json` does not write the first two, which the program and the architectures show; the last one is how
            // many nodes were made on the way, which is more if a stack is merged before.
            let is_written = |key: &String| !["endian", "flags", "nodes"].contains(&key.as_str());
            for (key, value) in fields.iter().filter(|(key, _)| is_written(key)) {
                let other = others.get(key).unwrap_or(&Value::Null);
                contained(&format!("{path}.{key}"), value, other, found);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (at, (value, other)) in items.iter().zip(others).enumerate() {
                contained(&format!("{path}[{at}]"), value, other, found);
            }
        }
        _ if value == other => {}
        _ => found.push(format!(
            "{path} is {} of the command, and {} of the bindings",
            short(other),
            short(value)
        )),
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(400).collect()
}
