//! What compiled code asks for: ancillary words, and loads from the headers of a packet.
//!
//! The code gets a pointer to a [`Context`], whose first field is the function to call, so nothing
//! in the code depends on an address.

use callgate_bpf::{Ancillary, Width, load_absolute, load_indexed};

use super::node::Ask;

/// What a question is answered from. Compiled code knows nothing of it but the first field.
#[repr(C)]
pub(super) struct Context<'a> {
    /// Called with this context, the offset, what is asked ([`kind`]), A and X. The low half of the
    /// answer is the value; the top bit says that the program ends with 0.
    answer: Answer,
    facts: Facts<'a>,
}

type Answer = for<'a> extern "C" fn(&'a Context<'a>, u32, u32, u32, u32) -> u64;

struct Facts<'a> {
    packet: &'a [u8],
    ancillary: &'a dyn Ancillary,
}

/// In an answer: the program ends with 0.
const END: u64 = 1 << 63;

/// What is asked, as a number for [`Context::answer`].
pub(super) fn kind(ask: Ask) -> u32 {
    match ask {
        Ask::Word => 0,
        Ask::Load(width) => width.bytes() as u32,
        Ask::HeaderLength => 1,
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(packet: &'a [u8], ancillary: &'a dyn Ancillary) -> Context<'a> {
        Context { answer, facts: Facts { packet, ancillary } }
    }
}

/// A panic of the ancillary data cannot pass through compiled code, so it ends the process.
extern "C" fn answer<'a>(context: &'a Context<'a>, offset: u32, kind: u32, a: u32, x: u32) -> u64 {
    let &Facts { packet, ancillary } = &context.facts;
    let value = match kind {
        0 => load_absolute(packet, ancillary, offset, Width::Word, a, x),
        1 => load_indexed(packet, ancillary, offset, Width::Byte),
        2 => load_indexed(packet, ancillary, offset, Width::Half),
        _ => load_indexed(packet, ancillary, offset, Width::Word),
    };
    value.map_or(END, u64::from)
}
