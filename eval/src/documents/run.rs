//! Compares, and counts the results.

use std::collections::BTreeMap;
use std::time::Instant;

use callgate::random::Rng;

use super::driver::{Driver, Owner, Syntax};
use super::generate::document;
use super::judge::{Case, Judgement, judge};
use super::mutate::mutated;
use super::options::Options;
use super::shrink::shrink;
use super::write;
use crate::task::Result;

/// The maximum number of texts that are printed.
const SHOWN: usize = 5;

pub(crate) fn yaml(arguments: &[String]) -> Result<()> {
    compare(Syntax::Yaml, &Options::parse(arguments)?)
}

pub(crate) fn json(arguments: &[String]) -> Result<()> {
    compare(Syntax::Json, &Options::parse(arguments)?)
}

#[derive(Default)]
struct Counts {
    same: u64,
    neither: u64,
    wrong: u64,
    only_there: BTreeMap<String, u64>,
}

fn compare(syntax: Syntax, options: &Options) -> Result<()> {
    let mut driver = Driver::start()?;
    let mut counts = Counts::default();
    for file in &options.files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        for owner in Owner::ALL {
            let case = Case { syntax, owner, is_told: true, has_all_caps: false };
            println!(
                "{} as {}: {:?}",
                file.display(),
                owner.name(),
                judge(&mut driver, case, &text)?
            );
        }
    }
    let start = Instant::now();
    for number in 0..options.cases {
        if options.limit.is_some_and(|limit| start.elapsed() >= limit) {
            break;
        }
        let (case, text) = random(syntax, options.seed, number);
        let judgement = judge(&mut driver, case, &text)?;
        if judgement.is_wrong() {
            counts.wrong += 1;
            if counts.wrong <= SHOWN as u64 {
                print(&mut driver, case, number, &text, &judgement)?;
            }
        }
        match judgement {
            Judgement::Same => counts.same += 1,
            Judgement::Neither => counts.neither += 1,
            Judgement::OnlyThere(why) => *counts.only_there.entry(class(&why)).or_default() += 1,
            Judgement::OnlyHere(_) | Judgement::Different(_) => {}
        }
    }
    counts.report(options.seed, start)
}

/// A text, and how it is read.
fn random(syntax: Syntax, seed: u64, number: u64) -> (Case, String) {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number).rotate_left(17));
    // Resources are what is written in YAML.
    let weight = if syntax == Syntax::Yaml { 2 } else { 5 };
    let owner = match rng.below(weight) {
        0 => Owner::Resource,
        _ => rng.pick(&Owner::ALL).unwrap_or(Owner::Resource),
    };
    let case = Case {
        syntax,
        owner,
        is_told: owner != Owner::Resource && rng.below(2) == 0,
        has_all_caps: rng.below(2) == 0,
    };
    let tree = document(&mut rng, owner);
    let text = match syntax {
        Syntax::Json => write::json(&mut rng, &tree),
        Syntax::Yaml => write::yaml(&mut rng, &tree),
    };
    (case, mutated(&mut rng, syntax, text))
}

/// Prints a small text with the same kind of difference.
fn print(
    driver: &mut Driver,
    case: Case,
    number: u64,
    text: &str,
    judgement: &Judgement,
) -> Result<()> {
    let kind = std::mem::discriminant(judgement);
    let small =
        shrink(text, |text| Ok(std::mem::discriminant(&judge(driver, case, text)?) == kind))?;
    let (what, detail) = match judge(driver, case, &small)? {
        Judgement::OnlyHere(why) => ("accepted only here; Go says", why),
        Judgement::Different(theirs) => ("another meaning; Go reads", theirs),
        _ => ("unstable", String::new()),
    };
    let Case { owner, is_told, .. } = case;
    println!(
        "case {number} as {}{}: {what}: {detail}",
        owner.name(),
        if is_told { "" } else { " (not told)" }
    );
    println!("  {small:?}\n{}\n", small.replace('\n', "\n  "));
    Ok(())
}

impl Counts {
    /// Prints the counts. An error if there is a wrong reading.
    fn report(&self, seed: u64, start: Instant) -> Result<()> {
        let only_there: u64 = self.only_there.values().sum();
        let total = self.same + self.neither + self.wrong + only_there;
        println!(
            "profiles               {total:7}  (seed {seed}, {} s)",
            start.elapsed().as_secs()
        );
        println!("the same meaning       {:7}", self.same);
        println!("accepted only by Go    {only_there:7}");
        println!("accepted by neither    {:7}", self.neither);
        println!("wrong                  {:7}", self.wrong);
        let mut reasons: Vec<(&String, &u64)> = self.only_there.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        println!("\nwhy only Go accepts, the most frequent reasons:");
        for (why, count) in reasons.into_iter().take(20) {
            println!("{count:7}  {why}");
        }
        match self.wrong {
            0 => Ok(()),
            wrong => Err(format!("{wrong} of {total} profiles are read wrongly")),
        }
    }
}

/// A message without quoted parts and numbers.
fn class(message: &str) -> String {
    let mut class = String::new();
    let mut quote = None;
    for c in message.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if matches!(c, '`' | '"') => quote = Some(c),
            None if c.is_ascii_digit() => {
                if !class.ends_with('#') {
                    class.push('#');
                }
            }
            None => class.push(c),
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::formats::oci::{self, ReadOptions};
    use callgate::syscalls::KernelVersion;

    /// Random texts are often valid, so that meanings are compared.
    #[test]
    fn many_texts_are_read() {
        for syntax in [Syntax::Json, Syntax::Yaml] {
            let kernel = KernelVersion { major: 6, minor: 1 };
            let mut valid = 0;
            for number in 0..400 {
                let (case, text) = random(syntax, 3, number);
                let dialect = Some(case.owner.dialect());
                let options =
                    ReadOptions { dialect, ..ReadOptions::new(callgate::Arch::X86_64, kernel) };
                valid += usize::from(oci::read(&text, &options).is_ok());
            }
            assert!(valid > 80, "{syntax:?} {valid}");
        }
    }

    #[test]
    fn messages_are_grouped_without_names_and_numbers() {
        assert_eq!(class("`a` is given twice, first at 12:3"), " is given twice, first at #:#");
    }
}
