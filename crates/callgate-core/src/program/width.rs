//! Widths of loads.

/// The width of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One byte.
    Byte,
    /// Two bytes.
    Half,
    /// Four bytes.
    Word,
}

impl Width {
    /// The number of bytes.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Width;

    #[test]
    fn a_word_has_four_bytes() {
        assert_eq!([Width::Byte, Width::Half, Width::Word].map(Width::bytes), [1, 2, 4]);
    }
}
