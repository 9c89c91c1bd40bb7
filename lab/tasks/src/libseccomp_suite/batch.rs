//! Reads tables of tests (`.tests`).
//!
//! A line `test type: TYPE` is followed by the tests of that type, one per line, whose columns are separated by
//! white space. Lines are numbered per file, without comments, empty lines and types.

use super::kind::Kind;
use super::values::Values;
use callgate_tasks::Result;

/// A table, which is named after the program that it tests.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// A line of a table.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) kind: Kind,
    /// The program in the directory of the tests.
    pub(super) program: String,
    pub(super) test: Test,
}

/// The other columns of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// None: the program itself is the test.
    Program,
    Simulation(Simulation),
    /// The number of random syscalls.
    Fuzz(u32),
    /// The program's argument, which is the expected action, and the API level that it needs.
    Live {
        level: u32,
        action: String,
    },
}

/// Syscalls and their expected verdict.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simulation {
    /// A list for [`select`](super::arches::select).
    pub(super) arches: String,
    /// A name or number, or a range of numbers.
    pub(super) syscall: String,
    /// The arguments; `None` for those that do not matter.
    pub(super) args: [Option<Values>; 6],
    pub(super) verdict: String,
}

impl Batch {
    /// Reads a table.
    pub(super) fn parse(name: &str, text: &str) -> Result<Batch> {
        let mut kind = None;
        let mut batch = Batch { name: name.to_owned(), lines: Vec::new() };
        for (at, line) in (1..).zip(text.lines().map(str::trim)) {
            let failed = |why: String| format!("{name}.tests:{at}: {why}");
            if let Some(name) = line.strip_prefix("test type:").map(str::trim) {
                let known = Kind::from_name(name);
                kind = Some(known.ok_or_else(|| failed(format!("unknown test type {name:?}")))?);
            } else if !line.is_empty() && !line.starts_with('#') {
                let kind = kind.ok_or_else(|| failed("missing line \"test type:\"".to_owned()))?;
                let columns: Vec<&str> = line.split_whitespace().collect();
                batch.lines.push(Line {
                    number: batch.lines.len() + 1,
                    kind,
                    program: columns[0].to_owned(),
                    test: test(kind, &columns[1..]).map_err(failed)?,
                });
            }
        }
        Ok(batch)
    }
}

/// The columns after the program.
fn test(kind: Kind, columns: &[&str]) -> Result<Test> {
    let number =
        |column: &str| column.parse().map_err(|_| format!("{column:?} is not a decimal number"));
    match (kind, columns) {
        (Kind::Basic | Kind::Valgrind, []) => Ok(Test::Program),
        (Kind::Simulation, [arches, syscall, a0, a1, a2, a3, a4, a5, verdict]) => {
            let mut args = [None; 6];
            for (arg, column) in args.iter_mut().zip([a0, a1, a2, a3, a4, a5]) {
                if *column != "N" {
                    *arg = Some(Values::parse(column)?);
                }
            }
            Ok(Test::Simulation(Simulation {
                arches: (*arches).to_owned(),
                syscall: (*syscall).to_owned(),
                args,
                verdict: (*verdict).to_owned(),
            }))
        }
        (Kind::Fuzz, [count]) => Ok(Test::Fuzz(number(count)?)),
        (Kind::Live, [level, action]) => {
            Ok(Test::Live { level: number(level)?, action: (*action).to_owned() })
        }
        _ => Err(format!(
            "a test of type {} does not have {} columns",
            kind.name(),
            columns.len() + 1
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_across_types() {
        let text = "\
# a table\n\n\
test type: bpf-sim\n\n\
# Testname   Arch           Syscall  Arg0  Arg1  Arg2        Arg3  Arg4  Arg5  Result\n\
\t99-own  +all_le,-x32  ioctl  4-5  N  0x10-0x1F  N  N  -1  ERRNO(25) \n\
test type: bpf-sim-fuzz\n99-own 50\n\
test type: bpf-valgrind\n99-own\n\
test type: live\n99-own 3 KILL_PROCESS\n\
test type: basic\n99-own.sh\n";
        let batch = Batch::parse("99-own", text).unwrap();
        let kinds: Vec<Kind> = batch.lines.iter().map(|line| line.kind).collect();
        let numbers: Vec<usize> = batch.lines.iter().map(|line| line.number).collect();
        use Kind::{Basic, Fuzz, Live, Simulation as Simulated, Valgrind};
        assert_eq!(kinds, [Simulated, Fuzz, Valgrind, Live, Basic]);
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        let range = |column| Some(Values::parse(column).unwrap());
        let expected = Simulation {
            arches: "+all_le,-x32".to_owned(),
            syscall: "ioctl".to_owned(),
            args: [range("4-5"), None, range("16-31"), None, None, range("-1")],
            verdict: "ERRNO(25)".to_owned(),
        };
        assert_eq!(batch.lines[0].test, Test::Simulation(expected));
        assert_eq!(batch.lines[1].test, Test::Fuzz(50));
        assert_eq!(batch.lines[2].test, Test::Program);
        let live = Test::Live { level: 3, action: "KILL_PROCESS".to_owned() };
        assert_eq!(batch.lines[3].test, live);
        assert_eq!(batch.lines[4].program, "99-own.sh");
    }

    #[test]
    fn errors_have_the_line_of_the_file() {
        for (text, expected) in [
            ("\n99-own", "99-own.tests:2: missing line \"test type:\""),
            ("test type: bpf", "99-own.tests:1: unknown test type \"bpf\""),
            ("test type: bpf-sim-fuzz\n99-own x", "99-own.tests:2: \"x\" is not a decimal number"),
            (
                "test type: live\n99-own 1",
                "99-own.tests:2: a test of type live does not have 2 columns",
            ),
            (
                "test type: bpf-sim\n99-own all 1 9-3 N N N N N ALLOW",
                "99-own.tests:2: the first value of a range, 9, is above the last, 3",
            ),
        ] {
            assert_eq!(Batch::parse("99-own", text).unwrap_err(), expected);
        }
    }
}
