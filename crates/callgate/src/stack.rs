//! Stacks: several filters on one thread, and the one program that means the same.
//!
//! A thread may install filter after filter, and the kernel runs all of them for every call: newest
//! first, beginning with ALLOW, and a filter's verdict replaces the one kept so far only when its
//! action is more severe ([`Verdict::of_stack`]). So among equal actions the data of the newest filter
//! count, and data of ALLOW never do. [`Stack::run`] does it for one call; [`merge`] makes a program
//! of it.
//!
//! **Proof.** Each turn of that loop is done for all calls at once in the diagram
//! ([`Store::highest_precedence`]), and the program made of the result is executed symbolically and gives the
//! same node, as in every compilation. The turns themselves are checked in a second pass that goes
//! through all calls: every combination of verdicts that the kept function, the next filter and the
//! result have for the same call must be what the loop does with them. For each of these
//! combinations one concrete call is run both ways, from the sources to the merged program: every
//! policy by its rules and every program in the interpreter, one after the other as the kernel does,
//! against the merged program in the interpreter.
//!
//! **What does not merge** ([`Stack::new`], [`merge`]): what the kernel keeps per filter beside its
//! program. A notification goes to the listener of the filter that asked for it; the LOG flag logs
//! the verdicts of its own filter; TSYNC decides which threads have which filters.
//! SPEC_ALLOW merges: one filter without it is enough to switch the mitigation on, for good.
//! A program does not say with which flags it is installed; it is taken to have none.
//!
//! **Limits.** A merged program is installed at once, so what the older filters say about the calls
//! that install the newer ones is not part of it. The order of actions is that of Linux 4.14 and
//! later; before, there was no KILL_PROCESS.
//!
//! Sources: `kernel/seccomp.c`: `seccomp_run_filters` and `ACTION_ONLY` (the loop),
//! `__seccomp_filter` and `seccomp_log` (whose LOG flag counts), `seccomp_do_user_notification` (whose
//! listener), `seccomp_sync_threads` (TSYNC), `seccomp_assign_mode` (SPEC_ALLOW),
//! `seccomp_set_mode_filter` (WAIT_KILLABLE_RECV without a listener is EINVAL).

use crate::compile::{self, CompileError, Compiled, Options, Phase};
use crate::description::Description;
use callgate_bpf::FilterFlags;

use callgate_bpf::data::{Endian, SeccompData};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::{Action, Verdict};
use callgate_proof::Meaning;
use callgate_proof::diagram::{DiagramError, Func, Store};

/// Filters on top of each other. There is at least one, all are for machines of one byte order, and
/// there is one set of flags with which all could be installed as one.
#[derive(Clone, Debug)]
pub struct Stack<'a> {
    /// The oldest first.
    filters: Vec<Description<'a>>,
    endian: Endian,
    flags: FilterFlags,
}

/// Why a stack does not become one program.
#[derive(Clone, Debug, PartialEq)]
pub struct StackError {
    filter: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
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
    /// The filter that it is about, counted from 0 for the oldest; `None` when it is about all.
    pub fn filter(&self) -> Option<usize> {
        self.filter
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match &self.kind {
            Kind::Empty => "name the filters, the oldest first".to_owned(),
            Kind::ByteOrder { .. } => {
                "give sources for one machine; --arch and --endian say how they are read".to_owned()
            }
            Kind::Listener | Kind::Notifies(_) | Kind::WaitKillable => {
                "merge the other filters, and install this one as it is".to_owned()
            }
            Kind::Log { .. } => "merge filters that all have the flag, or none of them".to_owned(),
            Kind::Tsync => "give the flag to the newest filter as well, or leave it out".to_owned(),
            Kind::Compile(error) => return error.help(),
        })
    }
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Empty => f.write_str("a stack without filters has no meaning"),
            Kind::ByteOrder { given } => {
                let (own, others) = match given {
                    Endian::Big => ("big-endian", "little-endian"),
                    Endian::Little => ("little-endian", "big-endian"),
                };
                write!(
                    f,
                    "cannot be merged: it is for {own} machines, and the filters before it for \
                     {others} ones"
                )
            }
            Kind::Listener => f.write_str(
                "cannot be merged: it has a listener (`listenerPath`), and the kernel asks the \
                 listener of a filter about the calls of that filter alone",
            ),
            Kind::Notifies(verdict) => write!(
                f,
                "cannot be merged: it leaves calls to a listener ({verdict}), and the kernel asks \
                 the listener of a filter about the calls of that filter alone"
            ),
            Kind::WaitKillable => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which is about \
                 the listener of that filter alone",
            ),
            Kind::Log { without } => write!(
                f,
                "cannot be merged: it has SECCOMP_FILTER_FLAG_LOG and filter {} of the stack has \
                 not, but the kernel logs the verdicts of the filters with the flag alone",
                without + 1
            ),
            Kind::Tsync => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_TSYNC and the newest filter has not, \
                 so that the other threads have a part of the stack only",
            ),
            Kind::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StackError {
    /// The error of the compilation, whose message is this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Compile(error) => Some(error),
            _ => None,
        }
    }
}

