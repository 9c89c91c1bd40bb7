//! Programs: every engine runs them as the reference interpreter does, optimizing keeps what they mean, and every
//! text form is read back.

use callgate::compile::Options;
use callgate::{Arch, Endian};
use callgate_bpf::disasm::{self, Dialect};
use callgate_bpf::text;
use callgate_core::{LongProgram, NoAncillary};
use callgate_vm::{EngineKind, SeccompEngine as _};

use crate::bytes::Bytes;

const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::X86];

/// How many inputs a program gets.
const INPUTS: usize = 16;

/// Every engine, on syscalls or on packets.
pub fn engines(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    if bytes.byte().is_multiple_of(2) {
        syscalls(&mut bytes);
    } else {
        packets(&mut bytes);
    }
}

fn syscalls(bytes: &mut Bytes<'_>) {
    let endian = if bytes.byte().is_multiple_of(4) { Endian::Big } else { Endian::Little };
    let Some(program) = bytes.program() else { return };
    let engines: Vec<_> =
        EngineKind::ALL.iter().filter_map(|kind| kind.seccomp(&program, endian).ok()).collect();
    for _ in 0..INPUTS {
        let syscall = bytes.syscall(&ARCHES);
        let expected = program.run(&syscall, endian).verdict;
        for engine in &engines {
            assert_eq!(engine.verdict(&syscall), expected, "{syscall:x?}\n{program:?}");
        }
    }
}

fn packets(bytes: &mut Bytes<'_>) {
    let Some(program) = bytes.socket_program() else { return };
    let engines: Vec<_> =
        EngineKind::ALL.iter().filter_map(|kind| kind.packet(&program)?.ok()).collect();
    for _ in 0..INPUTS {
        let packet: Vec<u8> = (0..bytes.below(80)).map(|_| bytes.byte()).collect();
        let expected = program.run(&packet, &NoAncillary);
        for engine in &engines {
            assert_eq!(engine.run(&packet, &NoAncillary), expected, "{packet:x?}\n{program:?}");
        }
    }
}

/// A program, optimized.
pub fn optimize(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let Some(program) = bytes.program() else { return };
    let program = LongProgram::from(program);
    let options = Options::default();
    let optimized = match callgate::optimize::optimize(&program, Endian::Little, &ARCHES, &options)
    {
        Ok(optimized) => optimized,
        Err(error) => {
            assert!(!error.to_string().contains("defect"), "{error}");
            return;
        }
    };
    for _ in 0..INPUTS {
        let syscall = bytes.syscall(&ARCHES);
        let expected = program.run(&syscall, Endian::Little).verdict;
        let verdict = optimized.program.run(&syscall, Endian::Little).verdict;
        assert_eq!(verdict, expected, "{syscall:x?}\n{program:?}");
    }
}

/// Every text form of a program is read back as that program.
pub fn round_trip(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let Some(program) = bytes.program() else { return };
    let program = LongProgram::from(program);
    for dialect in Dialect::ALL {
        let written = disasm::disassemble(&program, *dialect, &disasm::ListingOptions::default());
        match text::parse(&written, Endian::Little) {
            Ok(read) => assert_eq!(read, program.to_raw(), "{written}"),
            Err(error) => panic!("{error}\n{written}"),
        }
    }
}
