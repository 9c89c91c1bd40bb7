//! Plans for functions of a word, and the bits that A holds between their steps.

use crate::query::{Cube, WordFunc};
use crate::tree::Tree;

/// The plan for a function of a word.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The function does not depend on the word.
    Exit,
    /// A search tree over the intervals; its classes are indexes into the exits.
    Search { tree: Tree, exits: Vec<WordFunc> },
    /// [`AnyBit`]: `jset #mask`, or its replacement.
    AnyBit { mask: u32, then: WordFunc, otherwise: WordFunc },
    /// `and #mask` and `jeq #value`, which overwrites A.
    Masked { mask: u32, value: u32, then: WordFunc, otherwise: WordFunc },
    /// The plan of `first`; at `exit`, `and #mask` and the plan of `then`.
    Project { mask: u32, first: WordFunc, exit: WordFunc, then: WordFunc },
    /// A test per product, each with its exit: `jeq`, [`AnyBit`], or `and` and `jeq`. If no product matches,
    /// `otherwise`.
    Products { products: ProductExits, otherwise: WordFunc },
}

/// Products with their exits.
pub(super) type ProductExits = Vec<(Cube, WordFunc)>;

/// A function, and the bits of the word that A holds; the function depends on no others.
pub(crate) type State = (WordFunc, u32);

/// How a function continues after a test.
pub(crate) struct After {
    /// The bits that A holds then.
    pub(crate) held: u32,
    /// The number of instructions that load these bits again.
    pub(crate) reload: u32,
}
