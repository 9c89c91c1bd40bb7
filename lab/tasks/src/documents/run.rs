//! Compares, and counts the results.

use std::collections::BTreeMap;
use std::time::Instant;

use callgate_bpf::random::Rng;

use super::driver::{Driver, Owner, Syntax};
use super::generate::document;
use super::judge::{Case, Judgement, judge};
use super::mutate::mutated;
use super::options::Options;
use super::shrink::shrink;
use super::write;
use callgate_tasks::Result;

/// The maximum number of kinds of wrong readings of which a text is printed.
const SHOWN: usize = 10;

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
    /// Wrong readings by kind: how many, and the smallest text.
    wrong: BTreeMap<String, (u64, Wrong)>,
    only_there: BTreeMap<String, u64>,
}

/// A text that is read wrongly.
struct Wrong {
    number: u64,
    case: Case,
    text: String,
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
        if let Some(kind) = kind(&judgement) {
            counts.add(kind, Wrong { number, case, text });
        }
        match judgement {
            Judgement::Same => counts.same += 1,
            Judgement::Neither => counts.neither += 1,
            Judgement::OnlyThere(why) => *counts.only_there.entry(class(&why)).or_default() += 1,
            Judgement::OnlyHere(_) | Judgement::Different(_) => {}
        }
    }
    let seconds = start.elapsed().as_secs();
    for (kind, (count, wrong)) in counts.wrong.iter().take(SHOWN) {
        println!("{count} times: {kind}");
        wrong.print(&mut driver, kind)?;
    }
    counts.report(options.seed, seconds)
}

/// The kind of a wrong reading; `None` for others.
fn kind(judgement: &Judgement) -> Option<String> {
    match judgement {
        Judgement::OnlyHere(why) => Some(format!("accepted only here; Go: {}", class(why))),
        Judgement::Different(_) => Some("another meaning".to_owned()),
        Judgement::Same | Judgement::Neither | Judgement::OnlyThere(_) => None,
    }
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

impl Wrong {
    /// Prints a small text with the same kind of wrong reading.
    fn print(&self, driver: &mut Driver, kind_of_this: &str) -> Result<()> {
        let case = self.case;
        let has =
            |text: &str| Ok(kind(&judge(driver, case, text)?).as_deref() == Some(kind_of_this));
        let small = shrink(&self.text, has)?;
        let told = if case.is_told { "" } else { ", without the dialect" };
        println!("  case {} as {}{told}: {small:?}", self.number, case.owner.name());
        if let Judgement::Different(theirs) = judge(driver, case, &small)? {
            println!("  Go reads {theirs}");
        }
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, kind: String, wrong: Wrong) {
        match self.wrong.get_mut(&kind) {
            Some((count, smallest)) => {
                *count += 1;
                if wrong.text.len() < smallest.text.len() {
                    *smallest = wrong;
                }
            }
            None => _ = self.wrong.insert(kind, (1, wrong)),
        }
    }

    /// Prints the counts. An error if there is a wrong reading.
    fn report(&self, seed: u64, seconds: u64) -> Result<()> {
        let only_there: u64 = self.only_there.values().sum();
        let wrong: u64 = self.wrong.values().map(|(count, _)| count).sum();
        let total = self.same + self.neither + wrong + only_there;
        println!("profiles               {total:7}  (seed {seed}, {seconds} s)");
        println!("the same meaning       {:7}", self.same);
        println!("accepted only by Go    {only_there:7}");
        println!("accepted by neither    {:7}", self.neither);
        println!("wrong                  {wrong:7}");
        let mut reasons: Vec<(&String, &u64)> = self.only_there.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        println!("\nwhy only Go accepts, the most frequent reasons:");
        for (why, count) in reasons.into_iter().take(20) {
            println!("{count:7}  {why}");
        }
        match wrong {
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
    use callgate_bpf::syscalls::KernelVersion;
    use callgate_formats::oci::{self, ReadOptions};

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
            assert!(valid > 30, "{syntax:?} {valid}");
        }
    }

    #[test]
    fn messages_are_grouped_without_names_and_numbers() {
        assert_eq!(class("`a` is given twice, first at 12:3"), " is given twice, first at #:#");
    }
}
