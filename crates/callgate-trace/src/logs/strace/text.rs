//! Search in short texts.

/// Splits a text at the first occurrence of an ASCII delimiter. Unlike `str::split_once`, it prepares nothing, so it is
/// fast for short texts.
pub(super) fn split_once<'t, const N: usize>(
    text: &'t str,
    delimiter: &[u8; N],
) -> Option<(&'t str, &'t str)> {
    let at = text.as_bytes().windows(N).position(|window| window == delimiter)?;
    Some((text.get(..at)?, text.get(at + N..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_split_as_by_the_standard_library(text in "[] a>é\t\u{a0}]{0,12}") {
            prop_assert_eq!(split_once(&text, b"] "), text.split_once("] "));
            prop_assert_eq!(split_once(&text, b" a>"), text.split_once(" a>"));
        }
    }
}
