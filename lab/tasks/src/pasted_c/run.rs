//! Compares, and counts the results.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use callgate::{Arch, Endian};
use callgate_bpf::random::Rng;
use callgate_bpf::text::{TextOptions, parse_program};
use callgate_core::RawInsn;

use super::compiler::Compiler;
use super::expression::Kind;
use super::options::Options;
use super::random::text;
use super::stores::has_store;
use callgate_tasks::Result;

/// How many texts are compiled at once.
const BATCH: u64 = 60;
/// How many texts are printed.
const SHOWN: usize = 3;

/// The results for one kind of texts.
#[derive(Default)]
struct Counts {
    equal: u64,
    /// Texts that gcc refuses: also refused, or read.
    both_refuse: u64,
    only_read: u64,
    /// What only callgate refuses, by reason, with the first text.
    refused: BTreeMap<String, (u64, String)>,
    different: Vec<String>,
}

impl Counts {
    fn add(&mut self, text: &str, gcc: Option<Vec<RawInsn>>, arch: Arch) {
        let options = TextOptions::new(Endian::Little).with_arch(arch);
        match (parse_program(text, &options), gcc) {
            (Ok(read), Some(array)) if read.insns == array => self.equal += 1,
            (Ok(read), Some(array)) => {
                let at = read.insns.iter().zip(&array).position(|(ours, theirs)| ours != theirs);
                let at = at.unwrap_or(read.insns.len().min(array.len()));
                let row = |rows: &[RawInsn]| {
                    rows.get(at).map_or("nothing".to_owned(), |row| format!("{row:?}"))
                };
                self.different.push(format!(
                    "instruction {at}: callgate reads {}, gcc {}\n{text}",
                    row(&read.insns),
                    row(&array)
                ));
            }
            (Ok(_), None) => self.only_read += 1,
            (Err(_), None) => self.both_refuse += 1,
            (Err(error), Some(_)) => {
                let first = error.diagnostics().first().map(|first| first.message.clone());
                let why = reason(&first.unwrap_or_default());
                self.refused.entry(why).or_insert_with(|| (0, text.to_owned())).0 += 1;
            }
        }
    }

    fn refused(&self) -> u64 {
        self.refused.values().map(|(count, _)| count).sum()
    }

    /// Prints the counts; the share of the texts that only callgate refuses, in percent.
    fn report(&self, what: &str) -> f64 {
        let valid = self.equal + self.refused() + self.different.len() as u64;
        let share = 100.0 * self.refused() as f64 / (valid.max(1)) as f64;
        println!("{what} texts: {valid} that gcc accepts");
        println!("  the same array          {:6}", self.equal);
        println!("  only callgate refuses   {:6} ({share:.1} %)", self.refused());
        println!("  different               {:6}", self.different.len());
        println!("  gcc refuses: both {}, callgate reads {}", self.both_refuse, self.only_read);
        for (why, (count, _)) in &self.refused {
            println!("  {count:6}  {why}");
        }
        if std::env::var_os("CALLGATE_SHOW_REFUSED").is_some() {
            self.refused.iter().for_each(|(why, (_, text))| println!("---- {why}\n{text}"));
        }
        for text in self.different.iter().take(SHOWN) {
            println!("\ndifferent: {text}");
        }
        share
    }
}

/// A message without quoted names and numbers.
fn reason(message: &str) -> String {
    let outside = message.split('`').step_by(2).collect::<Vec<_>>().join("`…`");
    outside.replace(|c: char| c.is_ascii_digit(), "#")
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let arch = Arch::native().ok_or("unsupported architecture of this machine")?;
    let compiler = Compiler::new()?;
    let started = Instant::now();
    let mut files = Counts::default();
    for file in &options.files {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        for array in compiler.arrays(std::slice::from_ref(&text))? {
            files.add(&text, array, arch);
        }
    }
    // Texts of both kinds, those that change their array, and those that only use it.
    let mut counts: [Counts; 4] = std::array::from_fn(|_| Counts::default());
    let mut rng = Rng::new(options.seed);
    let mut done = 0;
    while done < options.cases && options.limit.is_none_or(|limit| started.elapsed() < limit) {
        let number = BATCH.min(options.cases - done);
        let kind = |number: u64| if number % 3 == 1 { Kind::Any } else { Kind::Usual };
        let make = |number| text(&mut rng, kind(number), number % 3 == 2);
        let texts: Vec<String> = (0..number).map(make).collect();
        let arrays = compiler.arrays(&texts)?;
        for ((text, array), number) in texts.iter().zip(arrays).zip(0u64..) {
            let is_reading = number % 3 == 2 && !has_store(text);
            if let Some(counts) = counts.get_mut(if is_reading { 3 } else { (number % 3) as usize })
            {
                counts.add(text, array, arch);
            }
        }
        done += number;
    }
    if !options.files.is_empty() {
        files.report("given");
    }
    let [usual, any, changed, reading] = &counts;
    let (usual_share, any_share) = (usual.report("usual"), any.report("other"));
    changed.report("changing");
    let reading_share = reading.report("reading");
    println!("{done} random texts in {:.1} s", started.elapsed().as_secs_f64());
    let different: usize =
        files.different.len() + counts.iter().map(|counts| counts.different.len()).sum::<usize>();
    if different > 0 {
        return Err(format!("{different} arrays differ from gcc's"));
    }
    if usual_share > 5.0 || any_share > 25.0 || reading_share > 50.0 {
        return Err(format!(
            "too many refusals: {usual_share:.1} % of the usual texts, {any_share:.1} % of the others, \
             {reading_share:.1} % of those that only use their array"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_names_and_numbers() {
        assert_eq!(reason("`A` has 5 rows, not `B`"), "`…` has # rows, not `…`");
    }

    #[test]
    fn most_usual_texts_are_read() {
        let mut rng = Rng::new(3);
        let options = TextOptions::new(Endian::Little).with_arch(Arch::X86_64);
        let is_read =
            |_: &i32| parse_program(&text(&mut rng, Kind::Usual, false), &options).is_ok();
        let read = (0..200).filter(is_read).count();
        assert!(read > 180, "{read}");
    }
}
