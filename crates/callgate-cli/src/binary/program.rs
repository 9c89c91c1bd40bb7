//! The syscalls of several programs.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callgate::Arch;
use callgate_elf::{Machine, Remark, Site};

use super::load;
use super::modules;
use super::sysroot::Sysroot;
use crate::report::{Failure, Result};

/// A syscall that the code of a program can make.
#[derive(Clone, Debug)]
pub(crate) struct CodeCall {
    pub(crate) arch: Arch,
    pub(crate) nr: u32,
    /// Where it is made, the nearest to the entry point first. Empty for the execve that starts the program.
    pub(crate) sites: Vec<Site>,
}

impl CodeCall {
    pub(crate) fn name(&self) -> String {
        let name = self.arch.syscall_name(self.nr);
        name.map_or_else(|| format!("number {}", self.nr), str::to_owned)
    }

    /// `libc.so.6: openat64`.
    pub(crate) fn place(&self) -> String {
        match self.sites.first() {
            Some(site) => format!("{}: {}", site.file, site.function),
            None => "the start of the program".to_owned(),
        }
    }
}

/// What the code of programs can do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// The names of the programs.
    pub(crate) programs: Vec<String>,
    /// By architecture and number.
    pub(crate) calls: Vec<CodeCall>,
    /// Syscalls with unknown numbers, and why they are unknown.
    pub(crate) unresolved: Vec<(Site, &'static str)>,
    pub(crate) remarks: Vec<Remark>,
    /// Libraries that were not found, and which file needs each.
    pub(crate) missing: Vec<(String, String)>,
    /// Modules of the C library that may be loaded, and were not given as libraries.
    pub(crate) modules: Vec<PathBuf>,
    pub(crate) files: usize,
    pub(crate) functions: usize,
    pub(crate) reachable: usize,
}

/// Analyses programs. `plugins` are loaded by each of them.
pub(crate) fn analyze(
    programs: &[PathBuf],
    plugins: &[PathBuf],
    sysroot: Option<&Path>,
) -> Result<Code> {
    let sysroot = Sysroot::new(sysroot);
    let mut code = Code::default();
    let mut calls: BTreeMap<(Arch, u32), Vec<Site>> = BTreeMap::new();
    for program in programs {
        let loaded = load::load(program, plugins, &sysroot)?;
        code.files += loaded.files.len();
        code.missing.extend(loaded.missing);
        let analysis = callgate_elf::analyze(loaded.files)
            .map_err(|error| Failure::about(error.file(), error.to_string()).help(error.help()))?;
        let (arch, execve) = match analysis.machine {
            Machine::X86_64 => (Arch::X86_64, 59),
            Machine::Aarch64 => (Arch::Aarch64, 221),
        };
        // The program is started by execve; filters are often installed before.
        calls.entry((arch, execve)).or_default();
        for (nr, sites) in analysis.calls {
            // x32 shares the table of x86-64.
            let all = calls.entry((arch, nr)).or_default();
            all.extend(sites);
            all.sort_by_key(|site| site.via.len());
        }
        code.unresolved.extend(analysis.unresolved.into_iter().map(|one| (one.site, one.why)));
        code.remarks.extend(analysis.remarks);
        code.functions += analysis.functions;
        code.reachable += analysis.reachable;
        let asks = |remark: &Remark| matches!(remark, Remark::NameServices { .. });
        if code.remarks.iter().any(asks) {
            code.modules.extend(modules::configured(&sysroot, analysis.machine));
        }
        code.programs.push(program.to_string_lossy().into_owned());
    }
    let given: Vec<_> = plugins.iter().filter_map(|path| path.file_name()).collect();
    code.modules.retain(|module| module.file_name().is_none_or(|name| !given.contains(&name)));
    code.modules.sort_unstable();
    code.modules.dedup();
    code.missing.sort_unstable();
    code.missing.dedup();
    code.remarks.sort_unstable();
    code.remarks.dedup();
    code.calls =
        calls.into_iter().map(|((arch, nr), sites)| CodeCall { arch, nr, sites }).collect();
    Ok(code)
}
