//! Stacks: several filters on one thread, and one program with the same meaning.
//!
//! A thread may install several filters, and the kernel runs all of them for every syscall, newest first. It
//! starts with ALLOW, and the verdict of a filter replaces the current one only if its action has higher precedence
//! ([`Verdict::of_stack`](crate::Verdict::of_stack)). So if actions are equal, the data of the newest filter apply, and
//! data of ALLOW never do. [`Stack::run`] computes this for one syscall; [`merge`] makes a program of it.
//!
//! **Proof.** Each iteration of that loop is computed for all syscalls at once in the diagram
//! ([`Store::highest_precedence`](callgate_core::diagram::Store::highest_precedence)). As in every compilation, symbolic
//! execution of the generated program must yield the same node. A second pass checks the iterations: it enumerates
//! every combination of verdicts of the current function, the next filter and the result for one syscall, and compares
//! it with the loop. For each combination, one concrete syscall is also evaluated without the diagram: the policies
//! by their rules and the programs in the interpreter, in the kernel's order, against the merged program in the
//! interpreter.
//!
//! **What does not merge** ([`Stack::new`], [`merge`]): properties that the kernel keeps per filter. A notification
//! goes to the listener of the filter that requested it; the LOG flag applies to the verdicts of its own filter;
//! TSYNC determines which threads have which filters. SPEC_ALLOW merges: a single filter without it enables the
//! mitigation permanently. A program does not record its flags; it is assumed to have none.
//!
//! **Limits.** A merged program is installed at once, so the verdicts of older filters for the syscalls that install the
//! newer ones do not apply. The precedence of actions is that of Linux 4.14 and later; before, there was no
//! KILL_PROCESS.
//!
//! Sources: `kernel/seccomp.c`: `seccomp_run_filters` and `ACTION_ONLY` (the loop),
//! `__seccomp_filter` and `seccomp_log` (which LOG flag applies), `seccomp_do_user_notification` (which
//! listener), `seccomp_sync_threads` (TSYNC), `seccomp_assign_mode` (SPEC_ALLOW),
//! `seccomp_set_mode_filter` (WAIT_KILLABLE_RECV without a listener is EINVAL).

use callgate_bpf::FilterFlags;
use callgate_bpf::advice::Advice;
use callgate_core::{
    Arch, Created, Endian, Meaning, MeaningError, MeaningErrorKind, SeccompData, Verdict,
};

use crate::compile::{self, CompileError, Compiled, Options, Parts, Phase};
use crate::description::Description;

/// A stack merged into one program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Merged {
    /// The program, proved, and its figures.
    pub compiled: Compiled,
    /// The number of concrete syscalls for which the stack and the program were compared: one for each
    /// combination of verdicts.
    pub syscalls_compared: usize,
}

/// Merges a stack into one program with the same verdict, including its data, for every syscall. The syscalls of `arches`
/// have weights.
///
/// # Errors
/// If a filter notifies a listener; and as [`compile::compile`].
pub fn merge(stack: &Stack<'_>, arches: &[Arch], options: &Options) -> Result<Merged, StackError> {
    merge_observed(stack, arches, options, &mut |_| ())
}

/// As [`merge`]; `observe` is called at the end of each phase of the compilation.
///
/// # Errors
/// As [`merge`].
pub fn merge_observed(
    stack: &Stack<'_>,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Merged, StackError> {
    let mut parts = vec![Parts::default(); stack.filters.len()];
    let mut created = |one: Created| {
        if let Some(parts) = parts.get_mut(one.operand) {
            parts.add(one);
        }
    };
    let filters = stack.filters.iter().map(Description::spec).collect();
    let meaning = Meaning::of_stack(filters, options.budget, &mut created);
    let mut meaning = meaning.map_err(|error| refused(error, parts))?;
    let compiled = compile::generate(&mut meaning, arches, options, &|| None, observe)?;
    Ok(Merged { compiled, syscalls_compared: meaning.examples() })
}

