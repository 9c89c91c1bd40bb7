//! Compiles the C programs of the suite and links them with the library under test.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::library::SONAME;
use super::process::{LIMIT, run};
use callgate_tasks::Result;

/// Compiles sources of a work directory, which has the headers in `include` and the library in `lib`.
pub(super) struct Compiler {
    pub(super) work: PathBuf,
}

impl Compiler {
    /// Compiles a source without linking.
    pub(super) fn object(&self, output: &str, source: &str) -> Result<()> {
        let mut command = self.command(output);
        self.finish(command.arg("-c").arg(self.work.join(source)))
    }

    /// Compiles and links a program.
    pub(super) fn program(&self, output: &str, sources: &[&str]) -> Result<()> {
        self.linked(output, sources, &self.work.join("lib"), &[])
    }

    /// As [`Compiler::program`], with the library of a directory and further options.
    pub(super) fn linked(
        &self,
        output: &str,
        sources: &[&str],
        library: &Path,
        options: &[&str],
    ) -> Result<()> {
        let mut command = self.command(output);
        command.args(options).args(sources.iter().map(|source| self.work.join(source)));
        command.arg("-L").arg(library).arg(format!("-l:{SONAME}")).arg("-lpthread");
        // DT_RPATH, unlike its successor DT_RUNPATH, has priority over LD_LIBRARY_PATH.
        let path = format!("-Wl,--disable-new-dtags,-rpath,{}", library.display());
        self.finish(command.arg(path))
    }

    fn command(&self, output: &str) -> Command {
        let mut command = Command::new("cc");
        // Symbols are for the reports of valgrind. Warnings are upstream's business.
        command.args(["-O2", "-g", "-w", "-I"]).arg(self.work.join("include"));
        command.arg("-o").arg(self.work.join(output));
        command
    }

    fn finish(&self, command: &mut Command) -> Result<()> {
        let ended = run(command, LIMIT)?;
        let message = message(&ended.errors).map(str::to_owned);
        ended.success().map(drop).map_err(|why| format!("cc: {}", message.unwrap_or(why)))
    }
}

/// The decisive line of the compiler's or the linker's messages.
fn message(errors: &str) -> Option<&str> {
    let undefined =
        errors.lines().find_map(|line| line.find("undefined reference").map(|at| &line[at..]));
    undefined.or_else(|| {
        errors.lines().find(|line| line.contains("error:") && !line.starts_with("collect2"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decisive_line_is_found() {
        let linker = "ld: /tmp/x.o: in function `main':\n/a/x.c:7: undefined reference to `f'\n\
            collect2: error: ld returned 1 exit status\n";
        assert_eq!(message(linker), Some("undefined reference to `f'"));
        let compiler = "x.c: In function 'main':\nx.c:7:2: error: unknown type name 'y'\n";
        assert_eq!(message(compiler), Some("x.c:7:2: error: unknown type name 'y'"));
        let other = "x.so: file not recognized\ncollect2: error: ld returned 1 exit status\n";
        assert_eq!(message(other), None);
    }
}
