//! The kernel's acceptance rules for classic BPF. All violations are reported, not only the first.
//!
//! Source: `net/core/filter.c`, `bpf_check_classic` with `chk_code_allowed` and
//! `check_load_and_stores`; `kernel/seccomp.c`, `seccomp_check_filter`; and `io_uring/bpf_filter.c`,
//! `io_uring_check_cbpf_filter`, which permits the same instructions as seccomp and loads from a smaller structure.
//! It accepts exactly what the kernel accepts. After a violation, it continues as if the instruction were harmless.

use super::ancillary::{AncillaryWord, SKF_AD_OFF};
use super::cfg::{Registers, Successors};
use super::error::{ProgramError, Violation, ViolationKind};
use super::insn::{Insn, RawInsn};
use super::limits::{MAX_INSNS, MAX_READ_INSNS, SCRATCH_WORDS};
use super::op::{Op, Operand};
use crate::Layout;

/// Which acceptance rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Those of filters that load words of this structure. The byte order does not matter.
    Filter(Layout),
    /// The same, but with the limit for reading.
    LongFilter(Layout),
    Socket,
}

impl Rules {
    /// The structure whose words are loaded; `None` for packets.
    fn layout(self) -> Option<Layout> {
        match self {
            Rules::Filter(layout) | Rules::LongFilter(layout) => Some(layout),
            Rules::Socket => None,
        }
    }

    fn max_insns(self) -> usize {
        if matches!(self, Rules::LongFilter(_)) { MAX_READ_INSNS } else { MAX_INSNS }
    }
}

/// Checks only the length.
pub(super) fn check_length(insns: usize, rules: Rules) -> Result<(), ProgramError> {
    let limit = rules.max_insns();
    let kind = match insns {
        0 => ViolationKind::Empty,
        _ if insns > limit => ViolationKind::TooLong { insns, limit },
        _ => return Ok(()),
    };
    Err(ProgramError::new(vec![Violation::of_program(kind)]))
}

