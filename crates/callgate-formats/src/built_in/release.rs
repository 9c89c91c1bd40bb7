//! Numbers of releases: `29`, `20.10`, `20.10.4`.

use std::cmp::Ordering;
use std::fmt;

/// The number of a release, or the beginning of one, which stands for the last release with it.
#[derive(Clone, Debug)]
pub(super) struct Release {
    parts: Vec<u32>,
    /// As it is written: `19.03`.
    text: String,
}

/// How many numbers a release has.
const PARTS: usize = 3;

impl Release {
    /// Parses one to three numbers with dots between them, also after a `v`.
    pub(super) fn parse(text: &str) -> Option<Release> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let parts = text.split('.').map(|part| {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse().ok())?
        });
        let parts: Vec<u32> = parts.collect::<Option<_>>()?;
        (parts.len() <= PARTS).then(|| Release { parts, text: text.to_owned() })
    }

    /// Whether it is written with two numbers.
    pub(super) fn is_short(&self) -> bool {
        self.text.matches('.').count() + 1 < PARTS
    }

    /// A release with all of its numbers, of which the last may be left out if it is 0; `None` for less.
    pub(super) fn whole(mut self) -> Option<Release> {
        if self.parts.len() + 1 < PARTS {
            return None;
        }
        self.parts.resize(PARTS, 0);
        Some(self)
    }

    /// The first release that begins with these numbers.
    pub(super) fn lowest(&self) -> Release {
        let mut parts = self.parts.clone();
        parts.resize(PARTS, 0);
        Release { parts, text: self.text.clone() }
    }

    /// Whether it begins with these numbers.
    pub(super) fn starts_with(&self, beginning: &Release) -> bool {
        self.parts.starts_with(&beginning.parts)
    }

    /// The number at an index; the last release with a beginning has no limit.
    fn part(&self, at: usize) -> u32 {
        self.parts.get(at).copied().unwrap_or(u32::MAX)
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Release) -> Ordering {
        let parts = (0..PARTS).map(|at| self.part(at).cmp(&other.part(at)));
        parts.fold(Ordering::Equal, Ordering::then)
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Release) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Release {}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Release) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_numbers_and_a_beginning_is_the_last_one() {
        let of = |text: &str| Release::parse(text).unwrap();
        assert!(of("20.10.9") < of("20.10.10"));
        assert!(of("20.10.99") < of("20.10") && of("20.10") < of("20.11.0"));
        assert!(of("v1.7").starts_with(&of("1")) && of("1").whole().is_none());
        let whole = of("1.7").whole().unwrap();
        assert_eq!((&whole, whole.to_string().as_str()), (&of("1.7.0"), "1.7"));
        assert_eq!(of("v19.03.1").to_string(), "19.03.1");
        assert_eq!(of("19.03.1"), of("19.3.1"));
        for wrong in ["", "v", "1.", "1.2.3.4", "1.2.3-rc.1", "+1", "latest", "99999999999"] {
            assert!(Release::parse(wrong).is_none(), "{wrong}");
        }
    }
}
