//! A program with all that its listing mentions.

use crate::flow;
use callgate_core::template::Template;
use callgate_core::{Arch, Endian, Insn, Op, Word};

/// Assumptions about a program, for names in its listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingOptions {
    /// The byte order of the machine, which decides the offset of each half of an argument.
    pub endian: Endian,
    /// The architectures of the filter. The first one gives names to syscall numbers where the program has
    /// not tested the arch; without any, only numbers after a test of the arch have names.
    pub arches: Vec<Arch>,
    /// The name of the array in source code, a valid identifier; `None`: `filter`, in Rust `FILTER`.
    pub name: Option<String>,
}

/// A program with the facts before each instruction.
pub(super) struct Listing<'a> {
    pub(super) insns: &'a [Insn],
    /// The assumptions about a seccomp filter; `None` for another one.
    pub(super) seccomp: Option<&'a ListingOptions>,
    /// The byte order of the machine of an io_uring filter; `None` for another one.
    pub(super) requests: Option<Endian>,
    /// The program with its variables, if it has any.
    pub(super) template: Option<&'a Template>,
    pub(super) flow: Vec<Option<flow::PathFacts>>,
    /// The arch that comments do not mention: the assumed one, otherwise the first one tested.
    pub(super) home: Option<Arch>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(insns: &'a [Insn], seccomp: Option<&'a ListingOptions>) -> Listing<'a> {
        let flow = seccomp.map_or_else(Vec::new, |options| flow::known(insns, options.endian));
        let assumed = seccomp.and_then(|options| options.arches.first().copied());
        let tested = || {
            let known = insns.iter().zip(&flow);
            let mut tests = known.filter(|(insn, known)| {
                insn.op == Op::JeqK && known.is_some_and(|known| known.a == Some(Word::ARCH))
            });
            tests.find_map(|(insn, _)| Arch::with_token(insn.k).next())
        };
        let home = assumed.or_else(tested);
        Listing { insns, seccomp, requests: None, template: None, flow, home }
    }

    /// The listing of an io_uring filter.
    pub(super) fn of_requests(insns: &'a [Insn], endian: Endian) -> Listing<'a> {
        Listing { requests: Some(endian), ..Listing::new(insns, None) }
    }
}
