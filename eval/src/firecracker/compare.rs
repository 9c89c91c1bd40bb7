//! Compares one document.

use std::collections::BTreeMap;

use callgate::bpf::{LongProgram, RawInsn};
use callgate::formats::firecracker::{ReadOptions, read};
use callgate::{Arch, Endian};
use seccompiler::{TargetArch, sock_filter};

use super::random::FIRST_THREAD;
use crate::agreement::Outcome;
use crate::task::Result;

/// Compares the filters of all threads.
pub(super) fn compare(text: &str, arch: Arch) -> Result<Outcome> {
    let theirs = match seccompiler::compile_from_json(text.as_bytes(), target(arch)?) {
        Ok(programs) => programs.into_iter().collect::<BTreeMap<_, _>>(),
        Err(error) if error.to_string().contains("too many BPF instructions") => {
            return Ok(Outcome::TooLong);
        }
        Err(error) => {
            // The reader must refuse the document, whichever thread is read.
            let of = |thread| read(text, &ReadOptions { arch, thread });
            let ours = of(None).or_else(|_| of(Some(FIRST_THREAD.to_owned())));
            return Ok(match ours {
                Err(_) => Outcome::BothRefuse,
                Ok(_) => Outcome::OneRefuses { who: "the other compiler", why: error.to_string() },
            });
        }
    };
    for (thread, program) in theirs {
        let options = ReadOptions { arch, thread: Some(thread.clone()) };
        let ours = read(text, &options).map(|profile| vec![profile.policy]);
        let program = LongProgram::from_raw(&program.iter().map(raw).collect::<Vec<_>>())
            .map_err(|error| format!("{thread}: the program is not valid: {error}"))?;
        match Outcome::of(Endian::Little, ours, Ok(vec![program]))? {
            Outcome::Equal => {}
            outcome => return Ok(outcome),
        }
    }
    Ok(Outcome::Equal)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that seccompiler knows has our number. It knows those of Linux 6.12.
    #[test]
    fn the_numbers_of_syscalls_are_those_of_seccompiler() {
        for arch in [Arch::X86_64, Arch::Aarch64, Arch::Riscv64] {
            let mut known = 0;
            for (_, name) in arch.syscalls() {
                let text = format!(
                    r#"{{"main": {{"mismatch_action": "trap", "match_action": "allow",
                        "filter": [{{"syscall": "{name}"}}]}}}}"#
                );
                match compare(&text, arch).unwrap() {
                    Outcome::Equal => known += 1,
                    Outcome::OneRefuses { why, .. } if why.contains("Invalid syscall name") => {}
                    other => panic!("{name} on {arch}: {other:?}"),
                }
            }
            assert!(known > 300, "{arch}: {known}");
        }
    }
}
