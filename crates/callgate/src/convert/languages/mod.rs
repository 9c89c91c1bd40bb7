//! Writers of the languages, and the pieces that several of them share.
//!
//! | languages | rules |
//! |---|---|
//! | container profiles, LXC, snaps | `named_rules.rs`: libseccomp's, one comparison per argument, for all architectures |
//! | Firecracker, minijail | `single_arch.rs` and `atoms.rs`: alternatives of comparisons, for one architecture |
//! | Kafel | expressions, for any numbers and architectures |
//! | systemd | names and groups without conditions, and `RestrictNamespaces=` |
//!
//! Of these, container profiles, snaps and systemd have rules for `socketcall` and `ipc`, too: `multiplexers.rs`.

mod atoms;
mod comparisons;
mod cubes;
mod firecracker;
mod kafel;
mod kafel_expression;
mod kubernetes;
mod lxc;
mod minijail;
mod minijail_constants;
mod multiplexers;
mod named_rules;
mod numbering;
mod oci;
mod single_arch;
mod snap;
mod systemd;
mod systemd_list;
mod systemd_multiplexers;
mod systemd_restrictions;
mod systemd_words;
mod write;

pub(super) use multiplexers::MULTIPLEXERS;
pub(super) use write::write;
