//! The corpus on an emulated aarch64: the code is generated here, and a small C program, built by
//! `aarch64-linux-gnu-gcc`, runs it under `qemu-aarch64`.
//!
//! These are in Debian's packages `gcc-aarch64-linux-gnu` and `qemu-user`. Without them, the test reports
//! that it was not run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgate_bpf::{Endian, SeccompData};
use callgate_bpf::{Insn, Program, SocketProgram};

use super::{CORPUS, Judge, RandomAncillary, listing};
use crate::flow::Input;
use crate::jit::aarch64::Aarch64;
use crate::jit::lower;
use crate::jit::target::Target;

const COMPILER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";
const HARNESS: &str = include_str!("emulated.c");

/// The expected results of a program.
struct Expected {
    insns: Vec<Insn>,
    set: usize,
    values: Vec<u32>,
}

/// Collects programs and inputs for a single run.
#[derive(Default)]
struct Emulated {
    sets: Vec<Vec<Vec<u8>>>,
    /// The last set, if its inputs are syscalls.
    calls: Vec<SeccompData>,
    programs: Vec<u8>,
    expected: Vec<Expected>,
}

impl Emulated {
    /// Adds a set of inputs; returns its index.
    fn set(&mut self, inputs: Vec<Vec<u8>>) -> usize {
        self.sets.push(inputs);
        self.sets.len() - 1
    }

    /// The index of a set of syscalls. Most programs share that of the previous program.
    fn set_of_calls(&mut self, calls: &[SeccompData]) -> usize {
        if self.calls == calls {
            return self.sets.len() - 1;
        }
        self.calls = calls.to_vec();
        self.set(calls.iter().map(|data| data.to_bytes(Endian::Little).into()).collect())
    }

    fn program(
        &mut self,
        insns: &[Insn],
        input: Input,
        ancillary: &RandomAncillary,
        set: usize,
        v: Vec<u32>,
    ) {
        let (target, _) = lower::compile::<Aarch64>(insns, input).unwrap();
        let link = ancillary.link.map_or(u64::MAX, |link| link as u64);
        let mut word = |value: u32| self.programs.extend(value.to_le_bytes());
        word(set as u32);
        word(u32::from(input == Input::Packet));
        for value in [ancillary.network as u64, link] {
            word(value as u32);
            word((value >> 32) as u32);
        }
        word(target.code().len() as u32);
        self.programs.extend(target.code());
        self.expected.push(Expected { insns: insns.to_vec(), set, values: v });
    }

    /// The file that the C program reads.
    fn file(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let word = |file: &mut Vec<u8>, value: usize| file.extend((value as u32).to_le_bytes());
        word(&mut file, self.sets.len());
        for set in &self.sets {
            word(&mut file, set.len());
            for input in set {
                word(&mut file, input.len());
                file.extend(input);
            }
        }
        file.extend(&self.programs);
        file
    }

    fn compare(&self, given: &[u8]) {
        let mut given = given.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
        for expected in &self.expected {
            for (input, &value) in self.sets[expected.set].iter().zip(&expected.values) {
                let insns = || listing(&expected.insns);
                assert_eq!(given.next(), Some(value), "{input:x?}\n{}", insns());
            }
        }
        assert_eq!(given.next(), None);
    }
}

impl Judge for Emulated {
    fn calls(&mut self, program: &Program, calls: &[SeccompData]) {
        let set = self.set_of_calls(calls);
        let ancillary = RandomAncillary { words: 0, network: 0, link: None };
        for endian in [Endian::Little, Endian::Big] {
            let values = calls.iter().map(|data| program.run(data, endian).verdict.0).collect();
            self.program(program.insns(), Input::Call(endian), &ancillary, set, values);
        }
    }

    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], ancillary: &RandomAncillary) {
        self.calls.clear();
        let set = match self.sets.last() {
            Some(last) if last == packets => self.sets.len() - 1,
            _ => self.set(packets.iter().map(|packet| packet.to_vec()).collect()),
        };
        let values = packets.iter().map(|packet| program.run(packet, ancillary)).collect();
        self.program(program.insns(), Input::Packet, ancillary, set, values);
    }
}

/// Builds the C program; `None` without a compiler or emulator.
fn harness(directory: &Path) -> Option<PathBuf> {
    let runs = |name: &str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !runs(COMPILER) || !runs(EMULATOR) {
        return None;
    }
    let (source, binary) = (directory.join("harness.c"), directory.join("harness"));
    fs::write(&source, HARNESS).unwrap();
    let mut compile = Command::new(COMPILER);
    compile.args(["-O1", "-Wall", "-static", "-o"]).arg(&binary).arg(&source);
    assert!(compile.status().unwrap().success(), "{compile:?}");
    Some(binary)
}

#[test]
fn aarch64_agrees_with_the_reference_on_the_whole_corpus() {
    let directory = std::env::temp_dir().join(format!("callgate-aarch64-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    match harness(&directory) {
        None => eprintln!("not run: {COMPILER} or {EMULATOR} is not installed"),
        Some(harness) => {
            let mut emulated = Emulated::default();
            for part in CORPUS {
                part(&mut emulated);
            }
            let file = directory.join("programs");
            fs::write(&file, emulated.file()).unwrap();
            let mut run = Command::new(EMULATOR);
            let output = run.arg(harness).arg(file).output().unwrap();
            assert!(output.status.success(), "{:?}", output.status);
            emulated.compare(&output.stdout);
        }
    }
    fs::remove_dir_all(&directory).unwrap();
}
