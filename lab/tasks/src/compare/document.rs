//! The report: `lab/results/comparison.md`, and the same tables for a terminal.

use callgate::Arch;
use callgate_bpf::SyscallTable;

use super::engines::Engines;
use super::growth::Growth;
use super::measure::{Again, Meaning, Ours, Row};
use super::rules::Rules;
use super::sets::RuleSet;
use super::workloads::Workload;
use crate::table::{Table, count, time};
use callgate_tasks::Result;

/// The maximum number of names in a note.
const MAX_NAMES: usize = 6;
/// Means with at most this difference count as equal.
const TIE: f64 = 0.005;

/// The results of a run.
pub(super) struct Report {
    /// The command that was run, with names in place of paths.
    pub(super) command: String,
    pub(super) machine: Vec<String>,
    pub(super) versions: Vec<String>,
    pub(super) workloads: Vec<Workload>,
    pub(super) sets: Vec<(RuleSet, Vec<Row>)>,
    pub(super) programs: Vec<Again>,
    /// What could not be measured.
    pub(super) notes: Vec<String>,
    pub(super) growth: Option<Growth>,
    pub(super) engines: Option<Engines>,
}

impl Report {
    /// The document.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!(
            "# Comparison with other compilers\n\n\
             <!-- Written by `cargo lab compare`. Do not edit. -->\n\n\
             The same rules, compiled by Callgate and by others, all in one run\n\
             (`cargo lab compare --help` describes the directories):\n\n    {}\n\n",
            self.command
        );
        for line in self.machine.iter().chain(&self.versions) {
            text += &format!("- {line}\n");
        }
        text += "\n";
        text += COLUMNS;
        text += &format!("\n{}", self.ahead());
        for (set, rows) in &self.sets {
            text += &format!("\n## {}\n\n{}\n\n", set.name, describe(set));
            text += &sets_table(&self.workloads, rows).markdown();
            text += &bullets(&notes(rows));
        }
        if !self.programs.is_empty() {
            text += PROGRAMS;
            text += &programs_table(&self.workloads, &self.programs).markdown();
        }
        if let Some(growth) = &self.growth {
            text += &format!("{GROWTH}{}\n", growth.summary());
            for (caption, table) in growth.tables() {
                text += &format!("\n**{caption}**\n\n{}", table.markdown());
            }
        }
        if let Some(engines) = &self.engines {
            text += ENGINES;
            text += &bullets(engines.versions());
            text += &format!("\n**{TARGETS}**\n\n{}", engines.targets().markdown());
            text += &format!("\n**{MAKING}**\n\n{}", engines.making().markdown());
            for (caption, table, notes) in engines.tables() {
                text += &format!("\n**{caption}**\n\n{}{}", table.markdown(), bullets(&notes));
            }
        }
        if !self.notes.is_empty() {
            text += &format!("\n## Not measured\n{}", bullets(&self.notes));
        }
        text
    }

    /// The tables for a terminal.
    pub(super) fn plain(&self) -> String {
        let mut text = String::new();
        for (set, rows) in &self.sets {
            text += &format!("{} ({})\n", set.name, size(&set.rules));
            text += &sets_table(&self.workloads, rows).plain();
            text += &notes(rows).iter().map(|note| format!("  {note}\n")).collect::<String>();
            text += "\n";
        }
        if !self.programs.is_empty() {
            text += "recompiled programs\n";
            text += &programs_table(&self.workloads, &self.programs).plain();
            text += "\n";
        }
        if !self.sets.is_empty() {
            text += &self.ahead();
        }
        if let Some(growth) = &self.growth {
            for (caption, table) in growth.tables() {
                text += &format!("{caption}\n{}\n", table.plain());
            }
            text += &format!("{}\n", growth.summary());
        }
        if let Some(engines) = &self.engines {
            for (caption, table, notes) in engines.tables() {
                text += &format!("{caption}\n{}", table.plain());
                text += &notes.iter().map(|note| format!("  {note}\n")).collect::<String>();
                text += "\n";
            }
            text += &format!("{MAKING}\n{}\n", engines.making().plain());
            text += &format!("{TARGETS}\n{}\n", engines.targets().plain());
        }
        text + &self.notes.iter().map(|note| format!("{note}\n")).collect::<String>()
    }

    /// The rows in which another compiler is ahead.
    fn ahead(&self) -> String {
        let (mut figures, mut times) = (Vec::new(), Vec::new());
        for (set, rows) in &self.sets {
            for row in rows {
                let Ok(other) = &row.outcome else { continue };
                let place = format!("{}, {}", set.name, row.name);
                match other.ours.first() {
                    Some(Ok(ours)) if other.insns < ours.insns => {
                        let (theirs, ours) = (other.insns, ours.insns);
                        figures.push(format!("{place}: {theirs} instructions, Callgate {ours}"));
                    }
                    Some(Err(why)) => {
                        figures.push(format!("{place}: Callgate has no program: {why}"))
                    }
                    _ => {}
                }
                figures.extend(executes_more(
                    &place,
                    &other.executed,
                    &other.ours,
                    &self.workloads,
                ));
            }
            times.extend(takes_longer(&set.name, rows));
        }
        for program in &self.programs {
            let Again { name, executed, speed, .. } = program;
            figures.extend(executes_more(name, executed, speed, &self.workloads));
        }
        let list = |items: &[String]| match items {
            [] => " none.\n".to_owned(),
            items => format!("\n{}", bullets(items)),
        };
        format!(
            "Rows in which another compiler is ahead in size or executed instructions:{}\n\
             Rows in which another compiler takes less time:{}",
            list(&figures),
            list(&times)
        )
    }
}

