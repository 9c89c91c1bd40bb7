//! The standard workloads: programs on which interpreters of classic BPF have been measured since 2014, and inputs for
//! them.
//!
//! Two socket filters are those of the commit that gave Linux 3.15 its new interpreter (`net: filter: rework/optimize
//! internal BPF interpreter's instruction set`), and so are libseccomp's lists of 2 and 200 rules. The others are an
//! allowlist of ten syscalls and the project's own profile for containers.

use callgate::compile::{self, Options};
use callgate::{Arch, Endian, SeccompData};
use callgate_bpf::asm;
use callgate_bpf::random::Rng;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::{Insn, Op, Program, SocketProgram};
use callgate_formats::{container_default, oci};

/// The number of cold syscalls of a workload. A processor learns the branches of a sequence that is repeated: with 10,000
/// syscalls, code of gcc for 400 instructions takes a fifth of the time that it takes with 20,000 and more.
pub(crate) const COLD_SYSCALLS: usize = 50_000;

/// The number of cold packets of a workload. They are longer than syscalls: the time of more of them would be that of memory.
pub(crate) const COLD_PACKETS: usize = 10_000;

/// A program and its inputs.
#[derive(Clone, Debug)]
pub struct Workload {
    /// A short name.
    pub name: String,
    /// The program and its inputs.
    pub inputs: EngineInputs,
}

/// A program of either kind, a hot input and cold inputs.
#[derive(Clone, Debug)]
pub enum EngineInputs {
    /// A seccomp filter and syscalls.
    Syscalls {
        /// The filter.
        program: Program,
        /// The byte order of the machine that it is for.
        endian: Endian,
        /// The syscall that is repeated.
        hot: SeccompData,
        /// Different syscalls.
        cold: Vec<SeccompData>,
    },
    /// A socket filter and packets.
    Packets {
        /// The filter.
        program: SocketProgram,
        /// The packet that is repeated.
        hot: Vec<u8>,
        /// Different packets.
        cold: Vec<Vec<u8>>,
    },
}

/// Name, text, and the number of the hot syscall.
const SYSCALLS: &[(&str, &str, u32)] = &[
    ("ten-calls", include_str!("../../workloads/ten-calls.asm"), 39),
    ("libseccomp-2", include_str!("../../workloads/libseccomp-2.asm"), 0),
    // In the middle of the list.
    ("libseccomp-200", include_str!("../../workloads/libseccomp-200.asm"), 100),
];

const PACKETS: &[(&str, &str)] = &[
    ("port-22", include_str!("../../workloads/port-22.asm")),
    ("port-22-with-data", include_str!("../../workloads/port-22-with-data.asm")),
];

/// The project's own profile for containers, compiled.
const PROFILE: &str = "container-default";

/// The name of every workload, in the order of [`all`].
///
/// ```
/// let names: Vec<&str> = callgate_measure::engines::workloads::names().collect();
/// assert!(names.contains(&"port-22"));
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    let packets = PACKETS.iter().map(|(name, _)| *name);
    packets.chain(SYSCALLS.iter().map(|(name, ..)| *name)).chain([PROFILE])
}

/// Every workload.
pub fn all() -> Vec<Workload> {
    names().filter_map(by_name).collect()
}

/// The workload of this name.
///
/// ```
/// use callgate_measure::engines::workloads;
///
/// assert_eq!(workloads::by_name("ten-calls").map(|one| one.name).as_deref(), Some("ten-calls"));
/// assert!(workloads::by_name("eleven-calls").is_none());
/// ```
pub fn by_name(name: &str) -> Option<Workload> {
    if let Some((_, text)) = PACKETS.iter().find(|row| row.0 == name) {
        let program = SocketProgram::new(asm::assemble(text).ok()?).ok()?;
        return Some(of_packets(name, program));
    }
    if let Some((_, text, nr)) = SYSCALLS.iter().find(|row| row.0 == name) {
        let program = Program::new(asm::assemble(text).ok()?).ok()?;
        return Some(of_syscalls(name, program, Endian::Little, x86_64(*nr)));
    }
    if name != PROFILE {
        return None;
    }
    let program = container_default_program()?;
    Some(of_syscalls(name, program, Endian::Little, x86_64(257)))
}

/// A workload for a seccomp filter.
pub fn of_syscalls(
    name: impl Into<String>,
    program: Program,
    endian: Endian,
    hot: SeccompData,
) -> Workload {
    let cold = syscalls(&program, hot.arch, &mut Rng::new(22));
    Workload { name: name.into(), inputs: EngineInputs::Syscalls { program, endian, hot, cold } }
}

/// A workload for a socket filter, with Ethernet packets, most of them TCP or UDP.
pub fn of_packets(name: impl Into<String>, program: SocketProgram) -> Workload {
    let mut rng = Rng::new(22);
    let cold = (0..COLD_PACKETS).map(|_| random_packet(&mut rng)).collect();
    let hot = packet(false, 6, 0x8001, 22, 1000);
    Workload { name: name.into(), inputs: EngineInputs::Packets { program, hot, cold } }
}

