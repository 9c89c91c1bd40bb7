//! What an explanation as text contains, and how it looks.

use std::fmt;

use crate::Arch;
use crate::explain::Explanation;

use super::layout::Layout;
use super::{headline, table};

/// The order of a list of syscalls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Groups of syscalls with one purpose, such as files or network.
    #[default]
    Group,
    /// One line per syscall, sorted by name.
    Name,
    /// Groups of syscalls with one verdict.
    Verdict,
}

/// What a part of a text is, for interfaces with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A heading.
    Heading,
    /// That a syscall is allowed.
    Allowed,
    /// What deserves attention.
    Unusual,
    /// That a syscall is denied.
    Denied,
}

/// Adds the colours of an interface to a part of a text: escape sequences (`ESC [ … m`), which do not count for its width.
pub type Paint = fn(Mark, &str) -> String;

/// The places of the rules of a filter in its text.
pub trait RulePlaces {
    /// The places of the rules about a syscall; empty if the default action decides.
    fn of_syscall(&self, arch: Arch, nr: u32) -> Vec<String>;

    /// The places of the default actions.
    fn defaults(&self) -> &[String];
}

/// How an explanation is written as text. The default is that of its `Display`.
#[derive(Clone, Copy)]
pub struct TextOptions<'t> {
    /// The order of the list.
    pub order: Order,
    /// The width in columns.
    pub width: usize,
    /// Whether the explanation is about some syscalls only, so that a summary would mislead.
    pub is_partial: bool,
    /// For what the conditions of a profile were evaluated, if it has any.
    pub conditions: Option<&'t str>,
    /// The lengths of the filter as a list; by default, those that the explanation shows.
    pub lengths: Option<&'t str>,
    /// Where the rules of the filter are.
    pub places: Option<&'t dyn RulePlaces>,
    /// The colours.
    pub paint: Paint,
}

/// The width of texts, unless another one is given.
const WIDTH: usize = 80;

impl Default for TextOptions<'_> {
    fn default() -> Self {
        TextOptions {
            order: Order::default(),
            width: WIDTH,
            is_partial: false,
            conditions: None,
            lengths: None,
            places: None,
            paint: |_, text| text.to_owned(),
        }
    }
}

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
        assert!(text.contains("\n    fcntl\n      ALLOW if cmd in {"), "{text}");
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
