//! The program in C: built in a directory of its own, with filters in files.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use callgate::Endian;
use callgate_measure::Subject;
use callgate_tasks::Result;
use callgate_tasks::files::{make, output, remove, write};

use super::cases::CBody;

const SOURCE: &str = include_str!("loop.c");

const ENDIAN: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// The program and the files of filters, which are removed when this is dropped.
pub(super) struct CLoop {
    directory: PathBuf,
    /// The bytes of the filters, each in the file of its index.
    filters: Vec<Vec<u8>>,
}

impl CLoop {
    /// Compiles the program.
    pub(super) fn build() -> Result<CLoop> {
        let directory = format!("callgate-truth-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        make(&directory)?;
        let built = CLoop { directory, filters: Vec::new() };
        write(&built.directory.join("loop.c"), SOURCE)?;
        output(
            Command::new("cc")
                .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "loop", "loop.c"])
                .current_dir(&built.directory),
        )?;
        Ok(built)
    }

    /// The names of the files of a subject's filters, the oldest first.
    pub(super) fn filters(&mut self, subject: &Subject) -> Result<Vec<String>> {
        let name = |at: usize| format!("filter-{at}");
        let mut names = Vec::new();
        for program in subject.programs() {
            let bytes = program.to_bytes(ENDIAN);
            let known = self.filters.iter().position(|known| *known == bytes);
            let at = known.unwrap_or(self.filters.len());
            if known.is_none() {
                write(&self.directory.join(name(at)), &bytes)?;
                self.filters.push(bytes);
            }
            names.push(name(at));
        }
        Ok(names)
    }

    /// A process of the program: the nanoseconds of an iteration, batch by batch.
    pub(super) fn run(
        &self,
        body: &CBody,
        cpu: Option<usize>,
        filters: &[String],
    ) -> Result<Vec<f64>> {
        let cpu = cpu.map_or("-1".to_owned(), |cpu| cpu.to_string());
        let numbers =
            [body.threads, body.batches, body.iterations].map(|number| number.to_string());
        let text = output(
            Command::new(self.directory.join("loop"))
                .arg(body.name)
                .args(numbers)
                .arg(cpu)
                .args(filters)
                .current_dir(&self.directory)
                .stdin(Stdio::null()),
        )?;
        parse(&text, body.batches as usize)
    }
}

impl Drop for CLoop {
    fn drop(&mut self) {
        // It is in the directory for temporary files.
        let _ = remove(&self.directory);
    }
}

/// Reads what the program prints: a positive number per batch.
fn parse(text: &str, batches: usize) -> Result<Vec<f64>> {
    let number =
        |line: &str| line.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
    let times: Option<Vec<f64>> = text.lines().map(number).collect();
    match times {
        Some(times) if times.len() == batches => Ok(times),
        _ => Err(format!("the C loop printed {text:?} instead of {batches} times")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_batch() {
        assert_eq!(parse("70.125\n71.000\n1234.5\n", 3), Ok(vec![70.125, 71.0, 1234.5]));
        for text in ["70.1\n", "70.1\n71\nx\n", "70\n71\n72\n73\n", "70\n-1\n72\n", "70\ninf\n7\n"]
        {
            assert!(parse(text, 3).unwrap_err().contains("instead of 3 times"), "{text}");
        }
    }
}
