//! Published experiments from the time when the kernel interpreted all filters: 2 and 200 rules (2014), and threads that
//! wait for a condition (2022). Their filters are those of `callgate-experiments`, which libseccomp makes for this machine,
//! so only guests of the same architecture have them.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_core::Program;
use callgate_experiments::experiment::{
    Experiment as Published, Options as PublishedOptions, futex_operations,
};
use callgate_measure::Subject;

use super::experiments::{Column, Experiment};
use super::guests::Guest;
use super::plan::Call;
use super::programs;
use crate::libseccomp_program::of_machine;
use crate::measuring::built_in_policy;
use crate::table::Table;
use callgate_tasks::Result;

const LONG_JUMPS: &str = "2 and 200 rules";
const STREAM: &str = "futex calls of waiting threads";
/// Filters with the published rules, and the same rules with a test of an argument.
const WAITS: &str = "pthread_cond_timedwait";
const INSPECTING: &str = "pthread_cond_timedwait, futex inspected";

/// What runs without a filter, and under the smallest one; the shares are over the latter.
const NONE: &str = "none";
const ALLOW_ALL: &str = "allow all";

/// The columns of waits: their titles, the subjects of the experiment, and the published share in percent.
const FILTERS: [(&str, &str, Option<&str>); 4] = [
    ("list", "libseccomp, list", Some("50")),
    ("denylist", "denylist", Some("20")),
    ("tree", "libseccomp, tree", Some("7")),
    ("Callgate", "Callgate", None),
];
const FILTERS_INSPECTING: [&str; 4] =
    ["list, inspecting", "denylist, inspecting", "tree, inspecting", "Callgate, inspecting"];

/// The experiments of a guest; none for one of another architecture.
pub(super) fn experiments(guest: &Guest) -> Result<Vec<Experiment>> {
    let arch = guest.machine.arch;
    if Arch::native() != Some(arch) {
        return Ok(Vec::new());
    }
    let number = |name: &str| arch.number(name).ok_or(format!("{arch} does not have {name}"));
    let long = Subjects::of(Published::LongJumps)?;
    let gettid = Call::plain(number("gettid")?, [100, 0, 0, 0, 0, 0]);
    let jumps = [
        (NONE, "no filter"),
        ("2, list", "2 rules, libseccomp"),
        ("200, list", "200 rules, libseccomp"),
        ("2, Callgate", "2 rules, Callgate"),
        ("200, Callgate", "200 rules, Callgate"),
    ];
    let jumps = jumps.iter().map(|(title, name)| column(title, long.stack(name)?, gettid));

    let wait = Subjects::of(Published::CondWait)?;
    let bases = [(NONE, "no filter"), (ALLOW_ALL, "all-allow filter")];
    let published = FILTERS.iter().map(|(title, name, _)| (*title, *name));
    let inspecting =
        FILTERS.iter().zip(FILTERS_INSPECTING).map(|((title, ..), name)| (*title, name));
    let published: Vec<(&str, &str)> = bases.into_iter().chain(published).collect();
    let inspecting: Vec<(&str, &str)> = bases.into_iter().chain(inspecting).collect();
    let waits = |(title, name): &(&str, &str)| column(title, wait.stack(name)?, Call::waits());

    let futex = number("futex")?;
    let futexes: Vec<(Call, f64)> = futex_operations()
        .into_iter()
        .map(|(operation, count)| (Call::futex(futex, operation), count))
        .collect();
    let mut stream = Vec::new();
    for (title, name) in &inspecting {
        stream.push(((*title).to_owned(), wait.stack(name)?));
    }
    let both = ["list, inspecting", "denylist, inspecting"].map(|name| wait.stack(name));
    let both = both.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let merged = programs::merged(arch, programs::model(guest), &both)?;
    stream.extend([("both".to_owned(), both), ("merged".to_owned(), vec![merged])]);
    let stream =
        stream.into_iter().map(|(title, stack)| Column { title, stack, calls: futexes.clone() });

    Ok(vec![
        Experiment {
            name: LONG_JUMPS,
            about: ABOUT_LONG_JUMPS,
            columns: jumps.collect::<Result<_>>()?,
        },
        Experiment { name: STREAM, about: ABOUT_STREAM, columns: stream.collect() },
        Experiment {
            name: WAITS,
            about: ABOUT_WAITS,
            columns: published.iter().map(waits).collect::<Result<_>>()?,
        },
        Experiment {
            name: INSPECTING,
            about: ABOUT_INSPECTING,
            columns: inspecting.iter().map(waits).collect::<Result<_>>()?,
        },
    ])
}

fn column(title: &str, stack: Vec<Program>, call: Call) -> Result<Column> {
    Ok(Column { title: title.to_owned(), stack, calls: vec![(call, 1.0)] })
}

/// The filters of an experiment, by name. What they deny fails with an errno.
struct Subjects(Vec<Subject>);

impl Subjects {
    fn of(experiment: Published) -> Result<Subjects> {
        let options = PublishedOptions::own(built_in_policy()?, of_machine());
        let setup = experiment.setup(&options);
        let setup = setup.map_err(|error| format!("{}: {error}", experiment.name()))?;
        Ok(Subjects(setup.plan.subjects))
    }

    fn stack(&self, name: &str) -> Result<Vec<Program>> {
        let found = self.0.iter().find(|subject| subject.name == name);
        let found = found.ok_or_else(|| format!("the experiment has no filter {name}"))?;
        Ok(found.programs().to_vec())
    }
}

