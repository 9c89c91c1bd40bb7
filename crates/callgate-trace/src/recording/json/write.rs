//! A recording as JSON: one line for each run and each call, in a fixed order. The form is described
//! where it is read, in [`frontend::recording`](callgate_trace::read).

use std::fmt::{self, Display, Write};

use crate::read::VERSION;
use crate::recording::{Caveat, Recording, Run, Seen, Values};

impl Recording {
    /// The recording as JSON, with a line break at the end.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        // A String takes whatever is written.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) -> fmt::Result {
        write!(to, "{{\n  \"callgate\": \"recording\",\n  \"version\": {VERSION},\n  \"runs\": [")?;
        for (index, run) in self.runs().iter().enumerate() {
            to.write_str(if index > 0 { ",\n    " } else { "\n    " })?;
            write_run(to, run)?;
        }
        to.write_str("\n  ],\n  \"calls\": [")?;
        for (index, (call, seen)) in self.calls().enumerate() {
            to.write_str(if index > 0 { ",\n    " } else { "\n    " })?;
            write!(to, "{{\"arch\": \"{}\", ", call.arch)?;
            if let Some(name) = call.name() {
                write!(to, "\"name\": \"{name}\", ")?;
            }
            write!(to, "\"nr\": {}, \"count\": {}", call.nr, seen.count())?;
            if seen.runs() != 1 {
                write!(to, ", \"runs\": {}", seen.runs())?;
            }
            write_args(to, seen)?;
            to.write_str("}")?;
        }
        to.write_str("\n  ]\n}\n")
    }
}

fn write_run(to: &mut String, run: &Run) -> fmt::Result {
    write!(to, "{{\"how\": \"{}\"", run.how.name())?;
    if !run.command.is_empty() {
        let words = run.command.iter().map(|word| Quoted(word));
        write!(to, ", \"command\": {}", List(words.collect()))?;
    }
    if run.from_execve {
        to.write_str(", \"from\": \"execve\"")?;
    }
    for (key, number) in [
        ("processes", run.processes),
        ("threads", run.threads),
        ("lost", Some(run.lost)),
        ("status", run.status.map(u64::from)),
    ] {
        if let Some(number) = number {
            write!(to, ", \"{key}\": {number}")?;
        }
    }
    for (key, text) in [("kernel", &run.kernel), ("recorder", &run.callgate)] {
        if let Some(text) = text {
            write!(to, ", \"{key}\": {}", Quoted(text))?;
        }
    }
    if !run.caveats.is_empty() {
        write!(to, ", \"caveats\": {}", List(run.caveats.iter().map(InJson).collect()))?;
    }
    to.write_str("}")
}

/// A caveat in JSON.
struct InJson<'c>(&'c Caveat);

impl Display for InJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caveat { id, effect, count, text } = self.0;
        write!(f, "{{\"id\": {}, \"effect\": \"{}\"", Quoted(id), effect.name())?;
        if let Some(count) = count {
            write!(f, ", \"count\": {count}")?;
        }
        write!(f, ", \"text\": {}}}", Quoted(text))
    }
}

fn write_args(to: &mut String, seen: &Seen) -> fmt::Result {
    // Nothing is said of arguments at the end of which nothing is known.
    let known = seen.args().iter().rposition(|values| values.observed() > 0);
    let Some(args) = known.and_then(|last| seen.args().get(..=last)) else { return Ok(()) };
    to.write_str(", \"args\": [")?;
    for (index, values) in args.iter().enumerate() {
        to.write_str(if index > 0 { ", " } else { "" })?;
        write_values(to, values, seen)?;
    }
    to.write_str("]")
}

fn write_values(to: &mut String, values: &Values, seen: &Seen) -> fmt::Result {
    match (values.all(), values.bounds()) {
        (_, None) => return to.write_str("null"),
        (Some(all), _) => {
            let all = all.iter().map(|value| Hex(*value));
            write!(to, "{{\"values\": {}", List(all.collect()))?;
            let runs: Vec<u64> = values.runs().map(|(_, runs)| runs).collect();
            if runs.iter().any(|runs| *runs != seen.runs()) {
                write!(to, ", \"seen_in\": {}", List(runs))?;
            }
        }
        (None, Some(bounds)) => write!(
            to,
            "{{\"min\": {}, \"max\": {}, \"ever\": {}, \"always\": {}",
            Hex(bounds.min),
            Hex(bounds.max),
            Hex(bounds.ever),
            Hex(bounds.always)
        )?,
    }
    if values.observed() != seen.count() {
        write!(to, ", \"observed\": {}", values.observed())?;
    }
    to.write_str("}")
}

/// A 64-bit value: many readers of JSON keep only 53 bits of a number.
struct Hex(u64);

impl Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{:#x}\"", self.0)
    }
}

struct List<T>(Vec<T>);

impl<T: Display> Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            item.fmt(f)?;
        }
        f.write_str("]")
    }
}

/// A string of JSON.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units)
                        .iter()
                        .try_for_each(|unit| write!(f, "\\u{unit:04x}"))?;
                }
                c => f.write_char(c)?,
            }
        }
        f.write_str("\"")
    }
}
