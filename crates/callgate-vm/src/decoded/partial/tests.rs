//! Partial evaluation gives the same verdicts whether or not it is shared between numbers.

use super::super::emit::Emitter;
use super::super::link;
use super::*;
use crate::differential::seccomp_program;
use crate::flow::{Flow, Input};
use callgate_bpf::random::Rng;
use callgate_core::{Arch, Endian};

#[test]
fn an_evaluation_counts_for_all_numbers_with_the_same_path() {
    let programs = if cfg!(miri) { 3 } else { 1_000 };
    let mut rng = Rng::new(7);
    let (mut known, mut shared) = (0, 0);
    for _ in 0..programs {
        let program = seccomp_program(&mut rng);
        let flow = Flow::of(program.insns(), Input::Syscall(Endian::Little));
        let mut code = Emitter::new(&flow).emit();
        link::join(&mut code);
        for arch in [Arch::X86_64, Arch::X86, Arch::Aarch64] {
            let of_arch = OfArch::new(&code, arch.token());
            let mut same = (None, 0..0);
            for nr in (0..600).chain(0x4000_0000..0x4000_0020).chain([u32::MAX]) {
                let (whole, _) = evaluate(&code, code.entry, 0, arch.token(), nr);
                let (verdict, until) = of_arch.verdict(nr);
                assert!(until >= nr);
                assert_eq!(verdict, whole.map(Verdict), "{arch} {nr}\n{:#?}", program.insns());
                if same.1.contains(&nr) {
                    assert_eq!(verdict, same.0, "{arch} {nr}\n{:#?}", program.insns());
                    shared += 1;
                } else {
                    same = (verdict, nr..until.saturating_add(1));
                }
                known += usize::from(whole.is_some());
            }
        }
    }
    assert!(known > 100 * programs && shared > 100 * programs, "{known} {shared}");
}
