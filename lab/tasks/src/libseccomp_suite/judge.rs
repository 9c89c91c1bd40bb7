//! The simulator that runs exported filters.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::Arch;

use super::compile::Compiler;
use super::process::{LIMIT, run};
use super::programs::Filter;
use crate::bpf_sim::Simulator;
use callgate_tasks::Result;

/// Our simulator, or the suite's.
pub(super) enum Judge {
    Own,
    Original(PathBuf),
}

/// A filter for an architecture, ready to run.
pub(super) enum Loaded<'a> {
    Own(Simulator),
    Original { simulator: &'a Path, filter: &'a Path, arch: Arch },
}

impl Judge {
    /// Builds the suite's simulator.
    pub(super) fn original(compiler: &Compiler) -> Result<Judge> {
        let sources = ["tools/scmp_bpf_sim.c", "tools/util.c"];
        compiler.program("tools/scmp_bpf_sim", &sources)?;
        Ok(Judge::Original(compiler.work.join("tools/scmp_bpf_sim")))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Judge::Own => "cargo lab bpf-sim",
            Judge::Original(_) => "scmp_bpf_sim",
        }
    }

    pub(super) fn load<'a>(&'a self, filter: &'a Filter, arch: Arch) -> Result<Loaded<'a>> {
        Ok(match self {
            Judge::Own => Loaded::Own(Simulator::new(&filter.bytes, arch)?),
            Judge::Original(simulator) => {
                Loaded::Original { simulator, filter: &filter.path, arch }
            }
        })
    }
}

impl Loaded<'_> {
    /// The verdict for a syscall.
    pub(super) fn verdict(&self, nr: u64, args: [u64; 6]) -> Result<String> {
        match self {
            // The number is an `int`.
            Loaded::Own(simulator) => Ok(simulator.run(nr as u32, args).0),
            Loaded::Original { simulator, filter, arch } => {
                let mut command = Command::new(simulator);
                command.arg("-f").arg(filter).args(["-a", arch.name(), "-s"]);
                command.arg((nr as i64).to_string());
                for (option, value) in ["-0", "-1", "-2", "-3", "-4", "-5"].iter().zip(args) {
                    command.arg(option).arg(value.to_string());
                }
                let output = run(&mut command, LIMIT)?.success();
                let output = output.map_err(|why| format!("scmp_bpf_sim: {why}"))?;
                Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
            }
        }
    }
}
