//! The shortest packet for each value that a filter returns.

use std::collections::HashMap;

use callgate_core::diagram::{Func, Store, VARS};
use callgate_core::{Endian, FilterInput, Layout, PacketHead, Verdict, Word};

/// The shortest packet for which a function of packets returns a value; as many of its bytes as possible are 0. `None` if the
/// function never returns the value.
///
/// Bottom-up, it finds for each node the least length of a packet that leads from the node to the value. Only nodes that test
/// bits of the length add to it.
pub(super) fn shortest(store: &Store, func: Func, value: u32) -> Option<PacketHead> {
    let length = Layout::Packet.words().next_back()?;
    let wanted = |node: Func| store.as_verdict(node) == Some(Verdict(value));
    let mut least: HashMap<Func, Option<u32>> = HashMap::new();
    let mut pending = vec![func];
    while let Some(&node) = pending.last() {
        if least.contains_key(&node) {
            pending.pop();
            continue;
        }
        if store.var(node) >= VARS {
            least.insert(node, wanted(node).then_some(0));
            continue;
        }
        let (low, high) = store.children(node);
        match (least.get(&low).copied(), least.get(&high).copied()) {
            (Some(low), Some(high)) => {
                let high = high.map(|high| high | bit_of(store, node, length));
                least.insert(node, [low, high].into_iter().flatten().min());
            }
            (low_is, high_is) => {
                pending.extend(low_is.is_none().then_some(low));
                pending.extend(high_is.is_none().then_some(high));
            }
        }
    }
    let mut packet = PacketHead::default();
    let mut node = func;
    while let Some(word) = store.top_word(node) {
        let (low, high) = store.children(node);
        let of = |node: &Func| least.get(node).copied().flatten();
        let with = of(&high).map(|high| high | bit_of(store, node, length));
        // The low child unless the high one leads to a shorter packet, or is the only one.
        let is_high = match (of(&low), with) {
            (Some(low), Some(high)) => high < low,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return None,
        };
        if is_high {
            let bits = packet.get(word, Endian::NATIVE) | bit(store, node);
            packet.set(word, Endian::NATIVE, bits);
        }
        node = if is_high { high } else { low };
    }
    wanted(node).then_some(packet)
}

/// The bit that a node tests, in its word.
fn bit(store: &Store, node: Func) -> u32 {
    1 << (31 - u32::from(store.var(node) % 32))
}

/// The same if it is one of the length, otherwise 0.
fn bit_of(store: &Store, node: Func, length: Word) -> u32 {
    if store.top_word(node) == Some(length) { bit(store, node) } else { 0 }
}
