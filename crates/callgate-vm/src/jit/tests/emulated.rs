//! The corpus on an emulated aarch64: the code is generated here, and a small C program, built by
//! `aarch64-linux-gnu-gcc`, runs it under `qemu-aarch64`.
//!
//! These are in Debian's packages `gcc-aarch64-linux-gnu` and `qemu-user`. Without them, the tests report
//! that they were not run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use callgate_core::{Endian, Insn, Program, SeccompData, SocketProgram};

use super::{Judge, Part, RandomAncillary, listing};
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

/// Collects the programs and inputs of a part.
#[derive(Default)]
struct Emulated {
    sets: Vec<Vec<Vec<u8>>>,
    /// The last set, if its inputs are syscalls.
    syscalls: Vec<SeccompData>,
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
    fn set_of_syscalls(&mut self, syscalls: &[SeccompData]) -> usize {
        if self.syscalls == syscalls {
            return self.sets.len() - 1;
        }
        self.syscalls = syscalls.to_vec();
        self.set(syscalls.iter().map(|data| data.to_bytes(Endian::Little).into()).collect())
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
    fn verdicts(
        &mut self,
        program: &Program,
        endian: Endian,
        syscalls: &[SeccompData],
        expected: &[u32],
    ) {
        let set = self.set_of_syscalls(syscalls);
        let ancillary = RandomAncillary { words: 0, network: 0, link: None };
        let input = Input::Syscall(endian);
        self.program(program.insns(), input, &ancillary, set, expected.to_vec());
    }

    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], ancillary: &RandomAncillary) {
        self.syscalls.clear();
        let set = match self.sets.last() {
            Some(last) if last == packets => self.sets.len() - 1,
            _ => self.set(packets.iter().map(|packet| packet.to_vec()).collect()),
        };
        let values = packets.iter().map(|packet| program.run(packet, ancillary)).collect();
        self.program(program.insns(), Input::Packet, ancillary, set, values);
    }
}

/// The C program. Parts that run at the same time share it; the last one removes it.
struct Harness {
    directory: PathBuf,
}

impl Harness {
    /// `None` without a compiler or emulator.
    fn shared() -> Option<Arc<Harness>> {
        static SHARED: Mutex<Weak<Harness>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(harness) = shared.upgrade() {
            return Some(harness);
        }
        let harness = Arc::new(Harness::build()?);
        *shared = Arc::downgrade(&harness);
        Some(harness)
    }

    fn build() -> Option<Harness> {
        // The previous one may not be removed yet.
        static BUILT: AtomicU32 = AtomicU32::new(0);
        let runs = |name: &str| {
            let mut command = Command::new(name);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if !runs(COMPILER) || !runs(EMULATOR) {
            return None;
        }
        let (process, number) = (std::process::id(), BUILT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(format!("callgate-aarch64-{process}-{number}"));
        fs::create_dir_all(&directory).unwrap();
        let harness = Harness { directory };
        let source = harness.directory.join("harness.c");
        fs::write(&source, HARNESS).unwrap();
        let mut compile = Command::new(COMPILER);
        compile.args(["-O1", "-Wall", "-static", "-o"]).arg(harness.binary()).arg(&source);
        assert!(compile.status().unwrap().success(), "{compile:?}");
        Some(harness)
    }

    fn binary(&self) -> PathBuf {
        self.directory.join("harness")
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Runs a part of the corpus.
pub(super) fn agrees(name: &str, part: Part) {
    let Some(harness) = Harness::shared() else {
        eprintln!("not run: {COMPILER} or {EMULATOR} is not installed");
        return;
    };
    let mut emulated = Emulated::default();
    part(&mut emulated);
    let file = harness.directory.join(name);
    fs::write(&file, emulated.file()).unwrap();
    let mut command = Command::new("timeout");
    let output = command.args(["240", EMULATOR]).arg(harness.binary()).arg(file).output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    emulated.compare(&output.stdout);
}
