//! A filter for one architecture, as libseccomp exports it.

use callgate::{Action, Arch, Program, SeccompData, Verdict};

use callgate_tasks::Result;

/// Runs a filter on syscalls of one architecture.
pub(crate) struct Simulator {
    program: Program,
    arch: Arch,
}

impl Simulator {
    /// Reads the instructions of a filter in the byte order of the architecture. Fails if a kernel of that
    /// architecture would refuse the filter.
    pub(crate) fn new(bytes: &[u8], arch: Arch) -> Result<Simulator> {
        let program = Program::from_bytes(bytes, arch.endian());
        let program = program
            .map_err(|error| format!("the kernel would refuse the filter for {arch}: {error}"))?;
        Ok(Simulator { program, arch })
    }

    /// The verdict for a syscall in the notation of `scmp_bpf_sim`, and the number of executed instructions.
    pub(crate) fn run(&self, nr: u32, args: [u64; 6]) -> (String, usize) {
        let data = SeccompData { nr, arch: self.arch.token(), instruction_pointer: 0, args };
        let run = self.program.run(&data, self.arch.endian());
        (notation(run.verdict), run.executed)
    }
}

/// The notation of `scmp_bpf_sim`, which shows the data of ERRNO and TRACE only. It has none for notifications and
/// for unknown actions.
fn notation(verdict: Verdict) -> String {
    match verdict.action() {
        Action::KillProcess => "KILL_PROCESS".to_owned(),
        Action::KillThread => "KILL".to_owned(),
        Action::Trap(_) => "TRAP".to_owned(),
        Action::Errno(errno) => format!("ERRNO({errno})"),
        Action::Trace(data) => format!("TRACE({data})"),
        Action::UserNotif(_) => "NOTIFY".to_owned(),
        Action::Log => "LOG".to_owned(),
        Action::Allow => "ALLOW".to_owned(),
        _ => verdict.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use callgate_core::{Insn, Op, Word};

    use super::*;

    /// Compares the arch, then both halves of argument 1, high word first.
    fn program(arch: Arch) -> Vec<u8> {
        let endian = arch.endian();
        let offset = |word: Option<Word>| word.unwrap().offset(endian);
        let insns = vec![
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, arch.token(), 0, 5),
            Insn::new(Op::LdWordAbs, offset(Word::arg_high(1))),
            Insn::branch(Op::JeqK, 1, 0, 3),
            Insn::new(Op::LdWordAbs, offset(Word::arg_low(1))),
            Insn::branch(Op::JeqK, 2, 0, 1),
            Insn::new(Op::RetK, Verdict::errno(38).0),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ];
        Program::new(insns).unwrap().to_bytes(endian)
    }

    #[test]
    fn filters_are_in_the_byte_order_of_their_architecture() {
        for arch in [Arch::X86_64, Arch::X32, Arch::S390x, Arch::Mips] {
            let simulator = Simulator::new(&program(arch), arch).unwrap();
            let verdict = |argument| simulator.run(7, [0, argument, 0, 0, 0, 0]);
            assert_eq!(verdict(0x1_0000_0002), ("ERRNO(38)".to_owned(), 7), "{arch}");
            assert_eq!(verdict(0x2_0000_0001), ("ALLOW".to_owned(), 5), "{arch}");
        }
        let error = Simulator::new(&program(Arch::X86), Arch::S390).err().unwrap();
        assert!(error.contains("the kernel would refuse the filter for s390"), "{error}");
    }

    #[test]
    fn verdicts_are_written_as_the_original_writes_them() {
        let verdicts = [0x8000_0000, 0, 0x3_0007, 0x5_0001, 0x7ff0_04d2, 0x7fc0_0000, 0x7ffc_0000]
            .map(|raw| notation(Verdict(raw)));
        let expected = ["KILL_PROCESS", "KILL", "TRAP", "ERRNO(1)", "TRACE(1234)", "NOTIFY", "LOG"];
        assert_eq!(verdicts, expected);
        assert_eq!(notation(Verdict::ALLOW), "ALLOW");
        assert_eq!(notation(Verdict(0x1234_0000)), "UNKNOWN(0x12340000)");
    }
}
