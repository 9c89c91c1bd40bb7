//! Functions of a number by the intervals of its values: from the sorted bounds of the intervals, each node of the diagram
//! is created once.

use super::node_table::Var;
use super::{DiagramError, Store};
use crate::Word;

/// A value of a number, and the node from it up to the value before the next bound.
pub(super) type Bound = (u64, u32);

impl Store {
    /// The node that maps a number to nodes by interval: `first` from `base`, and from each bound on the node next to it.
    /// The number has the bits `vars`, least significant first; a bit without a variable is zero, and its other bits are those
    /// of `base`. Bounds are sorted, above `base`, and within the values of all these bits.
    ///
    /// The nodes test only variables after those of the number; or, if it is the value of `word`, none before that, and only
    /// the values of their intervals count. The recursion depth is the number of bits.
    pub(super) fn by_interval(
        &mut self,
        vars: &[Option<Var>],
        word: Option<Word>,
        (first, bounds): (u32, &[Bound]),
        base: u64,
    ) -> Result<u32, DiagramError> {
        let (var, lower) = match vars.split_last() {
            Some(vars) if !bounds.is_empty() => vars,
            _ => return Ok(self.cofactor_above(first, word, base, vars.len())),
        };
        // Around one bound, or one value, nothing but a comparison is left.
        let compared = match bounds {
            [(at, then)] => Some((*at, [first, *then, *then])),
            [(at, then), (next, after)] if *after == first && next.wrapping_sub(*at) == 1 => {
                Some((*at, [first, *then, first]))
            }
            _ => None,
        };
        if let Some((at, nodes)) = compared {
            if !nodes.iter().any(|node| self.tests_word(*node, word)) {
                return self.around(vars.iter().copied(), at, nodes);
            }
        }
        let middle = base | 1 << lower.len();
        let (below, above) = bounds.split_at(bounds.partition_point(|(at, _)| *at < middle));
        let in_middle = match above {
            [(at, then), rest @ ..] if *at == middle => (*then, rest),
            _ => (below.last().map_or(first, |(_, then)| *then), above),
        };
        let low = self.by_interval(lower, word, (first, below), base)?;
        let Some(var) = var else { return Ok(low) };
        let high = self.by_interval(lower, word, in_middle, middle)?;
        self.node(*var, low, high)
    }

    /// The node that maps a number to the first of three nodes below a value, to the second for the value, and to the third
    /// above it. The nodes test only variables after those of the number. Its bits are variables, least significant first; a
    /// bit without a variable is zero. The variable of a bit must precede those of lower bits.
    pub(super) fn around(
        &mut self,
        vars: impl Iterator<Item = Option<Var>>,
        value: u64,
        [below, equal, above]: [u32; 3],
    ) -> Result<u32, DiagramError> {
        // From the least significant bit up: `rest` decides when all higher bits are equal.
        let mut rest = equal;
        for (bit, var) in vars.enumerate() {
            let wanted = value >> bit & 1 == 1;
            rest = match (var, wanted) {
                (Some(var), true) => self.node(var, below, rest)?,
                (Some(var), false) => self.node(var, rest, above)?,
                (None, true) => below,
                (None, false) => rest,
            };
        }
        Ok(rest)
    }

    /// The cofactor of a node for the bits of a value of a word, if there is one, above the last `bits` bits.
    fn cofactor_above(&self, node: u32, word: Option<Word>, value: u64, bits: usize) -> u32 {
        let mut node = node;
        while self.tests_word(node, word) {
            let stored = self.stored_at(node);
            let bit = 31 - stored.test() % 32;
            if usize::from(bit) < bits {
                break;
            }
            node = if value >> bit & 1 == 1 { stored.high } else { stored.low };
        }
        node
    }

    /// Whether the first variable of a node is a bit of a word, if there is one.
    fn tests_word(&self, node: u32, word: Option<Word>) -> bool {
        word.is_some_and(|word| usize::from(self.stored_at(node).test() / 32) == word.index())
    }
}
