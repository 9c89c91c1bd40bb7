//! The JIT compiler against the reference interpreter, with one corpus of programs and inputs, which runs
//! natively and on an emulated aarch64.

mod emulated;
mod exhaustive;
mod known;
mod layout;
mod random;

use callgate_core::{Endian, Program, SeccompData, SocketProgram};

use super::Jit;
use crate::differential::{RandomAncillary, listing};
use crate::engine::{PacketEngine, SeccompEngine};

/// Compares compiled programs with the reference interpreter.
trait Judge {
    /// On syscalls, for both byte orders.
    fn syscalls(&mut self, program: &Program, syscalls: &[SeccompData]) {
        for endian in [Endian::Little, Endian::Big] {
            let expected: Vec<u32> =
                syscalls.iter().map(|data| program.run(data, endian).verdict.0).collect();
            self.verdicts(program, endian, syscalls, &expected);
        }
    }

    /// On syscalls whose verdicts are known.
    fn verdicts(
        &mut self,
        program: &Program,
        endian: Endian,
        syscalls: &[SeccompData],
        expected: &[u32],
    );

    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], ancillary: &RandomAncillary);
}

/// A part of the corpus.
type Part = fn(&mut dyn Judge);

macro_rules! corpus {
    ($($module:ident::$name:ident,)*) => {
        mod natively {
            $(
                #[test]
                fn $name() {
                    super::$module::$name(&mut super::Native);
                }
            )*
        }

        mod on_emulated_aarch64 {
            $(
                #[test]
                fn $name() {
                    super::emulated::agrees(stringify!($name), super::$module::$name);
                }
            )*
        }
    };
}

corpus! {
    exhaustive::straight_instructions_agree_on_every_pair_of_boundary_values,
    exhaustive::modulo_agrees_on_every_pair_of_boundary_values,
    exhaustive::branches_agree_on_every_pair_of_boundary_values,
    exhaustive::loads_agree_at_every_offset,
    layout::branches_agree_over_every_displacement,
    layout::jumps_agree_in_the_longest_program,
    layout::failing_loads_end_the_longest_program,
    layout::chains_agree,
    layout::trees_agree,
    layout::trees_with_equality_tests_agree,
    layout::trees_that_contain_others_agree,
    layout::helper_calls_preserve_scratch_words,
    layout::chains_with_a_second_entry_agree,
    known::header_lengths_agree,
    known::scratch_loads_after_stores_agree,
    known::comparisons_after_loads_agree,
    known::redundant_comparisons_agree,
    random::jit_vs_reference_on_syscalls,
    random::jit_vs_reference_on_packets,
}

/// Runs the code natively.
struct Native;

impl Judge for Native {
    fn verdicts(
        &mut self,
        program: &Program,
        endian: Endian,
        syscalls: &[SeccompData],
        expected: &[u32],
    ) {
        let jit = Jit::new(program, endian).unwrap();
        for (data, &expected) in syscalls.iter().zip(expected) {
            let given = jit.verdict(data).0;
            assert_eq!(given, expected, "{endian:?} {data:x?}\n{}", listing(program.insns()));
        }
    }

    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], ancillary: &RandomAncillary) {
        let jit = Jit::new_packet(program).unwrap();
        for packet in packets {
            let expected = program.run(packet, ancillary);
            let given = jit.run(packet, ancillary);
            assert_eq!(given, expected, "{packet:x?} {ancillary:?}\n{}", listing(program.insns()));
        }
    }
}
