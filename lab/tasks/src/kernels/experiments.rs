//! Experiments that time syscalls under several stacks of filters, and the cost per filter derived from them.

use callgate_bpf::SyscallTable;
use callgate_core::Program;

use super::answers::Answers;
use super::guests::Guest;
use super::plan::{Call, Line, Plan};
use super::programs::{self, CONDITIONAL};
use callgate_tasks::Result;

/// The size of the largest stack of filters.
const DEEP: usize = 32;
/// The number of comparisons of the program for the cost of one comparison.
const TESTS: u8 = 100;

/// The same syscalls under several stacks of filters.
pub(super) struct Experiment {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) columns: Vec<Column>,
}

pub(super) struct Column {
    pub(super) title: String,
    pub(super) stack: Vec<Program>,
    /// The syscalls, and how often each is made: the figure is their mean.
    pub(super) calls: Vec<(Call, f64)>,
}

impl Column {
    /// One syscall.
    fn new(title: String, stack: Vec<Program>, call: Call) -> Column {
        Column { title, stack, calls: vec![(call, 1.0)] }
    }

    /// Guest instructions per syscall.
    fn figure(&self, line: Line, answers: &Answers) -> Option<f64> {
        let (mut sum, mut times) = (0.0, 0.0);
        for (row, (_, count)) in self.calls.iter().enumerate() {
            sum += count * answers.time(line, row)?;
            times += count;
        }
        (times > 0.0).then(|| sum / times)
    }
}

impl Experiment {
    /// The experiments of every guest.
    pub(super) fn all(guest: &Guest) -> Result<Vec<Experiment>> {
        let arch = guest.machine.arch;
        let number = |name: &str| {
            arch.number(name).ok_or(format!("{arch} does not have the syscall {name}"))
        };
        let getpid = Call::plain(number("getpid")?, [0; 6]);
        let umask = Call::plain(number(CONDITIONAL)?, [0o22, 0, 0, 0, 0, 0]);
        let (allow, uncached) = (programs::allow()?, programs::uncached(arch.endian(), 0)?);
        let tests = programs::uncached(arch.endian(), TESTS)?;
        let list = |conditional| programs::list(arch, conditional);
        let stacks = |program: &Program, call: Call, counts: &[usize], extra: Option<Column>| {
            let merged =
                programs::merged(arch, programs::model(guest), &vec![program.clone(); DEEP])?;
            let column = |count: &usize| {
                let title = if *count == 0 { "none".to_owned() } else { count.to_string() };
                Column::new(title, vec![program.clone(); *count], call)
            };
            let columns = counts.iter().map(column).chain(extra);
            let merged = Column::new(format!("{DEEP} merged"), vec![merged], call);
            Ok::<Vec<Column>, String>(columns.chain([merged]).collect())
        };
        let long = Column::new(format!("1 ({TESTS} tests)"), vec![tests], getpid);
        Ok(vec![
            Experiment {
                name: "getpid, always allowed",
                about: "Filters of one instruction, `ret ALLOW`. Since Linux 5.11 the kernel caches\n\
                        this verdict and does not run the filter.",
                columns: stacks(&allow, getpid, &[0, 1, 2, 4, DEEP], None)?,
            },
            Experiment {
                name: "getpid, not cacheable",
                about: "Filters that load an argument and return ALLOW.",
                columns: stacks(&uncached, getpid, &[0, 1, 2, 4, DEEP], Some(long))?,
            },
            Experiment {
                name: "unixbench-syscall",
                about: "UnixBench's loop of close, dup, getpid, getuid and umask, per syscall, under\n\
                        an allowlist of 20 numbers.",
                columns: stacks(&list(false)?, Call::unixbench(), &[0, 1, 4, DEEP], None)?,
            },
            Experiment {
                name: "umask, not cacheable",
                about: "The same allowlist, with a condition on the argument of umask; only umask is timed.",
                columns: stacks(&list(true)?, umask, &[0, 1, 4, DEEP], None)?,
            },
        ])
    }

    pub(super) fn titles(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.title.as_str())
    }

    /// Adds a line per column to the plan.
    pub(super) fn plan(&self, plan: &mut Plan) -> Vec<Line> {
        let line = |column: &Column| {
            let calls: Vec<Call> = column.calls.iter().map(|(call, _)| *call).collect();
            plan.time(&calls, &column.stack)
        };
        self.columns.iter().map(line).collect()
    }

    /// The figure of each column, from its line.
    pub(super) fn figures(&self, lines: &[Line], answers: &Answers) -> Vec<Option<f64>> {
        let columns = self.columns.iter().zip(lines);
        columns.map(|(column, line)| column.figure(*line, answers)).collect()
    }
}

/// Costs derived from the figures of `getpid` (Cook 2020).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Derived {
    /// The fixed cost of running filters, for any number of them.
    pub(super) entry: f64,
    /// The cost of each filter without its instructions.
    pub(super) filter: f64,
    /// The cost of a comparison whose branch is not taken.
    pub(super) test: f64,
}

impl Derived {
    /// From the columns of the experiment whose filters are not cacheable.
    pub(super) fn new(figures: &[Option<f64>]) -> Option<Derived> {
        let [none, one, two, _, deep, long, ..] = figures else { return None };
        let (none, one, two) = ((*none)?, (*one)?, (*two)?);
        let filter = ((*deep)? - two) / (DEEP - 2) as f64;
        Some(Derived {
            entry: one - none - filter,
            filter,
            test: ((*long)? - one) / f64::from(TESTS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::guests::GUESTS;

    #[test]
    fn the_cost_of_a_call_is_taken_apart() {
        let figures = [240.0, 393.0, 427.0, 495.0, 1447.0, 595.0, 393.0].map(Some);
        let derived = Derived::new(&figures).unwrap();
        assert_eq!(derived, Derived { entry: 119.0, filter: 34.0, test: 2.02 });
        assert_eq!(Derived::new(&[Some(1.0); 3]), None);
        assert_eq!(Derived::new(&[None; 7]), None);
    }

    #[test]
    fn a_figure_is_the_mean_of_calls_as_often_as_they_are_made() {
        let calls = vec![(Call::futex(202, 0x81), 3.0), (Call::futex(202, 0x80), 1.0)];
        let column = Column { title: String::new(), stack: Vec::new(), calls };
        let answers = |text: &str| {
            Answers::read(&text.lines().map(str::to_owned).collect::<Vec<_>>()).unwrap()
        };
        let both = answers("time 7 0 1000 10\ntime 7 1 400 2");
        assert_eq!(column.figure(Line(7), &both), Some(125.0));
        assert_eq!(column.figure(Line(7), &answers("time 7 0 1000 10")), None);
    }

    #[test]
    fn every_guest_has_its_experiments() {
        for guest in &GUESTS {
            let all = Experiment::all(guest).unwrap();
            let titles: Vec<Vec<&str>> = all.iter().map(|one| one.titles().collect()).collect();
            let first = ["none", "1", "2", "4", "32", "32 merged"];
            assert_eq!(titles[0], first);
            assert_eq!(titles[1][5..], ["1 (100 tests)", "32 merged"]);
            assert_eq!(titles[2], ["none", "1", "4", "32", "32 merged"]);
            assert_eq!(titles[3], titles[2]);
        }
    }
}
