//! Which rules of a profile are the reason for a verdict.
//!
//! ```
//! use callgate_bpf::syscalls::KernelVersion;
//! use callgate_core::{Arch, SeccompData, Verdict};
//! use callgate_formats::oci::{self, ReadOptions};
//! use callgate_formats::why::{Cause, why};
//!
//! let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
//!                "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}"#;
//! let kernel = KernelVersion { major: 6, minor: 18 };
//! let options = ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64, kernel) };
//! let profile = oci::read(text, &options)?;
//! let statements = profile.statements.as_ref().ok_or("they were asked for")?;
//!
//! let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
//! let found = why(&profile.policy, statements, &getpid, Some("getpid"));
//! assert_eq!(found.verdict, Verdict::ALLOW);
//! let Cause::Rules(rules) = found.cause else { return Err("a rule allows getpid".into()) };
//! assert_eq!((rules[0].site.position.line, rules[0].site.position.column), (2, 40));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rustc_hash::FxHashSet as HashSet;

use crate::statements::{Builtin, Inactive, Inactivity, Site, Statement, Statements};
use callgate_bpf::syscalls::SyscallTable;
use callgate_core::policy::Policy;

use callgate_core::{SeccompData, Verdict};

/// The verdict for a syscall, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why<'s> {
    /// The verdict.
    pub verdict: Verdict,
    /// What decided.
    pub cause: Cause<'s>,
    /// The rules that apply as well, but have another verdict, which does not count.
    pub overruled: Vec<&'s Statement>,
    /// The rules about this syscall whose conditions do not hold for its arguments, except further conditions at the place
    /// of a rule that decides.
    pub unmet: Vec<&'s Statement>,
    /// The rules about a syscall of this name that are not in effect here.
    pub inactive: Vec<&'s Inactive>,
}

/// What decided about a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause<'s> {
    /// Rules of the text: each applies and has the verdict.
    Rules(Vec<&'s Statement>),
    /// A rule that no text states.
    Builtin(&'s Builtin),
    /// No rule applies: the default action, and where the profile states it.
    Default(Option<&'s Site>),
    /// The profile has no rules for this arch token.
    OtherArch,
}

/// The verdict of a policy for a syscall, with the rules of its text that are the reason. `name` is the name of the syscall.
pub fn why<'s>(
    policy: &Policy,
    statements: &'s Statements,
    data: &SeccompData,
    name: Option<&str>,
) -> Why<'s> {
    let verdict = policy.evaluate(data);
    let about = || statements.rules.iter().filter(|rule| rule.is_about(data));
    let (decisive, overruled): (Vec<_>, Vec<_>) =
        about().filter(|rule| rule.applies_to(data)).partition(|rule| rule.verdict == verdict);
    let builtin = statements.builtin.iter().find(|rule| {
        rule.token == data.arch && rule.syscalls.contains(data.nr) && rule.verdict == verdict
    });
    let sites: HashSet<&Site> = decisive.iter().map(|rule| &rule.site).collect();
    let is_unmet = |rule: &&Statement| !rule.applies_to(data) && !sites.contains(&rule.site);
    let unmet = about().filter(is_unmet).collect();
    let has_section = policy.sections().iter().any(|section| section.token() == data.arch);
    let cause = match builtin {
        _ if !has_section => Cause::OtherArch,
        Some(rule) => Cause::Builtin(rule),
        None if !decisive.is_empty() => Cause::Rules(distinct(decisive)),
        None => Cause::Default(statements.default.as_ref()),
    };
    // A rule for another architecture, which lacks the syscall, says nothing about this one.
    let is_about = |rule: &&Inactive| {
        let is_here = match rule.reason {
            Inactivity::MissingOn(_) => false,
            Inactivity::UnknownTo(_, arch) => {
                arch.token() == data.arch && arch.syscall_name(data.nr) == name
            }
            Inactivity::DefaultAction | Inactivity::Elsewhere(_) => true,
        };
        is_here && Some(rule.name.as_str()) == name
    };
    let inactive = statements.inactive.iter().filter(is_about);
    Why { verdict, cause, overruled: distinct(overruled), unmet, inactive: inactive.collect() }
}

/// One rule for each place: a rule of the text may have several conditions that hold.
fn distinct(rules: Vec<&Statement>) -> Vec<&Statement> {
    let mut seen: HashSet<&Site> = HashSet::default();
    rules.into_iter().filter(|rule| seen.insert(&rule.site)).collect()
}