const COLUMNS: &str = "\
*insns* is the number of instructions of the program. *args*, *uniform*, *server*, *skewed* and so on are the mean
numbers of instructions executed per syscall under that workload: *args* are the permitted syscalls whose
arguments decide, for which every kernel runs the filter, all with the same weight; *uniform* gives all always-allowed
syscalls of x86_64 the same weight, the others use the counts in `lab/tasks/src/compare/weights/` and in files
given with `--weights`. Where the verdict depends on arguments, the figure is the mean over the permitted
values of the first relevant argument. Compilers that accept frequencies get them (Callgate weights,
libseccomp priorities, gVisor a list of hot syscalls); *insns* and *time* are measured without them. *const*
is the number of syscalls that the kernel recognizes as always allowed when the filter is installed, and for
which it does not run the filter (Linux 5.11 and later). *time* is the median over repeated compilations in
one process, from rules in memory to instructions; Callgate's includes the proof.

*speed* and *size* are Callgate's `--optimize speed` and `--optimize size`, *cached* is its cost model of
kernels with that cache. *linear* and *tree* are libseccomp's list and binary tree
(`SCMP_FLTATR_CTL_OPTIMIZE` 1 and 2), *plain* is gVisor without its optimizer.

*equal* tells whether the MTBDD of the program is that of the rules: *yes* means the same verdict for every
input, *proved* that Callgate proved this before it returned the program. A compiler's own decisions count as
part of its rules: gVisor and seccompiler treat x32 numbers like any others, go-seccomp-bpf returns ENOSYS for
them; for syscalls of other architectures, seccompiler kills the process and go-seccomp-bpf takes the default
action; seacomb takes the numbers with bit 30 as x32's, and compares arguments by their types in C, of an `int`
only 32 bits. To judge whether another compiler is ahead, Callgate compiles exactly the function of that compiler's
program, so these decisions make no difference. It optimizes for speed, or for size if only that program is at
least as good in both size and executed instructions.
";

const PROGRAMS: &str = "
## Recompiled programs

