//! Handles of nodes: functions and predicates.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the terminal false: the predicate that holds for no syscall.
pub(super) const FALSE: u32 = 0;
/// The number of the terminal true: the predicate that holds for every syscall.
pub(super) const TRUE: u32 = 1;

/// Identity of a store, which keeps nodes of different stores apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreId(u32);

impl StoreId {
    /// The owner of nodes that are the same in all stores.
    const ANY: StoreId = StoreId(0);
    /// The identity of a store that cannot create nodes, because all identities are in use.
    pub(super) const NONE: StoreId = StoreId(u32::MAX);

    pub(super) fn next() -> StoreId {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let increment = |id: u32| (id < StoreId::NONE.0).then(|| id + 1);
        match NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, increment) {
            Ok(id) => StoreId(id),
            Err(_) => StoreId::NONE,
        }
    }

    /// Whether a node of the store `owner` can be used in this store.
    #[inline]
    pub(super) fn owns(self, owner: StoreId) -> bool {
        owner == self || owner == StoreId::ANY
    }
}

/// The number of a node in the low half and its store in the high half: one register, compared at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Handle(u64);

impl Handle {
    #[inline]
    const fn new(id: u32, store: StoreId) -> Handle {
        Handle((store.0 as u64) << 32 | id as u64)
    }

    #[inline]
    const fn id(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn store(self) -> StoreId {
        StoreId((self.0 >> 32) as u32)
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "node {} of store {}", self.id(), self.store().0)
    }
}

// The number of the node suffices: a table rarely holds nodes of several stores.
impl Hash for Handle {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

/// A function from syscalls to verdicts: a node of the [`Store`](super::Store) that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Func(Handle);

/// A predicate on syscalls: a node of the [`Store`](super::Store) that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pred(Handle);

impl Pred {
    /// Holds for no syscall; the same node in every store.
    pub const NEVER: Pred = Pred(Handle::new(FALSE, StoreId::ANY));
    /// Holds for every syscall; the same node in every store.
    pub const ALWAYS: Pred = Pred(Handle::new(TRUE, StoreId::ANY));

    /// `ALWAYS` or `NEVER`.
    pub const fn constant(value: bool) -> Pred {
        if value { Pred::ALWAYS } else { Pred::NEVER }
    }
}

/// Functions and predicates. Only these two implement it.
pub trait Node: Copy + Eq + sealed::FromId {
    /// The number of the node in its store.
    fn id(self) -> u32;
    /// The store that created the node.
    fn store(self) -> StoreId;
}

pub(super) mod sealed {
    /// Creates handles; private to the store.
    pub trait FromId {
        fn from_id(id: u32, store: super::StoreId) -> Self;
    }
}

impl Node for Func {
    #[inline]
    fn id(self) -> u32 {
        self.0.id()
    }
    #[inline]
    fn store(self) -> StoreId {
        self.0.store()
    }
}

impl sealed::FromId for Func {
    #[inline]
    fn from_id(id: u32, store: StoreId) -> Func {
        Func(Handle::new(id, store))
    }
}

impl Node for Pred {
    #[inline]
    fn id(self) -> u32 {
        self.0.id()
    }
    #[inline]
    fn store(self) -> StoreId {
        self.0.store()
    }
}

impl sealed::FromId for Pred {
    #[inline]
    fn from_id(id: u32, store: StoreId) -> Pred {
        Pred(Handle::new(id, if id <= TRUE { StoreId::ANY } else { store }))
    }
}
