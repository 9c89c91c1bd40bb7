//! The builder of filters: ordered rules, each resolved for every architecture when it is added.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use super::definition::Filter;
use super::error::{MAX_ERRNO, RuleError, RuleErrorKind, too_large_errno};
use super::expr::Expr;
use super::syscall::{Key, Syscall};
use crate::error::{BuildError, Error, Result};
use callgate_bpf::syscalls::is_known_name;
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::template::VariableList;
use callgate_core::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// The architectures of a builder: one, or a list; both convert into it.
#[derive(Clone, Debug)]
pub struct Arches(Vec<Arch>);

impl From<Arch> for Arches {
    fn from(arch: Arch) -> Arches {
        Arches(vec![arch])
    }
}

impl<const N: usize> From<[Arch; N]> for Arches {
    fn from(arches: [Arch; N]) -> Arches {
        Arches(arches.to_vec())
    }
}

impl From<&[Arch]> for Arches {
    fn from(arches: &[Arch]) -> Arches {
        Arches(arches.to_vec())
    }
}

impl From<Vec<Arch>> for Arches {
    fn from(arches: Vec<Arch>) -> Arches {
        Arches(arches)
    }
}

impl Filter {
    /// A builder of a filter for one architecture, or for a list of them.
    ///
    /// ```
    /// use callgate::{Arch, Filter};
    ///
    /// let both = [Arch::X86_64, Arch::X86];
    /// let filter = Filter::builder(both).allow(["read", "write", "exit_group"])?.build()?;
    /// assert!(filter.policy().arches().eq(both));
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn builder(arches: impl Into<Arches>) -> FilterBuilder {
        FilterBuilder::new(arches.into())
    }
}

/// Builds a [`Filter`] from rules. [`Filter::builder`] creates it.
///
/// # Meaning
///
/// - Rules are ordered: **the first rule that matches a syscall decides**. A rule whose verdict has higher precedence than
///   that of an earlier unconditional rule for the same syscall could never apply, and is an error.
/// - A syscall that no rule matches gets the [`default`](FilterBuilder::default) verdict.
/// - A syscall of another architecture gets the verdict [`bad_arch`](FilterBuilder::bad_arch).
/// - x86-64 and x32 share an arch token; syscall numbers of x32 have the bit 0x4000_0000. With x86-64 alone, these numbers
///   get `bad_arch` regardless of the default, because otherwise a denylist could be bypassed with x32 numbers
///   ([`x32`](FilterBuilder::x32)).
/// - A name adds a rule on each architecture that has the syscall; at least one must have it. An unknown name is always
///   an error.
///
/// [`default`](FilterBuilder::default) and [`bad_arch`](FilterBuilder::bad_arch) are KILL_PROCESS unless set.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// let filter = Filter::builder(Arch::X86_64)
///     .default(Verdict::errno(1))
///     .bad_arch(Verdict::KILL_PROCESS)
///     .allow(["read", "write", "exit_group"])?
///     .allow_if("fcntl", arg("cmd").is_in([1, 3]) & arg(0).eq(3))?
///     .rule(Verdict::LOG, ["openat"])?
///     .rule_if(Verdict::errno(38), "clone3", arg("size").gt(88))?
///     .build()?;
/// assert_eq!(filter.verdict(Arch::X86_64, 257, [0; 6]), Verdict::LOG); // openat
/// assert!(filter.compile()?.len() <= 26);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder has no effect until `build` is called"]
pub struct FilterBuilder {
    sections: Vec<Section>,
    /// The verdicts of unconditional rules, by token and number.
    decided: BTreeMap<(u32, u32), Verdict>,
    arches: Vec<Arch>,
    default: Verdict,
    bad_arch: Verdict,
    x32: Option<Verdict>,
    variables: VariableList,
    /// The number of rules.
    rules: usize,
    /// An error in the architectures, which the first rule or `build` returns.
    invalid: Option<Box<Error>>,
}

