//! Writes an explanation as text.

use std::fmt;

use crate::explain::Explanation;

use super::layout::Layout;
use super::options::TextOptions;
use super::{headline, table};

impl Explanation {
    /// The explanation as text.
    pub fn to_text(&self, options: &TextOptions<'_>) -> String {
        let layout = Layout::new(options);
        headline::text(self, options, &layout) + &table::text(self, options, &layout)
    }
}

impl fmt::Display for Explanation {
    /// The text that `callgate explain` prints, 80 columns wide; `{:#}` leaves the lines as long as they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = TextOptions::default();
        let width = if f.alternate() { usize::MAX } else { options.width };
        let text = self.to_text(&TextOptions { width, ..options });
        f.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use callgate_core::{Arch, Verdict};

    use super::*;
    use crate::Filter;
    use crate::explain::text::options::Paint;

    #[test]
    fn the_default_text_has_80_columns() {
        let builder = Filter::builder([Arch::X86_64, Arch::X86]).default(Verdict::errno(1));
        let builder = builder.allow(["read", "socket"]).unwrap();
        let filter = builder.allow_if("fcntl", crate::arg("cmd").is_in([1, 3])).unwrap();
        let explanation = filter.build().unwrap().explain().unwrap();
        let text = explanation.to_string();
        assert!(
            text.starts_with("summary\n  x86_64: 2 syscalls allowed, 1 conditionally allowed, ")
        );
        assert!(text.ends_with("\n\nall other architectures\n  KILL_PROCESS"), "{text}");
        assert!(text.contains("\n    fcntl\n      ALLOW if cmd"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // The same words in fewer lines.
        let wide = format!("{explanation:#}");
        assert!(wide.lines().count() < text.lines().count());
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wide), words(&text));
    }

    #[test]
    fn colours_are_those_of_the_interface() {
        let filter = Filter::builder(Arch::X86_64).allow(["read"]).unwrap().build().unwrap();
        let paint: Paint = |mark, text| format!("<{mark:?} {text}>");
        let options = TextOptions { paint, is_partial: true, ..TextOptions::default() };
        let text = filter.explain().unwrap().to_text(&options);
        assert!(text.starts_with("<Heading x86_64>\n"), "{text}");
        assert!(text.contains("<Allowed always allowed>: read"), "{text}");
    }
}
