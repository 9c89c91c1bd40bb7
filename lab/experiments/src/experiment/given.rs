//! Filters of the caller, which are measured beside those of an experiment.

use callgate_bpf::SyscallTable;
use callgate_measure::{Subject, Treatment, syscall_data};

use super::error::{ExperimentError, ExperimentErrorKind};
use super::setup::native;
use crate::published::PublishedTable;
use crate::times::Times;

/// A syscall that a filter must allow, with the arguments that the experiment passes.
pub(super) struct Needed {
    pub(super) name: &'static str,
    pub(super) args: [u64; 6],
    /// For the message, such as "which every waiting thread needs".
    pub(super) why: &'static str,
}

impl Needed {
    /// A syscall that the experiment measures.
    pub(super) fn measured(name: &'static str, args: [u64; 6]) -> Needed {
        Needed { name, args, why: "which is measured" }
    }
}

/// The subjects of the caller among those of an experiment.
pub(super) struct Given {
    first: usize,
    names: Vec<String>,
}

impl Given {
    /// Appends the subjects of the caller to those of the experiment.
    ///
    /// # Errors
    /// If one of them denies a syscall that the experiment needs.
    pub(super) fn append(
        given: &[Subject],
        subjects: &mut Vec<Subject>,
        needed: &[Needed],
    ) -> Result<Given, ExperimentError> {
        allow(given, needed)?;
        let first = subjects.len();
        subjects.extend(given.iter().cloned());
        Ok(Given { first, names: given.iter().map(|subject| subject.name.clone()).collect() })
    }

    /// The indices of these subjects with their names.
    pub(super) fn subjects(&self) -> impl Iterator<Item = (usize, &str)> {
        self.names.iter().enumerate().map(|(at, name)| (self.first + at, name.as_str()))
    }

    /// A table with the baseline and these subjects: the time of an iteration, and what the filters add to it. `None` if the
    /// caller gave none.
    pub(super) fn table(
        &self,
        key: &'static str,
        what: &str,
        times: Option<Times>,
    ) -> Option<PublishedTable> {
        let times = times.filter(|_| !self.names.is_empty())?;
        let columns = [("ns", 1), ("filter: ns", 1), ("filter: % of the time", 1)];
        let mut table = PublishedTable::new(key, format!("your filters: {what}"), &columns);
        table.row("no filter", [times.time(0), None, None]);
        for (subject, name) in self.subjects() {
            table.row(name, [times.time(subject), times.over(subject), times.share(subject)]);
        }
        Some(table)
    }
}

/// Checks that subjects allow syscalls; the kernel skips a syscall that a filter denies, so its time would say nothing.
///
/// # Errors
/// If a subject denies one of them.
pub(super) fn allow(subjects: &[Subject], needed: &[Needed]) -> Result<(), ExperimentError> {
    for Needed { name, args, why } in needed {
        let nr = native()?.number(name);
        let data = nr.and_then(|nr| syscall_data(nr, *args));
        let data = data.ok_or(ExperimentError(ExperimentErrorKind::NoSyscall(name)))?;
        let denies = |subject: &&Subject| subject.treatment(&data) == Treatment::Denied;
        if let Some(subject) = subjects.iter().find(denies) {
            let subject = subject.name.clone();
            return Err(ExperimentError(ExperimentErrorKind::Denied {
                subject,
                syscall: name,
                why,
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Op, Program};

    use super::*;

    /// A filter that returns this verdict for any syscall whose first argument is 7, and allows others.
    fn denying_seven(verdict: Verdict) -> Subject {
        let endian = if cfg!(target_endian = "big") {
            callgate::Endian::Big
        } else {
            callgate::Endian::Little
        };
        let word = callgate_core::Word::arg_low(0).unwrap();
        let program = Program::new(vec![
            Insn::new(Op::LdWordAbs, word.offset(endian)),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetK, verdict.0),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ]);
        Subject::new("mine", program).unwrap()
    }

    #[test]
    fn a_filter_that_denies_what_is_measured_is_refused() {
        let mine = [denying_seven(Verdict::errno(1))];
        let needed = |arg| [Needed::measured("close", [arg, 0, 0, 0, 0, 0])];
        let mut subjects = vec![Subject::none()];
        let given = Given::append(&mine, &mut subjects, &needed(8)).unwrap();
        assert_eq!(given.subjects().collect::<Vec<_>>(), [(1, "mine")]);
        assert_eq!(subjects.len(), 2);
        let error = Given::append(&mine, &mut subjects, &needed(7)).err().unwrap();
        assert_eq!(error.to_string(), "the filter \"mine\" denies close, which is measured");
        assert_eq!(subjects.len(), 2, "nothing was appended");
        let mine = [denying_seven(Verdict::ALLOW)];
        assert!(Given::append(&mine, &mut subjects, &needed(7)).is_ok());
    }

    #[test]
    fn the_table_has_the_rows_of_the_caller_alone() {
        let rounds = vec![vec![100.0; 9], vec![300.0; 9], vec![125.0; 9]];
        let given = Given { first: 2, names: vec!["mine".to_owned()] };
        let table = given.table("given", "getpid", Times::of_rounds(rounds, 0)).unwrap();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["no filter", "mine"]);
        let cells: Vec<String> = table.cells(&table.rows[1], "..").collect();
        assert_eq!(cells, ["125.0 (118.3 .. 131.7)", "25.0 (22.2 .. 27.8)", "20.0 (18.4 .. 21.6)"]);
        let none = Given { first: 2, names: Vec::new() };
        assert!(none.table("given", "getpid", Times::of_rounds(vec![vec![1.0]], 0)).is_none());
    }
}
