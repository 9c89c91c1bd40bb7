//! Compares, and counts the results.

use std::collections::BTreeMap;
use std::fs;

use callgate::diagnostic::Severity;
use callgate::diagram::Store;
use callgate::formats::kafel::{Included, ReadOptions, read_with_includes};

use super::compiler::compile;
use super::options::Options;
use super::random::Random;
use crate::task::Result;

/// The maximum number of differences that are printed.
const SHOWN: usize = 3;

#[derive(Default)]
struct Counts {
    equal: u64,
    both_refuse: u64,
    /// Policies that differ.
    different: Vec<String>,
    /// Policies that only one compiler refuses: who, and why without names and numbers.
    one_refuses: BTreeMap<String, (u64, String)>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut counts = Counts::default();
    for file in &options.files {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        compare(&options, &text, &mut counts)
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let mut random = Random::new(options.seed);
    for number in 0..options.policies {
        let text = random.policy();
        compare(&options, &text, &mut counts).map_err(|error| {
            format!("policy {number} of seed {}: {error}\n{text}", options.seed)
        })?;
    }
    println!("the same MTBDD    {:6}", counts.equal);
    println!("refused by both   {:6}", counts.both_refuse);
    println!("different MTBDDs  {:6}", counts.different.len());
    for (why, (count, example)) in &counts.one_refuses {
        println!("{count:6}  {why}\n        first: {}", example.replace('\n', "\n        "));
    }
    for text in counts.different.iter().take(SHOWN) {
        println!("\ndifferent:\n{text}");
    }
    match counts.different.len() {
        0 => Ok(()),
        number => Err(format!("{number} policies have another meaning")),
    }
}

fn compare(options: &Options, text: &str, counts: &mut Counts) -> Result<()> {
    let theirs = compile(&options.compiler, text, options.arch.endian())?;
    let reading = ReadOptions::new(options.arch);
    let mut none = |_: &str, _: Option<&str>| -> std::result::Result<Included, String> {
        Err("random policies include no files".to_owned())
    };
    let ours = read_with_includes(text, &reading, &mut none);
    let mut one_refuses = |who: &str, why: &str| {
        let entry = counts.one_refuses.entry(format!("only {who}: {}", class(why)));
        entry.or_insert_with(|| (0, text.to_owned())).0 += 1;
    };
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let mut store = Store::default();
            let fail = |error| format!("an MTBDD is too large: {error}");
            let policy = store.policy(&ours.policy).map_err(fail)?;
            let program = store.program(&theirs, options.arch.endian()).map_err(fail)?;
            if policy == program {
                counts.equal += 1;
            } else {
                counts.different.push(text.to_owned());
            }
        }
        (Err(_), Err(_)) => counts.both_refuse += 1,
        (Err(ours), Ok(_)) => {
            let first = ours.iter().find(|one| one.severity == Severity::Error);
            one_refuses("callgate refuses", first.map_or("", |error| &error.message));
        }
        (Ok(_), Err(theirs)) => one_refuses("the other compiler refuses", &theirs),
    }
    Ok(())
}

/// A message without quoted names and numbers.
fn class(message: &str) -> String {
    let mut class = String::new();
    let mut is_quoted = false;
    for c in message
        .lines()
        .filter(|line| !line.trim().is_empty() && line.trim() != "Compile error")
        .flat_map(str::chars)
    {
        match c {
            '`' | '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            c if c.is_ascii_digit() => {
                if !class.ends_with('#') {
                    class.push('#');
                }
            }
            c => class.push(c),
        }
    }
    class.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_no_names_and_numbers() {
        assert_eq!(
            class("Compile error\n\t1:23: Undefined identifier `x'\n"),
            "#:#: Undefined identifier"
        );
        assert_eq!(class("unknown syscall `a`"), "unknown syscall");
    }

    /// Every random policy is read, or refused because of bits of several arguments.
    #[test]
    fn random_policies_are_read() {
        let mut random = Random::new(7);
        let mut valid = 0;
        for _ in 0..300 {
            let text = random.policy();
            match callgate::formats::kafel::read(&text, &ReadOptions::new(callgate::Arch::X86_64)) {
                Ok(_) => valid += 1,
                Err(messages) => {
                    let text = format!("{text}\n{messages}");
                    assert!(
                        messages.iter().any(|one| one.message.contains("bits of several")),
                        "{text}"
                    );
                }
            }
        }
        assert!(valid > 200, "{valid}");
    }
}
