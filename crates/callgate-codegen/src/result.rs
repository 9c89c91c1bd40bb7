//! Results of the code generator.

use callgate_core::diagram::DiagramError;

/// The result of what may exceed the budget of the diagram.
pub(crate) type Result<T> = std::result::Result<T, DiagramError>;
