//! Compares, and counts the results.

use callgate::Arch;
use callgate_formats::kafel::{Included, ReadOptions, read_with_includes};

use super::compiler::compile;
use super::options::ACCEPTED;
use super::random::Random;
use super::syscalls::{Known, of_arch};
use crate::agreement::{Counts, Options, Outcome, compare_all};
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &ACCEPTED)?;
    let arch = options.arch.or_else(Arch::native).ok_or("give --arch")?;
    let mut counts = Counts::default();
    let mut compare = |text: &str| compare(&options, arch, text);
    let known = sweep(arch, &mut counts, &mut compare)?;
    println!("syscalls that both know {:6}", known.len());
    let mut random = Random::new(options.seed, known);
    compare_all(&options, &mut counts, || random.policy(), compare)?;
    counts.report()
}

/// Compares each argument of each syscall, and returns the syscalls with the arguments that are equal.
fn sweep(
    arch: Arch,
    counts: &mut Counts,
    compare: &mut dyn FnMut(&str) -> Result<Outcome>,
) -> Result<Vec<Known>> {
    let mut known = Vec::new();
    for syscall in of_arch(arch) {
        let mut is_equal = |condition: &str| -> Result<bool> {
            let text = format!("ALLOW {{ {}{condition} }} DEFAULT KILL", syscall.name);
            let outcome = compare(&text).map_err(|error| format!("{text}: {error}"))?;
            let is_equal = outcome == Outcome::Equal;
            counts.add(outcome, &text);
            Ok(is_equal)
        };
        if !is_equal("")? {
            continue;
        }
        let mut arguments = Vec::new();
        for argument in &syscall.arguments {
            if is_equal(&format!(" {{ {argument} == 1 }}"))? {
                arguments.push(*argument);
            }
        }
        known.push(Known { name: syscall.name, arguments });
    }
    Ok(known)
}

fn compare(options: &Options, arch: Arch, text: &str) -> Result<Outcome> {
    let theirs = compile(&options.compiler, text, arch.endian())?;
    let mut none = |_: &str, _: Option<&str>| -> std::result::Result<Included, String> {
        Err("these policies include no files".to_owned())
    };
    let ours = read_with_includes(text, &ReadOptions::new(arch), &mut none);
    // The reader reports where Kafel's table of syscalls has another argument.
    let is_about_tables = |message: &str| {
        message.contains("; Kafel takes argument") || message.contains("; Kafel compares")
    };
    let is_reported = ours.as_ref().is_ok_and(|profile| {
        profile.warnings.iter().any(|warning| is_about_tables(&warning.message))
    });
    let ours = ours.map(|profile| vec![profile.policy]);
    Ok(match Outcome::of(arch.endian(), ours, theirs.map(|one| vec![one]))? {
        Outcome::Different if is_reported => Outcome::Reported,
        outcome => outcome,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_formats::kafel::read;

    /// Every random policy is read, or refused because of bits of several arguments.
    #[test]
    fn random_policies_are_read() {
        let syscalls = of_arch(Arch::X86_64);
        assert!(syscalls.len() > 300);
        let mut random = Random::new(7, syscalls);
        let mut valid = 0;
        for _ in 0..300 {
            let text = random.policy();
            match read(&text, &ReadOptions::new(Arch::X86_64)) {
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
