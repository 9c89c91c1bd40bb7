//! The programs of the tests, and the filters that they export.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::compile::Compiler;
use super::parallel;
use super::process::{LIMIT, run};
use callgate_tasks::Result;
use callgate_tasks::files::write;

/// An exported filter.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) bytes: Vec<u8>,
    /// A file with these bytes.
    pub(super) path: PathBuf,
}

/// The programs by name.
pub(super) struct Programs {
    directory: PathBuf,
    /// The environment of all programs.
    environment: Option<(&'static str, &'static str)>,
    programs: BTreeMap<String, Program>,
}

struct Program {
    built: Result<()>,
    filter: OnceLock<Result<Filter>>,
}

impl Programs {
    /// Builds the programs with these names. A program that cannot be built is an error of its tests only: an older
    /// library lacks functions.
    pub(super) fn build(
        compiler: &Compiler,
        names: &[&str],
        environment: Option<(&'static str, &'static str)>,
    ) -> Result<Programs> {
        compiler.object("tests/util.o", "tests/util.c")?;
        let built = parallel::map(names, |name| {
            let (output, source) = (format!("tests/{name}"), format!("tests/{name}.c"));
            compiler.program(&output, &[&source, "tests/util.o"])
        });
        let program = |built| Program { built, filter: OnceLock::new() };
        let programs = names.iter().zip(built);
        Ok(Programs {
            directory: compiler.work.join("tests"),
            environment,
            programs: programs.map(|(name, built)| ((*name).to_owned(), program(built))).collect(),
        })
    }

    /// The directory in which programs run.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A command that runs a program, or the script of a program.
    pub(super) fn command(&self, name: &str) -> Result<Command> {
        self.find(name)?;
        let mut command = Command::new(self.directory.join(name));
        command.current_dir(&self.directory).envs(self.environment);
        Ok(command)
    }

    /// The filter that a program exports. It is run for the first caller only.
    pub(super) fn filter(&self, name: &str) -> Result<&Filter> {
        let filter = self.find(name)?.filter.get_or_init(|| {
            let mut command = self.command(name)?;
            command.arg("-b");
            let bytes = run(&mut command, LIMIT)?.success()?;
            let path = self.directory.join(format!("{name}.bpf"));
            write(&path, &bytes)?;
            Ok(Filter { bytes, path })
        });
        filter.as_ref().map_err(|why| format!("{name}: {why}"))
    }

    fn find(&self, name: &str) -> Result<&Program> {
        let stem = name.strip_suffix(".sh").unwrap_or(name);
        let program = self.programs.get(stem).ok_or_else(|| format!("missing program {stem}"))?;
        program.built.clone().map(|()| program)
    }
}
