//! What an explanation as text contains, and how it looks.

use crate::Arch;

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
    /// What was assumed besides.
    pub assumed: Option<&'t str>,
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
            assumed: None,
            lengths: None,
            places: None,
            paint: |_, text| text.to_owned(),
        }
    }
}
