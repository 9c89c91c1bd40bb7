//! Compares, and counts the results.

use callgate_formats::lxc::{ReadOptions, read};

use super::options::ACCEPTED;
use super::parser::Parser;
use super::random::Random;
use crate::agreement::{Options, Outcome, compare_on_this_machine};
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let parser = Parser::build(&options.compiler, options.library.as_deref())?;
    let mut random = Random::new(options.seed);
    compare_on_this_machine(
        &options,
        || random.profile(),
        |arch, text| {
            let ours = read(text, &ReadOptions::new(arch)).map(|profile| vec![profile.policy]);
            let theirs = parser.parse(text)?.map(|one| vec![one]);
            Outcome::of(arch.endian(), ours, theirs)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::Arch;

    #[test]
    fn many_random_profiles_are_valid() {
        let mut random = Random::new(7);
        let options = ReadOptions::new(Arch::X86_64);
        let valid = (0..300).filter(|_| read(&random.profile(), &options).is_ok()).count();
        assert!((75..275).contains(&valid), "{valid}");
    }
}
