//! Compiles the policy to `$OUT_DIR/sandbox.rs`.

fn main() {
    callgate_build::Policy::new("sandbox.kafel").installer(true).compile_or_exit();
}
