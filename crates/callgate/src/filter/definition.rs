//! The filter: rules that are ready to be compiled.

use crate::compile::{Compiled, Options, compile, compile_template};
use crate::error::Result;
use callgate_core::policy::Policy;
use callgate_core::template::{Template, ValueError};
use callgate_core::{Arch, Proved, SeccompData, Verdict};

/// A seccomp filter as rules, ready to be compiled.
///
/// [`Filter::builder`] builds one from rules; a [`Policy`] from a reader of profiles converts into one.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// let filter = Filter::builder(Arch::X86_64)
///     .default(Verdict::errno(1)) // EPERM
///     .allow(["read", "write", "exit_group"])?
///     .allow_if("fcntl", arg("cmd").is_in([1, 3]) & arg(0).eq(3))? // F_GETFD, F_GETFL of fd 3
///     .build()?;
/// let program = filter.compile()?; // proved
/// assert!(program.len() < 20);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    policy: Policy,
}

impl Filter {
    /// The rules in the form that all parts of this library use.
    ///
    /// ```
    /// use callgate::{Arch, Filter, Verdict};
    /// let filter = Filter::builder(Arch::Aarch64).build()?;
    /// assert_eq!(filter.policy().bad_arch(), Verdict::KILL_PROCESS);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Compiles the filter to a program, which is proved equal to it.
    ///
    /// ```
    /// use callgate::{Arch, Filter};
    /// let program = Filter::builder(Arch::X86_64).allow(["read"])?.build()?.compile()?;
    /// println!("{} instructions", program.len());
    /// # Ok::<(), callgate::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the filter is too complex for the default budget, or its program is too long for the kernel.
    pub fn compile(&self) -> Result<Proved> {
        Ok(self.compile_with(&Options::default())?.program)
    }

    /// Compiles with options: cost model of the kernel, aim, weights, budget.
    ///
    /// ```
    /// use callgate_codegen::Aim;
    /// use callgate::{Arch, Filter, Options};
    ///
    /// let filter = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
    /// let compiled = filter.compile_with(&Options { aim: Aim::Size, ..Options::default() })?;
    /// assert_eq!(compiled.stats.constant_allow, 2);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::compile`], with the budget of the options.
    pub fn compile_with(&self, options: &Options) -> Result<Compiled> {
        Ok(compile(&self.policy, options)?)
    }

    /// Compiles a filter with variables ([`var`](crate::var)) to a program that is proved equal to it for all values.
    ///
    /// ```
    /// use callgate::{Arch, Filter, arg, var};
    ///
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("read", arg("fd").eq(var("input")))?.build()?;
    /// let template = filter.compile_template()?;
    /// assert_eq!(template.variables()[0].name(), "input");
    /// let program = template.instantiate(&[7])?;
    /// assert_eq!(program, filter.given(&[7])?.compile()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::compile`].
    pub fn compile_template(&self) -> Result<Proved<Template>> {
        Ok(compile_template(&self.policy, &Options::default())?.template)
    }

    /// The filter without variables, whose values are these, in the order of the variables of the
    /// [policy](Filter::policy).
    ///
    /// # Errors
    /// If the number of values is not that of the variables, or a value does not fit.
    pub fn given(&self, values: &[u64]) -> std::result::Result<Filter, ValueError> {
        Ok(Filter::from(self.policy.given(values)?))
    }

    /// The verdict for a syscall, by evaluation of the rules. The instruction pointer is 0, and so are all variables.
    ///
    /// ```
    /// use callgate::{Arch, Filter, Verdict};
    /// let filter = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 0, [0; 6]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn verdict(&self, arch: Arch, nr: u32, args: [u64; 6]) -> Verdict {
        let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
        self.policy.evaluate(&data)
    }
}

impl From<Policy> for Filter {
    fn from(policy: Policy) -> Filter {
        Filter { policy }
    }
}

impl From<Filter> for Policy {
    fn from(filter: Filter) -> Policy {
        filter.policy
    }
}
