//! seccomp_rule_add(3), seccomp_syscall_priority(3).
//!
//! `seccomp_rule_add` and `seccomp_rule_add_exact` take a variable number of structures. They are declared here with the
//! six that they may have at most, and read only those that are there: for all calling conventions of Linux, a variable
//! argument of this type is passed like a declared one.

use callgate::Verdict;
use callgate_formats::ruleset::{Comparison, Op};
use libc::{c_int, c_uint};
use passed::{Passed, get};

use super::call::{on, status};
use super::registry::{self, Handle};
use crate::context::NewRule;
use crate::error::{Error, Result};
use crate::kernel::support::SUPPORT;

/// What a structure of 24 bytes is passed as: by these conventions, a pointer to it ("by reference" in the calling
/// conventions AAPCS64, RISC-V and LoongArch LP64, and s390x), by all others itself.
#[cfg(any(
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "s390x"
))]
mod passed {
    use super::ArgCmp;

    pub(super) type Passed = *const ArgCmp;

    /// # Safety
    /// The caller must have passed it.
    pub(super) unsafe fn get(passed: &Passed) -> ArgCmp {
        // SAFETY: the caller of the C function passed a structure.
        unsafe { **passed }
    }
}

#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "s390x"
)))]
mod passed {
    use super::ArgCmp;
    use std::mem::MaybeUninit;

    pub(super) type Passed = MaybeUninit<ArgCmp>;

    /// # Safety
    /// The caller must have passed it.
    pub(super) unsafe fn get(passed: &Passed) -> ArgCmp {
        // SAFETY: the caller of the C function passed a structure.
        unsafe { passed.assume_init() }
    }
}

/// Adds a rule; what an architecture cannot express is adapted.
///
/// # Safety
/// The caller must pass `arg_cnt` structures, if these are not more than six.
#[unsafe(no_mangle)]
#[allow(private_interfaces)]
pub unsafe extern "C" fn seccomp_rule_add(
    ctx: Handle,
    action: u32,
    syscall: c_int,
    arg_cnt: c_uint,
    a: Passed,
    b: Passed,
    c: Passed,
    d: Passed,
    e: Passed,
    f: Passed,
) -> c_int {
    status(|| {
        // SAFETY: the caller promises it.
        let given = unsafe { first([&a, &b, &c, &d, &e, &f], arg_cnt) }?;
        add(ctx, action, syscall, &given, false)
    })
}

/// Adds a rule unchanged, or not at all.
///
/// # Safety
/// The caller must pass `arg_cnt` structures, if these are not more than six.
#[unsafe(no_mangle)]
#[allow(private_interfaces)]
pub unsafe extern "C" fn seccomp_rule_add_exact(
    ctx: Handle,
    action: u32,
    syscall: c_int,
    arg_cnt: c_uint,
    a: Passed,
    b: Passed,
    c: Passed,
    d: Passed,
    e: Passed,
    f: Passed,
) -> c_int {
    status(|| {
        // SAFETY: the caller promises it.
        let given = unsafe { first([&a, &b, &c, &d, &e, &f], arg_cnt) }?;
        add(ctx, action, syscall, &given, true)
    })
}

/// The first `count` structures.
///
/// # Safety
/// The caller of the C function must have passed them.
unsafe fn first(all: [&Passed; MAX_ARGS], count: c_uint) -> Result<Vec<ArgCmp>> {
    let passed = all.get(..count as usize).ok_or(Error::Invalid)?;
    // SAFETY: the caller promises it.
    Ok(passed.iter().map(|passed| unsafe { get(passed) }).collect())
}

/// Like [`seccomp_rule_add`], with the comparisons in an array.
///
/// # Safety
/// `arg_array` must be null or point to `arg_cnt` structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_rule_add_array(
    ctx: Handle,
    action: u32,
    syscall: c_int,
    arg_cnt: c_uint,
    arg_array: *const ArgCmp,
) -> c_int {
    status(|| {
        // SAFETY: the caller promises it.
        let given = unsafe { array(arg_array, arg_cnt) }?;
        add(ctx, action, syscall, given, false)
    })
}

