//! Callgate as an extension module of Python: `callgate._native`, on which the package in `python/callgate` builds.
//!
//! Functions take and return bytes, text and numbers. Only listeners are classes: what they own must be closed. None panics.

#[cfg(target_os = "linux")]
mod install;
#[cfg(target_os = "linux")]
mod listener;
mod module;
