//! Pages and the answers to the web page: one program, a module per subject.

mod answers;
mod beside;
mod hidden;
mod pages;