Programs of other compilers, recompiled by Callgate: `callgate compile PROGRAM.bpf --model uncached`. *insns* is
the length of the original program, *speed* and *size* are the lengths of Callgate's programs. The other columns
are the mean numbers of executed instructions: of the original program, then of Callgate's for that workload.
libseccomp's programs end in `.opt1` (list) or `.opt2` (binary tree), gVisor's in `.opt` or `.unopt` (with or
without its optimizer). The filters of seacomb's examples are those that the examples install.

";

const ENGINES: &str = "
## Engines

Engines that run programs in user space. `gcc -O2` compiles the program, translated to C; it is the yardstick
for native code, and supports neither ancillary loads nor header-relative offsets. *callgate, jit from C* is the
code of our JIT compiler, linked into the same C program. rbpf runs the program as eBPF, converted as the kernel
converts it. *hot* is the time for the same input each time, *cold* the mean over 50,000 different syscalls or
10,000 packets (they are repeated, and a processor learns the branches of shorter sequences of syscalls); each figure
is the minimum of seven rounds, in three passes over all engines. The last columns are the time relative to that of
another engine, hot and cold: 0.50 means half the time. Every engine returns the same value as the reference
interpreter for every input.
";

/// Caption of the table of targets.
const TARGETS: &str = "Targets of the engines, and the workload that is furthest from each";

/// Caption of the table of translation times.
const MAKING: &str =
    "Translation of programs: µs, and bytes of the result (cached: 512 syscall numbers per arch)";

const GROWTH: &str = "
## Growth

![Time, nodes and memory of a compilation against the number of rules](growth.svg)

Each cell has the compilation time, the number of instructions and the maximum resident memory of a process that
compiles once; `!` marks programs longer than the 4,096 instructions that a kernel accepts; *cannot* means that the
compiler rejects the rules, mostly for that reason. *nodes* counts the nodes of the MTBDD, including those of the
proof. Callgate's process is `callgate-lab`, which contains all evaluations. The exponent of growth is fitted to the
sizes from 100 rules on, over the programs that a kernel accepts; the steepest step is the largest exponent
between two neighbouring sizes.

";

fn describe(set: &RuleSet) -> String {
    format!("{} {}.", set.about, size(&set.rules))
}

fn size(rules: &Rules) -> String {
    let syscalls = if rules.syscalls() == 1 { "syscall" } else { "syscalls" };
    format!("{} {syscalls}, {} argument tests", count(rules.syscalls()), count(rules.tests()))
}

