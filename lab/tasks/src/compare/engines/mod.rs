//! `cargo lab compare engines`: runs programs with our engines and with others.
//!
//! The others ([`peers`]) are libpcap's interpreter, two interpreters in Go, and rbpf, which runs the program as
//! eBPF ([`ebpf`]). The limit is the program as C ([`translate`]), compiled by `gcc -O2`. Each engine measures
//! itself with the same rounds over the same inputs from a file, and prints a hash of the returned values, which
//! must be that of the reference interpreter. Packet interpreters get the words of `seccomp_data` in network byte
//! order. [`tables`] compares the figures.
//!
//! The inputs of programs given with `--filters` are derived from their constants.

mod ebpf;
mod figures;
mod peers;
mod run;
mod tables;
mod translate;

pub(super) use figures::Engines;
pub(super) use run::measure;
