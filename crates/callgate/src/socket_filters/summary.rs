//! What a socket filter does, in figures and examples.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use callgate_core::diagram::{Budget, DiagramError, Func, NodeSet, Store, VARS};
use callgate_core::{Insn, Layout, Meaning, PacketHead, SocketProgram};

use super::graph::cost;
use super::shortest::shortest;

/// What a socket filter does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of instructions.
    pub insns: usize,
    /// The maximum number of executed instructions.
    pub longest: usize,
    /// The different loads from the packet and of ancillary words, by the first instruction of each.
    pub loads: Vec<(usize, Insn)>,
    /// What it returns for which packets.
    ///
    /// # Errors
    /// Why that is not known: the filter exceeds the budget, or loads what the proof does not model.
    pub results: Result<Results, DiagramError>,
}

/// What a socket filter returns for which packets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Results {
    /// The values that it returns for some packets, in ascending order.
    pub returned: Vec<Returned>,
    /// The offsets of the bytes on which the value depends.
    pub bytes: Vec<RangeInclusive<u32>>,
    /// Whether the value depends on the length of the packet.
    pub depends_on_length: bool,
}

/// A value that a socket filter returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Returned {
    /// The value: how many bytes of a packet to keep; 0 drops it.
    pub value: u32,
    /// The shortest packet for which it is returned. All bytes after the [known](PacketHead::bytes) ones are 0.
    pub shortest: PacketHead,
}

/// What a socket filter does.
///
/// ```
/// use callgate::socket_filters::summarize;
/// use callgate_bpf::asm;
/// use callgate_core::SocketProgram;
/// use callgate_core::diagram::Budget;
///
/// let text = "ldh [12]\n jeq #0x806, keep, drop\n keep: ret #65535\n drop: ret #0";
/// let summary = summarize(&SocketProgram::new(asm::assemble(text)?)?, Budget::default());
/// let results = summary.results?;
/// assert_eq!(results.bytes, [12..=13]);
/// let [dropped, kept] = results.returned[..] else { panic!() };
/// assert_eq!((dropped.value, dropped.shortest.len()), (0, 0));
/// assert_eq!((kept.value, kept.shortest.len()), (65535, 14));
/// assert_eq!(kept.shortest.bytes()[12..], [8, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summarize(program: &SocketProgram, budget: Budget) -> Summary {
    let mut loads: Vec<(usize, Insn)> = Vec::new();
    for (index, insn) in program.iter().enumerate() {
        let is_new = loads.iter().all(|(_, other)| (other.op, other.k) != (insn.op, insn.k));
        loads.extend((insn.op.width().is_some() && is_new).then_some((index, *insn)));
    }
    let results = Meaning::of_socket_program(program, budget)
        .map(|meaning| Results::of(meaning.store(), meaning.func()));
    Summary { insns: program.len(), longest: cost(program.insns()).longest, loads, results }
}

impl Results {
    pub(super) fn of(store: &Store, func: Func) -> Results {
        let mut values: Vec<u32> = store.verdicts(func).iter().map(|verdict| verdict.0).collect();
        values.sort_unstable();
        let of_value =
            |value: u32| shortest(store, func, value).map(|shortest| Returned { value, shortest });
        let returned = values.into_iter().filter_map(of_value).collect();
        let (bytes, depends_on_length) = support(store, func);
        Results { returned, bytes, depends_on_length }
    }
}

/// The bytes that a function tests, and whether it tests the length.
fn support(store: &Store, func: Func) -> (Vec<RangeInclusive<u32>>, bool) {
    let (mut bytes, mut length) = (BTreeSet::new(), false);
    let mut seen = NodeSet::new(store.len());
    let mut pending = vec![func];
    while let Some(node) = pending.pop() {
        if store.var(node) >= VARS || !seen.insert(node) {
            continue;
        }
        // The variables of a word begin with the most significant bit, which is in its first byte.
        let byte = u32::from(store.var(node)) / 8;
        match byte < Layout::Packet.size() {
            true => _ = bytes.insert(byte),
            false => length = true,
        }
        pending.extend(<[Func; 2]>::from(store.children(node)));
    }
    let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
    for byte in bytes {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == byte => *last = *last.start()..=byte,
            _ => ranges.push(byte..=byte),
        }
    }
    (ranges, length)
}