impl<'a> Stack<'a> {
    /// A stack of these filters, the oldest first.
    ///
    /// # Errors
    /// When there is none, when their byte orders differ, and when they could not be installed as one:
    /// one has a listener, or some have flags that the others would have to have too.
    pub fn new(filters: Vec<Description<'a>>) -> Result<Stack<'a>, StackError> {
        let (Some(oldest), Some(newest)) = (filters.first(), filters.last()) else {
            return Err(StackError { filter: None, kind: Kind::Empty });
        };
        let (endian, last) = (oldest.endian(), newest.flags);
        let unlogged = filters.iter().position(|filter| !filter.flags.contains(FilterFlags::LOG));
        let kind = |filter: &Description<'_>| match (filter.flags, unlogged) {
            _ if filter.endian() != endian => Some(Kind::ByteOrder { given: filter.endian() }),
            _ if filter.listener => Some(Kind::Listener),
            (flags, _) if flags.contains(FilterFlags::WAIT_KILLABLE_RECV) => {
                Some(Kind::WaitKillable)
            }
            (flags, Some(without)) if flags.contains(FilterFlags::LOG) => {
                Some(Kind::Log { without })
            }
            (flags, _)
                if flags.contains(FilterFlags::TSYNC) && !last.contains(FilterFlags::TSYNC) =>
            {
                Some(Kind::Tsync)
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

    /// The byte order of the machines that it is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The flags with which one filter has to be installed in place of all.
    pub fn flags(&self) -> FilterFlags {
        self.flags
    }

    /// What the kernel makes of a call: it runs every filter, the newest first, and keeps the first of
    /// the most severe verdicts. This is the definition of what a stack means, against which a merged
    /// program is checked.
    ///
    /// ```
    /// use callgate::bpf::{Insn, Op, Program};
    /// use callgate::stack::Stack;
    /// use callgate::{Description, Endian, SeccompData, Verdict};
    ///
    /// let filter = |verdict: Verdict| Program::new(vec![Insn::new(Op::RetK, verdict.0)]);
    /// let (older, newer) = (filter(Verdict::errno(1))?, filter(Verdict::errno(38))?);
    /// let filters = [&older, &newer].map(|filter| Description::program(filter, Endian::Little));
    /// let stack = Stack::new(filters.to_vec())?;
    /// assert_eq!(stack.run(&SeccompData::default()), Verdict::errno(38), "the newer one's data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.filters.iter().rev().map(|filter| filter.run(data)))
    }
}

/// A stack as one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The program, proved, and its figures.
    pub compiled: Compiled,
    /// How many concrete calls were run through both the stack and the program: one for each
    /// combination of verdicts that meet.
    pub calls_run: usize,
}

/// Merges a stack into one program with the same verdict for every call, its data included. Numbers
/// are weighed by the calls of `arches`.
///
/// # Errors
/// When a filter leaves calls to a listener; and as [`compile::compile`].
pub fn merge(stack: &Stack<'_>, arches: &[Arch], options: &Options) -> Result<Merged, StackError> {
    merge_observed(stack, arches, options, &mut |_| ())
}

/// The same as [`merge`]; `observe` is told the end of each phase of the compilation.
///
/// # Errors
/// As [`merge`].
pub fn merge_observed(
    stack: &Stack<'_>,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Merged, StackError> {
    let mut examples = Vec::new();
    let build = |store: &mut Store| meaning(store, stack, &mut examples);
    let mut meaning = Meaning::build(options.budget, stack.endian, build)?;
    let compiled = compile::generate(&mut meaning, arches, options, observe)?;
    for data in &examples {
        if compiled.program.run(data, stack.endian).verdict != stack.run(data) {
            return Err(CompileError::not_equal(*data).into());
        }
    }
    Ok(Merged { compiled, calls_run: examples.len() })
}

/// The function of a stack, as the kernel's loop makes it: newest filter first. `examples` gets one
/// syscall for each combination of verdicts that meet.
fn meaning(
    store: &mut Store,
    stack: &Stack<'_>,
    examples: &mut Vec<SeccompData>,
) -> Result<Func, StackError> {
    let mut kept = store.verdict(Verdict::ALLOW)?;
    for (at, filter) in stack.filters.iter().enumerate().rev() {
        let of_filter = |kind| StackError { filter: Some(at), kind };
        let next = filter.diagram(store).map_err(|error| of_filter(Kind::Compile(error)))?;
        let asks = |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_));
        if let Some(verdict) = store.verdicts(next).into_iter().find(asks) {
            return Err(of_filter(Kind::Notifies(verdict)));
        }
        let result = store.highest_precedence(kept, next)?;
        examples.extend(check_turn(store, [kept, next, result])?);
        kept = result;
    }
    Ok(kept)
}