fn bullets(items: &[String]) -> String {
    let lines: String = items.iter().map(|item| format!("- {item}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn sets_table(workloads: &[Workload], rows: &[Row]) -> Table {
    let names = workloads.iter().map(|workload| short(&workload.name));
    let head = ["compiler", "insns"].into_iter().chain(names);
    let mut table = Table::new(head.chain(["const", "time", "equal"]));
    for row in rows {
        let mut cells = vec![row.name.clone()];
        match &row.outcome {
            Ok(figures) => {
                cells.push(count(figures.insns));
                let mean = |mean: &Option<f64>| match mean {
                    Some(mean) => format!("{mean:.2}"),
                    None => "–".to_owned(),
                };
                cells.extend(figures.executed.iter().map(mean));
                cells.push(figures.constant_allow.to_string());
                cells.push(time(figures.time));
                let equal = match figures.meaning {
                    Meaning::Proved => "proved",
                    Meaning::Same => "yes",
                    Meaning::Differs(_) => "no",
                    Meaning::Unknown(_) => "–",
                };
                cells.push(equal.to_owned());
            }
            Err(_) => cells.extend(vec!["–".to_owned(); workloads.len() + 4]),
        }
        table.row(cells);
    }
    table
}

/// A short name, for a narrow column.
fn short(name: &str) -> &str {
    let words = name.split(['-', '.']);
    words.max_by_key(|word| word.len()).unwrap_or(name)
}

/// Remarks on the rows of a table.
fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows {
        let name = &row.name;
        let figures = match &row.outcome {
            Ok(figures) => figures,
            Err(missing) => {
                notes.push(format!("{name}: {}.", missing.to_string().trim_end_matches('.')));
                continue;
            }
        };
        match &figures.meaning {
            Meaning::Differs(syscalls) => {
                notes.push(format!("{name} differs from the rules: {}.", syscalls.join("; ")));
            }
            Meaning::Unknown(why) => notes.push(format!("{name}: {why}.")),
            Meaning::Proved | Meaning::Same => {}
        }
        if !figures.unknown.is_empty() {
            notes.push(format!(
                "{name} does not know the names of {} syscalls, which get the default action: {}.",
                figures.unknown.len(),
                named(&figures.unknown)
            ));
        }
        if !figures.narrow.is_empty() {
            let mut syscalls: Vec<(Arch, u32)> =
                figures.narrow.iter().map(|narrow| (narrow.arch, narrow.nr)).collect();
            syscalls.dedup();
            notes.push(format!(
                "{name} compares only the bits of the types of arguments of {}, and is compared \
                 with the rules for these bits.",
                named(&syscalls)
            ));
        }
    }
    notes
}

fn named(syscalls: &[(Arch, u32)]) -> String {
    let names = syscalls.iter().map(|(arch, nr)| arch.syscall_name(*nr).unwrap_or("a number"));
    let mut names: Vec<&str> = names.take(MAX_NAMES).collect();
    if syscalls.len() > MAX_NAMES {
        names.push("…");
    }
    names.join(", ")
}

/// The workloads under which Callgate's program for the same function executes more.
fn executes_more(
    place: &str,
    theirs: &[Option<f64>],
    ours: &[Result<Ours>],
    workloads: &[Workload],
) -> Vec<String> {
    let pairs = theirs.iter().zip(ours).zip(workloads);
    let more = pairs.filter_map(|((theirs, ours), workload)| {
        let (theirs, ours) = ((*theirs)?, ours.as_ref().ok()?.executed?);
        let name = &workload.name;
        (theirs + TIE < ours)
            .then(|| format!("{place}, {name}: executes {theirs:.2}, Callgate {ours:.2}"))
    });
    more.collect()
}

/// The compilers that take less time than Callgate's first row, which is the default.
fn takes_longer(set: &str, rows: &[Row]) -> Option<String> {
    let figures =
        || rows.iter().filter_map(|row| Some((row.name.as_str(), row.outcome.as_ref().ok()?)));
    let (_, own) = figures().find(|(_, figures)| matches!(figures.meaning, Meaning::Proved))?;
    let faster: Vec<String> = figures()
        .filter(|(_, other)| !matches!(other.meaning, Meaning::Proved) && other.time < own.time)
        .map(|(name, other)| format!("{name} {}", time(other.time)))
        .collect();
    let own = time(own.time);
    (!faster.is_empty())
        .then(|| format!("{set} (Callgate {own} with proof): {}", faster.join("; ")))
}

fn programs_table(workloads: &[Workload], programs: &[Again]) -> Table {
    let names = workloads.iter().map(|workload| short(&workload.name));
    let head = ["program", "insns", "speed", "size"].into_iter().chain(names);
    let mut table = Table::new(head.chain(["time"]));
    for program in programs {
        let speed = program.speed.iter().flatten().next().map_or(0, |ours| ours.insns);
        let mut cells = vec![program.name.clone(), count(program.insns), count(speed)];
        cells.push(count(program.size));
        let executed = |ours: &Result<Ours>| ours.as_ref().ok().and_then(|ours| ours.executed);
        let both = |(theirs, ours): (&Option<f64>, &Result<Ours>)| match (theirs, executed(ours)) {
            (Some(theirs), Some(ours)) => format!("{theirs:.2} → {ours:.2}"),
            _ => "–".to_owned(),
        };
        cells.extend(program.executed.iter().zip(&program.speed).map(both));
        cells.push(time(program.time));
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::measure::Figures;
    use super::super::peers::Missing;
    use super::super::rules::Narrow;
    use super::super::{generate, workloads};
    use super::*;

    fn figures(insns: usize, executed: f64, microseconds: u64, meaning: Meaning) -> Figures {
        Figures {
            insns,
            executed: vec![Some(executed); 3],
            constant_allow: 5,
            time: Duration::from_micros(microseconds),
            meaning,
            unknown: Vec::new(),
            narrow: Vec::new(),
            ours: vec![Ok(Ours { insns: 12, executed: Some(6.0) }); 3],
        }
    }

    fn report() -> Report {
        let own = Figures { ours: Vec::new(), ..figures(12, 6.0, 50, Meaning::Proved) };
        let slow = figures(20, 8.0, 400, Meaning::Same);
        let mut fast = figures(11, 5.5, 9, Meaning::Differs(vec!["`x86_64 read()` gets A".into()]));
        fast.unknown.push((Arch::X86_64, 461));
        for argument in [0, 2] {
            fast.narrow.push(Narrow { arch: Arch::X86_64, nr: 234, argument, bits: 32 });
        }
        let row = |name: &str, outcome| Row { name: name.to_owned(), outcome };
        let rows = vec![
            row("Callgate, speed", Ok(own)),
            row("slow", Ok(slow)),
            row("fast", Ok(fast)),
            row("none", Err(Missing::CannotExpress("it has no masks".to_owned()))),
        ];
        let set = RuleSet {
            name: "a set".to_owned(),
            about: "Some numbers.".to_owned(),
            rules: generate::numbers(5),
        };
        Report {
            command: "cargo lab compare".to_owned(),
            machine: vec!["a machine".to_owned()],
            versions: vec!["a version".to_owned()],
            workloads: workloads::all(&[] as &[&std::path::Path]).unwrap(),
            sets: vec![(set, rows)],
            programs: Vec::new(),
            notes: Vec::new(),
            growth: None,
            engines: None,
        }
    }

    #[test]
    fn rows_in_which_others_are_ahead_are_listed() {
        let ahead = report().ahead();
        assert!(ahead.contains("- a set, fast: 11 instructions, Callgate 12\n"), "{ahead}");
        assert!(ahead.contains("- a set, fast, server: executes 5.50, Callgate 6.00\n"), "{ahead}");
        assert!(ahead.contains("- a set (Callgate 50.0 µs with proof): fast 9.00 µs\n"), "{ahead}");
        assert!(!ahead.contains("slow"), "{ahead}");
        let mut unknown = report();
        let fast = unknown.sets[0].1[2].outcome.as_mut().unwrap();
        fast.ours[0] = Err("too complex".to_owned());
        let ahead = unknown.ahead();
        assert!(ahead.contains("- a set, fast: Callgate has no program: too complex\n"), "{ahead}");
        assert!(ahead.contains("- a set, fast, server: executes 5.50, Callgate 6.00\n"), "{ahead}");
        let mut without = report();
        without.sets[0].1.remove(2);
        assert_eq!(without.ahead().matches(" none.").count(), 2, "{}", without.ahead());
    }

    #[test]
    fn notes_say_what_the_table_cannot() {
        let text = report().markdown();
        assert!(text.contains("- none: cannot express: it has no masks.\n"), "{text}");
        assert!(
            text.contains("- fast differs from the rules: `x86_64 read()` gets A.\n"),
            "{text}"
        );
        let unknown = "- fast does not know the names of 1 syscalls, which get the default action: \
                       lsm_list_modules.\n";
        assert!(text.contains(unknown), "{text}");
        assert!(
            text.contains("- fast compares only the bits of the types of arguments of tgkill, ")
        );
        assert!(text.contains("Some numbers. 5 syscalls, 0 argument tests."), "{text}");
    }

    #[test]
    fn a_terminal_shows_a_set_in_eighty_columns() {
        let text = report().plain();
        let table = text.lines().take_while(|line| !line.starts_with("  "));
        assert!(table.clone().count() >= 6, "{text}");
        assert!(table.clone().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(short("gvisor-postgres-systrap"), "postgres");
    }
}
