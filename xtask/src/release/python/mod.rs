//! The package for Python: a wheel for each machine and C library, and the source distribution.
//!
//! Wheels are linked by zig, whose stubs of glibc have the symbols of the oldest version that the tag promises, so one machine
//! builds all of them. They are for the stable ABI: one is for all versions of Python since 3.9.

mod build;
mod check;
mod interpreter;
mod musl;
mod tools;
mod wheel;

pub(super) use build::build;
pub(super) use check::check;
pub(super) use tools::{environment, pinned, pip};
