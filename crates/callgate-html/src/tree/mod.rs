//! The branches of a program as a tree, for a picture.

mod build;
mod hot;
mod label;
mod layout;

pub(crate) use build::{End, Node, Tree};
pub(crate) use hot::hot_path;
pub(crate) use layout::{Placed, place};
