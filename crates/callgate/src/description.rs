//! Descriptions: filters as policies or programs, for operations that accept both.

use crate::compile::{self, CompileError};
use crate::error::{BuildError, Result};
use crate::explain::{Explanation, explain};
use crate::filter::Filter;
use callgate_bpf::FilterFlags;
use callgate_codegen::query::{Difference, differences};
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, FilterSpec, LongProgram, SeccompData, Verdict};
#[cfg(feature = "sources")]
use callgate_formats::Profile;

/// A filter as a policy or as a program, with the properties of its installation.
///
/// [`diff`], [`Description::explain`] and [`stack`](crate::stack) accept both forms. A `&Filter`, a
/// `&Policy` and a `&Profile` convert into it; a program needs the byte order of its machine.
///
/// ```
/// use callgate::{Arch, Description, Endian, Filter, diff};
///
/// let filter = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// let program = filter.compile()?;
/// assert!(diff(&filter, Description::program(&program, Endian::Little), 1)?.is_empty());
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    form: Form<'a>,
    pub(crate) flags: FilterFlags,
    pub(crate) listener: bool,
    /// The profile with this policy.
    #[cfg(feature = "sources")]
    pub(crate) profile: Option<&'a Profile>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Policy(&'a Policy),
    Program(&'a LongProgram, Endian),
}

impl<'a> Description<'a> {
    /// The filter of a policy, without flags.
    pub fn policy(policy: &'a Policy) -> Description<'a> {
        Description::new(Form::Policy(policy))
    }

    /// A program for machines of this byte order, without flags.
    pub fn program(program: &'a LongProgram, endian: Endian) -> Description<'a> {
        Description::new(Form::Program(program, endian))
    }

    fn new(form: Form<'a>) -> Description<'a> {
        Description {
            form,
            flags: FilterFlags::default(),
            listener: false,
            #[cfg(feature = "sources")]
            profile: None,
        }
    }

    /// The filter of a profile, with its flags and its listener.
    #[cfg(feature = "sources")]
    pub fn profile(profile: &'a Profile) -> Description<'a> {
        let listener = profile.listener.is_some();
        let (flags, own) = (profile.flags, Some(profile));
        Description { flags, listener, profile: own, ..Description::policy(&profile.policy) }
    }

    /// The same filter with these flags.
    #[must_use]
    pub fn with_flags(self, flags: FilterFlags) -> Description<'a> {
        Description { flags, ..self }
    }

    /// The same filter, which has a listener for notifications or not.
    #[must_use]
    pub fn with_listener(self, listener: bool) -> Description<'a> {
        Description { listener, ..self }
    }

    /// The byte order of the machines that the filter is for.
    pub fn endian(&self) -> Endian {
        match self.form {
            Form::Policy(policy) => policy.endian(),
            Form::Program(_, endian) => endian,
        }
    }

    /// What a program must compute to be this filter.
    pub(crate) fn spec(&self) -> FilterSpec {
        match self.form {
            Form::Policy(policy) => FilterSpec::Policy(policy.clone()),
            Form::Program(program, endian) => FilterSpec::Program(program.clone(), endian),
        }
    }

    /// The verdict for a syscall: a policy evaluates its rules, a program runs in the interpreter.
    pub fn run(&self, data: &SeccompData) -> Verdict {
        match self.form {
            Form::Policy(policy) => policy.evaluate(data),
            Form::Program(program, endian) => program.run(data, endian).verdict,
        }
    }

    /// Lists what the filter does with each syscall of these architectures.
    ///
    /// ```
    /// use callgate_core::{Insn, Op, Program};
    /// use callgate::{Arch, Description, Endian, Verdict};
    ///
    /// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
    /// let explanation = Description::program(&program, Endian::Little).explain(&[Arch::X86_64])?;
    /// assert_eq!(explanation.other_arches, Some(Verdict::ALLOW));
    /// # Ok::<(), callgate::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the filter is too complex for the default budget.
    pub fn explain(&self, arches: &[Arch]) -> Result<Explanation> {
        let mut store = Store::default();
        let func = self.diagram(&mut store)?;
        Ok(explain(&store, func, arches))
    }

    /// The policy; `None` for a program.
    pub(crate) fn as_policy(&self) -> Option<&'a Policy> {
        match self.form {
            Form::Policy(policy) => Some(policy),
            Form::Program(..) => None,
        }
    }

    /// The architectures of a policy; none for a program.
    #[cfg(feature = "sources")]
    pub(crate) fn arches(&self) -> Vec<Arch> {
        match self.form {
            Form::Policy(policy) => policy.arches().collect(),
            Form::Program(..) => Vec::new(),
        }
    }

    /// Compiles a policy, or a program anew.
    #[cfg(feature = "sources")]
    pub(crate) fn compile(
        &self,
        arches: &[Arch],
        options: &compile::Options,
    ) -> Result<compile::Compiled, CompileError> {
        match self.form {
            Form::Policy(policy) => compile::compile(policy, options),
            Form::Program(program, endian) => compile::recompile(program, endian, arches, options),
        }
    }

    pub(crate) fn diagram(&self, store: &mut Store) -> Result<Func, CompileError> {
        match self.form {
            Form::Policy(policy) => compile::diagram(store, policy),
            Form::Program(program, endian) => Ok(store.program(program, endian)?),
        }
    }
}

impl<'a> From<&'a Policy> for Description<'a> {
    fn from(policy: &'a Policy) -> Description<'a> {
        Description::policy(policy)
    }
}

impl<'a> From<&'a Filter> for Description<'a> {
    fn from(filter: &'a Filter) -> Description<'a> {
        Description::policy(filter.policy())
    }
}

#[cfg(feature = "sources")]
impl<'a> From<&'a Profile> for Description<'a> {
    fn from(profile: &'a Profile) -> Description<'a> {
        Description::profile(profile)
    }
}

/// Compares two filters for all syscalls, arguments and instruction pointers. The result is empty if they are equal;
/// otherwise it has at most `limit` groups of syscalls, each with a witness.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, diff};
///
/// let loose = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// let strict = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
/// let found = diff(&loose, &strict, 10)?;
/// assert_eq!((found.len(), found[0].data.nr), (1, 1)); // write
/// assert_eq!((found[0].left, found[0].right), (Verdict::ALLOW, Verdict::KILL_PROCESS));
/// # Ok::<(), callgate::Error>(())
/// ```
///
/// # Errors
/// If their byte orders differ, or if they are too complex for the default budget.
pub fn diff<'a, 'b>(
    left: impl Into<Description<'a>>,
    right: impl Into<Description<'b>>,
    limit: usize,
) -> Result<Vec<Difference>> {
    let (left, right) = (left.into(), right.into());
    if left.endian() != right.endian() {
        return Err(BuildError::ByteOrders.into());
    }
    let mut store = Store::default();
    let (a, b) = (left.diagram(&mut store)?, right.diagram(&mut store)?);
    if a == b {
        return Ok(Vec::new());
    }
    let found = differences(&store, a, b, limit.max(1))?;
    // Different nodes have a witness, or it is an error that none was found.
    match found.is_empty() {
        true => Err(DiagramError::defect("two different functions have no witness").into()),
        false => Ok(found),
    }
}
