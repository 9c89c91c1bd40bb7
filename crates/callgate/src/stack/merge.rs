//! A stack of filters, its meaning, and one program with this meaning.

use callgate_bpf::FilterFlags;
use callgate_core::{
    Arch, Created, Endian, Meaning, MeaningError, MeaningErrorKind, SeccompData, Verdict,
};

use super::error::{StackError, StackErrorKind};
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
