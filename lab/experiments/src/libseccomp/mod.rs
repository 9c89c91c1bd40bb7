//! Programs in the shape in which libseccomp makes them, to measure Callgate's beside.
//!
//! [`list`] is what libseccomp makes by default: one `jeq` per syscall, most of which fall through to the next,
//! and returns that are shared, with copies where they are out of reach. [`tree`] is what it makes with
//! `SCMP_FLTATR_CTL_OPTIMIZE` set to 2: a binary search over the numbers, which ends at groups of four.
//!
//! The programs are those of libseccomp 2.5.4 to 2.6.1, instruction by instruction: `cargo lab compare shapes`
//! compares them with the library itself. That a program means what its policy means is proved here, each time.
//!
//! 1. `rules.rs`: a policy as libseccomp's rules, an action per syscall or combinations of argument tests;
//! 2. `comparisons.rs`: the combinations of a syscall as a graph of 32-bit comparisons;
//! 3. `blocks.rs`: equal instructions become one block; the order of the syscalls; the search;
//! 4. `layout.rs`: where shared blocks go, and what is inserted where a jump exceeds 255 instructions.
//!
//! Limits: what libseccomp has no rules for is an error ([`ShapeError`]), and so are rules of which it leaves
//! some out because others cover them. Priorities set by the caller do not exist here.
//!
//! Source: libseccomp, `src/db.c` and `src/gen_bpf.c`.

mod blocks;
mod comparisons;
mod error;
mod layout;
mod rules;
mod shapes;

pub use error::ShapeError;
pub use shapes::{list, tree};
