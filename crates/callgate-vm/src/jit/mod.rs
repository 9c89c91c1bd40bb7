//! The compiler: native code for x86-64 and aarch64.
//!
//! ```text
//! instructions ──facts──> nodes ──live──> nodes ──switch, lower──> code ──memory──> a function
//!               forward          backward         backward, for a target
//! ```
//!
//! - [`facts`] goes over the program once, forward: what folds, which loads are known, which length
//!   checks are news.
//! - [`live`] goes over it once, backward: what nobody reads goes away.
//! - [`switch`] finds chains of comparisons that are a search.
//! - [`lower`] writes the code from its end to its start, so that all distances are known, by the
//!   steps that a [`target`] offers: [`x86_64`] or [`aarch64`].
//! - [`memory`] makes it executable; [`outside`] answers what is not in the packet.
//!
//! All passes are linear in the program, but for the sorting of chains. The type of the program is
//! the proof that the kernel would accept it: jumps go forward and stay inside, every path returns,
//! scratch words are written before they are read, and a call is loaded from within its 64 bytes.

#[cfg(any(test, target_arch = "aarch64"))]
mod aarch64;
mod buffer;
mod lower;
#[allow(unsafe_code)]
mod memory;
mod node;
mod outside;
mod switch;
mod target;
#[cfg(test)]
mod tests;
#[cfg(any(test, target_arch = "x86_64"))]
mod x86_64;

use callgate_bpf::{Ancillary, Insn, Program, SocketProgram};
use callgate_bpf::{Endian, SeccompData, Verdict};

use crate::engine::{EngineError, PacketEngine, SeccompEngine};
use crate::flow::Input;
use memory::Executable;
use outside::Context;

const NAME: &str = "jit";

/// The longest packet that compiled code takes: its offsets have 31 bits.
const MAX_PACKET: usize = i32::MAX as usize;

/// Native code; the type says whose programs it runs.
///
/// The memory of the code is never writable and executable at once, and is given back when the
/// engine is dropped. Where there is no code generator for the machine, or no memory may become
/// executable, there is an error, and the other engines are there.
///
/// Packets of 2 GiB and more are left to the reference interpreter.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program};
/// use callgate_bpf::{Endian, SeccompData, Verdict};
/// use callgate_vm::{Jit, SeccompEngine};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 0),             // A = nr
///     Insn::branch(Op::JeqK, 59, 0, 1),
///     Insn::new(Op::RetK, Verdict::errno(1).0),
///     Insn::new(Op::RetK, Verdict::ALLOW.0),
/// ])?;
/// if let Ok(jit) = Jit::new(&program, Endian::NATIVE) {
///     let execve = SeccompData { nr: 59, ..SeccompData::default() };
///     assert_eq!(jit.verdict(&execve), Verdict::errno(1));
/// }
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
#[derive(Debug)]
pub struct Jit<P = Program> {
    code: Executable,
    /// Whether the code asks for what is not in the packet.
    asks: bool,
    /// The program, for inputs that the code is not for.
    rest: Option<P>,
}

impl Jit<Program> {
    /// Compiles a seccomp filter.
    ///
    /// # Errors
    /// When there is no code generator for this machine, or its memory cannot become executable.
    pub fn new(program: &Program, endian: Endian) -> Result<Jit<Program>, EngineError> {
        let (code, asks) = executable(program.insns(), Input::Call(endian))?;
        Ok(Jit { code, asks, rest: None })
    }
}

impl Jit<SocketProgram> {
    /// Compiles a socket filter.
    ///
    /// # Errors
    /// As for [`Jit::new`].
    pub fn new_packet(program: &SocketProgram) -> Result<Jit<SocketProgram>, EngineError> {
        let (code, asks) = executable(program.insns(), Input::Packet)?;
        Ok(Jit { code, asks, rest: Some(program.clone()) })
    }
}

impl<P> Jit<P> {
    /// The machine code, for disassemblers. It does not depend on where it is.
    pub fn code(&self) -> &[u8] {
        self.code.code()
    }
}

/// Code for this machine, and whether it asks for what is not in the packet.
fn executable(insns: &[Insn], input: Input) -> Result<(Executable, bool), EngineError> {
    #[cfg(target_arch = "x86_64")]
    type Native = x86_64::X86_64;
    #[cfg(target_arch = "aarch64")]
    type Native = aarch64::Aarch64;
    #[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
    {
        use target::Target;
        let error = |why: String| EngineError::new(NAME, why);
        let (target, needs) = lower::compile::<Native>(insns, input).ok_or_else(|| {
            let reach = <Native as Target>::REACH;
            let insns = insns.len();
            error(format!(
                "the code of {insns} instructions is longer than the {reach} bytes a jump reaches"
            ))
        })?;
        let code = target.code();
        let executable = Executable::new(code).map_err(|e| {
            let (len, why) = (code.len(), e.to_string());
            // What the system says, without the number that Rust appends.
            let why = why.rsplit_once(" (os error ").map_or(&*why, |(text, _)| text);
            error(format!("{len} bytes of memory cannot be made executable: {why}"))
        })?;
        Ok((executable, needs.outside))
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little")
    )))]
    {
        let _ = (insns, input);
        let why = format!(
            "it writes code for x86-64 and little-endian aarch64, and this is {}",
            std::env::consts::ARCH
        );
        Err(EngineError::new(NAME, why))
    }
}

impl SeccompEngine for Jit<Program> {
    #[inline]
    fn verdict(&self, data: &SeccompData) -> Verdict {
        self.verdict_of_bytes(bytes(data))
    }

    #[inline]
    #[allow(unsafe_code)]
    fn verdict_of_bytes(&self, data: &[u8; 64]) -> Verdict {
        // SAFETY: the code was compiled from a seccomp filter, in `new`.
        Verdict(unsafe { self.code.on_call(data) })
    }

    fn code_bytes(&self) -> usize {
        self.code.code().len()
    }
}

/// The bytes of a call.
#[inline]
#[allow(unsafe_code)]
fn bytes(data: &SeccompData) -> &[u8; 64] {
    // SAFETY: the structure has these 64 bytes in the kernel's order, with no padding among them.
    unsafe { &*std::ptr::from_ref(data).cast() }
}

impl PacketEngine for Jit<SocketProgram> {
    #[inline]
    #[allow(unsafe_code)]
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
        if packet.len() > MAX_PACKET {
            return self.rest.as_ref().map_or(0, |program| program.run(packet, &ancillary));
        }
        let context;
        let context = if self.asks {
            context = Context::new(packet, ancillary);
            Some(&context)
        } else {
            None
        };
        // SAFETY: the code was compiled from a socket filter, in `new_packet`, the length was looked
        // at, and there is a context when the code asks.
        unsafe { self.code.on_packet(packet, context) }
    }

    fn code_bytes(&self) -> usize {
        self.code.code().len()
    }
}
