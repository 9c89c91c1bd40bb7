//! What measuring processes of experiments repeat, besides single syscalls.

mod futexes;
mod loops;
mod packet;
mod socket;
mod waiters;

pub(crate) use futexes::FutexStream;
pub(crate) use loops::{OpenReadClose, UnixBench};
pub(crate) use packet::Packet;
pub(crate) use socket::{Namespace, PacketPath};
pub(crate) use waiters::CondWait;
