//! ELF files as the loader sees them: segments, dynamic section, symbols, relocations, functions.
//!
//! What the loader uses is read from the program headers and the dynamic section. Section headers, which a program
//! runs without, add the symbol table, the extent of the code, and where procedure linkage tables are.

mod dynamic;
mod file;
mod layout;
mod relocations;
mod symbols;

pub use file::Image;
pub use layout::Machine;
pub(crate) use relocations::Target;
pub(crate) use symbols::SymbolKind;
