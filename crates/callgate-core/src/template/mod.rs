//! Programs with variables: values that are known only when a filter is installed, such as the number of a file
//! descriptor.
//!
//! A [`Template`] is a program and a list of patches. A [`Patch`] names an instruction, always a comparison with a
//! constant, and the half of a [`Symbol`] that becomes the constant. [`Template::instantiate`] sets the constants; a
//! program that is generated at build time needs only an assignment per patch.
//!
//! ```
//! use callgate_core::template::{Half, Patch, Symbol, Template, Variable};
//! use callgate_core::{Insn, Op, Program, Verdict};
//!
//! let fd = Variable::u32("fd")?;
//! let program = Program::new(vec![
//!     Insn::new(Op::LdWordAbs, 16),          // A = the low half of argument 0
//!     Insn::branch(Op::JeqK, 0, 0, 1),       // the constant is patched
//!     Insn::new(Op::RetK, Verdict::ALLOW.0),
//!     Insn::new(Op::RetK, Verdict::errno(1).0),
//! ])?;
//! let patch = Patch { insn: 1, symbol: Symbol::new(0), half: Half::Low };
//! let template = Template::new(program, vec![fd], vec![patch])?;
//! let program = template.instantiate(&[7])?;
//! assert_eq!(program.insns()[1].k, 7);
//! assert!(template.instantiate(&[1 << 32]).is_err(), "fd has 32 bits");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod program;
mod symbol;
mod variable;

pub use error::{MAX_NAME, MAX_VARIABLES, TemplateError, ValueError, VariableError};
pub use program::Template;
pub use symbol::{Half, Patch, Symbol, VariableList};
pub use variable::{Variable, check_values};
