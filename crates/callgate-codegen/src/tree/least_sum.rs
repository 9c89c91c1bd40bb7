//! The innermost loop of the dynamic program over ranges.

/// The smallest sum of two numbers with the same index. Four independent minima permit parallel execution.
pub(super) fn least_sum(left: &[f64], right: &[f64]) -> f64 {
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let mut least = [f64::INFINITY; 4];
    let (left_fours, right_fours) = (left.chunks_exact(4), right.chunks_exact(4));
    let rest = left_fours.remainder().iter().zip(right_fours.remainder());
    for (left, right) in left_fours.zip(right_fours) {
        let sums = [left[0] + right[0], left[1] + right[1], left[2] + right[2], left[3] + right[3]];
        least = [
            lesser(sums[0], least[0]),
            lesser(sums[1], least[1]),
            lesser(sums[2], least[2]),
            lesser(sums[3], least[3]),
        ];
    }
    let rest = rest.fold(f64::INFINITY, |least, (left, right)| lesser(left + right, least));
    least.into_iter().fold(rest, lesser)
}
