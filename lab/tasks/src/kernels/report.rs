//! The report: `lab/results/kernels.md`, and the same tables for a terminal.

use super::experiments::Derived;
use super::forms_table;
use super::guests::Guest;
use super::programs::AGAIN;
use super::published;
use super::run::Results;
use super::weighted::Overhead;
use crate::table::{Table, count};
use callgate_tasks::Result;

/// The experiment from which [`Derived`] is computed.
const TAKEN_APART: usize = 1;
/// The maximum number of differing syscalls shown per guest.
const SHOWN: usize = 3;

/// The results of a run.
pub(super) struct Report {
    command: String,
    day: String,
    workload: String,
    pub(super) versions: Vec<String>,
    pub(super) notes: Vec<String>,
    missing: Vec<String>,
    guests: Vec<(&'static Guest, Results)>,
}

impl Report {
    /// An empty report: the command (with names in place of paths), the date, and the name of the weights.
    pub(super) fn new(command: String, day: String, workload: String) -> Report {
        let (versions, notes, missing, guests) = Default::default();
        Report { command, day, workload, versions, notes, missing, guests }
    }

    pub(super) fn add(&mut self, guest: &'static Guest, results: Results) {
        self.guests.push((guest, results));
    }

    pub(super) fn not_measured(&mut self, name: &str, why: &str) {
        eprintln!("kernels: {name} is not measured: {why}");
        self.missing.push(format!("{name}: {why}"));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.guests.is_empty()
    }

    /// An error if a kernel and the interpreter disagree.
    pub(super) fn verdict(&self) -> Result<()> {
        let differ: u64 =
            self.guests.iter().flat_map(|(_, all)| &all.modes).map(|mode| mode.tally.differ).sum();
        if differ > 0 {
            return Err(format!("{differ} verdicts differ from those of the interpreter"));
        }
        Ok(())
    }

