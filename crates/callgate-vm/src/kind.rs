//! All engines, by name. A new engine needs a line in [`EngineKind::name`],
//! [`EngineKind::with_seccomp`] and [`EngineKind::with_packet`].

use std::fmt;
use std::str::FromStr;

use callgate_core::{Endian, Program, SocketProgram};

use crate::cached::Cached;
use crate::decoded::Decoded;
use crate::engine::{EngineError, PacketEngine, Result, SeccompEngine};
use crate::jit::Jit;
use crate::reference::Reference;

/// An engine, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// [`Reference`].
    Reference,
    /// [`Decoded`].
    Decoded,
    /// [`Cached`] in front of [`Decoded`], for the architectures that the program names.
    Cached,
    /// [`Jit`].
    Jit,
}

impl EngineKind {
    /// All engines, the reference first.
    pub const ALL: &'static [EngineKind] =
        &[EngineKind::Reference, EngineKind::Decoded, EngineKind::Cached, EngineKind::Jit];

    /// The name, as the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Reference => "reference",
            EngineKind::Decoded => "decoded",
            EngineKind::Cached => "cached",
            EngineKind::Jit => "jit",
        }
    }

    /// Calls `user` with the engine for a seccomp filter on machines of this byte order, generically:
    /// without dynamic dispatch.
    pub fn with_seccomp<U: UseSeccomp>(
        self,
        program: &Program,
        endian: Endian,
        user: U,
    ) -> U::Output {
        match self {
            EngineKind::Reference => user.with(|| Ok(Reference::new(program, endian))),
            EngineKind::Decoded => user.with(|| Ok(Decoded::new(program, endian))),
            EngineKind::Cached => user.with(|| Ok(Cached::decoded(program, endian))),
            EngineKind::Jit => user.with(|| Jit::new(program, endian)),
        }
    }

    /// The same for a socket filter; `None` if the engine is for syscalls only.
    pub fn with_packet<U: UsePacket>(self, program: &SocketProgram, user: U) -> Option<U::Output> {
        Some(match self {
            EngineKind::Reference => user.with(|| Ok(Reference::new_packet(program))),
            EngineKind::Decoded => user.with(|| Ok(Decoded::new_packet(program))),
            EngineKind::Cached => return None,
            EngineKind::Jit => user.with(|| Jit::new_packet(program)),
        })
    }

    /// The engine for a seccomp filter on machines of this byte order.
    ///
    /// # Errors
    /// If this machine does not support the engine or denies what it needs.
    pub fn seccomp(self, program: &Program, endian: Endian) -> Result<Box<dyn SeccompEngine>> {
        self.with_seccomp(program, endian, Boxed)
    }

    /// The engine for a socket filter; `None` if it is for syscalls only.
    ///
    /// # Errors
    /// As for [`EngineKind::seccomp`].
    pub fn packet(self, program: &SocketProgram) -> Option<Result<Box<dyn PacketEngine>>> {
        self.with_packet(program, Boxed)
    }
}

/// A generic function over engines for seccomp filters.
pub trait UseSeccomp {
    /// The result.
    type Output;

    /// Runs it; each call of `make` creates a new engine.
    fn with<E: SeccompEngine + 'static>(self, make: impl Fn() -> Result<E>) -> Self::Output;
}

/// A generic function over engines for socket filters.
pub trait UsePacket {
    /// The result.
    type Output;

    /// Runs it; each call of `make` creates a new engine.
    fn with<E: PacketEngine + 'static>(self, make: impl Fn() -> Result<E>) -> Self::Output;
}

/// Boxes the engine.
struct Boxed;

impl UseSeccomp for Boxed {
    type Output = Result<Box<dyn SeccompEngine>>;

    fn with<E: SeccompEngine + 'static>(self, make: impl Fn() -> Result<E>) -> Self::Output {
        Ok(Box::new(make()?))
    }
}

impl UsePacket for Boxed {
    type Output = Result<Box<dyn PacketEngine>>;

    fn with<E: PacketEngine + 'static>(self, make: impl Fn() -> Result<E>) -> Self::Output {
        Ok(Box::new(make()?))
    }
}

/// An engine, and why it is not the requested one, if it is a fallback.
pub struct SelectedEngine<E: ?Sized> {
    /// The engine.
    pub engine: Box<E>,
    /// Which one it is.
    pub kind: EngineKind,
    /// Why the requested engine cannot be used.
    pub fallback: Option<EngineError>,
}

impl<E: ?Sized> SelectedEngine<E> {
    fn or_decoded(
        kind: EngineKind,
        made: Result<Box<E>>,
        decoded: impl FnOnce() -> Box<E>,
    ) -> SelectedEngine<E> {
        match made {
            Ok(engine) => SelectedEngine { engine, kind, fallback: None },
            Err(why) => {
                SelectedEngine { engine: decoded(), kind: EngineKind::Decoded, fallback: Some(why) }
            }
        }
    }
}

/// Selection with a fallback.
impl EngineKind {
    /// The engine for a seccomp filter, or [`Decoded`] if this machine does not support the engine or
    /// denies what it needs.
    ///
    /// ```
    /// use callgate_core::{Insn, Op, Program};
    /// use callgate_core::{Endian, SeccompData, Verdict};
    /// use callgate_vm::EngineKind;
    ///
    /// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
    /// let made = EngineKind::Jit.seccomp_or_decoded(&program, Endian::NATIVE);
    /// assert_eq!(made.engine.verdict(&SeccompData::default()), Verdict::ALLOW);
    /// match made.fallback {
    ///     None => assert_eq!(made.kind, EngineKind::Jit),
    ///     Some(why) => assert_eq!((made.kind, why.engine()), (EngineKind::Decoded, "jit")),
    /// }
    /// # Ok::<(), callgate_core::ProgramError>(())
    /// ```
    pub fn seccomp_or_decoded(
        self,
        program: &Program,
        endian: Endian,
    ) -> SelectedEngine<dyn SeccompEngine> {
        let decoded = || Box::new(Decoded::new(program, endian)) as Box<dyn SeccompEngine>;
        SelectedEngine::or_decoded(self, self.seccomp(program, endian), decoded)
    }

    /// The same for a socket filter; `None` if the engine is for syscalls only.
    pub fn packet_or_decoded(
        self,
        program: &SocketProgram,
    ) -> Option<SelectedEngine<dyn PacketEngine>> {
        let decoded = || Box::new(Decoded::new_packet(program)) as Box<dyn PacketEngine>;
        Some(SelectedEngine::or_decoded(self, self.packet(program)?, decoded))
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<EngineKind, String> {
        let kind = EngineKind::ALL.iter().find(|kind| kind.name() == name);
        kind.copied().ok_or_else(|| {
            let names: Vec<&str> = EngineKind::ALL.iter().map(|kind| kind.name()).collect();
            format!("unknown engine `{name}`; the engines are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_their_engines() {
        for &kind in EngineKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("fast".parse::<EngineKind>().unwrap_err().contains("reference"));
    }
}
