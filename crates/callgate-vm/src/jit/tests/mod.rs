//! The compiler against the reference interpreter: one corpus of programs and inputs, which is run
//! by this machine, and by an emulated aarch64.

mod emulated;
mod exhaustive;
mod known;
mod layout;
mod random;

use callgate_bpf::{Endian, SeccompData};
use callgate_bpf::{Program, SocketProgram};

use super::Jit;
use crate::differential::{Beside, listing};
use crate::engine::{PacketEngine, SeccompEngine};

/// Compares compiled programs with the reference interpreter.
trait Judge {
    /// On calls, for machines of both byte orders.
    fn calls(&mut self, program: &Program, calls: &[SeccompData]);
    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], beside: &Beside);
}

/// A part of the corpus.
type Part = fn(&mut dyn Judge);

macro_rules! corpus {
    ($($module:ident::$name:ident,)*) => {
        const CORPUS: &[Part] = &[$($module::$name,)*];

        mod natively {
            $(
                #[test]
                fn $name() {
                    super::$module::$name(&mut super::Here);
                }
            )*
        }
    };
}

corpus! {
    exhaustive::straight_instructions_agree_on_every_pair_of_edge_values,
    exhaustive::modulo_agrees_on_every_pair_of_edge_values,
    exhaustive::branches_agree_on_every_pair_of_edge_values,
    exhaustive::loads_agree_at_every_offset_around_the_ends_of_a_packet,
    layout::branches_reach_over_code_of_every_length,
    layout::jumps_reach_through_the_longest_program,
    layout::packets_that_are_too_short_end_the_longest_program,
    layout::lists_are_searched,
    layout::trees_are_searched,
    layout::trees_with_single_values_are_searched,
    layout::scratch_words_outlive_questions,
    layout::a_list_into_whose_middle_somebody_jumps_stays_correct,
    known::header_lengths_agree_however_they_are_computed,
    known::what_was_stored_is_fetched,
    known::comparisons_after_loads_agree,
    known::comparisons_that_decide_nothing_agree,
    random::jit_vs_reference_on_calls,
    random::jit_vs_reference_on_packets,
}

/// Runs the code on this machine.
struct Here;

impl Judge for Here {
    fn calls(&mut self, program: &Program, calls: &[SeccompData]) {
        for endian in [Endian::Little, Endian::Big] {
            let jit = Jit::new(program, endian).unwrap();
            for data in calls {
                let expected = program.run(data, endian).verdict;
                let given = jit.verdict(data);
                assert_eq!(given, expected, "{endian:?} {data:x?}\n{}", listing(program.insns()));
            }
        }
    }

    fn packets(&mut self, program: &SocketProgram, packets: &[&[u8]], beside: &Beside) {
        let jit = Jit::new_packet(program).unwrap();
        for packet in packets {
            let expected = program.run(packet, beside);
            let given = jit.run(packet, beside);
            assert_eq!(given, expected, "{packet:x?} {beside:?}\n{}", listing(program.insns()));
        }
    }
}
