//! What comes out as proved is right, and so is what C programs get.

mod exported;
mod proved;

/// Where `.ci/cheats` has put an error, if it has.
fn cheat() -> Option<Cheat> {
    let name = std::env::var("CALLGATE_CHEATS").ok()?;
    Some(if name == "readers" { Cheat::Reader } else { Cheat::Compiler })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cheat {
    /// In what compiles.
    Compiler,
    /// In what reads the rules that C programs give.
    Reader,
}
