//! Searches for known words that are similar to unknown ones.

/// The maximum number of unknown words that get a suggestion. Each search compares the word with every candidate, and a
/// text in another language may have a million unknown words.
const MAX_SUGGESTIONS: usize = 50;

/// Counts the searches for suggestions about an input.
#[derive(Debug, Default)]
pub struct Suggestions(usize);

impl Suggestions {
    /// The result of this search; `None` after the limit.
    pub fn find<T>(&mut self, search: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.0 == MAX_SUGGESTIONS {
            return None;
        }
        self.0 += 1;
        search()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_searches_are_made() {
        let mut suggestions = Suggestions::default();
        let mut searched = 0;
        for _ in 0..60 {
            suggestions.find(|| {
                searched += 1;
                Some(())
            });
        }
        assert_eq!(searched, 50);
        assert_eq!(suggestions.find(|| Some(())), None);
    }
}
