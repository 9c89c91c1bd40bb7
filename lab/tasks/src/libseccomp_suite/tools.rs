//! What the suite asks the library under test about itself and the machine, with the suite's own tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use callgate::Arch;

use super::compile::Compiler;
use super::process::{LIMIT, run};
use super::values::whole;
use callgate_tasks::Result;
use callgate_tasks::files::write;

const VERSION: &str = include_str!("version.c");

/// The tools, and their answers.
pub(super) struct Tools {
    resolver: PathBuf,
    pub(super) version: String,
    pub(super) native: Arch,
    pub(super) api_level: u32,
    numbers: Mutex<BTreeMap<(Arch, String), Result<u64>>>,
}

impl Tools {
    /// Builds the tools and asks them.
    pub(super) fn build(compiler: &Compiler) -> Result<Tools> {
        let tool = |name: &str| {
            let (output, source) = (format!("tools/{name}"), format!("tools/{name}.c"));
            compiler.program(&output, &[&source]).map_err(|why| format!("{source}: {why}"))?;
            Ok::<PathBuf, String>(compiler.work.join(output))
        };
        write(&compiler.work.join("tools/version.c"), VERSION)?;
        let version = ask(&tool("version")?, &[])?;
        let arch = ask(&tool("scmp_arch_detect")?, &[])?;
        let native = Arch::from_name(&arch);
        let native = native.ok_or_else(|| format!("unknown native architecture {arch:?}"))?;
        let level = ask(&tool("scmp_api_level")?, &[])?;
        let api_level = level.parse().map_err(|_| format!("{level:?} is not an API level"))?;
        let resolver = tool("scmp_sys_resolver")?;
        Ok(Tools { resolver, version, native, api_level, numbers: Mutex::default() })
    }

    /// The number of a syscall, or the pseudo number of a syscall that an architecture does not have.
    pub(super) fn number(&self, arch: Arch, name: &str) -> Result<u64> {
        let mut numbers = self.numbers.lock().unwrap_or_else(|error| error.into_inner());
        let number = numbers.entry((arch, name.to_owned())).or_insert_with(|| {
            ask(&self.resolver, &["-a", arch.name(), "-t", name]).and_then(|number| whole(&number))
        });
        number.clone()
    }
}

/// The output of a tool without white space at its end.
fn ask(tool: &Path, arguments: &[&str]) -> Result<String> {
    let answer = run(Command::new(tool).args(arguments), LIMIT)?.success();
    let name = tool.file_name().unwrap_or_default().to_string_lossy();
    let answer = answer.map_err(|why| format!("{name}: {why}"))?;
    Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
}
