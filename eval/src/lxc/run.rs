//! Compares, and counts the results.

use callgate::Arch;
use callgate::formats::lxc::{ReadOptions, read};

use super::options::ACCEPTED;
use super::parser::Parser;
use super::random::Random;
use crate::agreement::{Counts, Options, Outcome, compare_all};
use crate::task::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let arch = Arch::native().ok_or("unsupported architecture of this machine")?;
    let parser = Parser::build(&options.compiler, options.library.as_deref())?;
    let (mut random, mut counts) = (Random::new(options.seed), Counts::default());
    compare_all(
        &options,
        &mut counts,
        || random.profile(),
        |text| {
            let ours = read(text, &ReadOptions::new(arch)).map(|profile| vec![profile.policy]);
            let theirs = parser.parse(text)?.map(|one| vec![one]);
            Outcome::of(arch.endian(), ours, theirs)
        },
    )?;
    counts.report()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_random_profiles_are_valid() {
        let mut random = Random::new(7);
        let options = ReadOptions::new(Arch::X86_64);
        let valid = (0..300).filter(|_| read(&random.profile(), &options).is_ok()).count();
        assert!((75..275).contains(&valid), "{valid}");
    }
}
