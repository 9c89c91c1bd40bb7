//! Arguments of which the filter compares more or fewer bits than the kernel reads, and pointers.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{ArgFacts, facts};
use callgate_codegen::query;
use callgate_core::diagram::Func;
use callgate_core::policy::{Field, Shape, Test};
use callgate_core::{Arch, Word};

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Finding, Findings};
use crate::lint::view::View;

/// An argument of a syscall, and the function of its arguments.
#[derive(Clone, Copy)]
struct Place {
    arch: Arch,
    nr: u32,
    name: &'static str,
    arg: ArgFacts,
    index: u8,
    low: Word,
    high: Word,
    func: Func,
}

pub(in crate::lint) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied().filter(|arch| arch.has_wide_registers()) {
        for (nr, name) in arch.syscalls() {
            let func = view.call(arch, nr);
            let Some(facts) = facts(name) else { continue };
            if view.store.as_verdict(func).is_some() {
                continue;
            }
            let permitted = view.permits(func)?;
            let words = query::support(&view.store, permitted);
            for (index, arg) in (0..).zip(facts.args.iter()) {
                // `facts` have the order of x86-64, which the first two arguments of `clone` do not have everywhere.
                let Ok(place) = arch.argument(name, arg.name) else { continue };
                if place.index != index {
                    continue;
                }
                let (Some(low), Some(high)) = (Word::arg_low(index), Word::arg_high(index)) else {
                    continue;
                };
                let place = Place { arch, nr, name, arg, index, low, high, func };
                match (words.contains(&low), words.contains(&high), arg.bits) {
                    (_, true, 32) => high_bits(view, findings, place)?,
                    (true, false, 64) => low_half(view, findings, place)?,
                    _ => {}
                }
                if (words.contains(&low) || words.contains(&high)) && arg.ctype.ends_with('*') {
                    pointer(view, findings, place)?;
                }
            }
        }
    }
    Ok(())
}

/// An argument of 32 bits whose high half decides.
fn high_bits(view: &mut View<'_>, findings: &mut Findings, place: Place) -> Result<()> {
    let Place { arch, nr, name, arg, high, low, func, index } = place;
    let plain = query::restrict(&mut view.store, func, high, 0)?;
    let denied = view.denies(plain)?;
    let permitted = view.permits(func)?;
    let evades = view.store.and(denied, permitted)?;
    // Compilers pass some negative numbers sign-extended: the same number, so this form does not count as an evasion.
    let Some(field) = Field::arg(index) else { return Ok(()) };
    let negative = view.store.any_bit(low, 1 << 31)?;
    let ones = Test::masked_eq(field, 0xffff_ffff_0000_0000, 0xffff_ffff_0000_0000);
    let ones = view.store.test(&ones)?;
    let extended = view.store.and(negative, ones)?;
    let not_extended = view.store.not(extended)?;
    let evades = view.store.and(evades, not_extended)?;
    let tests = |rule: &callgate_formats::statements::Statement| tests_argument(rule, low);
    let argument = format!("`{}` of `{name}`", arg.name);
    if let Some(evasion) = view.example(arch, nr, evades)? {
        let mut data = evasion.data;
        data.set_word(high, 0);
        let plain = view.run(arch, data)?;
        let message = format!(
            "the high half of {argument} decides, but the kernel reads only the low 32 bits of this argument"
        );
        let help = "compare the low 32 bits only, for example with a mask of 0xffffffff";
        let at = view.place(arch, name, tests);
        let finding = Finding::new(Check::HighBits, message).help(help).at(at).on(arch);
        findings.add(finding.about([name]).examples([Some(plain), Some(evasion)]));
        return Ok(());
    }
    if !is_signed(arg.ctype) {
        return Ok(());
    }
    let extended = query::restrict(&mut view.store, func, high, u32::MAX)?;
    let (one, other) = (view.permits(plain)?, view.permits(extended)?);
    let differ = view.store.xor(one, other)?;
    let differ = view.store.and(differ, negative)?;
    if let Some(example) = view.example(arch, nr, differ)? {
        let forms = [0, u32::MAX].map(|half| {
            let mut data = example.data;
            data.set_word(high, half);
            data
        });
        let [zeros, ones] = forms;
        let examples = [Some(view.run(arch, zeros)?), Some(view.run(arch, ones)?)];
        let message = format!(
            "a negative {argument} is treated differently with its high half 0 and with its sign extended"
        );
        let at = view.place(arch, name, tests);
        let help = "compare the low 32 bits only";
        let finding = Finding::new(Check::SignExtension, message).help(help).at(at).on(arch);
        findings.add(finding.about([name]).examples(examples));
    }
    Ok(())
}

