//! The engine that runs native code.

use callgate_core::{Ancillary, Endian, Insn, Program, SeccompData, SocketProgram, Verdict};

#[cfg(target_arch = "aarch64")]
use super::aarch64;
use super::helper::Context;
use super::memory::Executable;
#[cfg(target_arch = "x86_64")]
use super::x86_64;
use super::{lower, target};
use crate::engine::{EngineError, PacketEngine, Result, SeccompEngine};
use crate::flow::Input;

const NAME: &str = "jit";

/// The longest packet for compiled code, whose offsets have 31 bits.
const MAX_PACKET: usize = i32::MAX as usize;

/// Native code. The type parameter distinguishes seccomp and socket filters.
///
/// The memory of the code is never writable and executable at once. When the engine is dropped, its code is erased, and its
/// memory unmapped or, on x86-64, kept for the next engine: at most 32 KiB in a process, writable and not executable. That
/// takes the system calls mprotect(2) and munmap(2). Creation fails if there is no code generator for the machine, or if the
/// system denies executable memory.
///
/// The reference interpreter handles packets of 2 GiB and more.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Endian, SeccompData, Verdict};
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
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
#[derive(Debug)]
pub struct Jit<P = Program> {
    code: Executable,
    /// Whether the code calls the helper.
    calls_helper: bool,
    /// The program, for packets that are too long for the code.
    rest: Option<P>,
}

impl Jit<Program> {
    /// Compiles a seccomp filter.
    ///
    /// # Errors
    /// If there is no code generator for this machine, or the system denies executable memory.
    pub fn new(program: &Program, endian: Endian) -> Result<Jit<Program>> {
        let (code, calls_helper) = executable(program.insns(), Input::Syscall(endian))?;
        Ok(Jit { code, calls_helper, rest: None })
    }
}

impl Jit<SocketProgram> {
    /// Compiles a socket filter.
    ///
    /// # Errors
    /// As for [`Jit::new`].
    pub fn new_packet(program: &SocketProgram) -> Result<Jit<SocketProgram>> {
        let (code, calls_helper) = executable(program.insns(), Input::Packet)?;
        Ok(Jit { code, calls_helper, rest: Some(program.clone()) })
    }
}

impl<P> Jit<P> {
    /// The machine code, which is position-independent.
    pub fn code(&self) -> &[u8] {
        self.code.code()
    }
}

/// Code for this machine, and whether it calls the helper.
fn executable(insns: &[Insn], input: Input) -> Result<(Executable, bool)> {
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
                "the machine code of {insns} instructions is longer than {reach} bytes, the reach of a jump"
            ))
        })?;
        let code = target.code();
        let executable = Executable::new(code).map_err(|e| {
            let (len, why) = (code.len(), e.to_string());
            // Without the error number that Rust appends.
            let why = why.rsplit_once(" (os error ").map_or(&*why, |(text, _)| text);
            error(format!("{len} bytes of memory cannot be made executable: {why}"))
        })?;
        Ok((executable, needs.helper))
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little")
    )))]
    {
        let _ = (insns, input);
        let why =
            format!("it supports x86-64 and little-endian aarch64, not {}", std::env::consts::ARCH);
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
        Verdict(unsafe { self.code.on_syscall(data) })
    }

    fn code_bytes(&self) -> usize {
        self.code.code().len()
    }
}

/// The bytes of the structure.
#[inline]
#[allow(unsafe_code)]
fn bytes(data: &SeccompData) -> &[u8; 64] {
    // SAFETY: the structure has 64 bytes without padding, and any alignment is valid for bytes.
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
        let context = if self.calls_helper {
            context = Context::new(packet, ancillary);
            Some(&context)
        } else {
            None
        };
        // SAFETY: the code was compiled from a socket filter, in `new_packet`, the length was
        // checked, and there is a context if the code calls the helper.
        unsafe { self.code.on_packet(packet, context) }
    }

    fn code_bytes(&self) -> usize {
        self.code.code().len()
    }
}
