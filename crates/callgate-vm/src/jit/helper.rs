//! The helper that compiled code calls for ancillary words and for loads relative to headers.
//!
//! The code gets a pointer to a [`Context`], whose first field is the address of the helper, so the code
//! itself contains no absolute address.

use callgate_core::{Ancillary, Width, load_absolute, load_indexed};

use super::node::Request;

/// The data of the helper. Compiled code only uses the first field.
#[repr(C)]
pub(super) struct Context<'a> {
    /// Called with this context, the offset, what is asked ([`kind`]), A and X. The low half of the
    /// answer is the value; the top bit says that the program ends with 0.
    answer: Answer,
    packet: &'a [u8],
    ancillary: &'a dyn Ancillary,
}

type Answer = for<'a> extern "C" fn(&'a Context<'a>, u32, u32, u32, u32) -> u64;

/// In a result: the program ends with 0.
const END: u64 = 1 << 63;

/// The code of a request for [`Context::answer`].
pub(super) fn code_of(request: Request) -> u32 {
    match request {
        Request::Word => 0,
        Request::Load(width) => width.bytes() as u32,
        Request::HeaderLength => 1,
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(packet: &'a [u8], ancillary: &'a dyn Ancillary) -> Context<'a> {
        Context { answer, packet, ancillary }
    }
}

/// A panic of an [`Ancillary`] cannot unwind through compiled code, so it aborts the process.
extern "C" fn answer<'a>(
    context: &'a Context<'a>,
    offset: u32,
    request: u32,
    a: u32,
    x: u32,
) -> u64 {
    let &Context { packet, ancillary, .. } = context;
    let value = match request {
        0 => load_absolute(packet, ancillary, offset, Width::Word, a, x),
        1 => load_indexed(packet, ancillary, offset, Width::Byte),
        2 => load_indexed(packet, ancillary, offset, Width::Half),
        _ => load_indexed(packet, ancillary, offset, Width::Word),
    };
    value.map_or(END, u64::from)
}
