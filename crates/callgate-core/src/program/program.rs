//! Programs that the kernel accepts, or refuses for their length only. The types guarantee the acceptance
//! rules, and which structure a program reads: a filter for one cannot be used as one for another.

use std::marker::PhantomData;
use std::ops::Deref;

use super::Op;
use super::ancillary::Ancillary;
use super::check::{self, Rules};
use super::error::{ProgramError, ProgramHint, Violation, ViolationKind};
use super::insn::{Insn, RawInsn};
use super::interp::{self, PacketInput, Run, Step, WordInput};
#[cfg(doc)]
use super::limits::MAX_READ_INSNS;
use crate::{Endian, FilterInput, Layout, SeccompData, Verdict};

/// A filter that the kernel accepts: a seccomp filter (`bpf_check_classic`, then `seccomp_check_filter`), or one for another
/// [input](FilterInput).
///
/// It has 1 to 4,096 instructions, all of them permitted in seccomp filters, only jumps forward inside the
/// program, and ends with a return on every path. It dereferences to a [`LongProgram`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program<D = SeccompData>(LongProgram<D>);

/// A filter that the kernel accepts, or refuses for its length only, with 1 to [`MAX_READ_INSNS`]
/// instructions. It can be read, run, explained and compared, and optimized to a
/// [`Program`], but not installed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LongProgram<D = SeccompData>(Vec<Insn>, PhantomData<D>);

/// A socket filter that the kernel accepts (`bpf_check_classic`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SocketProgram(Vec<Insn>);

/// Constructors, which all check the acceptance rules.
macro_rules! checked {
    ($program:ident, $rules:expr, $of:expr) => {
        impl $program {
            /// Checks a program against the kernel's rules. The error lists every violation.
            ///
            /// # Errors
            /// All violations of the acceptance rules.
            pub fn new(insns: Vec<Insn>) -> Result<$program, ProgramError> {
                let raw: Vec<RawInsn> = insns.iter().map(|&insn| insn.into()).collect();
                check::check(&raw, $rules)?;
                Ok($of(insns))
            }

            /// The same for instructions whose opcodes may be unknown.
            ///
            /// # Errors
            /// As [`new`](Self::new); also for unknown opcodes.
            pub fn from_raw(raw: &[RawInsn]) -> Result<$program, ProgramError> {
                accept(raw, $rules).map($of)
            }

            /// Reads the bytes of a `struct sock_filter` array in the given byte order. If they look
            /// like a program in the other byte order or like text, the error has a hint.
            ///
            /// # Errors
            /// As [`from_raw`](Self::from_raw); also if the length is not a multiple of 8 bytes.
            pub fn from_bytes(bytes: &[u8], endian: Endian) -> Result<$program, ProgramError> {
                decode(bytes, endian, $rules).map($of)
            }
        }

        impl TryFrom<Vec<Insn>> for $program {
            type Error = ProgramError;

            fn try_from(insns: Vec<Insn>) -> Result<$program, ProgramError> {
                $program::new(insns)
            }
        }
    };
}

checked!(Program, Rules::Filter(Layout::Seccomp), Program::of_accepted);
checked!(LongProgram, Rules::LongFilter(Layout::Seccomp), LongProgram::of_accepted);
checked!(SocketProgram, Rules::Socket, SocketProgram);

