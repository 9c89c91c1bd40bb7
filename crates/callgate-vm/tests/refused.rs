//! If the system denies executable memory, the JIT returns an error and the other engines work. This test
//! is a process of its own, because the denial cannot be revoked.

use callgate_core::{Endian, Insn, NoAncillary, Op, Program, SeccompData, SocketProgram, Verdict};
use callgate_vm::{EngineKind, Jit};

/// `PR_SET_MDWE` with `PR_MDWE_REFUSE_EXEC_GAIN`, since Linux 6.3.
#[allow(unsafe_code)]
fn refuse() -> bool {
    // SAFETY: the arguments are numbers; the syscall only revokes a permission of this process.
    unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 }
}

#[test]
fn denied_executable_memory_is_an_error() {
    if !refuse() {
        eprintln!("not run: this kernel has no PR_SET_MDWE");
        return;
    }
    let insns = vec![Insn::new(Op::RetK, Verdict::ALLOW.0)];
    let program = Program::new(insns.clone()).unwrap();
    let packets = SocketProgram::new(insns).unwrap();
    let errors =
        [Jit::new(&program, Endian::NATIVE).unwrap_err(), Jit::new_packet(&packets).unwrap_err()];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("jit") && text.contains("cannot be made executable"), "{text}");
    }
    for kind in [EngineKind::Reference, EngineKind::Decoded] {
        let engine = kind.seccomp(&program, Endian::NATIVE).unwrap();
        assert_eq!(engine.verdict(&SeccompData::default()), Verdict::ALLOW);
        let engine = kind.packet(&packets).unwrap().unwrap();
        assert_eq!(engine.run(&[], &NoAncillary), Verdict::ALLOW.0);
    }
    let made = EngineKind::Jit.seccomp_or_decoded(&program, Endian::NATIVE);
    assert_eq!(made.kind, EngineKind::Decoded);
    assert_eq!(made.fallback.map(|why| why.engine()), Some("jit"));
    assert_eq!(made.engine.verdict(&SeccompData::default()), Verdict::ALLOW);
    let made = EngineKind::Jit.packet_or_decoded(&packets).unwrap();
    assert_eq!((made.kind, made.fallback.is_some()), (EngineKind::Decoded, true));
    assert_eq!(made.engine.run(&[], &NoAncillary), Verdict::ALLOW.0);
    assert!(EngineKind::Cached.packet_or_decoded(&packets).is_none());
}
