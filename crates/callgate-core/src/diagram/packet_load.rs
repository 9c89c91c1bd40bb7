//! Loads from a packet, as symbolic values.
//!
//! A load is at a constant offset, or relative to X, which is usually the length of an IP header: one of 16 values. The loaded value
//! is then a choice between as many places of the packet. X may be any value with few possibilities, however the
//! program computed it.
//!
//! Sources: `net/core/filter.c`, `bpf_convert_filter` (the offset is the sum of X and k with 32 bits, `BPF_MSH` takes the low
//! four bits of a byte times four) and `bpf_skb_load_helper_32` (a load outside of the packet ends the program with 0; a negative
//! offset is relative to a header).

use super::compare::var_of;
use super::error::UnmodelledLoad;
use super::symbolic::{Bits, Value, ValueTable};
use super::{DiagramError, Pred, Store};
use crate::input::place_of_byte;
use crate::{Alu, Width};

/// The maximum number of values of X for a load.
const MAX_OFFSETS: usize = 64;

/// From here on, offsets are negative.
const NEGATIVE: u32 = 1 << 31;

/// A load from a packet at `base + k`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketLoad {
    /// The number of the instruction, for errors.
    pub(super) insn: usize,
    /// X, or 0.
    pub(super) base: Value,
    pub(super) k: u32,
    pub(super) width: Width,
}

impl ValueTable {
    /// The loaded value, and the length that a packet must have for it.
    ///
    /// # Errors
    /// If the diagram exceeds its budget, or the load is [not modelled](UnmodelledLoad).
    pub(super) fn load_from_packet(
        &mut self,
        store: &mut Store,
        load: PacketLoad,
    ) -> Result<(Value, Value), DiagramError> {
        let PacketLoad { insn, base, k, width } = load;
        let size = width.bytes() as u32;
        let mut bits = [Pred::NEVER; 32];
        for (base, when) in self.possibilities(store, insn, base)? {
            let offset = base.wrapping_add(k);
            if offset >= NEGATIVE {
                return Err(DiagramError::unmodelled(insn, UnmodelledLoad::Header { offset }));
            }
            for bit in 0..8 * size {
                // The first byte is the most significant one.
                let at = offset + (size - 1 - bit / 8);
                let (word, shift) = place_of_byte(at).ok_or_else(|| {
                    let last = offset + (size - 1);
                    DiagramError::unmodelled(insn, UnmodelledLoad::Beyond { last })
                })?;
                let here = store.make(var_of(word, shift + bit % 8), Pred::NEVER, Pred::ALWAYS)?;
                let here = store.and(when, here)?;
                if let Some(loaded) = bits.get_mut(bit as usize) {
                    *loaded = store.or(*loaded, here)?;
                }
            }
        }
        let loaded = self.value(store, bits)?;
        // No sum that is not negative wraps, and none is near 2^32.
        let end = self.alu(store, Alu::Add, base, Value::Constant(k.wrapping_add(size)))?;
        Ok((loaded, end))
    }

    /// The values that a value may have, each with the predicate that it has it.
    fn possibilities(
        &mut self,
        store: &mut Store,
        insn: usize,
        value: Value,
    ) -> Result<Vec<(u32, Pred)>, DiagramError> {
        let bits: Bits = self.bits(store, value)?;
        let mut found = vec![(0, Pred::ALWAYS)];
        for (number, bit) in bits.into_iter().enumerate() {
            let before = std::mem::take(&mut found);
            for (value, when) in before {
                let with = store.and(when, bit)?;
                let without = store.not(bit).and_then(|clear| store.and(when, clear))?;
                let both = [(value | 1 << number, with), (value, without)];
                found.extend(both.into_iter().filter(|(_, when)| *when != Pred::NEVER));
            }
            if found.len() > MAX_OFFSETS {
                let limit = MAX_OFFSETS;
                return Err(DiagramError::unmodelled(insn, UnmodelledLoad::Offsets { limit }));
            }
        }
        Ok(found)
    }
}
