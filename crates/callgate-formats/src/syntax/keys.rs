//! How programs compare the keys of a JSON object with the names that they know.
//!
//! Go's `encoding/json` takes a key that is byte for byte the name of a field, else one that is equal
//! under Unicode's simple case folding, in all versions of Go up to 1.26. The names in profiles consist of
//! ASCII letters, and only two other characters fold to one: U+017F (long s) to `s`, U+212A (Kelvin sign) to
//! `k`. crun compares bytes (`yajl_tree_get`), and so does `sigs.k8s.io/json`, which Kubernetes uses.

/// How keys are compared with names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMatching {
    /// The same bytes: crun.
    Exact,
    /// The same bytes, else the same under case folding: programs in Go.
    CaseFolded,
    /// The same bytes; a key that only case folding makes equal is an error, because programs disagree.
    Unambiguous,
}

/// Whether Go's decoder takes a key for a name of ASCII letters.
pub(crate) fn folds_to(key: &str, name: &str) -> bool {
    let folded = key.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|c| c.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are all characters that Unicode folds to ASCII letters (CaseFolding.txt, status C and S).
    #[test]
    fn keys_fold_as_in_go() {
        for key in ["syscalls", "SYSCALLS", "\u{17f}y\u{17f}call\u{17f}", "SySc\u{61}ll\u{17f}"] {
            assert!(folds_to(key, "syscalls"), "{key}");
        }
        assert!(folds_to("min\u{212a}ernel", "minKernel"));
        assert!(folds_to("MINkERNEL", "minKernel"));
        for key in
            ["syscall", "syscallss", "\u{df}yscalls", "syscalls ", "syscalls\0", "", "ѕyscalls"]
        {
            assert!(!folds_to(key, "syscalls"), "{key}");
        }
        // Only full folding (not simple folding) relates U+0130 to `i`, and only lower-casing U+0131.
        assert!(!folds_to("\u{130}ndex", "index"));
        assert!(!folds_to("\u{131}ndex", "index"));
    }
}
