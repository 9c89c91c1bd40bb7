//! Compiles the filters of the usual configurations to `$OUT_DIR/sandbox.rs`.

use callgate_build::{Configurations, Policy};

fn main() {
    Configurations::new("sandbox")
        .add("base", Policy::new("usual/base.kafel"))
        .add("clock", Policy::new("usual/clock.kafel"))
        .add("clock,files", Policy::new("usual/clock_files.kafel"))
        .installer(true)
        .compile_or_exit();
}