impl<D: FilterInput> Program<D> {
    /// Checks a program for this input against the kernel's rules; for seccomp filters, [`Program::new`] is the same. The
    /// error lists every violation.
    ///
    /// ```
    /// use callgate_core::io_uring::{Decision, IoUringRequest};
    /// use callgate_core::{Endian, Insn, Op, Program};
    ///
    /// let insns = vec![
    ///     Insn::new(Op::LdWordAbs, 16), // A = socket.family
    ///     Insn::branch(Op::JeqK, 2, 0, 1), // AF_INET
    ///     Insn::new(Op::RetK, Decision::Allow.value()),
    ///     Insn::new(Op::RetK, Decision::Deny.value()),
    /// ];
    /// let program = Program::<IoUringRequest>::of(insns)?;
    /// let run = program.run(&IoUringRequest::new(45), Endian::NATIVE);
    /// assert_eq!(run.verdict, Decision::Deny);
    /// # Ok::<(), callgate_core::ProgramError>(())
    /// ```
    ///
    /// A program for packets is a [`SocketProgram`]; as a `Program`, it does not compile:
    ///
    /// ```compile_fail
    /// use callgate_core::{Insn, Op, PacketHead, Program};
    ///
    /// let program = Program::<PacketHead>::of(vec![Insn::new(Op::RetK, 0)]);
    /// ```
    ///
    /// # Errors
    /// All violations of the acceptance rules.
    pub fn of(insns: Vec<Insn>) -> Result<Program<D>, ProgramError> {
        const { assert!(D::IS_STRUCTURE, "a program for packets is a SocketProgram") };
        let raw: Vec<RawInsn> = insns.iter().map(|&insn| insn.into()).collect();
        check::check(&raw, Rules::Filter(D::layout(Endian::NATIVE)))?;
        Ok(Program::of_accepted(insns))
    }
}

impl<D> Program<D> {
    fn of_accepted(insns: Vec<Insn>) -> Program<D> {
        Program(LongProgram::of_accepted(insns))
    }
}

impl<D> LongProgram<D> {
    fn of_accepted(insns: Vec<Insn>) -> LongProgram<D> {
        LongProgram(insns, PhantomData)
    }
}

/// Accessors.
macro_rules! insns {
    ($program:ident $(<$input:ident>)?) => {
        impl $(<$input>)? $program $(<$input>)? {
            /// The bytes of the `struct sock_filter` array in the given byte order.
            pub fn to_bytes(&self, endian: Endian) -> Vec<u8> {
                self.0.iter().flat_map(|&insn| RawInsn::from(insn).to_bytes(endian)).collect()
            }

            /// The instructions.
            pub fn insns(&self) -> &[Insn] {
                &self.0
            }

            /// The instructions as the kernel stores them.
            pub fn to_raw(&self) -> Vec<RawInsn> {
                self.0.iter().map(|&insn| insn.into()).collect()
            }

            /// The number of instructions; never 0.
            #[allow(clippy::len_without_is_empty)]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Iterates over the instructions.
            pub fn iter(&self) -> std::slice::Iter<'_, Insn> {
                self.0.iter()
            }
        }

        impl $(<$input>)? From<$program $(<$input>)?> for Vec<Insn> {
            fn from(program: $program $(<$input>)?) -> Vec<Insn> {
                program.0
            }
        }

        into_insns!($program $(<$input>)?);
    };
}

