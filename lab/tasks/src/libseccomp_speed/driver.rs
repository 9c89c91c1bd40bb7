//! The C program that is measured, built for one library.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, output, read, write};

const SOURCE: &str = include_str!("driver.c");
const RULES: &str = include_str!("../compare/drivers/libseccomp/rules.h");

/// The exit status of a driver if its library cannot express the rules.
const CANNOT_EXPRESS: i32 = 3;

/// A driver.
pub(super) struct Driver {
    program: PathBuf,
    pub(super) name: String,
}

/// What one process measured; times in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Up to the end of `seccomp_load`.
    pub(super) total: f64,
    /// `seccomp_load` alone.
    pub(super) load: f64,
    /// Page faults up to `seccomp_load`.
    pub(super) faults: f64,
    /// The growth of the resident memory up to `seccomp_load`, in KiB.
    pub(super) memory: f64,
    /// The instructions of the program.
    pub(super) insns: f64,
}

impl Driver {
    /// Compiles the driver, and links it with a copy of a library under the name that it is found by.
    pub(super) fn build(place: &Path, header: &Path, library: &Path) -> Result<Driver> {
        make(place)?;
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Page faults of a copied file take less time than those of a file that a linker wrote: it is in larger parts in memory.
        let link = place.join("libseccomp.so.2");
        std::fs::copy(library, &link).map_err(|why| format!("{}: {why}", library.display()))?;
        write(&place.join("driver.c"), SOURCE)?;
        write(&place.join("rules.h"), RULES)?;
        let program = place.join("driver");
        let compile = |define: &[&str]| {
            let mut command = Command::new("cc");
            command.args(["-O2", "-o"]).arg(&program).args(define).arg("-I").arg(header);
            command.arg(place.join("driver.c")).arg(&link);
            output(command.arg(format!("-Wl,-rpath,{}", place.display())))
        };
        compile(&["-DHAVE_EXPORT_MEM"]).or_else(|_| compile(&[]))?;
        Ok(Driver { program, name })
    }

    /// Measures some processes; `None` if the library cannot express the rules.
    pub(super) fn measure(
        &self,
        rules: &Path,
        level: u32,
        rounds: usize,
    ) -> Result<Option<Vec<Sample>>> {
        let mut command = Command::new(&self.program);
        command.arg(rules).args([level.to_string(), rounds.to_string()]);
        let ended = command.output().map_err(|why| format!("{}: {why}", self.name))?;
        if ended.status.code() == Some(CANNOT_EXPRESS) {
            return Ok(None);
        }
        if !ended.status.success() {
            let errors = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("{}: {}", self.name, errors.trim()));
        }
        let text = String::from_utf8_lossy(&ended.stdout);
        let lines = text.lines().filter(|line| !line.starts_with("unknown "));
        lines.map(sample).collect::<Result<_>>().map(Some)
    }

    /// The machine instructions of one context up to `seccomp_load`.
    pub(super) fn count(&self, rules: &Path, level: u32, log: &Path) -> Result<usize> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.args(["--toggle-collect=measured"]).arg(format!("--log-file={}", log.display()));
        command.arg(&self.program).arg(rules).args([level.to_string().as_str(), "once"]);
        output(&mut command)?;
        let log = read(log)?;
        let text = String::from_utf8_lossy(&log);
        let collected = text.lines().find_map(|line| line.split_once("Collected : "));
        let number = collected.and_then(|(_, number)| number.trim().parse().ok());
        number.ok_or_else(|| format!("valgrind reports no number of instructions: {text}"))
    }
}

fn sample(line: &str) -> Result<Sample> {
    let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [compile, load, faults, memory, insns] => {
            let (compile, load) = (compile / 1e3, load / 1e3);
            Ok(Sample { total: compile + load, load, faults, memory, insns })
        }
        _ => Err(format!("the driver printed {line:?}")),
    }
}
