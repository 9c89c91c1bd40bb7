//! Compares one document.

use callgate::{Arch, Endian};
use callgate_formats::firecracker::{ReadOptions, read};

use super::compiler::compile;
use super::random::FIRST_THREAD;
use crate::agreement::Outcome;
use callgate_tasks::Result;

/// Compares the filters of all threads.
pub(super) fn compare(text: &str, arch: Arch) -> Result<Outcome> {
    let theirs = match compile(text, arch)? {
        Ok(programs) => programs,
        Err(error) if error.contains("too many BPF instructions") => return Ok(Outcome::TooLong),
        Err(error) => {
            // The reader must refuse the document, whichever thread is read.
            let of = |thread| read(text, &ReadOptions { thread, ..ReadOptions::new(arch) });
            let ours = of(None).or_else(|_| of(Some(FIRST_THREAD.to_owned())));
            return Ok(match ours {
                Err(_) => Outcome::BothRefuse,
                Ok(_) => Outcome::OneRefuses { who: "the other compiler", why: error },
            });
        }
    };
    for (thread, program) in theirs {
        let options = ReadOptions { thread: Some(thread), ..ReadOptions::new(arch) };
        let ours = read(text, &options).map(|profile| vec![profile.policy]);
        match Outcome::of(Endian::Little, ours, Ok(vec![program]))? {
            Outcome::Equal => {}
            outcome => return Ok(outcome),
        }
    }
    Ok(Outcome::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::SyscallTable;

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