/// The published shares.
pub(super) const SHARES: &str = "Share of a wait that the filter takes";

/// The figures of an experiment of a guest and a mode.
pub(super) type Row<'a> = (String, &'a Experiment, &'a [Option<f64>]);

/// The tables of shares, with their captions: from the figures of the waits, the published ones beside them.
pub(super) fn shares<'a>(rows: impl Iterator<Item = Row<'a>> + Clone) -> Vec<(String, Table)> {
    let captions =
        [(WAITS, "the published rules"), (INSPECTING, "the same rules, and futex is inspected")];
    let tables = captions.map(|(name, caption)| {
        let titles = FILTERS.iter().map(|(title, ..)| *title);
        let mut table = Table::new(["kernel"].into_iter().chain(titles));
        let cells = FILTERS.iter().map(|(.., share)| share.map_or("–".to_owned(), percent));
        table.row(["3.10, as published".to_owned()].into_iter().chain(cells));
        let mut is_empty = true;
        for (kernel, experiment, figures) in rows.clone().filter(|row| row.1.name == name) {
            let of = |title: &str| {
                let place = experiment.columns.iter().position(|column| column.title == title)?;
                *figures.get(place)?
            };
            let share = |title: &str| {
                let (with, without) = (of(title)?, of(ALLOW_ALL)?);
                Some((with - without) / with * 100.0)
            };
            let cells = FILTERS.iter().map(|(title, ..)| {
                share(title).map_or("–".to_owned(), |share| percent(&format!("{share:.1}")))
            });
            table.row([kernel].into_iter().chain(cells));
            is_empty = false;
        }
        (!is_empty).then(|| (caption.to_owned(), table))
    });
    tables.into_iter().flatten().collect()
}

fn percent(share: &str) -> String {
    format!("{share} %")
}

const ABOUT_LONG_JUMPS: &str = "\
`gettid(100)` under filters of 2 and of 200 rules of libseccomp's test `05-sim-long_jumps`, whose
conditions the call meets: libseccomp's list, and Callgate's program.";

const ABOUT_STREAM: &str = "\
The futex syscalls of threads in `pthread_cond_timedwait`, as often as such threads make them, by one
thread that does not wait. All filters inspect an argument of futex, so that no cache answers: an
allowlist of a container as libseccomp's list, a denylist, the allowlist as libseccomp's tree and as
Callgate's program; list and denylist on top of each other, and `callgate merge` of these two.";

const ABOUT_WAITS: &str = "\
A wait of 256 threads that share a mutex and a condition, with a deadline one microsecond ahead, under
the same filters with the published rules, which always allow futex. Instructions of a wait, in the
processor's time: with all syscalls of the wait, and the switches between threads.";

const ABOUT_INSPECTING: &str = "\
The same waits under the same rules with a test of an argument of futex, so that the filters run in
kernels with a cache, too.";

/// What the [shares] are.
pub(super) const ABOUT_SHARES: &str = "\
From the two tables above: the instructions that a wait takes longer than under a filter that allows
everything, as a part of all of its instructions. The published shares are of the function that
interprets filters in samples of a profiler, on Linux 3.10, which has no JIT compiler for seccomp, and
no cache; 5.10 with the interpreter is the nearest kernel that can be had. *Measured* is the number of
executed instructions. That each of them takes equally long is a *model*: on a processor, a wait also
has cache misses and switches of contexts that take longer than their instructions, and a filter that
falls through its tests takes less. Rows of 6.1 and 6.12 with the published rules are what the cache
leaves; with futex inspected, they are what interpreter and JIT compiler leave of the published shares.
In 6.12 threads meet in another order from filter to filter, so that shares below 2 % say nothing there.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::guests::GUESTS;

    #[test]
    fn guests_of_this_machine_have_them() {
        for guest in &GUESTS {
            let all = experiments(guest).unwrap();
            let is_native = Arch::native() == Some(guest.machine.arch);
            assert_eq!(all.len(), if is_native { 4 } else { 0 }, "{}", guest.name());
            for experiment in all {
                let titles: Vec<&str> = experiment.titles().collect();
                assert_eq!(titles[0], NONE);
                assert!(experiment.columns[0].stack.is_empty());
                assert!(experiment.columns[1..].iter().all(|column| !column.stack.is_empty()));
            }
        }
    }

    #[test]
    fn a_share_is_of_the_wait_under_the_filter() {
        let column = |title: &str| column(title, Vec::new(), Call::waits()).unwrap();
        let titles = [NONE, ALLOW_ALL, "list", "denylist", "tree", "Callgate"];
        let columns = || titles.map(column).into_iter().collect();
        let experiment = |name| Experiment { name, about: "", columns: columns() };
        let (waits, other) = (experiment(WAITS), experiment(STREAM));
        let figures = [400.0, 500.0, 1000.0, 625.0, 500.0, 400.0].map(Some);
        let rows =
            [("5.10".to_owned(), &waits, &figures[..]), ("5.10".to_owned(), &other, &figures[..])];
        let tables = shares(rows.into_iter());
        let [(caption, table)] = tables.as_slice() else { panic!("{} tables", tables.len()) };
        assert_eq!(caption, "the published rules");
        let expected = "\
kernel                list  denylist   tree  Callgate
3.10, as published    50 %      20 %    7 %         –
5.10                50.0 %    20.0 %  0.0 %   -25.0 %
";
        assert_eq!(table.plain(), expected);
    }
}