impl FilterBuilder {
    pub(super) fn new(arches: Arches) -> FilterBuilder {
        let Arches(arches) = arches;
        let mut builder = FilterBuilder {
            sections: Vec::new(),
            decided: BTreeMap::new(),
            default: Verdict::KILL_PROCESS,
            bad_arch: Verdict::KILL_PROCESS,
            x32: None,
            variables: VariableList::default(),
            rules: 0,
            invalid: None,
            arches,
        };
        if let Err(error) = builder.add_sections() {
            builder.invalid = Some(Box::new(error));
        }
        builder
    }

    fn add_sections(&mut self) -> Result<()> {
        if self.arches.is_empty() {
            return Err(BuildError::NoArch.into());
        }
        for arch in self.arches.iter().copied() {
            match self.sections.iter_mut().find(|section| section.token() == arch.token()) {
                Some(section) => *section = section.clone().and_arch(arch)?,
                None => self.sections.push(Section::new(arch, Vec::new(), self.default)),
            }
        }
        // The byte order is checked before any rule is.
        Policy::new(self.sections.clone(), self.bad_arch)?;
        Ok(())
    }

    /// Sets the verdict for syscalls that no rule matches; KILL_PROCESS unless set.
    pub fn default(mut self, verdict: Verdict) -> FilterBuilder {
        self.default = verdict;
        self
    }

    /// Sets the verdict for syscalls of all other architectures; KILL_PROCESS unless set.
    pub fn bad_arch(mut self, verdict: Verdict) -> FilterBuilder {
        self.bad_arch = verdict;
        self
    }