/// Whether a type of 32 bits has negative values.
fn is_signed(ctype: &str) -> bool {
    matches!(
        ctype.trim_start_matches("const "),
        "int"
            | "pid_t"
            | "long"
            | "clockid_t"
            | "timer_t"
            | "key_t"
            | "key_serial_t"
            | "mqd_t"
            | "s32"
    )
}

/// Arguments of 64 bits whose high half a program gains nothing with: `sys_clone` in `kernel/fork.c` takes `lower_32_bits`;
/// with other bits than known ones, `check_unshare_flags` there returns EINVAL, and `ptrace_request` in `kernel/ptrace.c` EIO.
const HARMLESS: [(&str, &str); 3] =
    [("clone", "clone_flags"), ("unshare", "unshare_flags"), ("ptrace", "request")];

/// An argument of 64 bits of which the filter pins the low half and ignores the high one.
fn low_half(view: &mut View<'_>, findings: &mut Findings, place: Place) -> Result<()> {
    let Place { arch, nr, name, arg, low, high, func, .. } = place;
    if HARMLESS.contains(&(name, arg.name)) {
        return Ok(());
    }
    let permitted = view.permits(func)?;
    let Some(example) = view.example(arch, nr, permitted)? else { return Ok(()) };
    // A test of some bits is meant to ignore the others; a comparison with a value depends on nearly every bit.
    let mut decisive = 0;
    for bit in 0..32 {
        let mut data = example.data;
        data.set_word(low, data.word(low) ^ 1 << bit);
        decisive += u32::from(!view.run(arch, data)?.verdict.permits());
    }
    if decisive < PINNED {
        return Ok(());
    }
    let mut data = example.data;
    data.set_word(high, 1);
    let other = view.run(arch, data)?;
    let message = format!(
        "only the low half of `{}` of `{name}` is compared, but the kernel reads 64 bits of this argument",
        arg.name
    );
    let at = view.place(arch, name, |rule| tests_argument(rule, low));
    let finding = Finding::new(Check::LowHalf, message).help("compare all 64 bits").at(at).on(arch);
    findings.add(finding.about([name]).examples([Some(example), Some(other)]));
    Ok(())
}

/// From this number of decisive bits on, a value is compared.
const PINNED: u32 = 24;

/// A pointer that is compared with more than NULL.
fn pointer(view: &mut View<'_>, findings: &mut Findings, place: Place) -> Result<()> {
    let Place { arch, nr, name, arg, index, low, high, func } = place;
    let [null, other] = [[0, 0], [0x7fff, 0x1234_5678]].map(|[high_half, low_half]| {
        let func = query::restrict(&mut view.store, func, high, high_half)?;
        query::restrict(&mut view.store, func, low, low_half)
    });
    let Some(field) = Field::arg(index) else { return Ok(()) };
    let is_null = view.store.test(&Test::eq(field, 0))?;
    let only_null = view.store.select(is_null, null?, other?)?;
    if func == only_null {
        return Ok(());
    }
    let start = callgate_core::SeccompData { arch: arch.token(), nr, ..Default::default() };
    let Some(data) = query::witness(&view.store, func, only_null, start)? else { return Ok(()) };
    let mut moved = data;
    moved.set_word(high, 0x7fff);
    moved.set_word(low, 0x1234_5678);
    let message = format!("the verdict depends on the address `{}` of `{name}`", arg.name);
    let help = "a filter cannot check what a pointer refers to; compare it with NULL at most";
    let at = view.place(arch, name, |rule| tests_argument(rule, low));
    let examples = [Some(view.run(arch, data)?), Some(view.run(arch, moved)?)];
    let finding = Finding::new(Check::PointerValue, message).help(help).at(at).on(arch);
    findings.add(finding.about([name]).examples(examples));
    Ok(())
}

/// Whether a rule tests the argument with this low word.
fn tests_argument(rule: &callgate_formats::statements::Statement, low: Word) -> bool {
    let mut found = false;
    rule.when.for_each_leaf(&mut |leaf| {
        found |= match leaf {
            Shape::Test(test) => test.field.low_word() == low,
            Shape::Fields(test) => [test.left, test.right].iter().any(|of| of.low_word() == low),
            _ => false,
        };
    });
    found
}
