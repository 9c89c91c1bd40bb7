//! Rules as they are added: which architectures get which rules for them.

use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_formats::ruleset::{Comparison, IncrementalRules, Op};

use crate::arch::native;
use crate::error::{Error, Result};
use crate::names;

/// A rule for one syscall.
#[derive(Clone, Debug)]
pub(crate) struct NewRule {
    pub(crate) verdict: Verdict,
    /// The number on the native architecture, or a negative pseudo number.
    pub(crate) nr: i32,
    pub(crate) comparisons: Vec<Comparison>,
    /// Whether a rule that cannot be added unchanged is an error.
    pub(crate) is_exact: bool,
}

impl NewRule {
    /// Adds the rule to the rules of one architecture. In case of an error, some of them may have been added.
    pub(super) fn add_to(&self, rules: &mut IncrementalRules) -> Result<()> {
        let arch = rules.arch();
        let nr = translated(arch, self.nr)?;
        if nr == -1 || !arch.has_multiplexers() {
            if nr < -1 && self.is_exact {
                return Err(Error::Domain);
            }
            return self.add(rules, nr, &self.comparisons);
        }
        let shared = names::name(arch, nr).and_then(|name| Some((name, arch.multiplexed(name)?)));
        match shared {
            Some((name, (multiplexer, sub_call))) => {
                self.add_both(rules, name, multiplexer, sub_call)
            }
            None if nr >= 0 => self.add(rules, nr, &self.comparisons),
            // A number between the pseudo numbers of socketcall or ipc.
            None if is_of_multiplexer(nr) => Err(Error::Internal),
            None if self.is_exact => Err(Error::Domain),
            None => Ok(()),
        }
    }

    /// Adds the rule for a syscall that `socketcall` or `ipc` reach: one for the multiplexer, whose argument 0 is the
    /// number of the sub-call, and one for the syscall itself.
    fn add_both(
        &self,
        rules: &mut IncrementalRules,
        name: &str,
        multiplexer: &str,
        sub_call: u32,
    ) -> Result<()> {
        if self.is_exact && !self.comparisons.is_empty() {
            return Err(Error::Invalid);
        }
        let arch = rules.arch();
        let selects = Comparison::new(0, Op::Eq, u64::from(sub_call));
        let others = self.comparisons.iter().copied().filter(|test| test.arg() != 0);
        let behind: Vec<Comparison> = selects.into_iter().chain(others).collect();
        let through = arch.number(multiplexer).ok_or(Error::Internal)?;
        self.add(rules, through as i32, &behind)?;
        let direct = match arch.number(name) {
            Some(nr) => nr as i32,
            None => names::number(arch, name).ok_or(Error::Internal)?,
        };
        self.add(rules, direct, &self.comparisons)
    }

    fn add(&self, rules: &mut IncrementalRules, nr: i32, tests: &[Comparison]) -> Result<()> {
        rules.add(nr, tests, self.verdict).map_err(|_| Error::Exists)
    }
}

/// The number on an architecture of a syscall that is given by its native number.
pub(super) fn translated(arch: Arch, nr: i32) -> Result<i32> {
    let native = native().ok_or(Error::Internal)?;
    if nr == -1 || arch == native {
        return Ok(nr);
    }
    let name = names::name(native, nr).ok_or(Error::Internal)?;
    names::number(arch, name).ok_or(Error::Internal)
}

/// The number under which a priority is kept; `None` for a syscall that the architecture does not have.
pub(super) fn prioritized(arch: Arch, nr: i32) -> Result<Option<i32>> {
    let nr = translated(arch, nr)?;
    Ok(match nr {
        -1.. => Some(nr),
        _ if !arch.has_multiplexers() => None,
        -120..=-100 => arch.number("socketcall").map(|nr| nr as i32),
        -224..=-200 => arch.number("ipc").map(|nr| nr as i32),
        _ => None,
    })
}

fn is_of_multiplexer(nr: i32) -> bool {
    matches!(nr, -120..=-100 | -224..=-200)
}