/// Like [`seccomp_rule_add_exact`], with the comparisons in an array.
///
/// # Safety
/// `arg_array` must be null or point to `arg_cnt` structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_rule_add_exact_array(
    ctx: Handle,
    action: u32,
    syscall: c_int,
    arg_cnt: c_uint,
    arg_array: *const ArgCmp,
) -> c_int {
    status(|| {
        // SAFETY: the caller promises it.
        let given = unsafe { array(arg_array, arg_cnt) }?;
        add(ctx, action, syscall, given, true)
    })
}

/// The structures of an array.
///
/// # Safety
/// `array` must be null or point to `count` structures, which live as long as the result.
unsafe fn array<'a>(array: *const ArgCmp, count: c_uint) -> Result<&'a [ArgCmp]> {
    match count as usize {
        0 => Ok(&[]),
        count if count > MAX_ARGS || array.is_null() => Err(Error::Invalid),
        // SAFETY: the caller promises it.
        count => Ok(unsafe { std::slice::from_raw_parts(array, count) }),
    }
}

fn add(ctx: Handle, action: u32, nr: c_int, given: &[ArgCmp], is_exact: bool) -> Result<()> {
    registry::with(ctx, |context| {
        context.check_number(nr)?;
        let verdict = Verdict(action);
        context.check_verdict(verdict, &SUPPORT)?;
        if is_exact && context.filters().len() > 1 {
            return Err(Error::NotSupported);
        }
        let comparisons = comparisons(given)?;
        context.add_rule(&NewRule { verdict, nr, comparisons, is_exact })
    })
}

/// Raises the priority of a syscall: a filter decides syscalls of high priority with fewer instructions.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_syscall_priority(ctx: Handle, syscall: c_int, priority: u8) -> c_int {
    on(ctx, |context| {
        context.check_number(syscall)?;
        context.prioritize(syscall, priority)
    })
}

/// A comparison of an argument, as callers pass it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArgCmp {
    arg: c_uint,
    op: c_int,
    datum_a: u64,
    datum_b: u64,
}

/// The largest number of comparisons in a rule: one per argument.
const MAX_ARGS: usize = 6;

impl ArgCmp {
    /// `SCMP_CMP(arg, op, datum_a, datum_b)`.
    pub const fn new(arg: c_uint, op: c_int, datum_a: u64, datum_b: u64) -> ArgCmp {
        ArgCmp { arg, op, datum_a, datum_b }
    }

    /// The comparison; an error for an unknown operator or argument.
    fn parse(self) -> Result<Comparison> {
        let (op, value) = match self.op {
            1 => (Op::Ne, self.datum_a),
            2 => (Op::Lt, self.datum_a),
            3 => (Op::Le, self.datum_a),
            4 => (Op::Eq, self.datum_a),
            5 => (Op::Ge, self.datum_a),
            6 => (Op::Gt, self.datum_a),
            7 => (Op::MaskedEq(self.datum_a), self.datum_b),
            _ => return Err(Error::Invalid),
        };
        let arg = u8::try_from(self.arg).map_err(|_| Error::Invalid)?;
        Comparison::new(arg, op, value).ok_or(Error::Invalid)
    }
}

/// The comparisons of a rule, at most one per argument.
pub(super) fn comparisons(given: &[ArgCmp]) -> Result<Vec<Comparison>> {
    let mut comparisons: Vec<Comparison> = Vec::with_capacity(given.len());
    for arg in given {
        let comparison = arg.parse()?;
        if comparisons.iter().any(|other| other.arg() == comparison.arg()) {
            return Err(Error::Invalid);
        }
        comparisons.push(comparison);
    }
    Ok(comparisons)
}
