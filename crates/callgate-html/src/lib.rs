//! Part of the command `callgate`, without a stable interface.
//!
//! What filters do, as HTML and SVG: sections for people, and the page around them.
//!
//! A section is a function from results of the analysis to a [`Section`], a fragment of HTML; [`Page`] wraps sections
//! to one self-contained document. Fragments can also be inserted into other pages that have the
//! [style sheet](STYLE).
//!
//! # Invariants
//!
//! - Text reaches a page only through [`Markup`], which escapes it: HTML, control characters and characters that reorder
//!   text. Elements are closed where they were opened, so every page is well-formed, also as XML.
//! - A page runs no script and loads nothing: no links to other documents, no fonts, no pictures. Tooltips are `<title>`
//!   elements, parts that open are `<details>`, and zooming is a choice of style.
//! - Everything that a picture shows is also in the text beside it; colours are never the only difference.
//! - Each section has limits for large filters, and says what it leaves out.
//!
//! With the feature `web`, the module `web` answers what the web page asks, with the same sections.
//!
//! This crate does no I/O and reads no clock.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod describe;
mod markup;
mod page;
pub mod sections;
mod tree;
#[cfg(feature = "web")]
pub mod web;

pub use describe::{chip, counted, grouped};
pub use markup::Markup;
pub use page::{Page, STYLE, Section, Warning};
