//! What comes of a profile.

use callgate_profile_fuzz::runtime::Contradiction;

/// The result for a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Same,
    BothRefuse,
    Doubtful,
    Contradicted(Contradiction),
    LibraryWouldHang,
    NotStarted,
    Differs,
}

impl Outcome {
    pub(super) fn text(&self) -> &'static str {
        match self {
            Outcome::Same => "the same function",
            Outcome::BothRefuse => "refused by both",
            Outcome::Doubtful => "refused by callgate alone, because it is doubtful",
            Outcome::Contradicted(Contradiction::SharedComparisons) => {
                "libseccomp contradicts its rules: shared comparisons by order or `!=`"
            }
            Outcome::Contradicted(Contradiction::NumberNotLoaded) => {
                "libseccomp contradicts its rules: number not loaded"
            }
            Outcome::LibraryWouldHang => "not started: libseccomp hangs over the rules",
            Outcome::NotStarted => "not started, for another reason than the profile",
            Outcome::Differs => "DIFFERENT",
        }
    }
}
