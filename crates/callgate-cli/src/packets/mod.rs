//! Packets for socket filters: from the command line, from a capture, or from lines of text.
//!
//! A file of packets is a capture in the classic form of pcap, or text: a packet per line in
//! hexadecimal, with blanks or colons between the bytes as one likes; empty lines and what follows `#` are
//! left out.
//!
//! Limits: 64 MiB, and a million packets. Both fit into memory several times, and their results are printed
//! within seconds.

mod hex;
mod options;
mod packet;
mod pcap;

pub(crate) use options::PacketOptions;
pub(crate) use packet::Packet;
