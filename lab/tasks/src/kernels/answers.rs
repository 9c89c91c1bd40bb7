//! The output of a guest.

use std::collections::BTreeMap;

use super::plan::Line;
use callgate_tasks::Result;

/// The answers of one boot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    /// The requested and the actual setting of the kernel's JIT compiler; `None` if the kernel has no JIT compiler.
    pub(super) jit: Vec<(u32, Option<u32>)>,
    /// Instructions and number of syscalls, by line and row.
    times: BTreeMap<(Line, usize), (u64, u64)>,
    /// The number of compared syscalls and of those with another errno, by line.
    asked: BTreeMap<Line, (u32, u32)>,
    /// The first of the latter: the index of the syscall, and its errno.
    wrong: BTreeMap<Line, Vec<(usize, u16)>>,
    /// Errors in the guest.
    pub(super) errors: Vec<String>,
}

impl Answers {
    /// Parses the lines of a guest.
    pub(super) fn read(lines: &[String]) -> Result<Answers> {
        let mut answers = Answers::default();
        for line in lines {
            let read = answers.line(line);
            read.ok_or_else(|| format!("unexpected line of the guest: {line:?}"))?;
        }
        Ok(answers)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["error", ..] => self.errors.push(line["error ".len()..].to_owned()),
            ["jit", "1" | "0", "none"] => self.jit.push((words[1].parse().ok()?, None)),
            ["jit", wanted, is] => self.jit.push((wanted.parse().ok()?, Some(is.parse().ok()?))),
            ["time", name, row, instructions, calls] => {
                let calls: u64 = calls.parse().ok().filter(|calls| *calls > 0)?;
                let key = (Line(name.parse().ok()?), row.parse().ok()?);
                self.times.insert(key, (instructions.parse().ok()?, calls));
            }
            ["asked", name, asked, wrong] => {
                let line = Line(name.parse().ok()?);
                self.asked.insert(line, (asked.parse().ok()?, wrong.parse().ok()?));
            }
            ["wrong", name, call, got] => {
                let line = Line(name.parse().ok()?);
                let wrong = self.wrong.entry(line).or_default();
                wrong.push((call.parse().ok()?, got.parse().ok()?));
            }
            _ => return None,
        }
        Some(())
    }

    /// Guest instructions per syscall of a row.
    pub(super) fn time(&self, line: Line, row: usize) -> Option<f64> {
        let (instructions, calls) = self.times.get(&(line, row))?;
        Some(*instructions as f64 / *calls as f64)
    }

    /// The number of compared syscalls, and of those with another errno.
    pub(super) fn asked(&self, line: Line) -> Option<(u32, u32)> {
        self.asked.get(&line).copied()
    }

    /// The first syscalls with another errno, and that errno.
    pub(super) fn wrong(&self, line: Line) -> &[(usize, u16)] {
        self.wrong.get(&line).map_or(&[], Vec::as_slice)
    }

    /// The number of figures, and of those that differ from another boot when rounded to whole instructions.
    pub(super) fn differences(&self, other: &Answers) -> (usize, usize) {
        let shown = |of: &Answers, line, row| of.time(line, row).map(f64::round);
        let keys: Vec<&(Line, usize)> = self.times.keys().chain(other.times.keys()).collect();
        let keys: std::collections::BTreeSet<&(Line, usize)> = keys.into_iter().collect();
        let differ =
            |key: &&&(Line, usize)| shown(self, key.0, key.1) != shown(other, key.0, key.1);
        (keys.len(), keys.iter().filter(differ).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Answers> {
        Answers::read(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn answers_are_found_by_line_and_row() {
        let answers = read(
            "jit 1 1\njit 0 none\ntime 0 1 984711 692\nwrong 3 8 22\nwrong 3 9 0\nasked 3 70 2\n\
             error 4: the child died",
        )
        .unwrap();
        assert_eq!(answers.jit, [(1, Some(1)), (0, None)]);
        assert_eq!(answers.time(Line(0), 1).map(f64::round), Some(1423.0));
        assert_eq!(answers.time(Line(0), 0), None);
        assert_eq!(answers.asked(Line(3)), Some((70, 2)));
        assert_eq!(answers.wrong(Line(3)), [(8, 22), (9, 0)]);
        assert_eq!(answers.errors, ["4: the child died"]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for text in ["time 0 1 2 0", "time 0 1", "jit x 1", "jit x none", "asked 1 -1 0", "hello"] {
            let error = read(text).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn boots_are_compared_in_what_is_shown() {
        let one = read("time 0 0 1000 10\ntime 1 0 2000 10\ntime 1 1 5 1").unwrap();
        let other = read("time 0 0 1001 10\ntime 1 0 2010 10").unwrap();
        assert_eq!(one.differences(&other), (3, 2));
        assert_eq!(one.differences(&one), (3, 0));
    }
}