/// The error of a meaning; if a filter needs too many nodes, it names the syscalls that need most.
fn refused(MeaningError { operand, kind }: MeaningError, mut parts: Vec<Parts>) -> StackError {
    if let MeaningErrorKind::Notifies(verdict) = kind {
        return StackError { filter: operand, kind: StackErrorKind::Notifies(verdict) };
    }
    let own = operand.filter(|at| *at < parts.len()).map(|at| parts.swap_remove(at));
    let error = own.unwrap_or_default().named(CompileError::from(kind));
    StackError { filter: operand, kind: StackErrorKind::Compile(error) }
}

/// Filters installed on top of each other. There is at least one, all have the same byte order, and a single set of flags
/// fits all of them.
#[derive(Clone, Debug)]
pub struct Stack<'a> {
    /// The oldest first.
    filters: Vec<Description<'a>>,
    endian: Endian,
    flags: FilterFlags,
}

impl<'a> Stack<'a> {
    /// A stack of these filters, the oldest first.
    ///
    /// # Errors
    /// If there is no filter, if their byte orders differ, or if no single filter can replace them: one has a listener, or
    /// only some have a flag that applies to a single filter.
    pub fn new(filters: Vec<Description<'a>>) -> Result<Stack<'a>, StackError> {
        let (Some(oldest), Some(newest)) = (filters.first(), filters.last()) else {
            return Err(StackError { filter: None, kind: StackErrorKind::Empty });
        };
        let (endian, last) = (oldest.endian(), newest.flags);
        let unlogged = filters.iter().position(|filter| !filter.flags.contains(FilterFlags::LOG));
        let kind = |filter: &Description<'_>| match (filter.flags, unlogged) {
            _ if filter.endian() != endian => {
                Some(StackErrorKind::ByteOrder { given: filter.endian() })
            }
            _ if filter.listener => Some(StackErrorKind::Listener),
            (flags, _) if flags.contains(FilterFlags::WAIT_KILLABLE_RECV) => {
                Some(StackErrorKind::WaitKillable)
            }
            (flags, Some(without)) if flags.contains(FilterFlags::LOG) => {
                Some(StackErrorKind::Log { without })
            }
            (flags, _)
                if flags.contains(FilterFlags::TSYNC) && !last.contains(FilterFlags::TSYNC) =>
            {
                Some(StackErrorKind::Tsync)
            }
            _ => None,
        };
        let refused = filters.iter().enumerate().find_map(|(at, filter)| Some((at, kind(filter)?)));
        if let Some((at, kind)) = refused {
            return Err(StackError { filter: Some(at), kind });
        }
        let has_all = |flag| filters.iter().all(|filter| filter.flags.contains(flag));
        let mut flags = FilterFlags::NONE;
        for (holds, flag) in [
            (last.contains(FilterFlags::TSYNC), FilterFlags::TSYNC),
            (has_all(FilterFlags::LOG), FilterFlags::LOG),
            (has_all(FilterFlags::SPEC_ALLOW), FilterFlags::SPEC_ALLOW),
        ] {
            if holds {
                flags |= flag;
            }
        }
        Ok(Stack { filters, endian, flags })
    }

    /// The byte order of the machines that the filters are for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The flags for the installation of the merged filter.
    pub fn flags(&self) -> FilterFlags {
        self.flags
    }

    /// The kernel's verdict for a syscall: it runs every filter, the newest first, and keeps the first verdict with the
    /// highest precedence. The proof of a merged program has the same
    /// definition ([`Spec::run`](callgate_core::Spec::run)).
    ///
    /// ```
    /// use callgate_core::{Insn, Op, Program};
    /// use callgate::stack::Stack;
    /// use callgate::{Description, Endian, SeccompData, Verdict};
    ///
    /// let filter = |verdict: Verdict| Program::new(vec![Insn::new(Op::RetK, verdict.0)]);
    /// let (older, newer) = (filter(Verdict::errno(1))?, filter(Verdict::errno(38))?);
    /// let filters = [&older, &newer].map(|filter| Description::program(filter, Endian::Little));
    /// let stack = Stack::new(filters.to_vec())?;
    /// assert_eq!(stack.run(&SeccompData::default()), Verdict::errno(38), "the data of the newer filter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.filters.iter().rev().map(|filter| filter.run(data)))
    }
}

