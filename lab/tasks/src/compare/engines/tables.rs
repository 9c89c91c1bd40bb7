//! Tables of engines: times for each workload, cost of translation, and targets.

use callgate_measure::engines::Executed;

use super::figures::{Engines, GCC, GVISOR, LIBPCAP, LONG, NATIVE_IN_C, Row, Section, Times};
use crate::table::Table;

/// The engines with which all are compared, and the heads of their columns.
const YARDSTICKS: [(&str, &str); 3] =
    [(GCC, "/ gcc"), (LIBPCAP, "/ libpcap"), (GVISOR, "/ gVisor")];

/// In place of a missing figure.
const NONE: &str = "–";

impl Section {
    fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn times(&self, name: &str) -> Option<Times> {
        self.row(name)?.times.as_ref().ok().copied()
    }

    fn microseconds(&self, name: &str) -> Option<f64> {
        Some(self.row(name)?.compile?.as_secs_f64() * 1e6)
    }

    /// Its table, and remarks on it.
    fn table(&self) -> (Table, Vec<String>) {
        let heads = YARDSTICKS.map(|(_, head)| head);
        let mut table = Table::new(["engine", "hot ns", "cold ns"].into_iter().chain(heads));
        let mut notes = Vec::new();
        for Row { name, times, .. } in &self.rows {
            let times = match times {
                Ok(times) => times,
                Err(why) => {
                    notes.push(format!("{name} is not measured: {why}."));
                    continue;
                }
            };
            let figures = [format!("{:.2}", times.hot), format!("{:.2}", times.cold)];
            let compared = YARDSTICKS.map(|(other, _)| match self.times(other) {
                Some(other) => {
                    format!("{:.2} {:.2}", times.hot / other.hot, times.cold / other.cold)
                }
                None => NONE.to_owned(),
            });
            table.row([name.clone()].into_iter().chain(figures).chain(compared));
        }
        (table, notes)
    }
}

impl Engines {
    /// The caption and the table of each workload.
    pub(in super::super) fn tables(&self) -> impl Iterator<Item = (String, Table, Vec<String>)> {
        self.sections.iter().map(|section| {
            let Executed { hot, cold } = section.executed;
            let head = format!(
                "{}: {} instructions, executed {hot} hot, {cold:.1} cold",
                section.name, section.insns
            );
            let (table, notes) = section.table();
            (head, table, notes)
        })
    }

    /// Cost of translation: microseconds, and bytes of the result.
    pub(in super::super) fn making(&self) -> Table {
        const MADE: [(&str, &str, &str); 3] = [
            ("callgate, decoded", "decoded µs", "B"),
            ("callgate, cached", "cached µs", "B"),
            ("callgate, jit", "jit µs", "B"),
        ];
        let heads = MADE.iter().flat_map(|(_, time, bytes)| [*time, *bytes]);
        let mut table = Table::new(["workload", "insns"].into_iter().chain(heads));
        for section in &self.sections {
            let mut cells = vec![section.name.clone(), section.insns.to_string()];
            for (name, ..) in MADE {
                let time = section.microseconds(name).map(|time| format!("{time:.1}"));
                let bytes = section.row(name).and_then(|row| row.bytes);
                let bytes = bytes.map(|bytes| bytes.to_string());
                cells.extend([time, bytes].map(|cell| cell.unwrap_or_else(|| NONE.to_owned())));
            }
            table.row(cells);
        }
        table
    }

    /// The targets of the engines, and the workload that is furthest from each.
    pub(in super::super) fn targets(&self) -> Table {
        let mut table = Table::new(["figure", "target", "worst", "workload"]);
        for target in TARGETS {
            let figure = |section| Some(((target.of)(section)?, &*section.name));
            let worst = self.sections.iter().filter_map(figure).reduce(|a, b| {
                let further = match target.bound {
                    Bound::AtMost(_) => b.0 > a.0,
                    Bound::AtLeast(_) => b.0 < a.0,
                };
                if further { b } else { a }
            });
            let bound = match target.bound {
                Bound::AtMost(bound) => format!("≤ {bound}"),
                Bound::AtLeast(bound) => format!("≥ {bound}"),
            };
            let (value, name) = match worst {
                Some((value, name)) => (format!("{value:.2}"), name),
                None => (NONE.to_owned(), "not measured"),
            };
            table.row([target.figure, &*bound, &*value, name]);
        }
        table
    }
}

