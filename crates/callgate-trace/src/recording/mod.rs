//! What programs call: which calls, how often, and with which values.
//!
//! A [`Recording`] has an entry for each call ([`CallId`]: architecture and number) with its count and
//! what was seen of each argument, for itself: that two arguments had certain values *together* is
//! not kept. Numbers that no table knows are kept like all others: a newer kernel may have them, and
//! calls that no kernel has are calls that a filter sees.
//!
//! Recordings come from `callgate record`, from the logs and tables of other tools, and from JSON, which
//! [`read`](crate::read) reads all; [`Recording::to_json`] writes the
//! JSON. Several become one with [`Recording::merge`], in any order: how many runs had a call, and how many
//! had a value, is kept, so that whatever is made of several recordings can be made of the merged one.
//! What is to be said against a run is kept with it ([`Caveat`]).
//!
//! ```
//! use callgate_bpf::Arch;
//! use callgate_trace::recording::{CallId, Recording};
//!
//! let mut recording = Recording::default();
//! recording.observe(CallId::new(Arch::X86_64, 3), &[7, 0, 0, 0, 0, 0]);
//! recording.observe(CallId::new(Arch::X86_64, 3), &[9, 0, 0, 0, 0, 0]);
//! let mut other = Recording::default();
//! other.count(CallId::new(Arch::X86_64, 3), 40);
//! recording.merge(other);
//!
//! let (close, seen) = recording.calls().next().ok_or("nothing recorded")?;
//! assert_eq!((close.name(), seen.count()), (Some("close"), 42));
//! // `close` has one argument; twice its value is known.
//! assert_eq!(seen.args().len(), 1);
//! assert_eq!(seen.args()[0].all(), Some(&[7, 9][..]));
//! assert!(!seen.is_known(0));
//! # Ok::<(), &str>(())
//! ```

mod caveat;
pub(crate) mod json;
mod model;
mod values;

pub use caveat::{Caveat, Effect};
pub use model::{CallId, How, MAX_COUNT, Recording, Run, Seen};
pub use values::{Bounds, MAX_FEW, Values};
