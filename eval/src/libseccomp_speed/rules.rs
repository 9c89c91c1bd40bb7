//! The rules that are measured, as the driver reads them.

use std::fmt::Write;

use callgate::formats::{container_default, oci};
use callgate::policy::{Cmp, Policy, Section, Test};
use callgate::syscalls::KernelVersion;
use callgate::{Arch, Verdict};

use crate::task::Result;

/// A filter.
pub(super) struct Rules {
    pub(super) name: &'static str,
    pub(super) default: Verdict,
    /// The architectures besides the native one.
    pub(super) arches: &'static [&'static str],
    pub(super) text: String,
}

/// The filters: ten rules, and the built-in profile for one and for three architectures.
pub(super) fn all(arch: Arch) -> Result<Vec<Rules>> {
    const TEN: [&str; 10] = [
        "read",
        "write",
        "close",
        "fstat",
        "mmap",
        "munmap",
        "brk",
        "futex",
        "rt_sigreturn",
        "exit_group",
    ];
    let ten: String = TEN.iter().map(|name| format!("{} {name} 0\n", Verdict::ALLOW.0)).collect();
    let options = oci::ReadOptions::new(arch, KernelVersion { major: 6, minor: 1 });
    let profile = container_default(&options).map_err(|errors| format!("{errors:?}"))?;
    let (default, text) = written(&profile.policy, arch)?;
    let others: &[&str] = if arch == Arch::X86_64 { &["x86", "x32"] } else { &[] };
    Ok(vec![
        Rules { name: "ten rules", default: Verdict::errno(1), arches: &[], text: ten },
        Rules { name: "container-default", default, arches: &[], text: text.clone() },
        Rules { name: "container-default, all ABIs", default, arches: others, text },
    ])
}

/// The default and the rules of a policy for an architecture. Rules that compare an argument twice are left out, because
/// libseccomp refuses them.
fn written(policy: &Policy, arch: Arch) -> Result<(Verdict, String)> {
    let section = policy.sections().iter().find(|section| section.token() == arch.token());
    let section: &Section = section.ok_or("the profile has no rules for this machine")?;
    let mut text = String::new();
    for rule in section.rules.iter().filter(|rule| rule.verdict != section.default) {
        let alternatives = rule.when.alternatives(64).ok_or("a condition is too large")?;
        for (_, name) in arch.syscalls().filter(|(nr, _)| rule.syscalls.contains(*nr)) {
            for tests in alternatives.iter().filter(|tests| has_distinct_fields(tests)) {
                let _ = write!(text, "{} {name} {}", rule.verdict.0, tests.len());
                tests.iter().try_for_each(|test| comparison(&mut text, test))?;
                text.push('\n');
            }
        }
    }
    Ok((section.default, text))
}

fn has_distinct_fields(tests: &[Test]) -> bool {
    let mut pairs =
        tests.iter().enumerate().flat_map(|(i, a)| tests.iter().skip(i + 1).map(move |b| (a, b)));
    pairs.all(|(a, b)| a.field.low_word() != b.field.low_word())
}

/// Writes a comparison with the constants of `enum scmp_compare`.
fn comparison(text: &mut String, test: &Test) -> Result<()> {
    let (arg, _) = test.field.low_word().argument().ok_or("a test of the instruction pointer")?;
    let op = match test.cmp {
        Cmp::Eq if test.mask != u64::MAX => {
            let _ = write!(text, " {arg} 7 {} {}", test.mask, test.value);
            return Ok(());
        }
        Cmp::Ne => 1,
        Cmp::Lt => 2,
        Cmp::Le => 3,
        Cmp::Eq => 4,
        Cmp::Ge => 5,
        Cmp::Gt => 6,
    };
    let _ = write!(text, " {arg} {op} {} 0", test.value);
    Ok(())
}
