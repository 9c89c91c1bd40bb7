//! Two filters that are compared with each other.

use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, Program};

use super::report::{Report, Search, Subject, WithoutCoverage};
use super::search::{Evaluated, Form, Fuzzer, Subjects};
use crate::plain_program::plain_program;

/// Two filters, in any form, which [`fuzz_pair`] compares with each other.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The reference, and the filter that is compared with it.
    pub sides: [Side<'a>; 2],
    /// The architectures of both filters.
    pub arches: &'a [Arch],
    /// The byte order of the machines that both filters are for.
    pub endian: Endian,
}

/// A filter, or several on top of each other.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The name in the report.
    pub name: &'a str,
    /// The filters, the oldest first. Without any, every syscall is allowed.
    pub members: &'a [Member<'a>],
}

/// A filter of a [`Side`].
#[derive(Clone, Copy, Debug)]
pub enum Member<'a> {
    /// Rules, which are evaluated. Their coverage is that of the [plain program](plain_program), which tests one after the
    /// other.
    Rules(&'a Policy),
    /// A program, which is interpreted.
    Program(&'a Program),
}

/// Compares two filters with each other, syscall by syscall: a search for a difference that neither compiles nor proves anything.
///
/// The syscalls are derived from the constants of both, as [`fuzz`](super::fuzz) does. The report has one comparison. Agreement is no
/// proof: `callgate diff` and [`crate::sets`] decide whether two filters are equal, unless these are too complex.
///
/// `progress` is called as by [`fuzz`](super::fuzz).
///
/// ```
/// use callgate::fuzz::{Member, Pair, Search, Side, fuzz_pair};
/// use callgate::{Arch, Endian, Filter, Verdict, arg};
///
/// let filter = |most: u32| {
///     let builder = Filter::builder(Arch::X86_64).default(Verdict::errno(1));
///     builder.allow_if("close", arg("fd").le(most))?.build()
/// };
/// let (rules, other) = (filter(1000)?, filter(1001)?);
/// let program = other.compile()?;
/// let pair = Pair {
///     sides: [
///         Side { name: "rules", members: &[Member::Rules(rules.policy())] },
///         Side { name: "program", members: &[Member::Program(&program)] },
///     ],
///     arches: &[Arch::X86_64],
///     endian: Endian::Little,
/// };
/// let report = fuzz_pair(&pair, &Search::default(), &mut |_| true);
/// let first = report.comparisons[0].first.unwrap();
/// assert_eq!((first.data.nr, first.data.args[0]), (3, 1001));
/// assert_eq!((first.left, first.right), (Verdict::errno(1), Verdict::ALLOW));
/// assert!(report.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fuzz_pair(
    pair: &Pair<'_>,
    search: &Search,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Report {
    let (mut programs, mut policies, mut forms) = (Vec::new(), Vec::new(), Vec::new());
    let mut without_coverage = Vec::new();
    for side in &pair.sides {
        let mut members = Vec::new();
        for (index, member) in side.members.iter().enumerate() {
            let name = match side.members {
                [_] => side.name.to_owned(),
                _ => format!("{}, filter {}", side.name, index + 1),
            };
            members.push(match member {
                Member::Program(program) => {
                    programs.push(Subject::new(name, (*program).clone()));
                    Evaluated::Program(programs.len() - 1)
                }
                Member::Rules(policy) => {
                    policies.push(*policy);
                    match plain_program(policy) {
                        Ok(plain) => programs.push(Subject::new(format!("{name}, rules"), plain)),
                        Err(why) => without_coverage.push(WithoutCoverage::new(name, why)),
                    }
                    Evaluated::Rules(policy)
                }
            });
        }
        forms.push(Form { name: side.name, members });
    }
    let Pair { arches, endian, .. } = *pair;
    let subjects = Subjects { forms, policies, programs: &programs, arches, endian };
    let report = Fuzzer::new(subjects, search, progress).run();
    Report { without_coverage, ..report }
}
