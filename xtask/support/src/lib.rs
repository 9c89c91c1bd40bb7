//! What the tasks of `cargo xtask` and `cargo lab` share: the command line, files and commands whose errors name them,
//! packages of Debian, and the build of the C library. It depends on no other package.

pub mod apt;
pub mod c_library;
mod command_line;
pub mod files;
mod task;

pub use command_line::{Elsewhere, run, run_with};
pub use task::{Result, Task, workspace};
