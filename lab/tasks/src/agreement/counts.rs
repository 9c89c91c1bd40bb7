//! Counts of the results.

use std::collections::BTreeMap;

use super::outcome::Outcome;
use callgate_tasks::Result;

/// The maximum number of texts that are printed.
const SHOWN: usize = 3;

/// The results of comparisons.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) equal: u64,
    pub(crate) both_refuse: u64,
    too_long: u64,
    reported: u64,
    /// The texts with different meanings.
    pub(crate) different: Vec<String>,
    /// Texts that only one side refuses: who, and why without names and numbers; how many, and the first one.
    one_refuses: BTreeMap<String, (u64, String)>,
}

impl Counts {
    /// Counts the outcome for a text.
    pub(crate) fn add(&mut self, outcome: Outcome, text: &str) {
        match outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::BothRefuse => self.both_refuse += 1,
            Outcome::TooLong => self.too_long += 1,
            Outcome::Reported => self.reported += 1,
            Outcome::Different => self.different.push(text.to_owned()),
            Outcome::OneRefuses { who, why } => {
                let class = format!("only {who} refuses: {}", class(&why));
                self.one_refuses.entry(class).or_insert_with(|| (0, text.to_owned())).0 += 1;
            }
        }
    }

    /// Texts that only one side refuses.
    pub(crate) fn one_refuses(&self) -> u64 {
        self.one_refuses.values().map(|(count, _)| count).sum()
    }

    /// Prints the counts. An error if a meaning differs.
    pub(crate) fn report(&self) -> Result<()> {
        println!("the same MTBDD         {:6}", self.equal);
        println!("refused by both        {:6}", self.both_refuse);
        println!("different, reported    {:6}", self.reported);
        println!("program too long       {:6}", self.too_long);
        println!("different              {:6}", self.different.len());
        for (why, (count, example)) in &self.one_refuses {
            println!("{count:6}  {why}\n        first: {}", example.replace('\n', "\n        "));
        }
        for text in self.different.iter().take(SHOWN) {
            println!("\ndifferent:\n{text}");
        }
        match self.different.len() {
            0 => Ok(()),
            number => Err(format!("{number} texts have another meaning")),
        }
    }

    /// As [`Counts::report`]; also an error if only one side refuses a text.
    pub(crate) fn report_refusals(&self) -> Result<()> {
        self.report()?;
        match self.one_refuses() {
            0 => Ok(()),
            number => Err(format!("only one side refuses {number} texts")),
        }
    }
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

    #[test]
    fn a_difference_is_an_error_and_a_refusal_where_it_counts() {
        let mut counts = Counts::default();
        for outcome in [Outcome::Equal, Outcome::BothRefuse, Outcome::TooLong, Outcome::Reported] {
            counts.add(outcome, "");
        }
        assert_eq!(counts.report_refusals(), Ok(()));
        counts.add(Outcome::OneRefuses { who: "callgate", why: "line 3".to_owned() }, "text");
        assert_eq!((counts.report(), counts.one_refuses()), (Ok(()), 1));
        assert!(counts.report_refusals().is_err());
        counts.add(Outcome::Different, "text");
        assert!(counts.report().is_err());
    }
}
