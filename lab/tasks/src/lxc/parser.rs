//! Builds and runs LXC's own parser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::Endian;
use callgate_core::LongProgram;

use callgate_tasks::files::{make, write};
use callgate_tasks::{Result, workspace};

/// The built parser.
pub(crate) struct Parser {
    /// The directory of all files.
    work: PathBuf,
    library: Option<PathBuf>,
}

impl Parser {
    /// Builds the parser from a checkout of LXC. It uses this `libseccomp.so.2`, or that of the system.
    pub(crate) fn build(source: &Path, library: Option<&Path>) -> Result<Parser> {
        let work = workspace().join("target/lxc");
        make(&work)?;
        write(&work.join("harness.c"), include_str!("harness.c"))?;
        write(&work.join("config.h"), include_str!("config.h"))?;
        let lxc = source.join("src");
        let sources = ["lxc/seccomp.c", "lxc/string_utils.c"].map(|name| lxc.join(name));
        let headers = ["", "lxc", "include", "lxc/cgroups", "lxc/storage"];
        let mut cc = Command::new("cc");
        cc.args(["-w", "-O1", "-ffunction-sections", "-fdata-sections"]);
        cc.arg("-I").arg(&work);
        for directory in headers {
            cc.arg("-I").arg(lxc.join(directory));
        }
        cc.arg(work.join("harness.c")).args(&sources);
        // The rest of LXC, which the parser does not call, is missing.
        cc.args(["-lseccomp", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all", "-o"]);
        cc.arg(work.join("parser"));
        let output = cc.output().map_err(|error| format!("cc: {error}"))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(format!("cannot build LXC's parser:\n{messages}"));
        }
        let library = match library {
            None => None,
            Some(file) => {
                let directory = work.join("lib");
                make(&directory)?;
                fs::copy(file, directory.join("libseccomp.so.2"))
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                Some(directory)
            }
        };
        Ok(Parser { work, library })
    }

    /// What LXC makes of a profile: a program, or its messages.
    pub(crate) fn parse(&self, profile: &str) -> Result<std::result::Result<LongProgram, String>> {
        let file = self.work.join("profile");
        write(&file, profile)?;
        let mut command = Command::new(self.work.join("parser"));
        command.arg(&file);
        if let Some(directory) = &self.library {
            command.env("LD_LIBRARY_PATH", directory);
        }
        let output = command.output().map_err(|error| format!("LXC's parser: {error}"))?;
        match output.status.code() {
            Some(0) => {}
            Some(1) => return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned())),
            _ => {
                let messages = String::from_utf8_lossy(&output.stderr);
                return Err(format!("LXC's parser: {}: {messages}", output.status));
            }
        }
        LongProgram::from_bytes(&output.stdout, Endian::NATIVE)
            .map(Ok)
            .map_err(|error| format!("the program of LXC's parser is not valid: {error}"))
    }
}
