//! Queries on MTBDDs and symbolic executions, with expected values computed by hand.

use callgate_core::diagram::from_program::{Execution, Next, Step};
use callgate_core::diagram::{Budget, Func, Split, Store};
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{
    Arch, Endian, Insn, LongProgram, Meaning, Op, Program, SeccompData, SyscallSet, Verdict, Word,
};

fn verdict(store: &mut Store, errno: u16) -> Func {
    store.verdict(Verdict::errno(errno)).unwrap()
}

fn syscall(arch: u32, nr: u32) -> SeccompData {
    SeccompData { arch, nr, ..SeccompData::default() }
}

#[test]
fn any_bit_holds_where_the_word_and_the_mask_share_a_bit() {
    for mask in [0, 1, 6, 0x8000_0001, 0x0ff0_0000, u32::MAX] {
        let mut store = Store::default();
        let (yes, no) = (verdict(&mut store, 1), verdict(&mut store, 2));
        let shares = store.any_bit(Word::NR, mask).unwrap();
        let func = store.select(shares, yes, no).unwrap();
        for nr in [0, 1, 2, 4, 8, 0x0010_0000, 0x8000_0000, 0x7fff_fffe, u32::MAX] {
            let wanted = Verdict::errno(if nr & mask != 0 { 1 } else { 2 });
            assert_eq!(store.evaluate(func, &syscall(0, nr)), Ok(wanted), "{nr:#x} & {mask:#x}");
        }
    }
}

/// Each side of the split may test words before, after, or the word itself.
#[test]
fn a_split_selects_whichever_words_its_sides_test() {
    let splits = [0, 1, 7, 0x8000_0000, u32::MAX]
        .into_iter()
        .flat_map(|k| [Split::Equal(k), Split::AtLeast(k)]);
    for split in splits {
        let mut store = Store::default();
        let errnos: [Func; 4] = std::array::from_fn(|errno| verdict(&mut store, errno as u16));
        let one = verdict(&mut store, 10);
        let mut sides = vec![one];
        for (word, other) in [Word::ARCH, Word::NR, Word::arg_low(0).unwrap()].iter().zip(errnos) {
            sides.push(store.split(*word, Split::AtLeast(5), one, other).unwrap());
        }
        for then in &sides {
            for otherwise in &sides {
                let func = store.split(Word::NR, split, *then, *otherwise).unwrap();
                store.check(func).unwrap();
                for nr in [0, 1, 2, 5, 6, 7, 8, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                    for other in [4, 5] {
                        let args = [other, 0, 0, 0, 0, 0];
                        let data = SeccompData { args, ..syscall(other as u32, nr) };
                        let holds = match split {
                            Split::Equal(k) => nr == k,
                            Split::AtLeast(k) => nr >= k,
                        };
                        let side = if holds { then } else { otherwise };
                        assert_eq!(store.evaluate(func, &data), store.evaluate(*side, &data));
                    }
                }
            }
        }
    }
}

#[test]
fn exits_of_a_word_are_the_functions_of_later_words() {
    let mut store = Store::default();
    let [a, b, c] = [1, 2, 3].map(|errno| verdict(&mut store, errno));
    let later = store.split(Word::arg_low(0).unwrap(), Split::Equal(3), a, b).unwrap();
    let func = store.split(Word::NR, Split::Equal(9), later, c).unwrap();
    let func = store.split(Word::NR, Split::AtLeast(100), a, func).unwrap();
    let mut exits = store.exits(func, Word::NR, 3).unwrap();
    exits.sort_by_key(|exit| [a, c, later].iter().position(|one| one == exit));
    assert_eq!(exits, [a, c, later]);
    assert_eq!(store.exits(func, Word::NR, 2), None);
    assert_eq!(store.exits(func, Word::ARCH, 1), Some(vec![func]));
    for (exit, holds) in [(a, [false, false, true]), (c, [true, false, false])] {
        let leads = store.leads_to(func, Word::NR, exit).unwrap();
        let shown = store.select(leads, a, b).unwrap();
        for (nr, holds) in [8, 9, 100].into_iter().zip(holds) {
            let wanted = Verdict::errno(if holds { 1 } else { 2 });
            assert_eq!(store.evaluate(shown, &syscall(0, nr)), Ok(wanted), "{nr}");
        }
    }
}

