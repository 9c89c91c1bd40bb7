//! The tools that build and test wheels, in a virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, read, remove, run, write};

use super::super::context::Context;

/// The pinned versions, as text of pip.
const CONSTRAINTS: &str = "bindings/python/constraints.txt";

/// A virtual environment with maturin, zig and auditwheel.
pub(super) struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// The environment, which is made again only if the pinned versions changed.
    pub(super) fn new(context: &Context) -> Result<Tools> {
        let tools = Tools { directory: context.work.join("python-tools") };
        let constraints = context.root.join(CONSTRAINTS);
        let (wanted, kept) = (read(&constraints)?, tools.directory.join("constraints.txt"));
        if read(&kept).is_ok_and(|kept| kept == wanted) {
            return Ok(tools);
        }
        environment(&tools.directory)?;
        let mut pip = tools.pip();
        pip.args(["install", "--quiet", "--constraint"]).arg(&constraints);
        run(pip.args(["maturin", "ziglang", "auditwheel"]))?;
        write(&kept, wanted)?;
        Ok(tools)
    }

    /// pip of the environment.
    pub(super) fn pip(&self) -> Command {
        pip(&self.directory)
    }

    /// A tool in the root of the tree, which finds the Python of the environment, and with it zig.
    pub(super) fn command(&self, context: &Context, name: &str) -> Command {
        let bin = self.directory.join("bin");
        let mut path = bin.clone().into_os_string();
        if let Some(others) = std::env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        let mut command = context.command(&bin.join(name).to_string_lossy());
        command.env("PATH", path).env("ZIG_GLOBAL_CACHE_DIR", context.work.join("zig"));
        command
    }
}

/// The pinned version of a tool.
pub(in crate::release) fn pinned(root: &Path, tool: &str) -> Result<String> {
    let text = read(&root.join(CONSTRAINTS))?;
    String::from_utf8_lossy(&text)
        .lines()
        .find_map(|line| Some(line.strip_prefix(tool)?.strip_prefix("==")?.to_owned()))
        .ok_or_else(|| format!("{CONSTRAINTS}: no version of {tool}"))
}

/// Makes an empty virtual environment of the Python in the variable `PYTHON`, or of `python3`.
pub(in crate::release) fn environment(directory: &Path) -> Result<()> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    environment_of(Path::new(&python), directory)
}

/// Makes an empty virtual environment of a Python.
pub(super) fn environment_of(python: &Path, directory: &Path) -> Result<()> {
    remove(directory)?;
    make(directory)?;
    run(Command::new(python).args(["-m", "venv"]).arg(directory)).map(drop).map_err(|error| {
        format!("{error}\nPython 3.9 or later with venv is needed (apt-get install python3-venv)")
    })
}

/// pip of a virtual environment.
pub(in crate::release) fn pip(environment: &Path) -> Command {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "--disable-pip-version-check"]);
    pip
}
