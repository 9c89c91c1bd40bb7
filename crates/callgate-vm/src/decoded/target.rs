//! Places in the code.

/// A place in the code: an index into the concatenation of [`Code::probes`](super::op::Code::probes), [`Code::ops`](super::op::Code::ops) and
/// [`Code::returns`](super::op::Code::returns).
///
/// During translation it is an index of the program's instructions.
pub(super) type Target = u16;

/// The place of what was not emitted yet.
pub(super) const NOWHERE: Target = Target::MAX;