/// `states_at` has the states of one instruction; registers that are no longer read do not make a difference.
#[test]
fn an_execution_has_the_states_of_each_instruction() {
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 1, 0, 1),
        Insn::new(Op::LdImm, 7),
        // Reached with A = nr and with A = 7.
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdImm, 12),
        Insn::new(Op::DivX, 0),
        Insn::new(Op::RetA, 0),
    ])
    .unwrap();
    let mut store = Store::default();
    let program = LongProgram::from(program);
    let execution = Execution::explore(&mut store, &program, Endian::Little).unwrap();
    let counts: Vec<usize> = (0..8).map(|pc| execution.states_at(pc).count()).collect();
    assert_eq!(counts, [1, 1, 1, 2, 2, 2, 2, 0]);
    assert_eq!((execution.len(), execution.is_empty()), (11, false));
    assert!(execution.state(10).is_ok() && execution.state(11).is_err());
    assert!(execution.step_of(11).is_err());
    // Division by X returns 0 where X is 0.
    let divided = execution.states_at(5).map(|state| execution.step_of(state).unwrap());
    let by_zero = divided.filter(|step| matches!(step, Step::Branch { otherwise: Next::Zero, .. }));
    assert_eq!(by_zero.count(), 2);
}

/// New nodes are reported with the arch token and the syscall number for which they were made.
#[test]
fn nodes_are_attributed_to_the_syscall_that_created_them() {
    let rule = |nr, errno| Rule {
        syscalls: SyscallSet::one(nr),
        when: Condition::always(),
        verdict: Verdict::errno(errno),
    };
    let section = Section::new(Arch::X86_64, vec![rule(3, 1), rule(9, 2)], Verdict::ALLOW);
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let mut store = Store::default();
    let mut created = Vec::new();
    store
        .policy_by_syscall(&policy, &mut |arch, nr, nodes| created.push((arch, nr, nodes)))
        .unwrap();
    let token = Arch::X86_64.token();
    created.retain(|(.., nodes)| *nodes > 0);
    assert_eq!(created, [(token, 3, 1), (token, 9, 1)]);
}

#[test]
fn a_policy_has_the_architectures_and_the_byte_order_of_its_sections() {
    let section = |arch| Section::new(arch, Vec::new(), Verdict::ALLOW);
    let both = section(Arch::X86_64).and_arch(Arch::X32).unwrap();
    let policy = Policy::new(vec![both, section(Arch::X86)], Verdict::LOG).unwrap();
    assert!(policy.arches().eq([Arch::X86_64, Arch::X32, Arch::X86]));
    assert_eq!((policy.endian(), policy.bad_arch()), (Endian::Little, Verdict::LOG));
    let big = Policy::new(vec![section(Arch::S390x)], Verdict::LOG).unwrap();
    assert_eq!(big.endian(), Endian::Big);
    let meaning = Meaning::of_policy(&big, Budget::default()).unwrap();
    assert_eq!(meaning.endian(), Endian::Big);
    let data = syscall(Arch::S390x.token(), 1);
    assert_eq!(meaning.store().evaluate(meaning.func(), &data), Ok(Verdict::ALLOW));
}

#[test]
fn the_other_abi_of_a_section_ends_where_its_own_numbers_begin() {
    let x86_64 = Section::new(Arch::X86_64, Vec::new(), Verdict::ALLOW).other_abi();
    assert_eq!(x86_64, SyscallSet::range(0x4000_0000, 0xffff_fffe));
    let x32 = Section::new(Arch::X32, Vec::new(), Verdict::ALLOW).other_abi();
    assert_eq!(x32, SyscallSet::range(0, 0x3fff_ffff));
}
