//! The bits below another one.

/// All bits below this one.
pub(super) fn bits_below(bit: u32) -> u32 {
    ((1u64 << bit) - 1) as u32
}
