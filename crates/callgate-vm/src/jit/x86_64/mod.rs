//! The code generator for x86-64.
//!
//! The code is a function of the System V calling convention that only uses caller-saved registers, so
//! it needs no prologue:
//!
//! | register | seccomp | packets |
//! |---|---|---|
//! | `rdi` | the data | the packet |
//! | `rsi` | scratch word | its length, 64 bits |
//! | `rdx` | temporary | the context of the helper on entry, then temporary |
//! | `eax`, `ecx` | A, X | A, X |
//! | `r8`–`r10` | scratch words | scratch words |
//! | `r11` | temporary | temporary |
//!
//! The first scratch words that a program uses are in registers, the others in the red zone below the
//! stack pointer, like the context and a spilled A. The stub that calls the helper moves the stack
//! pointer below them.
//!
//! Sources: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2;
//! for the encodings see [`encode`].

mod encode;
mod target;

pub(super) use target::X86_64;