    /// Sets the verdict for syscall numbers of x32 if the architectures include x86-64 but not x32; by default that of
    /// [`bad_arch`](FilterBuilder::bad_arch).
    ///
    /// ```
    /// use callgate::{Arch, Filter, Verdict};
    ///
    /// let read_of_x32 = 0x4000_0000;
    /// let builder = || Filter::builder(Arch::X86_64).default(Verdict::ALLOW);
    /// let filter = builder().build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, read_of_x32, [0; 6]), Verdict::KILL_PROCESS);
    /// let open = builder().x32(Verdict::ALLOW).build()?;
    /// assert_eq!(open.verdict(Arch::X86_64, read_of_x32, [0; 6]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn x32(mut self, verdict: Verdict) -> FilterBuilder {
        self.x32 = Some(verdict);
        self
    }

    /// Allows syscalls.
    ///
    /// # Errors
    /// For an unknown name, with the most similar known one; see [`rule`](FilterBuilder::rule).
    pub fn allow<S: Into<Syscall>>(
        self,
        syscalls: impl IntoIterator<Item = S>,
    ) -> Result<FilterBuilder> {
        self.rule(Verdict::ALLOW, syscalls)
    }

    /// Allows a syscall under a condition.
    ///
    /// # Errors
    /// As [`rule_if`](FilterBuilder::rule_if).
    pub fn allow_if(self, syscall: impl Into<Syscall>, condition: Expr) -> Result<FilterBuilder> {
        self.rule_if(Verdict::ALLOW, syscall, condition)
    }

    /// Denies syscalls: they fail with EPERM. For another verdict use [`rule`](FilterBuilder::rule).
    ///
    /// # Errors
    /// As [`rule`](FilterBuilder::rule).
    pub fn deny<S: Into<Syscall>>(
        self,
        syscalls: impl IntoIterator<Item = S>,
    ) -> Result<FilterBuilder> {
        self.rule(EPERM, syscalls)
    }

    /// Denies a syscall under a condition: if the condition holds, it fails with EPERM.
    ///
    /// # Errors
    /// As [`rule_if`](FilterBuilder::rule_if).
    pub fn deny_if(self, syscall: impl Into<Syscall>, condition: Expr) -> Result<FilterBuilder> {
        self.rule_if(EPERM, syscall, condition)
    }

    /// Gives syscalls a verdict.
    ///
    /// # Errors
    /// - No architecture of the builder has the name.
    /// - A number is given, but the architectures have several tokens, or the number is one of x32 without x32.
    /// - The verdict is an errno above 4095.
    /// - An earlier unconditional rule for the same syscall has a verdict of lower precedence. The earlier rule would win.
    pub fn rule<S: Into<Syscall>>(
        mut self,
        verdict: Verdict,
        syscalls: impl IntoIterator<Item = S>,
    ) -> Result<FilterBuilder> {
        self.begin_rule()?;
        for syscall in syscalls {
            self.add(verdict, &syscall.into(), &Expr::always())?;
        }
        Ok(self)
    }

    /// Gives a syscall a verdict under a condition.
    ///
    /// # Errors
    /// As [`rule`](FilterBuilder::rule); and if the syscall does not have an argument, a value does not fit, or the
    /// syscall can also be called through `socketcall(2)` or `ipc(2)`.
    pub fn rule_if(
        mut self,
        verdict: Verdict,
        syscall: impl Into<Syscall>,
        condition: Expr,
    ) -> Result<FilterBuilder> {
        self.begin_rule()?;
        self.add(verdict, &syscall.into(), &condition)?;
        Ok(self)
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// If there is no architecture, one occurs twice, their byte orders differ, [`x32`](FilterBuilder::x32) has no
    /// effect, or the verdict of `default`, `bad_arch` or `x32` is an errno above 4095, which the kernel would replace.
    pub fn build(self) -> Result<Filter> {
        if let Some(error) = self.invalid {
            return Err(*error);
        }
        let others =
            [("default", Some(self.default)), ("bad_arch", Some(self.bad_arch)), ("x32", self.x32)];
        for (method, verdict) in others {
            if let Some(given) = verdict.and_then(too_large_errno) {
                return Err(BuildError::Errno { method, given }.into());
            }
        }
        let mut sections = self.sections;
        let mut guarded = false;
        for section in &mut sections {
            section.default = self.default;
            let syscalls = section.other_abi();
            if syscalls.is_empty() {
                continue;
            }
            let is_x32 = syscalls.contains(X32_SYSCALL_BIT);
            guarded |= is_x32;
            let verdict = self.x32.filter(|_| is_x32).unwrap_or(self.bad_arch);
            let guard = Rule { syscalls, when: Condition::always(), verdict };
            section.rules.insert(0, guard);
        }
        if self.x32.is_some() && !guarded {
            return Err(BuildError::NoX32 { arches: self.arches }.into());
        }
        let variables = self.variables.into_variables();
        Ok(Filter::from(Policy::with_variables(sections, self.bad_arch, variables)?))
    }

    fn begin_rule(&mut self) -> Result<()> {
        self.rules += 1;
        match self.invalid.take() {
            Some(error) => Err(*error),
            None => Ok(()),
        }
    }

    fn error(&self, syscall: &Syscall, arch: Option<Arch>, kind: RuleErrorKind) -> Error {
        let syscall = match &syscall.key {
            Key::Name(name) => name.clone(),
            Key::Number(number) => number.to_string(),
            Key::On(_, number) => number.to_string(),
        };
        RuleError { number: self.rules, syscall, arch, kind: Box::new(kind) }.into()
    }

    /// Adds a rule on every architecture that has the syscall.
    fn add(&mut self, verdict: Verdict, syscall: &Syscall, condition: &Expr) -> Result<()> {
        if let Some(given) = too_large_errno(verdict) {
            return Err(self.error(
                syscall,
                None,
                RuleErrorKind::Errno { given, limit: MAX_ERRNO },
            ));
        }
        match &syscall.key {
            Key::Name(name) => self.add_name(verdict, syscall, name, condition),
            Key::Number(given) => {
                let number = u32::try_from(*given).map_err(|_| {
                    self.error(syscall, None, RuleErrorKind::NotASyscallNumber { given: *given })
                })?;
                let [section] = self.sections.as_slice() else {
                    let arches = self.arches.clone();
                    return Err(self.error(
                        syscall,
                        None,
                        RuleErrorKind::AmbiguousNumber { arches },
                    ));
                };
                // The ABI of the number, if the section has it; otherwise the first ABI of the section.
                let abi = Arch::of_syscall(section.token(), number);
                let abi = abi.filter(|abi| section.arches().any(|arch| arch == *abi));
                let Some(abi) = abi.or_else(|| section.arches().next()) else { return Ok(()) };
                self.add_number(verdict, syscall, abi, number, condition)
            }
            Key::On(arch, number) if self.arches.contains(arch) => {
                self.add_number(verdict, syscall, *arch, *number, condition)
            }
            Key::On(arch, _) => {
                let kind = RuleErrorKind::ForeignArch { arch: *arch, arches: self.arches.clone() };
                Err(self.error(syscall, None, kind))
            }
        }
    }

    fn add_name(
        &mut self,
        verdict: Verdict,
        syscall: &Syscall,
        name: &str,
        condition: &Expr,
    ) -> Result<()> {
        if !is_known_name(name) {
            return Err(self.error(syscall, None, RuleErrorKind::UnknownName));
        }
        let mut found = false;
        for arch in self.arches.clone() {
            if let Some(number) = arch.number(name) {
                found = true;
                let when = self.condition(syscall, arch, Some(name), condition)?;
                self.push(verdict, syscall, arch, number, when)?;
            }
            let Some((via, sub_call)) = arch.multiplexed(name).filter(|_| !syscall.direct) else {
                continue;
            };
            if !condition.is_always() {
                return Err(self.error(
                    syscall,
                    Some(arch),
                    RuleErrorKind::ThroughMultiplexer { via },
                ));
            }
            if let (Some(number), Some(field)) = (arch.number(via), Field::arg_low(0)) {
                found = true;
                // The high half of the first argument of ipc(2) is a version.
                let mask = if via == "ipc" { 0xffff } else { field.full_mask() };
                let when = Condition::test(Test::masked_eq(field, mask, sub_call.into()));
                self.push(verdict, syscall, arch, number, when)?;
            }
        }
        if found {
            return Ok(());
        }
        let has = |arch: &Arch| arch.number(name).is_some() || arch.multiplexed(name).is_some();
        let others = Arch::ALL.iter().copied().filter(has).collect();
        Err(self.error(
            syscall,
            None,
            RuleErrorKind::OnNoArch { arches: self.arches.clone(), others },
        ))
    }

    fn add_number(
        &mut self,
        verdict: Verdict,
        syscall: &Syscall,
        arch: Arch,
        number: u32,
        condition: &Expr,
    ) -> Result<()> {
        let when = self.condition(syscall, arch, arch.syscall_name(number), condition)?;
        self.push(verdict, syscall, arch, number, when)
    }

    fn condition(
        &mut self,
        syscall: &Syscall,
        arch: Arch,
        name: Option<&str>,
        condition: &Expr,
    ) -> Result<Condition> {
        condition
            .resolve(arch, name, &mut self.variables)
            .map_err(|kind| self.error(syscall, Some(arch), kind))
    }

    /// Appends a rule to the section of the architecture.
    fn push(
        &mut self,
        verdict: Verdict,
        syscall: &Syscall,
        arch: Arch,
        number: u32,
        when: Condition,
    ) -> Result<()> {
        let token = arch.token();
        let Some(section) = self.sections.iter().position(|section| section.token() == token)
        else {
            return Err(self.error(
                syscall,
                Some(arch),
                RuleErrorKind::Defect("a rule has no section"),
            ));
        };
        let is_foreign = |section: &Section| section.other_abi().contains(number);
        if self.sections.get(section).is_some_and(is_foreign) {
            let abi = if arch == Arch::X32 { Arch::X86_64 } else { Arch::X32 };
            return Err(self.error(syscall, Some(arch), RuleErrorKind::OtherAbi { abi }));
        }
        match self.decided.get(&(token, number)).copied() {
            Some(earlier) if verdict.precedence() > earlier.precedence() => {
                return Err(self.error(
                    syscall,
                    Some(arch),
                    RuleErrorKind::Decided { earlier, verdict },
                ));
            }
            // An earlier rule decides, and its verdict has at least the same precedence.
            Some(_) => return Ok(()),
            None => {}
        }
        if when.is_always() {
            self.decided.insert((token, number), verdict);
        }
        let rule = Rule { syscalls: SyscallSet::one(number), when, verdict };
        if let Some(section) = self.sections.get_mut(section) {
            section.rules.push(rule);
        }
        Ok(())
    }
}

/// The verdict for denied syscalls.
const EPERM: Verdict = Verdict::errno(1);
