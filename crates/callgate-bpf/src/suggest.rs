//! Suggestions for misspelt words.

/// The candidate with the smallest edit distance (insertions, deletions, substitutions, transpositions) to
/// `word`, the first one among equals. The limit is a third of the letters of the word, but at least 1 and at
/// most 3. A common prefix of the word and all candidates up to an underscore (`SCMP_ACT_`) does not count.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word: Vec<char> = word.chars().take(MAX_LETTERS + 1).collect();
    if word.len() > MAX_LETTERS {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let own = word.len() - shared_prefix(&word, &candidates);
    let limit = (own / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().collect();
        if letters.len().abs_diff(word.len()) > limit {
            continue;
        }
        let edits = distance(&word, &letters);
        if edits <= limit && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The length of the common prefix of a word and all candidates, up to an underscore.
fn shared_prefix(word: &[char], candidates: &[&str]) -> usize {
    let mut shared = word;
    for candidate in candidates {
        let same = shared.iter().zip(candidate.chars()).take_while(|(a, b)| **a == *b).count();
        shared = shared.get(..same).unwrap_or_default();
    }
    shared.iter().rposition(|letter| *letter == '_').map_or(0, |last| last + 1)
}

/// Words beyond this length get no suggestion: the comparison takes quadratic time.
const MAX_LETTERS: usize = 64;

/// The optimal string alignment distance, row by row.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let substituted = last[j] + usize::from(from != to);
            let mut cost = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && b[j - 1] == *from {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let known = ["openat", "open", "openat2", "read"];
        assert_eq!(nearest("opneat", known), Some("openat"));
        assert_eq!(nearest("opena2", known), Some("openat"));
        assert_eq!(nearest("raed", known), Some("read"));
        assert_eq!(nearest("frobnicate", known), None);
        assert_eq!(nearest("", known), None);
        let actions = ["SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_KILL"];
        assert_eq!(nearest("SCMP_ACT_ALOW", actions), Some("SCMP_ACT_ALLOW"));
        assert_eq!(nearest("SMCP_ACT_LOG", actions), Some("SCMP_ACT_LOG"));
        assert_eq!(nearest("SCMP_ACT_FOO", actions), None, "the common prefix does not count");
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn at_most_a_third_of_the_letters_may_be_wrong() {
        for (word, candidate, near) in [
            ("a", "ab", true),
            ("abcde", "abcxx", false),
            ("abcdef", "abcdxx", true),
            ("abcdef", "abcdefgh", true),
            ("abcdef", "abcdefghi", false),
            ("abcdefghijkl", "abcdefghixxx", true),
            ("abcdefghijklmno", "abcdefghijkxxxx", false),
            // The prefix does not count: five letters are left, then six.
            ("ABCDEF_abcde", "ABCDEF_abcxx", false),
            ("ABCDEF_abcdef", "ABCDEF_abcdxx", true),
        ] {
            assert_eq!(nearest(word, [candidate]).is_some(), near, "{word} {candidate}");
        }
        let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
        assert_eq!(nearest(&longest, [&longest[1..]]), Some(&longest[1..]));
        assert_eq!(nearest(&too_long, [&*longest]), None);
    }

    #[test]
    fn fewer_edits_are_nearer_and_the_first_of_equals_is_taken() {
        assert_eq!(nearest("abcdef", ["abcxxf", "abcxef", "abxdef"]), Some("abcxef"));
        assert_eq!(nearest("cat", ["bat", "rat"]), Some("bat"));
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        let d = |a: &str, b: &str| {
            distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("ca", "ac", 1),
            ("abcdef", "badcfe", 3),
            // Transposed letters are not edited again: 2 without this rule.
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
            ("saturday", "sunday", 3),
        ] {
            assert_eq!(d(a, b), distance, "{a} {b}");
        }
    }
}
