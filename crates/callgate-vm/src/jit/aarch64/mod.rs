//! The code generator for aarch64, little-endian.
//!
//! The code is a function of the procedure call standard that only uses caller-saved registers, so it
//! needs neither a prologue nor a stack frame (there is no red zone):
//!
//! | register | what it is |
//! |---|---|
//! | `x0` | the data, or the packet |
//! | `x1` | the length of the packet |
//! | `x2` | the context of the helper |
//! | `w3`, `w4` | A, X |
//! | `w5`–`w7` | temporary |
//! | `w8`–`w15` | scratch words 0 to 7 |
//! | `s16`–`s23` | scratch words 8 to 15 |
//!
//! Every write to a register has 32 bits, so A and X are also valid 64-bit indices.
//!
//! Sources: Procedure Call Standard for the Arm 64-bit Architecture, 6.1; for the encodings see
//! [`encode`].

mod encode;
mod target;

pub(super) use target::Aarch64;