/// A target.
struct Target {
    figure: &'static str,
    bound: Bound,
    /// The figure of a workload to which it applies.
    of: fn(&Section) -> Option<f64>,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// The time of the first relative to the second: hot and cold.
fn ratios(section: &Section, first: &str, second: &str) -> Option<[f64; 2]> {
    let (first, second) = (section.times(first)?, section.times(second)?);
    Some([first.hot / second.hot, first.cold / second.cold])
}

fn most(section: &Section, first: &str, second: &str) -> Option<f64> {
    ratios(section, first, second).map(|[hot, cold]| hot.max(cold))
}

fn least(section: &Section, first: &str, second: &str) -> Option<f64> {
    ratios(section, first, second).map(|[hot, cold]| hot.min(cold))
}

const TARGETS: &[Target] = &[
    Target {
        figure: "jit / gcc -O2",
        bound: Bound::AtMost(1.3),
        of: |section| most(section, "callgate, jit", GCC),
    },
    Target {
        figure: "jit from C / gcc -O2",
        bound: Bound::AtMost(1.3),
        of: |section| most(section, NATIVE_IN_C, GCC),
    },
    Target {
        figure: "gVisor / jit",
        bound: Bound::AtLeast(4.0),
        of: |section| least(section, GVISOR, "callgate, jit"),
    },
    Target {
        figure: "gVisor / decoded",
        bound: Bound::AtLeast(2.0),
        of: |section| least(section, GVISOR, "callgate, decoded"),
    },
    Target {
        figure: "libpcap / decoded",
        bound: Bound::AtLeast(2.0),
        of: |section| least(section, LIBPCAP, "callgate, decoded"),
    },
    Target {
        figure: "jit, ten-calls, ns",
        bound: Bound::AtMost(5.0),
        of: |section| {
            let times = (section.name == "ten-calls").then(|| section.times("callgate, jit"))??;
            Some(times.hot.max(times.cold))
        },
    },
    Target {
        figure: "jit, µs to compile 400 instructions",
        bound: Bound::AtMost(20.0),
        of: |section| {
            let long = (LONG..LONG + LONG / 10).contains(&section.insns);
            long.then(|| section.microseconds("callgate, jit"))?
        },
    },
    Target {
        figure: "cached, constant allow, ns",
        bound: Bound::AtMost(2.0),
        of: |section| Some(section.constant.then(|| section.times("callgate, cached"))??.hot),
    },
    Target {
        figure: "cached, µs to decode and fill",
        bound: Bound::AtMost(100.0),
        of: |section| section.microseconds("callgate, cached"),
    },
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn row(name: &str, hot: f64, cold: f64) -> Row {
        let compile = name.starts_with("callgate").then(|| Duration::from_micros(7));
        Row { name: name.to_owned(), times: Ok(Times { hot, cold }), compile, bytes: None }
    }

    fn section(name: &str, rows: Vec<Row>) -> Section {
        let executed = Executed { hot: 3, cold: 4.0 };
        Section { name: name.to_owned(), insns: 410, executed, constant: true, rows }
    }

    fn engines() -> Engines {
        let missing = Row {
            name: LIBPCAP.to_owned(),
            times: Err("no package".to_owned()),
            compile: None,
            bytes: None,
        };
        let near = vec![row("callgate, jit", 2.0, 4.4), row(GCC, 2.0, 4.0), missing];
        let far = vec![
            row("callgate, jit", 3.0, 4.0),
            row("callgate, decoded", 10.0, 20.0),
            row(GCC, 2.0, 4.0),
            row(GVISOR, 12.0, 80.0),
        ];
        let sections = vec![section("near", near), section("far", far)];
        Engines { versions: Vec::new(), sections }
    }

    #[test]
    fn times_are_compared_with_each_yardstick() {
        let engines = engines();
        let (_, table, notes) = engines.tables().next().unwrap();
        let text = table.plain();
        assert!(text.contains("callgate, jit    2.00     4.40  1.00 1.10"), "{text}");
        assert_eq!(notes, ["libpcap is not measured: no package."]);
    }

    #[test]
    fn the_worst_workload_is_shown_for_each_target() {
        let text = engines().targets().plain();
        let line = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("jit / gcc -O2"), "jit / gcc -O2 ≤ 1.3 1.50 far");
        assert_eq!(line("gVisor / decoded"), "gVisor / decoded ≥ 2 1.20 far");
        assert!(line("libpcap / decoded").ends_with("not measured"));
        assert!(line("jit, ten-calls").ends_with("not measured"));
        assert!(line("jit, µs").ends_with("20 7.00 near"), "{}", line("jit, µs"));
    }

    #[test]
    fn a_terminal_shows_them_in_eighty_columns() {
        let engines = engines();
        let mut text = engines.making().plain() + &engines.targets().plain();
        engines.tables().for_each(|(head, table, _)| text += &format!("{head}\n{}", table.plain()));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