    /// The document.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!(
            "# Filters under other kernels\n\n\
             <!-- Written by `cargo lab kernels`. Do not edit. -->\n\n\
             {ABOUT}\n    {}\n\n{}, with:\n",
            self.command, self.day
        );
        text += &bullets(&self.versions);
        text += &format!("\n{}\n", self.steadiness());
        for section in self.sections() {
            text += &format!("\n## {}\n\n{}\n", section.title, section.about);
            for (caption, table) in &section.tables {
                let caption =
                    if caption.is_empty() { caption } else { &format!("**{caption}**\n\n") };
                text += &format!("\n{caption}{}", table.markdown());
            }
            text += &spaced(&section.notes);
        }
        if !self.missing.is_empty() {
            text += &format!("\n## Not measured\n{}", spaced(&self.missing));
        }
        text
    }

    /// The tables for a terminal.
    pub(super) fn plain(&self) -> String {
        let mut text = String::new();
        // A run does not measure the costs of instructions, and their table has a column for each kernel.
        for section in self.sections().into_iter().filter(|section| section.title != FORMS) {
            for (caption, table) in &section.tables {
                let comma = if caption.is_empty() { "" } else { ", " };
                text += &format!("{}{comma}{caption}\n{}\n", section.title, table.plain());
            }
            let notes: String = section.notes.iter().map(|note| format!("  {note}\n")).collect();
            text += &if notes.is_empty() { notes } else { notes + "\n" };
        }
        if !self.is_empty() {
            text += &format!("{}\n", self.steadiness());
        }
        text + &self.missing.iter().map(|one| format!("not measured: {one}\n")).collect::<String>()
    }

    /// Whether boots agree.
    fn steadiness(&self) -> String {
        let boots = self.guests.iter().map(|(_, all)| all.boots).max().unwrap_or(0);
        if boots < 2 {
            return "Each guest was booted once, so it is unknown whether the figures are reproducible.".to_owned();
        }
        let figures: usize = self.guests.iter().map(|(_, all)| all.figures).sum();
        let unsteady: Vec<String> = self
            .guests
            .iter()
            .filter(|(_, all)| all.unsteady > 0)
            .map(|(guest, all)| format!("{} of {} for {}", all.unsteady, all.figures, guest.name()))
            .collect();
        let figures = count(figures);
        if unsteady.is_empty() {
            format!(
                "Each guest was booted {boots} times: all {figures} figures agree to the last digit."
            )
        } else {
            let unsteady = unsteady.join(", ");
            format!("Each guest was booted {boots} times, and some figures differ: {unsteady}.")
        }
    }

    fn sections(&self) -> Vec<Section> {
        // Some guests do not have the last experiments.
        let longest = self.guests.iter().max_by_key(|(_, results)| results.experiments.len());
        let Some((_, longest)) = longest else { return Vec::new() };
        let mut sections = Vec::new();
        for (place, experiment) in longest.experiments.iter().enumerate() {
            let mut table = Table::new(["kernel"].into_iter().chain(experiment.titles()));
            for (guest, results) in &self.guests {
                for mode in &results.modes {
                    let Some(figures) = mode.figures.get(place) else { continue };
                    let cells = figures.iter().map(|figure| figure.map_or("–".to_owned(), whole));
                    table.row([guest.name_with(mode.jit)].into_iter().chain(cells));
                }
            }
            sections.push(Section::new(experiment.name, experiment.about, table));
            if place == TAKEN_APART {
                sections.push(self.derived());
            }
        }
        let rows = self.guests.iter().flat_map(|(guest, results)| {
            results.modes.iter().flat_map(move |mode| {
                let figures = results.experiments.iter().zip(&mode.figures);
                figures.map(move |(experiment, figures)| {
                    (guest.name_with(mode.jit), experiment, figures.as_slice())
                })
            })
        });
        match published::shares(rows) {
            none if none.is_empty() => {}
            tables => sections.push(Section {
                title: published::SHARES.to_owned(),
                about: published::ABOUT_SHARES.to_owned(),
                tables,
                notes: Vec::new(),
            }),
        }
        sections.push(Section {
            title: FORMS.to_owned(),
            about: COSTS.to_owned(),
            tables: forms_table::tables(),
            notes: Vec::new(),
        });
        sections.push(self.weighted());
        sections.push(self.verdicts());
        sections
    }

    fn derived(&self) -> Section {
        let mut table = Table::new(["kernel", "entry", "per filter", "per test"]);
        for (guest, results) in &self.guests {
            for mode in &results.modes {
                let derived = mode.figures.get(TAKEN_APART).and_then(|all| Derived::new(all));
                let cells = derived.map(|Derived { entry, filter, test }| {
                    [format!("{entry:.0}"), format!("{filter:.1}"), format!("{test:.2}")]
                });
                let name = guest.name_with(mode.jit);
                table.row([name].into_iter().chain(cells.into_iter().flatten()));
            }
        }
        Section::new("What a filter costs", DERIVED, table)
    }

    /// One table per machine and mode, because programs differ between machines.
    fn weighted(&self) -> Section {
        let mut machines: Vec<&str> = self.guests.iter().map(|(g, _)| g.machine.name).collect();
        machines.dedup();
        let modes = machines.iter().flat_map(|machine| [(*machine, true), (*machine, false)]);
        let ahead = self.ahead();
        let ahead = match ahead.as_slice() {
            [] => format!("{AHEAD} none."),
            rows => format!("{AHEAD}\n{}", bullets(rows).trim_end()),
        };
        let table = |(machine, jit)| {
            let how = if jit { "" } else { ", interpreter" };
            Some((format!("{machine}{how}"), self.weighted_on(machine, jit)?))
        };
        Section {
            title: "Mean cost of a syscall".to_owned(),
            about: WEIGHTED.replace("WORKLOAD", &self.workload) + "\n\n" + &ahead,
            tables: modes.filter_map(table).collect(),
            notes: self.notes.clone(),
        }
    }

    /// The rows and columns in which the program of another compiler costs less than Callgate's, as shown.
    fn ahead(&self) -> Vec<String> {
        let mut ahead = Vec::new();
        for (guest, results) in &self.guests {
            for mode in &results.modes {
                let of = |wanted: &str| {
                    let names = results.weighed.iter().map(|(name, _)| name);
                    let found = names.zip(&mode.overheads).find(|(name, _)| *name == wanted);
                    found.and_then(|(_, overhead)| *overhead).map(|one| tenths(one.instructions))
                };
                for (name, _) in &results.weighed {
                    let costs = (of(name), of(&format!("{name}{AGAIN}")));
                    let (Some(theirs), Some(ours)) = costs else { continue };
                    if theirs < ours {
                        let guest = guest.name_with(mode.jit);
                        ahead.push(format!("{name}, {guest}: {theirs:.1}, Callgate {ours:.1}"));
                    }
                }
            }
        }
        ahead
    }

    /// `None` if no guest on the machine has that mode.
    fn weighted_on(&self, machine: &str, jit: bool) -> Option<Table> {
        let guests = self.guests.iter().filter(|(guest, _)| guest.machine.name == machine);
        let columns: Vec<_> = guests
            .flat_map(|(guest, all)| all.modes.iter().map(move |mode| (guest, all, mode)))
            .filter(|(_, _, mode)| mode.jit == jit)
            .collect();
        let (_, first, _) = columns.first()?;
        let head = ["filter", "insns", "share"].map(str::to_owned);
        let versions = columns.iter().map(|(guest, ..)| guest.version.to_string());
        let mut table = Table::new(head.into_iter().chain(versions));
        for (place, (name, insns)) in first.weighed.iter().enumerate() {
            let overheads: Vec<Option<Overhead>> = columns
                .iter()
                .map(|(_, _, mode)| mode.overheads.get(place).copied().flatten())
                .collect();
            let share = match overheads.iter().flatten().map(|one| one.share).next() {
                Some(share) => format!("{:.1} %", share * 100.0),
                None => "–".to_owned(),
            };
            // The row below the program from which it was compiled.
            let name = if name.ends_with(AGAIN) { "  by Callgate" } else { name };
            let cells = overheads.iter().map(|overhead| {
                overhead.map_or("–".to_owned(), |one| format!("{:.1}", one.instructions))
            });
            table.row([name.to_owned(), insns.to_string(), share].into_iter().chain(cells));
        }
        Some(table)
    }

    fn verdicts(&self) -> Section {
        let mut table = Table::new(["kernel", "programs", "syscalls", "mismatches"]);
        let mut notes = Vec::new();
        for (guest, results) in &self.guests {
            for mode in &results.modes {
                let tally = &mode.tally;
                let calls = count(usize::try_from(tally.calls).unwrap_or(usize::MAX));
                let name = guest.name_with(mode.jit);
                let examples = tally.examples.iter().take(SHOWN);
                notes.extend(examples.map(|example| format!("{name}: {example}")));
                table.row([name, tally.programs.to_string(), calls, tally.differ.to_string()]);
            }
        }
        Section { notes, ..Section::new("Verdicts", VERDICTS, table) }
    }
}

