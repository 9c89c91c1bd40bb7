//! Packets for socket filters: from the command line, from a capture, or from lines of text.
//!
//! A file of packets is a pcap capture (not pcapng), or text: a packet per line in
//! hexadecimal, with optional blanks or colons between the bytes; empty lines and comments after `#` are
//! skipped.
//!
//! Limits: 64 MiB, and a million packets, so that they fit in memory and are evaluated within seconds.

mod hex;
mod options;
mod pcap;

pub(crate) use hex::Packet;
pub(crate) use options::PacketOptions;
