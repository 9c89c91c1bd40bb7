use callgate_bpf::FilterFlags;
use callgate_core::{Endian, Insn, Op, Program, Verdict};

use super::error::StackErrorKind;
use super::{Stack, merge};
use crate::compile::Options;
use crate::description::Description;

fn constant(verdict: Verdict) -> Program {
    Program::new(vec![Insn::new(Op::RetK, verdict.0)]).unwrap()
}

fn two<'a>(a: &'a Program, b: &'a Program, flags: [FilterFlags; 2]) -> Vec<Description<'a>> {
    let filter = |program, flags| Description::program(program, Endian::Little).with_flags(flags);
    vec![filter(a, flags[0]), filter(b, flags[1])]
}

#[test]
fn flags_merge_if_they_apply_to_all_filters() {
    let allow = constant(Verdict::ALLOW);
    let (none, log, tsync) = (FilterFlags::NONE, FilterFlags::LOG, FilterFlags::TSYNC);
    let (spec_allow, wait_killable) = (FilterFlags::SPEC_ALLOW, FilterFlags::WAIT_KILLABLE_RECV);
    let of = |flags| {
        Stack::new(two(&allow, &allow, flags))
            .map(|stack| stack.flags())
            .map_err(|error| (error.filter(), error.kind))
    };
    assert_eq!(of([none, none]), Ok(none));
    assert_eq!(of([log, log]), Ok(log));
    assert_eq!(of([log, none]), Err((Some(0), StackErrorKind::Log { without: 1 })));
    assert_eq!(of([none, log]), Err((Some(1), StackErrorKind::Log { without: 0 })));
    assert_eq!(of([tsync, tsync]), Ok(tsync));
    assert_eq!(of([none, tsync]), Ok(tsync));
    assert_eq!(of([tsync, none]), Err((Some(0), StackErrorKind::Tsync)));
    assert_eq!(of([spec_allow, none]), Ok(none));
    assert_eq!(of([spec_allow, spec_allow]), Ok(spec_allow));
    assert_eq!(of([none, wait_killable]), Err((Some(1), StackErrorKind::WaitKillable)));
    assert_eq!(Stack::new(vec![]).unwrap_err().kind, StackErrorKind::Empty);
}

#[test]
fn byte_orders_do_not_mix() {
    let allow = constant(Verdict::ALLOW);
    let filters =
        [Endian::Big, Endian::Little].map(|endian| Description::program(&allow, endian)).to_vec();
    let error = Stack::new(filters).unwrap_err();
    assert_eq!(
        (error.filter(), error.kind),
        (Some(1), StackErrorKind::ByteOrder { given: Endian::Little })
    );
}

#[test]
fn a_filter_that_notifies_a_listener_is_refused() {
    let (allow, ask) = (constant(Verdict::ALLOW), constant(Verdict::user_notif(3)));
    let stack = Stack::new(two(&allow, &ask, [FilterFlags::default(); 2])).unwrap();
    let error = merge(&stack, &[], &Options::default()).unwrap_err();
    assert_eq!(error.kind, StackErrorKind::Notifies(Verdict::user_notif(3)));
    assert_eq!(error.filter(), Some(1));
}

#[test]
fn the_newer_data_of_equal_actions_remain() {
    let (older, newer) = (constant(Verdict::errno(1)), constant(Verdict::errno(2)));
    let stack = Stack::new(two(&older, &newer, [FilterFlags::default(); 2])).unwrap();
    let merged = merge(&stack, &[], &Options::default()).unwrap();
    assert_eq!((&*merged.compiled.program, merged.syscalls_compared), (&newer, 2));
}
