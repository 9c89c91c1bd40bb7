//! Comparison of an argument with fixed bits: `(argument & mask | ones) < limit`.

/// The least `t`, of bits in `mask`, for which `t | ones` is at least `limit`; `None` if there is none. `mask` and
/// `ones` have no common bits, so `(x & mask | ones) < limit` is `x & mask < t`.
pub(super) fn least(mask: u64, ones: u64, limit: u64) -> Option<u64> {
    let all = mask | ones;
    // A value of the form `t | ones` whose bits from `bit` on are those of `value`.
    let fits = |value: u64, bit: u32| {
        let upper = u64::MAX.checked_shl(bit).unwrap_or(0);
        value & upper & !all == 0 && ones & upper & !value == 0
    };
    if fits(limit, 0) {
        return Some(limit & mask);
    }
    // The least larger value equals the limit down to some bit, has a 1 there instead of a 0, and no further bits
    // than `ones` below.
    (0..64).find_map(|bit| {
        let above = limit & u64::MAX.checked_shl(bit + 1).unwrap_or(0);
        let value = above | 1 << bit;
        let is_larger = limit >> bit & 1 == 0 && fits(value, bit);
        is_larger.then_some((value | ones) & mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_value_is_found() {
        for mask in 0..32_u64 {
            for ones in (0..32).filter(|ones| mask & ones == 0) {
                for limit in 0..40 {
                    let expected = (0..32).find(|t| t & !mask == 0 && t | ones >= limit);
                    assert_eq!(least(mask, ones, limit), expected, "{mask} {ones} {limit}");
                }
            }
        }
        assert_eq!(least(u64::MAX, 0, u64::MAX), Some(u64::MAX));
        assert_eq!(least(1 << 63, 1, 1 << 63), Some(1 << 63));
        assert_eq!(least(0, 0, 1), None);
    }
}
