//! Runs the crate `seccompiler`.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_core::{LongProgram, RawInsn};
use seccompiler::{TargetArch, sock_filter};

use callgate_tasks::Result;

/// What `seccompiler` makes of a document: the programs of the threads, or its message.
pub(crate) fn compile(
    text: &str,
    arch: Arch,
) -> Result<std::result::Result<BTreeMap<String, LongProgram>, String>> {
    let programs = match seccompiler::compile_from_json(text.as_bytes(), target(arch)?) {
        Ok(programs) => programs,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let mut threads = BTreeMap::new();
    for (thread, program) in programs {
        let program = LongProgram::from_raw(&program.iter().map(raw).collect::<Vec<_>>())
            .map_err(|error| format!("{thread}: the program is not valid: {error}"))?;
        threads.insert(thread, program);
    }
    Ok(Ok(threads))
}

fn raw(insn: &sock_filter) -> RawInsn {
    RawInsn { code: insn.code, jt: insn.jt, jf: insn.jf, k: insn.k }
}

fn target(arch: Arch) -> Result<TargetArch> {
    match arch {
        Arch::X86_64 => Ok(TargetArch::x86_64),
        Arch::Aarch64 => Ok(TargetArch::aarch64),
        Arch::Riscv64 => Ok(TargetArch::riscv64),
        other => Err(format!("seccompiler does not compile for {other}")),
    }
}
