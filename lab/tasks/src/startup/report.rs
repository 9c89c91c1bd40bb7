//! The tables, on standard output or in `lab/results/startup.md`.

use std::path::Path;

use super::builder::Program;
use super::lines::Lines;
use super::measure::Sample;
use super::options::Options;
use super::variants::{Variant, When};
use super::verify::Verified;
use crate::machine;
use crate::table::{Table, count};
use crate::versions::{BINCODE, GVISOR, LIBSECCOMP_GOLANG, SECCOMPILER};
use callgate_tasks::files::write;
use callgate_tasks::{Result, workspace};

const BEGIN: &str = "<!-- Written by `cargo lab startup --update`. Do not edit. -->\n";
const END: &str = "<!-- End of the written part. -->\n";

/// The results of a run.
pub(super) struct Report {
    head: Vec<String>,
    pub(super) rows: Vec<Row>,
    missing: Vec<String>,
}

/// The results of a variant.
pub(super) struct Row {
    name: &'static str,
    compiled: Option<When>,
    lines: Lines,
    sample: Sample,
    verified: Option<Verified>,
    default: u64,
    stripped: u64,
    library: Option<u64>,
}

impl Row {
    pub(super) fn new(
        variant: &Variant,
        program: &Program,
        sample: Sample,
        verified: Option<Verified>,
    ) -> Row {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        Row {
            name: variant.name,
            compiled: variant.compiled,
            lines: variant.lines(),
            sample,
            verified,
            default: size(&program.default),
            stripped: size(&program.stripped),
            library: program.library.as_deref().map(size),
        }
    }
}

impl Report {
    pub(super) fn new(options: &Options) -> Report {
        let libseccomp = options.libseccomp.as_ref().map(|_| " --libseccomp DIR");
        let update = if options.update { " --update" } else { "" };
        let mut head = vec![format!(
            "`cargo lab startup --rounds {}{}{update}`",
            options.rounds,
            libseccomp.unwrap_or_default()
        )];
        head.extend(machine::lines());
        head.extend(machine::said("go", &["version"]).map(|go| go.replace("go version go", "Go ")));
        head.extend(
            machine::said("cc", &["--version"])
                .and_then(|text| text.lines().next().map(str::to_owned)),
        );
        head.push(format!(
            "gVisor {GVISOR}; seccompiler {SECCOMPILER} with bincode {BINCODE}; {}libseccomp-golang \
             {LIBSECCOMP_GOLANG}",
            options.libseccomp.as_deref().and_then(version).map_or(String::new(), |text| format!("libseccomp {text}; "))
        ));
        Report { head, rows: Vec::new(), missing: Vec::new() }
    }

    pub(super) fn load(&mut self, when: &str) {
        self.head.extend(machine::load(when));
    }

    pub(super) fn left_out(&mut self, name: &str, why: &str) {
        self.missing.push(format!("{name}: {why}"));
    }

    /// Prints the tables, or writes them to the page.
    pub(super) fn publish(&self, options: &Options) -> Result<()> {
        let text = self.markdown();
        print!("{text}");
        if !options.update {
            return Ok(());
        }
        let path = workspace().join("lab/results/startup.md");
        let page =
            std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        write(&path, replaced(&page, &text)?)
    }

    fn markdown(&self) -> String {
        let bullets =
            |lines: &[String]| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
        let mut text = format!(
            "{}\n{}\n{}",
            bullets(&self.head),
            times(&self.rows).markdown(),
            programs(&self.rows).markdown()
        );
        if self.rows.iter().any(|row| row.compiled.is_some() && row.verified.is_none()) {
            text += "\nThe filters were not compared, because only root can read them from processes.\n";
        }
        if !self.missing.is_empty() {
            text += &format!("\nLeft out:\n\n{}", bullets(&self.missing));
        }
        text
    }
}

fn times(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "median µs",
        "compiled",
        "until ready",
        "two system calls",
        "fork to installed",
        "fork to end",
    ]);
    for row in rows {
        let sample = &row.sample;
        let compiled = match row.compiled {
            Some(When::Build) => "at build",
            Some(When::BuildWithValues) => "at build, fixed values",
            Some(When::Start) => "at start",
            None => "–",
        };
        let own = |value: f64| row.compiled.map_or("–".to_owned(), |_| digits(value));
        table.row([
            row.name.to_owned(),
            compiled.to_owned(),
            own(sample.ready),
            own(sample.system),
            digits(sample.installed),
            digits(sample.process),
        ]);
    }
    table
}

fn programs(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "",
        "lines: policy + build + start",
        "instructions",
        "other architectures",
        "x32",
        "bytes, stripped",
        "bytes, by default",
        "library",
    ]);
    for row in rows {
        let lines = row.lines;
        let counted =
            format!("{} + {} + {} = {}", lines.policy, lines.build, lines.start, lines.total());
        let filter = |of: fn(&Verified) -> String| row.verified.as_ref().map_or("–".to_owned(), of);
        table.row([
            row.name.to_owned(),
            row.compiled.map_or("–".to_owned(), |_| counted),
            filter(|verified| verified.insns.to_string()),
            filter(|verified| verified.other.to_string()),
            filter(|verified| verified.x32.map_or("–".to_owned(), |verdict| verdict.to_string())),
            bytes(row.stripped),
            bytes(row.default),
            row.library.map_or("–".to_owned(), bytes),
        ]);
    }
    table
}

fn bytes(bytes: u64) -> String {
    count(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Microseconds with three digits or more.
fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => bytes(value.round() as u64),
    }
}

/// The version of an installed libseccomp.
fn version(directory: &Path) -> Option<String> {
    let text = std::fs::read_to_string(directory.join("lib/pkgconfig/libseccomp.pc")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Version: ")).map(str::to_owned)
}

/// A page with another text between the two comments.
fn replaced(page: &str, text: &str) -> Result<String> {
    let missing = || format!("lab/results/startup.md lacks the line {BEGIN}or the line {END}");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_part_of_a_page_is_replaced() {
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(
            replaced(&page, "new\n").unwrap(),
            format!("before\n{BEGIN}\nnew\n\n{END}after\n")
        );
        assert!(replaced("no such line", "new").unwrap_err().contains("lacks"));
    }
}