/// Checks a program against all rules.
pub(super) fn check(insns: &[RawInsn], rules: Rules) -> Result<(), ProgramError> {
    check_length(insns.len(), rules)?;
    let mut violations = Vec::new();
    let mut scratch = ScratchFlow::new(insns.len());
    for (index, &insn) in insns.iter().enumerate() {
        let mut report = |kind| violations.push(Violation::at(index, insn, kind));
        let unset = scratch.step(index, insn);
        match Op::from_code(insn.code) {
            None => report(ViolationKind::UnknownCode),
            Some(op) => {
                let RawInsn { jt, jf, k, .. } = insn;
                check_operand(op, insn, rules, &mut report);
                check_targets(Insn { op, jt, jf, k }, index, insns.len(), &mut report);
            }
        }
        if unset {
            report(ViolationKind::ScratchUnset);
        }
        let last = index + 1 == insns.len();
        if last && !Op::from_code(insn.code).is_some_and(Op::is_return) {
            report(ViolationKind::NoReturn);
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(ProgramError::new(violations)) }
}

/// The rules for the constant of an instruction.
fn check_operand(op: Op, insn: RawInsn, rules: Rules, report: &mut impl FnMut(ViolationKind)) {
    let k = insn.k;
    let layout = rules.layout();
    if let Some(layout) = layout.filter(|_| !op.in_seccomp()) {
        report(ViolationKind::NotInFilter(layout));
    }
    match (op, layout) {
        (Op::DivK | Op::ModK, _) if k == 0 => report(ViolationKind::DivisionByZero),
        (Op::LshK | Op::RshK, _) if k >= 32 => report(ViolationKind::ShiftTooFar),
        (Op::LdWordAbs, Some(layout)) if k >= layout.size() => {
            report(ViolationKind::LoadOutside(layout));
        }
        (Op::LdWordAbs, Some(layout)) if k % 4 != 0 => {
            report(ViolationKind::LoadUnaligned(layout));
        }
        (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs, None)
            if k >= SKF_AD_OFF && AncillaryWord::from_offset(k).is_none() =>
        {
            report(ViolationKind::UnknownAncillary);
        }
        _ if op.operand() == Operand::Scratch && k as usize >= SCRATCH_WORDS => {
            report(ViolationKind::ScratchOutside);
        }
        _ => {}
    }
}

/// The rule for targets: they must be inside the program. Distances are unsigned, so they are forward.
fn check_targets(insn: Insn, index: usize, len: usize, report: &mut impl FnMut(ViolationKind)) {
    let last = len - 1;
    match insn.successors(index) {
        Successors::Jump(target) if target > last => {
            report(ViolationKind::JumpOutside { target, last })
        }
        Successors::Branch { taken, otherwise } => {
            for (holds, target) in [(true, taken), (false, otherwise)] {
                if target > last {
                    report(ViolationKind::BranchOutside { holds, target, last });
                }
            }
        }
        _ => {}
    }
}

/// A and X are 0 at the start, so they may be read before they are written.
const REGISTERS: Registers = Registers::A.union(Registers::X);

/// The scratch words that are written on every path, as the kernel's forward pass computes them
/// (`check_load_and_stores`).
///
/// As in the kernel, a `ret` does not end a path: the next instruction has the path through the `ret` as
/// a predecessor, in addition to jumps. This only refuses more programs.
struct ScratchFlow {
    /// Per instruction: written before every jump to it so far.
    at_target: Vec<Registers>,
    written: Registers,
}

impl ScratchFlow {
    fn new(len: usize) -> ScratchFlow {
        ScratchFlow { at_target: vec![Registers::ALL; len], written: Registers::NONE }
    }

    /// Visits an instruction; returns whether it reads a word that may be unwritten. Another rule checks the
    /// index.
    fn step(&mut self, index: usize, insn: RawInsn) -> bool {
        if let Some(words) = self.at_target.get(index) {
            self.written = self.written.intersection(*words);
        }
        let Ok(insn) = Insn::try_from(insn) else { return false };
        let unset = insn.reads().without(REGISTERS).without(self.written);
        self.written = self.written.union(insn.writes());
        if let successors @ (Successors::Jump(_) | Successors::Branch { .. }) =
            insn.successors(index)
        {
            for target in successors {
                if let Some(words) = self.at_target.get_mut(target) {
                    *words = words.intersection(self.written);
                }
            }
            // The next instruction is reached by jumps only.
            self.written = Registers::ALL;
        }
        !unset.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endian;

    const SECCOMP: Rules = Rules::Filter(Layout::Seccomp);
    const IO_URING: Rules = Rules::Filter(Layout::IoUring(Endian::Little));

    fn raw(op: Op, jt: u8, jf: u8, k: u32) -> RawInsn {
        RawInsn { code: op.code(), jt, jf, k }
    }

    fn plain(op: Op, k: u32) -> RawInsn {
        raw(op, 0, 0, k)
    }

    const RET: RawInsn = RawInsn { code: 0x06, jt: 0, jf: 0, k: 0 };

    /// Rule and instruction of each violation.
    fn violations(insns: &[RawInsn], rules: Rules) -> Vec<(&'static str, Option<usize>)> {
        match check(insns, rules) {
            Ok(()) => Vec::new(),
            Err(error) => error.violations().iter().map(|v| (v.rule(), v.index())).collect(),
        }
    }

    /// Checks that the instruction, before a `ret`, is acceptable or violates this rule alone.
    #[track_caller]
    fn judge(insn: RawInsn, rules: Rules, rule: Option<&'static str>) {
        let expected: Vec<_> = rule.into_iter().map(|rule| (rule, Some(0))).collect();
        assert_eq!(violations(&[insn, RET], rules), expected, "{insn} {rules:?}");
    }

    #[test]
    fn programs_have_1_to_4096_instructions() {
        for rules in [SECCOMP, IO_URING, Rules::Socket] {
            assert_eq!(violations(&[], rules), [("empty", None)]);
            assert_eq!(violations(&[RET; 1], rules), []);
            assert_eq!(violations(&[RET; 4096], rules), []);
            assert_eq!(violations(&[RET; 4097], rules), [("too-long", None)]);
        }
        let error = check(&[RET; 5000], SECCOMP).unwrap_err().to_string();
        assert!(error.contains("5000") && error.contains("4096"), "{error}");
    }

    #[test]
    fn opcodes_outside_the_table_are_unknown() {
        for code in [0x22, 0x08, 0x0e, 0x0026, 0x36, 0xa1, 0xb0, 0x8c, 0x0d, 0x8000, 0x2000] {
            let insn = RawInsn { code, jt: 0, jf: 0, k: 0 };
            judge(insn, SECCOMP, Some("unknown-code"));
            judge(insn, Rules::Socket, Some("unknown-code"));
        }
    }

    #[test]
    fn seccomp_has_fewer_instructions() {
        for &op in Op::ALL {
            let insn = plain(op, u32::from(matches!(op, Op::DivK | Op::ModK)));
            if matches!(op, Op::LdMem | Op::LdxMem | Op::Ja | Op::RetK | Op::RetA) {
                continue;
            }
            judge(insn, Rules::Socket, None);
            judge(insn, SECCOMP, (!op.in_seccomp()).then_some("not-in-seccomp"));
        }
    }

    #[test]
    fn seccomp_loads_whole_words_of_its_64_bytes() {
        for k in (0..64).step_by(4) {
            judge(plain(Op::LdWordAbs, k), SECCOMP, None);
        }
        for k in [1, 2, 3, 17, 62, 63] {
            judge(plain(Op::LdWordAbs, k), SECCOMP, Some("load-unaligned"));
        }
        for k in [64, 65, 0x1000, SKF_AD_OFF, u32::MAX] {
            judge(plain(Op::LdWordAbs, k), SECCOMP, Some("load-outside"));
        }
    }

    #[test]
    fn io_uring_has_the_instructions_of_seccomp() {
        for &op in Op::ALL {
            let insn = plain(op, u32::from(matches!(op, Op::DivK | Op::ModK)));
            if matches!(op, Op::LdMem | Op::LdxMem | Op::Ja | Op::RetK | Op::RetA) {
                continue;
            }
            judge(insn, IO_URING, (!op.in_seccomp()).then_some("not-in-io-uring"));
        }
    }

    #[test]
    fn io_uring_loads_whole_words_of_its_40_bytes() {
        for k in (0..40).step_by(4) {
            judge(plain(Op::LdWordAbs, k), IO_URING, None);
        }
        for k in [1, 2, 9, 10, 38, 39] {
            judge(plain(Op::LdWordAbs, k), IO_URING, Some("load-unaligned"));
        }
        for k in [40, 41, 44, 60, 0x1000, SKF_AD_OFF, u32::MAX] {
            judge(plain(Op::LdWordAbs, k), IO_URING, Some("load-outside"));
        }
        let message = check(&[plain(Op::LdWordAbs, 40), RET], IO_URING).unwrap_err().to_string();
        assert!(message.contains("io_uring_bpf_ctx, which has 40 bytes"), "{message}");
        assert!(message.contains("the last word is at offset 36"), "{message}");
    }

    #[test]
    fn ancillary_words_must_exist() {
        for op in [Op::LdWordAbs, Op::LdHalfAbs, Op::LdByteAbs] {
            for k in [0, 1, 0x7fff_ffff, 0x8000_0000, SKF_AD_OFF - 1] {
                judge(plain(op, k), Rules::Socket, None);
            }
            for word in AncillaryWord::ALL {
                judge(plain(op, word.offset()), Rules::Socket, None);
            }
            for k in [SKF_AD_OFF + 1, SKF_AD_OFF + 62, SKF_AD_OFF + 64, u32::MAX] {
                judge(plain(op, k), Rules::Socket, Some("unknown-ancillary"));
            }
        }
        judge(plain(Op::LdWordInd, u32::MAX), Rules::Socket, None);
        judge(plain(Op::LdxMsh, u32::MAX), Rules::Socket, None);
    }

    #[test]
    fn division_by_constant_zero_is_refused() {
        judge(plain(Op::DivK, 0), SECCOMP, Some("division-by-zero"));
        judge(plain(Op::DivK, 1), SECCOMP, None);
        judge(plain(Op::DivX, 0), SECCOMP, None);
        judge(plain(Op::ModK, 0), Rules::Socket, Some("division-by-zero"));
        judge(plain(Op::ModX, 0), Rules::Socket, None);
    }

    #[test]
    fn shifts_stay_below_32() {
        for op in [Op::LshK, Op::RshK] {
            judge(plain(op, 31), SECCOMP, None);
            judge(plain(op, 32), SECCOMP, Some("shift-too-far"));
            judge(plain(op, u32::MAX), Rules::Socket, Some("shift-too-far"));
        }
        judge(plain(Op::LshX, 99), SECCOMP, None);
    }

    #[test]
    fn scratch_has_16_words() {
        for op in [Op::St, Op::Stx, Op::LdMem, Op::LdxMem] {
            judge(plain(op, 16), SECCOMP, Some("scratch-outside"));
            judge(plain(op, u32::MAX), SECCOMP, Some("scratch-outside"));
        }
        judge(plain(Op::St, 15), SECCOMP, None);
        judge(plain(Op::Stx, 15), SECCOMP, None);
    }

    #[test]
    fn targets_are_inside_the_program() {
        judge(plain(Op::Ja, 0), SECCOMP, None);
        judge(plain(Op::Ja, 1), SECCOMP, Some("jump-outside"));
        judge(plain(Op::Ja, u32::MAX), SECCOMP, Some("jump-outside"));
        for &op in Op::ALL.iter().filter(|op| op.is_branch()) {
            judge(raw(op, 0, 0, 0), SECCOMP, None);
            judge(raw(op, 1, 0, 0), SECCOMP, Some("branch-outside"));
            judge(raw(op, 0, 255, 0), SECCOMP, Some("branch-outside"));
        }
        let both = violations(&[raw(Op::JeqK, 1, 2, 0), RET], SECCOMP);
        assert_eq!(both, [("branch-outside", Some(0)); 2]);
        let message = check(&[raw(Op::JeqK, 0, 7, 0), RET], SECCOMP).unwrap_err().to_string();
        assert!(
            message.contains("instruction 8") && message.contains("last instruction is 1"),
            "{message}"
        );
    }

    #[test]
    fn the_last_instruction_is_a_return() {
        assert_eq!(violations(&[plain(Op::RetA, 0)], SECCOMP), []);
        assert_eq!(violations(&[plain(Op::Tax, 0)], SECCOMP), [("no-return", Some(0))]);
        assert_eq!(violations(&[RET, plain(Op::Neg, 0)], Rules::Socket), [("no-return", Some(1))]);
    }

    #[test]
    fn scratch_words_are_written_before_they_are_read() {
        let st = plain(Op::St, 3);
        let ld = plain(Op::LdMem, 3);
        let ldx = plain(Op::LdxMem, 3);
        let unset = |index| vec![("scratch-unset", Some(index))];
        let of = |insns: &[RawInsn]| violations(insns, SECCOMP);
        assert_eq!(of(&[st, ld, RET]), []);
        assert_eq!(of(&[plain(Op::Stx, 3), ldx, RET]), []);
        assert_eq!(of(&[ld, RET]), unset(0));
        assert_eq!(of(&[plain(Op::St, 2), ldx, RET]), unset(1));
        // Written on one edge of a branch only, then on both.
        assert_eq!(of(&[raw(Op::JeqK, 1, 0, 0), st, ld, RET]), unset(2));
        assert_eq!(of(&[raw(Op::JeqK, 0, 2, 0), st, plain(Op::Ja, 1), st, ld, RET]), []);
        // A jump carries what was written before it to its target, and nothing past itself.
        assert_eq!(of(&[st, plain(Op::Ja, 1), RET, ld, RET]), []);
        assert_eq!(of(&[plain(Op::Ja, 1), st, ld, RET]), unset(2));
        // Unreachable code is not checked.
        assert_eq!(of(&[plain(Op::Ja, 1), ld, RET]), []);
    }

    /// As in `check_load_and_stores`.
    #[test]
    fn a_ret_does_not_end_a_path() {
        let st = plain(Op::St, 3);
        let ld = plain(Op::LdMem, 3);
        // 0: to 3 or on; 1: write; 2: to 5; 3: ret; 4: read, which nothing reaches.
        let dead = [raw(Op::JeqK, 2, 0, 0), st, plain(Op::Ja, 2), RET, ld, RET];
        assert_eq!(violations(&dead, SECCOMP), [("scratch-unset", Some(4))]);
        // The read is only reachable after the write, but follows a `ret`.
        let behind = [raw(Op::JeqK, 0, 2, 0), st, plain(Op::Ja, 1), RET, ld, RET];
        assert_eq!(violations(&behind, SECCOMP), [("scratch-unset", Some(4))]);
    }

    #[test]
    fn every_violation_is_reported_and_the_first_five_are_printed() {
        let broken = [plain(Op::DivK, 0); 7];
        let error = check(&broken, SECCOMP).unwrap_err();
        assert_eq!(error.violations().len(), 8);
        let text = error.to_string();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.ends_with("and 3 more violations"), "{text}");
        let mixed = [plain(Op::LdByteAbs, 0), raw(Op::JeqK, 0, 9, 0), plain(Op::St, 16)];
        let rules: Vec<_> = violations(&mixed, SECCOMP).iter().map(|v| v.0).collect();
        assert_eq!(rules, ["not-in-seccomp", "branch-outside", "scratch-outside", "no-return"]);
    }
}