/// The error for a stack that cannot be merged.
#[derive(Clone, Debug, PartialEq)]
pub struct StackError {
    filter: Option<usize>,
    kind: StackErrorKind,
}

#[derive(Clone, Debug, PartialEq)]
enum StackErrorKind {
    Empty,
    ByteOrder { given: Endian },
    Listener,
    Notifies(Verdict),
    WaitKillable,
    Log { without: usize },
    Tsync,
    Compile(CompileError),
}

impl StackError {
    /// The index of the filter, 0 for the oldest; `None` if the error concerns all filters.
    pub fn filter(&self) -> Option<usize> {
        self.filter
    }

    /// How to fix it.
    pub fn help(&self) -> Option<String> {
        Some(match &self.kind {
            StackErrorKind::Empty => "give at least one filter, the oldest first".to_owned(),
            StackErrorKind::ByteOrder { .. } => Advice::OneByteOrder.to_string(),
            StackErrorKind::Listener
            | StackErrorKind::Notifies(_)
            | StackErrorKind::WaitKillable => {
                "merge the other filters, and install this one separately".to_owned()
            }
            StackErrorKind::Log { .. } => {
                "merge filters that all have the flag, or none of them".to_owned()
            }
            StackErrorKind::Tsync => {
                "give the flag to the newest filter as well, or leave it out".to_owned()
            }
            StackErrorKind::Compile(error) => return error.help(),
        })
    }

    /// The advice that interfaces word in their own way, if [`StackError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        matches!(self.kind, StackErrorKind::ByteOrder { .. }).then_some(Advice::OneByteOrder)
    }

    /// [`StackError::help`]; or how to give values, in the words of the caller, if a filter has variables.
    pub fn help_or_values(&self, give_values: &str) -> Option<String> {
        match &self.kind {
            StackErrorKind::Compile(error) => error.help_or_values(give_values),
            _ => self.help(),
        }
    }
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            StackErrorKind::Empty => f.write_str("the stack has no filters"),
            StackErrorKind::ByteOrder { given } => {
                let (own, others) = match given {
                    Endian::Big => ("big-endian", "little-endian"),
                    Endian::Little => ("little-endian", "big-endian"),
                };
                write!(
                    f,
                    "cannot be merged: it is for {own} machines, and the filters before it are for \
                     {others} machines"
                )
            }
            StackErrorKind::Listener => f.write_str(
                "cannot be merged: it has a listener (`listenerPath`), and the kernel sends \
                 notifications of a filter only to the listener of that filter",
            ),
            StackErrorKind::Notifies(verdict) => write!(
                f,
                "cannot be merged: it notifies a listener ({verdict}), and the kernel sends \
                 notifications of a filter only to the listener of that filter"
            ),
            StackErrorKind::WaitKillable => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which applies \
                 only to the listener of that filter",
            ),
            StackErrorKind::Log { without } => write!(
                f,
                "cannot be merged: it has SECCOMP_FILTER_FLAG_LOG, but filter {} of the stack does \
                 not, and the kernel logs only the verdicts of filters with the flag",
                without + 1
            ),
            StackErrorKind::Tsync => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_TSYNC, but the newest filter does not, \
                 so the other threads have only a part of the stack",
            ),
            StackErrorKind::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StackError {
    /// The error of the compilation, which has the same message.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            StackErrorKind::Compile(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CompileError> for StackError {
    fn from(error: CompileError) -> StackError {
        StackError { filter: None, kind: StackErrorKind::Compile(error) }
    }
}

#[cfg(test)]
mod tests;