fn x86_64(nr: u32) -> SeccompData {
    SeccompData { nr, arch: Arch::X86_64.token(), args: [3; 6], ..SeccompData::default() }
}

/// The project's own profile for x86-64 alone, compiled as Docker reads it on Linux 6.18.
fn container_default_program() -> Option<Program> {
    let kernel = KernelVersion { major: 6, minor: 18 };
    let options = oci::ReadOptions {
        arches: vec![Arch::X86_64],
        ..oci::ReadOptions::new(Arch::X86_64, kernel)
    };
    let profile = container_default(&options).ok()?;
    compile::compile(&profile.policy, &Options::default())
        .ok()
        .map(|compiled| compiled.program.into())
}

/// Different syscalls: numbers that the program compares with and numbers below 480, arguments near the
/// program's constants, and almost always the same architecture.
pub fn syscalls(program: &Program, arch: u32, rng: &mut Rng) -> Vec<SeccompData> {
    let compared = |insn: &&Insn| insn.op.is_branch() || insn.op == Op::AndK;
    let constants: Vec<u32> = program.iter().filter(compared).map(|insn| insn.k).collect();
    let small: Vec<u32> = constants.iter().copied().filter(|&constant| constant < 1000).collect();
    (0..COLD_SYSCALLS)
        .map(|_| {
            let mut argument = || match rng.below(4) {
                0 => rng.next(),
                1 => rng.next() >> 40,
                _ => rng.pick(&constants).unwrap_or(0).wrapping_add(rng.below(2) as u32).into(),
            };
            let (args, ip) = (std::array::from_fn(|_| argument()), argument());
            let nr = match rng.below(2) {
                0 => rng.pick(&small).unwrap_or(0),
                _ => rng.below(480) as u32,
            };
            let arch = if rng.below(100) == 0 { rng.next() as u32 } else { arch };
            SeccompData { nr, arch, instruction_pointer: ip, args }
        })
        .collect()
}

/// The packet of TCP with 64 bytes of data that filters for port 22 accept, or one that they reject after looking at both
/// ports. Its destination is another machine, so that the kernel does not answer it when it is really sent.
pub fn port_packet(is_hit: bool) -> Vec<u8> {
    let mut packet = packet(false, 6, 0x8001, if is_hit { 22 } else { 443 }, 64);
    packet[0] = 2;
    packet
}

fn random_packet(rng: &mut Rng) -> Vec<u8> {
    let mut port = || match rng.below(4) {
        0 => 22,
        1 => 443,
        _ => rng.next() as u16,
    };
    let (source, destination) = (port(), port());
    let protocol = rng.pick(&[6, 6, 6, 17, 17, 1, 132]).unwrap_or(6);
    let v6 = rng.below(4) == 0;
    let mut packet = packet(v6, protocol, source, destination, rng.below(1400));
    match rng.below(20) {
        // Neither IPv4 nor IPv6.
        0 => packet[13] = 6,
        // A later fragment.
        1 if !v6 => packet[21] = 9,
        // Truncated.
        2 => packet.truncate(rng.below(60)),
        _ => {}
    }
    packet
}

/// An Ethernet packet with `data` bytes of payload.
fn packet(v6: bool, protocol: u8, source: u16, destination: u16, data: usize) -> Vec<u8> {
    let mut packet = vec![0; 12];
    let length = ((20 + data) as u16).to_be_bytes();
    if v6 {
        packet.extend([0x86, 0xdd, 0x60, 0, 0, 0, length[0], length[1], protocol, 64]);
        packet.extend([0x20; 32]);
    } else {
        let length = ((40 + data) as u16).to_be_bytes();
        packet.extend([0x08, 0x00, 0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0]);
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    }
    packet.extend(source.to_be_bytes());
    packet.extend(destination.to_be_bytes());
    // Sequence numbers, then the length of the TCP header.
    packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    packet.resize(packet.len() + data, 0x2a);
    packet
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::NoAncillary;

    use super::*;

    #[test]
    fn every_workload_exists_and_its_hot_input_is_accepted() {
        let all = all();
        assert!(all.iter().map(|workload| &*workload.name).eq(names()));
        for workload in all {
            match workload.inputs {
                EngineInputs::Syscalls { program, endian, hot, cold } => {
                    let verdict = program.run(&hot, endian).verdict;
                    assert_eq!(verdict, Verdict::ALLOW, "{}", workload.name);
                    assert_eq!(cold.len(), COLD_SYSCALLS);
                }
                EngineInputs::Packets { program, hot, cold } => {
                    assert_eq!(program.run(&hot, &NoAncillary), 0x40000, "{}", workload.name);
                    let kept = cold.iter().filter(|packet| program.run(packet, &NoAncillary) != 0);
                    let kept = kept.count();
                    assert!((1_000..9_000).contains(&kept), "{}: {kept}", workload.name);
                }
            }
        }
    }
}
