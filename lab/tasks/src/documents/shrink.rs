//! Minimizes a text.

use callgate_tasks::Result;

/// The maximum number of texts that are tried.
const MAX_TRIES: usize = 3000;

/// A text that has no part whose removal keeps the property.
pub(super) fn shrink(text: &str, mut has: impl FnMut(&str) -> Result<bool>) -> Result<String> {
    let mut chars: Vec<char> = text.chars().collect();
    let mut tries = 0;
    let mut size = chars.len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut is_smaller = false;
        while at < chars.len() && tries < MAX_TRIES {
            tries += 1;
            let end = chars.len().min(at + size);
            let rest: String = chars[..at].iter().chain(&chars[end..]).collect();
            if has(&rest)? {
                chars.drain(at..end);
                is_smaller = true;
            } else {
                at += size;
            }
        }
        if !is_smaller || size > 1 {
            size /= 2;
        }
    }
    Ok(chars.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_remains() {
        let text = "some text äbout nothing in pärticular";
        let has = |text: &str| Ok(text.matches('ä').count() == 2);
        assert_eq!(shrink(text, has).as_deref(), Ok("ää"));
        assert_eq!(shrink("", |_| Ok(true)).as_deref(), Ok(""));
    }
}
