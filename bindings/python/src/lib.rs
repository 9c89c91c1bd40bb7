//! Callgate as an extension module of Python: `callgate._native`, on which the package in `python/callgate` builds.
//!
//! No function takes or returns more than bytes, text and numbers, and none panics.

#[cfg(target_os = "linux")]
mod install;
mod module;
