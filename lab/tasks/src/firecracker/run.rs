//! Compares, and counts the results.

use callgate::Arch;

use super::compare::compare;
use super::options::ACCEPTED;
use super::random::Random;
use crate::agreement::{Counts, Options, compare_all};
use callgate_tasks::Result;

/// The architectures of random documents.
const ARCHES: [Arch; 3] = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let arch = options.arch.unwrap_or(Arch::X86_64);
    let mut counts = Counts::default();
    // The files are for one architecture, random documents for all.
    let files = Options { number: 0, ..options };
    compare_all(&files, &mut counts, String::new, |text| compare(text, arch))?;
    random(files.seed, options.number, &mut counts)?;
    counts.report_refusals()
}

fn random(seed: u64, number: u64, counts: &mut Counts) -> Result<()> {
    let mut random = Random::new(seed);
    for _ in 0..number {
        let arch = ARCHES[random.below(ARCHES.len())];
        let text = random.document();
        let outcome = compare(&text, arch).map_err(|error| format!("{error}\n{text}"))?;
        counts.add(outcome, &text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_documents_mean_what_seccompiler_compiles() {
        let mut counts = Counts::default();
        random(7, 400, &mut counts).unwrap();
        assert_eq!(counts.report_refusals(), Ok(()));
        assert!(counts.equal > 300 && counts.both_refuse > 10, "{}", counts.equal);
    }
}