/// Checks one turn of the loop (what was kept, the next filter, the result) on every combination of
/// verdicts that meet in it, which is a proof. One syscall for each combination.
fn check_turn(store: &mut Store, turn: [Func; 3]) -> Result<Vec<SeccompData>, CompileError> {
    let mut examples = Vec::new();
    for ([kept, next, result], data) in store.verdict_combinations(turn)? {
        if result != kept.or_more_severe(next) {
            return Err(CompileError::not_equal(data));
        }
        examples.push(data);
    }
    Ok(examples)
}

impl From<CompileError> for StackError {
    fn from(error: CompileError) -> StackError {
        StackError { filter: None, kind: Kind::Compile(error) }
    }
}

impl From<DiagramError> for StackError {
    fn from(error: DiagramError) -> StackError {
        CompileError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Program;
    use callgate_bpf::data::Word;
    use callgate_bpf::{Insn, Op};
    use callgate_proof::diagram::Split;

    fn constant(verdict: Verdict) -> Program {
        Program::new(vec![Insn::new(Op::RetK, verdict.0)]).unwrap()
    }

    fn two<'a>(a: &'a Program, b: &'a Program, flags: [FilterFlags; 2]) -> Vec<Description<'a>> {
        let filter =
            |program, flags| Description::program(program, Endian::Little).with_flags(flags);
        vec![filter(a, flags[0]), filter(b, flags[1])]
    }

    #[test]
    fn flags_merge_when_one_installation_can_have_them() {
        let allow = constant(Verdict::ALLOW);
        let (none, log, tsync) = (FilterFlags::NONE, FilterFlags::LOG, FilterFlags::TSYNC);
        let (spec_allow, wait_killable) =
            (FilterFlags::SPEC_ALLOW, FilterFlags::WAIT_KILLABLE_RECV);
        let of = |flags| {
            Stack::new(two(&allow, &allow, flags))
                .map(|stack| stack.flags())
                .map_err(|error| (error.filter(), error.kind))
        };
        assert_eq!(of([none, none]), Ok(none));
        assert_eq!(of([log, log]), Ok(log));
        assert_eq!(of([log, none]), Err((Some(0), Kind::Log { without: 1 })));
        assert_eq!(of([none, log]), Err((Some(1), Kind::Log { without: 0 })));
        assert_eq!(of([tsync, tsync]), Ok(tsync));
        assert_eq!(of([none, tsync]), Ok(tsync));
        assert_eq!(of([tsync, none]), Err((Some(0), Kind::Tsync)));
        assert_eq!(of([spec_allow, none]), Ok(none));
        assert_eq!(of([spec_allow, spec_allow]), Ok(spec_allow));
        assert_eq!(of([none, wait_killable]), Err((Some(1), Kind::WaitKillable)));
        assert_eq!(Stack::new(vec![]).unwrap_err().kind, Kind::Empty);
    }

    #[test]
    fn byte_orders_do_not_mix() {
        let allow = constant(Verdict::ALLOW);
        let filters = [Endian::Big, Endian::Little]
            .map(|endian| Description::program(&allow, endian))
            .to_vec();
        let error = Stack::new(filters).unwrap_err();
        assert_eq!(
            (error.filter(), error.kind),
            (Some(1), Kind::ByteOrder { given: Endian::Little })
        );
    }

    #[test]
    fn a_filter_that_asks_a_listener_is_refused() {
        let (allow, ask) = (constant(Verdict::ALLOW), constant(Verdict::user_notif(3)));
        let stack = Stack::new(two(&allow, &ask, [FilterFlags::default(); 2])).unwrap();
        let error = merge(&stack, &[], &Options::default()).unwrap_err();
        assert_eq!(error.kind, Kind::Notifies(Verdict::user_notif(3)));
        assert_eq!(error.filter(), Some(1));
    }

    /// A turn that went wrong, and a program that is not the stack's.
    #[test]
    fn the_check_finds_what_is_wrong() {
        let (older, newer) = (constant(Verdict::errno(1)), constant(Verdict::errno(2)));
        let stack = Stack::new(two(&older, &newer, [FilterFlags::default(); 2])).unwrap();
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let one = store.verdict(Verdict::errno(1)).unwrap();
        let two = store.verdict(Verdict::errno(2)).unwrap();
        for good in [[allow, two, two], [two, one, two]] {
            assert_eq!(check_turn(&mut store, good).unwrap().len(), 1);
        }
        let somewhere = store.split(Word::IP_LOW, Split::Equal(7), one, two).unwrap();
        for bad in [[two, one, one], [two, one, somewhere], [one, two, two]] {
            assert!(check_turn(&mut store, bad).is_err(), "{bad:?}");
        }
        let merged = merge(&stack, &[], &Options::default()).unwrap();
        assert_eq!((merged.compiled.program, merged.calls_run), (newer.clone(), 2));
    }
}
