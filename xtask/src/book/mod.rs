//! `cargo xtask book`: the pages of `docs` as a book with search.
//!
//! mdbook renders a copy of `docs`. In the repository, links lead from pages to other files of the tree, which the book does not
//! have: in the copy, these links lead to the repository. Links are checked twice: in the Markdown, whether file and heading
//! exist, and in the HTML, whether mdbook made what they name.

mod html;
mod markdown;
mod pages;
mod run;
mod serve;
mod summary;

pub(crate) use run::{HELP, run};
