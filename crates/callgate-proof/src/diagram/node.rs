//! Nodes as users of a store see them: functions and predicates.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the predicate that holds for no syscall.
pub(super) const FALSE: u32 = 0;
/// The number of the predicate that holds for every syscall.
pub(super) const TRUE: u32 = 1;

/// Identity of a store: a node of one store is never taken for a node of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreId(u32);

impl StoreId {
    /// The mark of nodes that are the same in all stores.
    const ANY: StoreId = StoreId(0);
    /// The mark of a store that accepts no node, because all numbers of stores are used up.
    const NONE: StoreId = StoreId(u32::MAX);

    pub(super) fn next() -> StoreId {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let increment = |id: u32| (id < StoreId::NONE.0).then(|| id + 1);
        match NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, increment) {
            Ok(id) => StoreId(id),
            Err(_) => StoreId::NONE,
        }
    }

    /// Whether a node with this mark is a node of the store with the mark `self`.
    pub(super) fn owns(self, mark: StoreId) -> bool {
        mark == StoreId::ANY || mark == self && self != StoreId::NONE
    }
}

/// A function from syscalls to verdicts: a node of the [`Store`](super::Store) that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Func {
    id: u32,
    store: StoreId,
}

/// A predicate on syscalls: a node of the [`Store`](super::Store) that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pred {
    id: u32,
    store: StoreId,
}

impl Pred {
    /// Holds for no syscall; the same node in every store.
    pub const NEVER: Pred = Pred { id: FALSE, store: StoreId::ANY };
    /// Holds for every syscall; the same node in every store.
    pub const ALWAYS: Pred = Pred { id: TRUE, store: StoreId::ANY };

    /// `ALWAYS` or `NEVER`.
    pub const fn constant(value: bool) -> Pred {
        if value { Pred::ALWAYS } else { Pred::NEVER }
    }
}

/// Functions and predicates. Only these two implement it.
pub trait Node: Copy + Eq + sealed::Made {
    /// The number of the node in its store.
    fn id(self) -> u32;
    /// The store that made the node.
    fn store(self) -> StoreId;
}

pub(super) mod sealed {
    /// How the store makes handles of its nodes; nothing else can.
    pub trait Made {
        fn made(id: u32, store: super::StoreId) -> Self;
    }
}

impl Node for Func {
    fn id(self) -> u32 {
        self.id
    }
    fn store(self) -> StoreId {
        self.store
    }
}

impl sealed::Made for Func {
    fn made(id: u32, store: StoreId) -> Func {
        Func { id, store }
    }
}

impl Node for Pred {
    fn id(self) -> u32 {
        self.id
    }
    fn store(self) -> StoreId {
        self.store
    }
}

impl sealed::Made for Pred {
    fn made(id: u32, store: StoreId) -> Pred {
        if id <= TRUE { Pred { id, store: StoreId::ANY } } else { Pred { id, store } }
    }
}

// The number alone is a good hash: a table rarely holds nodes of several stores.
impl Hash for Func {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl Hash for Pred {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}
