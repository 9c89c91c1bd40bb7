//! Compares, and counts the results.

use callgate_formats::snap::{ReadOptions, read};

use super::compiler::compile;
use super::options::ACCEPTED;
use super::random::Random;
use crate::agreement::{Options, Outcome, compare_on_this_machine};
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let mut random = Random::new(options.seed);
    compare_on_this_machine(
        &options,
        || random.profile(),
        |arch, text| {
            let mut ids = |_, name: &str| (name == "root").then_some(0);
            let ours = read(text, &ReadOptions::new(arch), &mut ids);
            let ours = ours.map(|filters| vec![filters.deny, filters.allow]);
            Outcome::of(arch.endian(), ours, compile(&options.compiler, text)?)
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
        let mut ids = |_, name: &str| (name == "root").then_some(0);
        let valid =
            (0..300).filter(|_| read(&random.profile(), &options, &mut ids).is_ok()).count();
        assert!((150..295).contains(&valid), "{valid}");
    }
}
