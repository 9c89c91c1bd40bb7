//! Compares, and counts the results.

use std::fs;
use std::path::{Path, PathBuf};

use callgate::Arch;
use callgate_formats::minijail::{Included, ReadOptions, read_with_includes};

use super::compiler::compile;
use super::constants;
use super::options::ACCEPTED;
use super::random::Random;
use crate::agreement::{Counts, Options, Outcome};
use callgate_tasks::files::{make, remove, write};
use callgate_tasks::{Result, workspace};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let arch = options.arch.unwrap_or(Arch::X86_64);
    let directory = workspace().join("target/minijail");
    remove(&directory)?;
    make(&directory)?;
    let constants = match arch {
        Arch::X86_64 => {
            let file = options.compiler.join("constants.json");
            constants::compare(&file, arch)?;
            file
        }
        arch => {
            let file = directory.join("constants.json");
            write(&file, &constants::of_tables(arch)?)?;
            file
        }
    };
    let mut counts = Counts::default();
    for file in &options.files {
        // The compiler writes the program beside the policy.
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let copy = directory.join("given.policy");
        write(&copy, &text)?;
        let outcome = compare(&options, arch, &constants, &copy, &text)?;
        println!("{}: {outcome:?}", file.display());
        counts.add(outcome, &text);
    }
    let mut random = Random::new(options.seed, arch);
    for _ in 0..options.number {
        let policy = random.policy();
        for (name, text) in &policy.beside {
            write(&directory.join(name), text)?;
        }
        let file = directory.join("random.policy");
        write(&file, &policy.text)?;
        counts.add(compare(&options, arch, &constants, &file, &policy.text)?, &policy.text);
    }
    remove(&directory)?;
    counts.report_refusals()
}

fn compare(
    options: &Options,
    arch: Arch,
    constants: &Path,
    file: &Path,
    text: &str,
) -> Result<Outcome> {
    let is_denylist = text.lines().any(|line| line.trim() == "@denylist");
    let theirs = compile(&options.compiler, constants, file, is_denylist)?;
    let directory = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut include = |name: &str, from: Option<&str>| {
        let beside = from.and_then(|from| Path::new(from).parent()).unwrap_or(&directory);
        let path = beside.join(name);
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let name = path.display().to_string();
        Ok(Included { identity: name.clone(), name, text, is_private: false })
    };
    let ours = read_with_includes(text, &ReadOptions::new(arch), &mut include);
    let ours = ours.map(|policy| vec![policy.profile.policy]);
    Ok(match Outcome::of(arch.endian(), ours, theirs.map(|one| vec![one]))? {
        Outcome::OneRefuses { who: "the other compiler", why } if why.contains("instructions") => {
            Outcome::TooLong
        }
        outcome => outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most random policies are valid, so that comparisons are about their meaning.
    #[test]
    fn most_random_policies_are_read() {
        let mut random = Random::new(7, Arch::X86_64);
        let mut valid = 0;
        for _ in 0..300 {
            let policy = random.policy();
            let mut include = |name: &str, _: Option<&str>| {
                let name = name.trim_start_matches("./");
                let file = policy.beside.iter().find(|(own, _)| own == name);
                let (name, text) = file.ok_or("no such file")?;
                Ok(Included {
                    name: name.clone(),
                    identity: name.clone(),
                    text: text.clone(),
                    is_private: false,
                })
            };
            let options = ReadOptions::new(Arch::X86_64);
            valid += u64::from(read_with_includes(&policy.text, &options, &mut include).is_ok());
        }
        assert!((150..300).contains(&valid), "{valid}");
    }
}