/// Conversions to instructions.
macro_rules! into_insns {
    ($program:ident $(<$input:ident>)?) => {
        impl $(<$input>)? $program $(<$input>)? {
            /// Converts the program into its instructions.
            pub fn into_insns(self) -> Vec<Insn> {
                Vec::from(self)
            }
        }

        impl<'a $(, $input)?> IntoIterator for &'a $program $(<$input>)? {
            type Item = &'a Insn;
            type IntoIter = std::slice::Iter<'a, Insn>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }
    };
}

insns!(LongProgram<D>);
insns!(SocketProgram);
into_insns!(Program<D>);

impl<D> From<Program<D>> for Vec<Insn> {
    fn from(program: Program<D>) -> Vec<Insn> {
        program.0.0
    }
}

impl<D> Deref for Program<D> {
    type Target = LongProgram<D>;

    fn deref(&self) -> &LongProgram<D> {
        &self.0
    }
}

impl<D> From<Program<D>> for LongProgram<D> {
    fn from(program: Program<D>) -> LongProgram<D> {
        program.0
    }
}

impl<D: FilterInput> TryFrom<LongProgram<D>> for Program<D> {
    type Error = ProgramError;

    /// Fails if the program is too long for the kernel.
    fn try_from(long: LongProgram<D>) -> Result<Program<D>, ProgramError> {
        check::check_length(long.len(), Rules::Filter(D::layout(Endian::NATIVE)))?;
        Ok(Program(long))
    }
}

impl<D: FilterInput> LongProgram<D> {
    /// Runs the filter on a syscall or another input, in the reference interpreter. The byte order is that of the machine
    /// that the filter is for: it decides at which offset each half of an argument is.
    pub fn run(&self, data: &D, endian: Endian) -> Run<D::Verdict> {
        self.trace(data, endian, |_| ())
    }

    /// The same; calls `visit` before each instruction.
    pub fn trace(&self, data: &D, endian: Endian, visit: impl FnMut(Step)) -> Run<D::Verdict> {
        let (value, executed) = interp::execute(&self.0, &WordInput { data, endian }, visit);
        Run { verdict: D::verdict(value), executed }
    }
}

impl Program {
    /// The program with other verdicts: `change` maps each constant verdict. A `ret a` becomes a jump to
    /// `computed`, which is appended to the program, gets the value in A and must return; without a
    /// `ret a`, it is left out. All other instructions are unchanged and keep their indices.
    ///
    /// ```
    /// use callgate_core::Verdict;
    /// use callgate_core::{Insn, Op, Program};
    ///
    /// let kill = Program::new(vec![Insn::new(Op::RetK, Verdict::KILL_PROCESS.0)])?;
    /// let logs = kill.with_verdicts(|_| Verdict::LOG, &[])?;
    /// assert_eq!(logs.insns(), [Insn::new(Op::RetK, Verdict::LOG.0)]);
    /// # Ok::<(), callgate_core::ProgramError>(())
    /// ```
    ///
    /// # Errors
    /// If the result is not an acceptable program: it is too long, or `computed` does not return.
    pub fn with_verdicts(
        &self,
        change: impl Fn(Verdict) -> Verdict,
        computed: &[Insn],
    ) -> Result<Program, ProgramError> {
        let end = self.len();
        let changed = self.iter().enumerate().map(|(index, insn)| match insn.op {
            Op::RetK => Insn::new(Op::RetK, change(Verdict(insn.k)).0),
            Op::RetA => Insn::new(Op::Ja, (end - index - 1) as u32),
            _ => *insn,
        });
        let computes = self.iter().any(|insn| insn.op == Op::RetA);
        let more = if computes { computed } else { &[] };
        Program::new(changed.chain(more.iter().copied()).collect())
    }
}

impl SocketProgram {
    /// Runs the filter on a packet, in the reference interpreter. Returns how many bytes to keep; 0 drops
    /// the packet.
    pub fn run(&self, packet: &[u8], ancillary: &impl Ancillary) -> u32 {
        self.trace(packet, ancillary, |_| ())
    }

    /// The same; calls `visit` before each instruction.
    pub fn trace(&self, packet: &[u8], ancillary: &impl Ancillary, visit: impl FnMut(Step)) -> u32 {
        interp::execute(&self.0, &PacketInput { packet, ancillary }, visit).0
    }
}

/// The instructions of an acceptable program.
fn accept(raw: &[RawInsn], rules: Rules) -> Result<Vec<Insn>, ProgramError> {
    check::check(raw, rules)?;
    let insns: Result<Vec<Insn>, _> = raw.iter().map(|&insn| Insn::try_from(insn)).collect();
    // Unreachable, because the check uses the same table.
    insns.map_err(|_| ProgramError::new(vec![Violation::of_program(ViolationKind::UnknownCode)]))
}

fn decode(bytes: &[u8], endian: Endian, rules: Rules) -> Result<Vec<Insn>, ProgramError> {
    let chunks = bytes.chunks_exact(RawInsn::SIZE);
    let rest = chunks.remainder();
    let of_chunk = |chunk: &[u8], endian| Some(RawInsn::from_bytes(*chunk.first_chunk()?, endian));
    let raw = |endian| chunks.clone().filter_map(move |chunk| of_chunk(chunk, endian));
    let error = if rest.is_empty() {
        match accept(&raw(endian).collect::<Vec<_>>(), rules) {
            Ok(insns) => return Ok(insns),
            Err(error) => error,
        }
    } else {
        let kind = ViolationKind::Truncated { bytes: bytes.len() };
        ProgramError::new(vec![Violation::of_program(kind)])
    };
    let other = match endian {
        Endian::Little => Endian::Big,
        Endian::Big => Endian::Little,
    };
    let unknown = |endian| raw(endian).filter(|&insn| Insn::try_from(insn).is_err()).count();
    let unknown_here = unknown(endian);
    let hint = if looks_like_text(bytes) {
        Some(ProgramHint::Text)
    } else if unknown_here > 0 && unknown(other) == 0 {
        Some(ProgramHint::ByteOrder(other))
    } else if unknown_here > chunks.len() / 2 {
        Some(ProgramHint::Other)
    } else {
        None
    };
    Err(error.with_hint(hint))
}

fn looks_like_text(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes
            .iter()
            .all(|&byte| byte >= 0x80 || byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_INSNS, MAX_READ_INSNS};

    fn small() -> Program {
        Program::new(vec![
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, 0xc000_003e, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, 0),
        ])
        .unwrap()
    }

    #[test]
    fn a_program_gives_its_instructions_back() {
        let insns = small().insns().to_vec();
        assert_eq!(insns.len(), 4);
        assert_eq!(small().into_insns(), insns);
        assert_eq!(LongProgram::from(small()).into_insns(), insns);
        assert_eq!(SocketProgram::new(insns.clone()).unwrap().into_insns(), insns);
        assert!((&small()).into_iter().eq(&insns));
        assert_eq!(Program::from_raw(&small().to_raw()), Ok(small()));
    }

    #[test]
    fn with_verdicts_only_changes_returns() {
        let log = |_| Verdict::LOG;
        let changed = small().with_verdicts(log, &[Insn::new(Op::RetA, 0)]).unwrap();
        assert_eq!(changed.len(), 4, "nothing is computed");
        assert_eq!(changed.insns()[..2], small().insns()[..2]);
        assert_eq!(changed.insns()[3], Insn::new(Op::RetK, Verdict::LOG.0));

        let early = Insn::branch(Op::JeqK, 7, 0, 1);
        let ret = Insn::new(Op::RetA, 0);
        let nr = Insn::new(Op::LdWordAbs, 0);
        let computes = Program::new(vec![Insn::new(Op::Tax, 0), nr, early, ret, ret]).unwrap();
        let tail =
            [Insn::branch(Op::JeqK, 7, 0, 1), Insn::new(Op::RetK, 1), Insn::new(Op::RetK, 2)];
        let changed = computes.with_verdicts(log, &tail).unwrap();
        assert_eq!(changed.insns()[3..5], [Insn::new(Op::Ja, 1), Insn::new(Op::Ja, 0)]);
        for (nr, value) in [(7, 1), (8, 2)] {
            let data = SeccompData { nr, ..SeccompData::default() };
            assert_eq!(changed.run(&data, Endian::NATIVE).verdict, Verdict(value));
        }
        assert!(computes.with_verdicts(log, &[]).is_err());
    }

    #[test]
    fn bytes_round_trip_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let bytes = small().to_bytes(endian);
            assert_eq!(bytes.len(), 32);
            assert_eq!(Program::from_bytes(&bytes, endian).unwrap(), small());
        }
    }

    fn error(bytes: &[u8], endian: Endian) -> ProgramError {
        Program::from_bytes(bytes, endian).unwrap_err()
    }

    #[test]
    fn the_hint_names_the_other_byte_order() {
        let big = small().to_bytes(Endian::Big);
        assert!(error(&big, Endian::Little).to_string().contains("in big-endian byte order"));
        let little = small().to_bytes(Endian::Little);
        assert!(error(&little, Endian::Big).to_string().contains("in little-endian byte order"));
        assert!(error(&little[..8], Endian::Little).hint().is_none());
    }

    #[test]
    fn lengths_are_reported_with_the_limit_and_the_count() {
        let bytes = small().to_bytes(Endian::Little);
        let message = error(&bytes[..29], Endian::Little).to_string();
        assert!(message.contains("29 bytes: 3 instructions"), "{message}");
        assert!(message.contains("5 more bytes"), "{message}");
        assert_eq!(error(&[], Endian::Little).violations()[0].rule(), "empty");
        let long: Vec<u8> = [6u8, 0, 0, 0, 0, 0, 0, 0].repeat(4097);
        let message = error(&long, Endian::Little).to_string();
        assert!(message.contains("4097") && message.contains("4096"), "{message}");
    }

    #[test]
    fn a_long_program_only_has_another_length_limit() {
        let ret = Insn::new(Op::RetK, 0);
        for (insns, is_long, is_program) in [
            (0, false, false),
            (MAX_INSNS, true, true),
            (MAX_INSNS + 1, true, false),
            (MAX_READ_INSNS, true, false),
            (MAX_READ_INSNS + 1, false, false),
        ] {
            let long = LongProgram::new(vec![ret; insns]);
            assert_eq!(long.is_ok(), is_long, "{insns}");
            assert_eq!(
                long.is_ok_and(|long| Program::try_from(long).is_ok()),
                is_program,
                "{insns}"
            );
            assert_eq!(Program::new(vec![ret; insns]).is_ok(), is_program, "{insns}");
        }
        let message = LongProgram::new(vec![ret; MAX_READ_INSNS + 1]).unwrap_err().to_string();
        assert!(message.contains("65537") && message.contains("65536"), "{message}");
        let long = LongProgram::new(vec![ret; 5000]).unwrap();
        let message = Program::try_from(long).unwrap_err().to_string();
        assert!(message.contains("5000") && message.contains("4096"), "{message}");
        assert!(LongProgram::new(vec![Insn::new(Op::LdByteAbs, 0), ret]).is_err());
    }

    #[test]
    fn the_hint_recognises_text() {
        let json = br#"{"defaultAction": "SCMP_ACT_ALLOW"}"#;
        assert!(error(json, Endian::Little).to_string().contains("text"));
        assert!(error(&[6, 0, 0, 0, 0, 0, 0], Endian::Little).hint().is_none());
        let noise = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0].repeat(10);
        assert!(error(&noise, Endian::Little).to_string().contains("not classic BPF"));
    }

    #[test]
    fn bytes_are_something_else_if_most_opcodes_are_unknown() {
        let (ret, unknown) = ([6, 0, 0, 0, 0, 0, 0, 0], [0xff, 0, 0, 0, 0, 0, 0, 0]);
        for (count, is_other) in [(1, false), (2, false), (3, true)] {
            let bytes = [unknown.repeat(count), ret.repeat(4 - count)].concat();
            let hint = error(&bytes, Endian::Little).hint();
            assert_eq!(
                hint.is_some_and(|hint| hint.to_string().contains("not classic BPF")),
                is_other
            );
        }
    }

    #[test]
    fn socket_filters_have_more_instructions() {
        let insns = vec![Insn::new(Op::LdByteAbs, 23), Insn::new(Op::RetA, 0)];
        assert!(Program::new(insns.clone()).is_err());
        assert_eq!(SocketProgram::new(insns).unwrap().run(&[7; 24], &super::super::NoAncillary), 7);
    }
}