struct Section {
    title: String,
    about: String,
    /// With captions if there are several.
    tables: Vec<(String, Table)>,
    notes: Vec<String>,
}

impl Section {
    fn new(title: &str, about: &str, table: Table) -> Section {
        let tables = vec![(String::new(), table)];
        Section { title: title.to_owned(), about: about.to_owned(), tables, notes: Vec::new() }
    }
}

fn whole(figure: f64) -> String {
    count(figure.round().max(0.0) as usize)
}

/// A figure as the tables show it.
fn tenths(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

fn bullets(items: &[String]) -> String {
    items.iter().map(|item| format!("- {item}\n")).collect()
}

fn spaced(items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("\n{}", bullets(items)) }
}

const ABOUT: &str = "\
Debian's kernels, booted in software emulation with one guest instruction per nanosecond of
guest time. So times are numbers of executed instructions (of the kernel, the program, libc's
`syscall()` and the loop around it), without the effects of caches and branch prediction, and
are the same on any machine. Figures are guest instructions per syscall. *interpreter* is the
same kernel with `net.core.bpf_jit_enable=0`, or a kernel without a JIT compiler for BPF.

In the first tables, the columns are the number of filters that are installed on top of each
other; *32 merged* is the program of `callgate merge` for the 32 filters.
`cargo lab kernels --help` describes the directory.
";

const DERIVED: &str = "\
From the table above: *per filter* is a 30th of the difference between 32 filters and two;
*entry* is the rest of the cost of the first filter; *per test* is a hundredth of the cost
of 100 comparisons whose branch is not taken.";

/// The title of the section about [costs](callgate_codegen::native).
const FORMS: &str = "What instructions cost";

const COSTS: &str = "\
What the kernel executes for each form of an instruction, in machine instructions; for
conditional jumps where the result is true / false. *next* is the side that begins with the
next instruction; how far the other side is away does not matter. *12 bits* are constants
below 0x1000, or multiples of 0x1000 below 0x1000000; *16 bits* are others with one half that
is zero, *31 bits* others below 0x80000000. A `ret` costs more than the only one of a program
by the given number. The code generator reads these figures (`callgate_codegen::native`).

    cargo lab kernels costs --check";

const AHEAD: &str = "Rows in which another compiler is ahead:";

const WEIGHTED: &str = "\
Mean cost that a filter adds to a syscall, in guest instructions, under the weights
`WORKLOAD`. *share* is the part of the weight that this mean covers: syscalls that the
filter permits and that return; they are made with arguments with which they fail. *insns*
is the number of instructions of the program. *weighted* is compiled for these weights,
*size* with `--optimize size`, and *plain* tests one rule after the other. *by Callgate* is
the program in the row above, recompiled by Callgate for these weights. libseccomp's programs
end in `.opt1` (list) or `.opt2` (binary tree), gVisor's in `.opt` or `.unopt` (with or
without its optimizer).";

