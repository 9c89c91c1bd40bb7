//! Gives the shared library the SONAME of the library that it replaces.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libseccomp.so.2");
}
