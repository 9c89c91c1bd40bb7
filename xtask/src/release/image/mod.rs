//! Part `image`: the command as an image for containers, built from `Containerfile`.

mod build;
mod buildah;
mod check;

pub(super) use build::build;
pub(super) use check::check;