const VERDICTS: &str = "\
Programs in which each verdict is replaced by an errno were installed inside the guest.
*mismatches* is the number of syscalls whose verdict differs from that of the reference
interpreter. On x86-64, syscalls of the 32-bit ABI are compared too; s390x is big-endian.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::experiments::Experiment;
    use crate::kernels::guests::GUESTS;
    use crate::kernels::run::Mode;
    use crate::kernels::verdicts::Tally;

    fn results(guest: &Guest, boots: usize, unsteady: usize, differ: u64) -> Results {
        let experiments = Experiment::all(guest).unwrap();
        let mode = |jit: &bool| Mode {
            jit: *jit,
            figures: vec![
                [240.0, 392.4, 426.0, 494.0, 1415.2, 392.0].map(Some).to_vec(),
                [240.0, 393.0, 427.0, 495.0, 1447.0, 593.0, 392.0].map(Some).to_vec(),
                vec![Some(1.0), None],
            ],
            overheads: vec![Some(Overhead { instructions: 161.55, share: 0.998 }), None],
            tally: Tally {
                programs: 3,
                calls: 123_456,
                differ,
                examples: vec!["call 7".to_owned(); differ as usize],
            },
        };
        let name = |name: &str| (name.to_owned(), 65);
        let weighed = vec![name("list"), name("list, by Callgate")];
        let modes = guest.modes().iter().map(mode).collect();
        Results { experiments, weighed, modes, boots, figures: 1000, unsteady }
    }

    fn report(boots: usize, unsteady: usize, differ: u64) -> Report {
        let mut report = Report::new("the command".into(), "2026-01-02".into(), "server".into());
        report.versions.push("a version".to_owned());
        for guest in [&GUESTS[0], &GUESTS[4]] {
            report.add(guest, results(guest, boots, unsteady, differ));
        }
        report
    }

    #[test]
    fn the_document_has_every_guest_and_mode() {
        let mut report = report(3, 0, 0);
        report.not_measured("6.1 amd64", "no emulator");
        let text = report.markdown();
        for expected in [
            "\n    the command\n\n2026-01-02, with:\n- a version\n",
            "## getpid, always allowed\n",
            "| kernel                  | none |   1 |   2 |   4 |    32 | 32 merged |\n",
            "| 5.10 amd64              |  240 | 392 | 426 | 494 | 1,415 |       392 |\n",
            "| 5.10 amd64, interpreter |",
            "| 6.1 s390x, interpreter  |",
            "| 5.10 amd64              |   119 |       34.0 |     2.00 |\n",
            "**s390x, interpreter**",
            "| list          |    65 | 99.8 % | 161.6 |\n",
            "|   by Callgate |    65 |      – |     – |\n",
            "| 5.10 amd64              |        3 |  123,456 |          0 |\n",
            "## Not measured\n\n- 6.1 amd64: no emulator\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("\n| 6.1 s390x "), "it has no native code");
    }

    #[test]
    fn rows_in_which_others_are_ahead_are_listed() {
        let mut report = report(1, 0, 0);
        assert!(report.markdown().contains("\nRows in which another compiler is ahead: none.\n"));
        for (_, results) in &mut report.guests {
            for mode in &mut results.modes {
                // Ours is ahead with the JIT compiler, theirs without.
                let ours = if mode.jit { 161.4 } else { 161.72 };
                mode.overheads[1] = Some(Overhead { instructions: ours, share: 0.998 });
            }
        }
        let expected = "\nRows in which another compiler is ahead:\n\
             - list, 5.10 amd64, interpreter: 161.6, Callgate 161.7\n\
             - list, 6.1 s390x, interpreter: 161.6, Callgate 161.7\n";
        assert!(report.markdown().contains(expected), "{}", report.markdown());
    }

    #[test]
    fn it_says_whether_boots_agree() {
        let said = |boots, unsteady| report(boots, unsteady, 0).plain();
        let agree = "booted 3 times: all 2,000 figures agree to the last digit.";
        assert!(said(3, 0).contains(agree));
        let differ = "figures differ: 2 of 1000 for 5.10 amd64, 2 of 1000 for 6.1 s390x.";
        assert!(said(3, 2).contains(differ));
        assert!(said(1, 0).contains("unknown whether"));
    }

    #[test]
    fn verdicts_that_differ_are_shown_and_are_an_error() {
        assert_eq!(report(1, 0, 0).verdict(), Ok(()));
        let report = report(1, 0, 4);
        assert!(report.verdict().unwrap_err().starts_with("12 verdicts differ"));
        assert_eq!(report.markdown().matches("- 5.10 amd64: call 7\n").count(), SHOWN);
    }

    #[test]
    fn a_terminal_gets_80_columns() {
        for line in report(3, 0, 0).plain().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
