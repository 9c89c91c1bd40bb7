//! Programs that the C libraries give away, beside the rules that they were given.
//!
//! A caller from C gets instructions and no [`Spec`](callgate_core::Spec), so nothing but the rules says what they should compute.
//! The C libraries are the readers of these rules: an error there can export a program of other rules, and these tests see it. An
//! error in the compiler cannot get `libseccomp.so.2` to do so, as that compares the spec of each program with the rules.
//! `libcallgate` does not: a text becomes a policy in the compiler itself. The functions are declared as a C program declares them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::panic::catch_unwind;
use std::ptr::{null, null_mut};

use callgate::{Arch, Program, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::random::Rng;
use callgate_core::RawInsn;
use callgate_testing::languages;

// Linked for their symbols.
use callgate_c as _;
use seccomp as _;

use crate::{Cheat, cheat};

type Handle = *mut c_void;

/// `struct scmp_arg_cmp`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ArgCmp {
    arg: c_uint,
    op: c_int,
    datum_a: u64,
    datum_b: u64,
}

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SockFilter {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

/// `callgate_value`, with the `callgate_string` of its name.
#[repr(C)]
struct Value {
    name: *const c_char,
    length: usize,
    value: u64,
}

unsafe extern "C" {
    safe fn seccomp_init(default: u32) -> Handle;
    safe fn seccomp_release(context: Handle);
    safe fn seccomp_merge(context: Handle, other: Handle) -> c_int;
    safe fn seccomp_arch_add(context: Handle, token: u32) -> c_int;
    safe fn seccomp_arch_remove(context: Handle, token: u32) -> c_int;
    safe fn seccomp_attr_set(context: Handle, attribute: u32, value: u32) -> c_int;
    safe fn seccomp_syscall_priority(context: Handle, nr: c_int, priority: u8) -> c_int;
    safe fn seccomp_transaction_start(context: Handle) -> c_int;
    safe fn seccomp_transaction_reject(context: Handle);
    safe fn seccomp_transaction_commit(context: Handle) -> c_int;
    fn seccomp_rule_add_array(
        context: Handle,
        action: u32,
        nr: c_int,
        count: c_uint,
        tests: *const ArgCmp,
    ) -> c_int;
    fn seccomp_export_bpf_mem(context: Handle, buffer: *mut u8, len: *mut usize) -> c_int;

    fn callgate_source_text(
        data: *const c_char,
        length: usize,
        source: *mut Handle,
        error: *mut Handle,
    ) -> c_int;
    fn callgate_source_set(
        source: Handle,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        error: *mut Handle,
    ) -> c_int;
    fn callgate_source_free(source: Handle);
    fn callgate_compile_template(
        source: Handle,
        options: *const c_void,
        template: *mut Handle,
        error: *mut Handle,
    ) -> c_int;
    fn callgate_template_instantiate(
        template: Handle,
        values: *const Value,
        count: usize,
        program: *mut Handle,
        error: *mut Handle,
    ) -> c_int;
    fn callgate_template_free(template: Handle);
    fn callgate_compile(
        source: Handle,
        options: *const c_void,
        program: *mut Handle,
        error: *mut Handle,
    ) -> c_int;
    fn callgate_program_instructions(program: Handle, count: *mut usize) -> *const SockFilter;
    fn callgate_program_free(program: Handle);
}

const BAD_ARCH: u32 = 2;
const OPTIMIZE: u32 = 8;

const ALLOW: u32 = Verdict::ALLOW.0;
const ACTIONS: [u32; 4] = [ALLOW, Verdict::errno(1).0, Verdict::errno(2).0, Verdict::LOG.0];

/// `__X32_SYSCALL_BIT`.
const X32_BIT: u32 = 0x4000_0000;

/// Architectures of one filter.
const FAMILIES: [&[Arch]; 5] = [
    &[Arch::X86_64],
    &[Arch::X86],
    &[Arch::X86_64, Arch::X86],
    &[Arch::Aarch64, Arch::Arm],
    &[Arch::S390x],
];

const NAMES: [&str; 6] = ["read", "write", "openat", "futex", "connect", "exit_group"];

const VALUES: [u64; 8] = [0, 1, 2, 7, 0xffff_ffff, 1 << 32, 7 << 32 | 7, u64::MAX];

/// None is 0 in its low word: a rule for a 32-bit ABI would lose the comparison.
const MASKS: [u64; 4] = [1, 0xff, 0xffff_ffff, u64::MAX];

/// A rule of one architecture.
#[derive(Clone, Debug)]
struct Rule {
    nr: u32,
    action: u32,
    tests: Vec<ArgCmp>,
}

/// The rules of a context, by seccomp_rule_add(3).
#[derive(Clone, Debug)]
struct Rules {
    default: u32,
    bad_arch: u32,
    arches: Vec<(Arch, Vec<Rule>)>,
}

impl Rules {
    fn add(&mut self, name: &str, action: u32, tests: &[ArgCmp]) {
        for (arch, rules) in &mut self.arches {
            if let Some((multiplexer, call)) = arch.multiplexed(name) {
                let selects = ArgCmp { arg: 0, op: 4, datum_a: call.into(), datum_b: 0 };
                let others = tests.iter().filter(|test| test.arg != 0);
                let tests = std::iter::once(&selects).chain(others).copied().collect();
                rules.push(Rule { nr: arch.number(multiplexer).unwrap(), action, tests });
            }
            if let Some(nr) = arch.number(name) {
                rules.push(Rule { nr, action, tests: tests.to_vec() });
            }
        }
    }

    /// The verdicts that a syscall may have. The order in which rules decide that match at the same time is not a matter of this
    /// test: each of their actions is right.
    fn verdicts(&self, data: &SeccompData) -> Vec<u32> {
        let Some((arch, rules)) = self.arches.iter().find(|(arch, _)| arch.token() == data.arch)
        else {
            return vec![self.bad_arch];
        };
        // The numbers of x32, which has the same token.
        if *arch == Arch::X86_64 && (X32_BIT..u32::MAX).contains(&data.nr) {
            return vec![self.bad_arch];
        }
        let rules = || rules.iter().filter(|rule| rule.nr == data.nr);
        if let Some(first) = rules().find(|rule| rule.tests.is_empty()) {
            return vec![first.action];
        }
        let matching =
            rules().filter(|rule| rule.tests.iter().all(|test| holds(*arch, test, data)));
        let actions: Vec<u32> = matching.map(|rule| rule.action).collect();
        if actions.is_empty() { vec![self.default] } else { actions }
    }
}

/// Whether a comparison is true. ABIs of 32 bits compare the low words.
fn holds(arch: Arch, test: &ArgCmp, data: &SeccompData) -> bool {
    let word = |value: u64| if arch.is_64bit() { value } else { value & u64::from(u32::MAX) };
    let (arg, a, b) = (word(data.args[test.arg as usize]), word(test.datum_a), word(test.datum_b));
    match test.op {
        1 => arg != a,
        2 => arg < a,
        3 => arg <= a,
        4 => arg == a,
        5 => arg >= a,
        6 => arg > a,
        7 => arg & a == b & a,
        op => panic!("{op}"),
    }
}

/// A context and what it should be.
struct Filter {
    context: Handle,
    rules: Rules,
}

impl Filter {
    /// `None` if a function fails.
    fn new(default: u32, bad_arch: u32, arches: &[Arch]) -> Option<Filter> {
        let context = seccomp_init(default);
        let own = arches.iter().map(|arch| (*arch, Vec::new())).collect();
        let filter = Filter { context, rules: Rules { default, bad_arch, arches: own } };
        let mut is_made = !context.is_null() && seccomp_attr_set(context, BAD_ARCH, bad_arch) == 0;
        is_made &= seccomp_arch_remove(context, Arch::native()?.token()) == 0;
        is_made &= arches.iter().all(|arch| seccomp_arch_add(context, arch.token()) == 0);
        is_made.then_some(filter)
    }

    /// Adds a rule, unless the library refuses it.
    fn add(&mut self, rng: &mut Rng) {
        let name = rng.pick(&NAMES).unwrap();
        let action = rng.pick(&ACTIONS).unwrap();
        let count = rng.below(4);
        let mut args = [0, 1, 2, 3, 4, 5];
        rng.shuffle(&mut args);
        let test = |arg: c_uint| {
            let (op, value) = (1 + rng.below(7) as c_int, rng.pick(&VALUES).unwrap());
            match op {
                7 => ArgCmp { arg, op, datum_a: rng.pick(&MASKS).unwrap(), datum_b: value },
                _ => ArgCmp { arg, op, datum_a: value, datum_b: 0 },
            }
        };
        let tests: Vec<ArgCmp> = args.into_iter().take(count).map(test).collect();
        let nr = Arch::native().unwrap().number(name).unwrap() as c_int;
        let count = tests.len() as c_uint;
        // SAFETY: the array has this length.
        let result =
            unsafe { seccomp_rule_add_array(self.context, action, nr, count, tests.as_ptr()) };
        if result == 0 {
            self.rules.add(name, action, &tests);
        }
    }

    /// The program; `None` if it cannot be exported, or is none.
    fn program(&self) -> Option<Program> {
        let endian = self.rules.arches.first()?.0.endian();
        let mut len = 0;
        // SAFETY: there is no buffer.
        let status = unsafe { seccomp_export_bpf_mem(self.context, null_mut(), &raw mut len) };
        if status != 0 {
            return None;
        }
        let mut bytes = vec![0; len];
        // SAFETY: the buffer has this length.
        let status =
            unsafe { seccomp_export_bpf_mem(self.context, bytes.as_mut_ptr(), &raw mut len) };
        if status != 0 {
            return None;
        }
        Program::from_bytes(bytes.get(..len)?, endian).ok()
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        seccomp_release(self.context);
    }
}

/// A random sequence of functions, with few syscalls and values, so that rules interact.
fn filter(rng: &mut Rng) -> Option<Filter> {
    let arches = rng.pick(&FAMILIES).unwrap();
    let (default, bad_arch) = (rng.pick(&ACTIONS).unwrap(), rng.pick(&ACTIONS).unwrap());
    let mut filter = Filter::new(default, bad_arch, arches)?;
    let mut before = None;
    for _ in 0..1 + rng.below(14) {
        // The library keeps a program until the next change, which must not survive the change.
        if rng.one_in(3) {
            filter.program();
        }
        match rng.below(14) {
            0 => {
                let nr = Arch::native()?.number("read")? as c_int;
                seccomp_syscall_priority(filter.context, nr, rng.next() as u8);
            }
            1 => drop(seccomp_attr_set(filter.context, OPTIMIZE, 1 + rng.below(2) as u32)),
            2 if before.is_none() && seccomp_transaction_start(filter.context) == 0 => {
                before = Some(filter.rules.clone());
            }
            3 => {
                if let Some(before) = before.take() {
                    seccomp_transaction_reject(filter.context);
                    filter.rules = before;
                }
            }
            4 if before.is_some() && seccomp_transaction_commit(filter.context) == 0 => {
                before = None;
            }
            5 if *arches == [Arch::X86_64] && filter.rules.arches.len() == 1 => {
                let mut other = Filter::new(default, bad_arch, &[Arch::X86])?;
                other.add(rng);
                if seccomp_merge(filter.context, other.context) == 0 {
                    filter.rules.arches.append(&mut other.rules.arches);
                }
            }
            _ => filter.add(rng),
        }
    }
    Some(filter)
}

/// A syscall near the rules.
fn syscall(rng: &mut Rng, rules: &Rules) -> SeccompData {
    let (arch, own) = rng.pick(&rules.arches).unwrap();
    let known = rng.pick(&own);
    let nr = match known {
        Some(rule) if !rng.one_in(8) => rule.nr,
        _ if rng.one_in(4) => rng.pick(&[X32_BIT, X32_BIT | 1, u32::MAX - 1, u32::MAX]).unwrap(),
        _ => arch.number(rng.pick(&NAMES).unwrap()).unwrap_or(0),
    };
    let mut args = std::array::from_fn(|_| {
        let value: u64 = rng.pick(&VALUES).unwrap();
        match rng.below(4) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            _ => value,
        }
    });
    // What a rule of several comparisons demands is seldom there by chance.
    for test in own.iter().filter(|rule| rule.nr == nr).flat_map(|rule| &rule.tests) {
        if !rng.one_in(3) {
            let value = if test.op == 7 { test.datum_b } else { test.datum_a };
            let near = [value, value, value.wrapping_add(1), value.wrapping_sub(1)];
            args[test.arg as usize] = rng.pick(&near).unwrap();
        }
    }
    let token = if rng.one_in(16) { Arch::Riscv64.token() } else { arch.token() };
    SeccompData { nr, arch: token, args, ..SeccompData::default() }
}

#[test]
fn libseccomp_exports_programs_of_its_rules() {
    let mut made = 0;
    for seed in 0..400 {
        let exported = catch_unwind(|| {
            let mut rng = Rng::new(seed);
            let filter = filter(&mut rng)?;
            Some((filter.program()?, filter.rules.clone(), rng))
        });
        let Some((program, rules, mut rng)) = exported.ok().flatten() else { continue };
        made += 1;
        let endian = rules.arches[0].0.endian();
        for _ in 0..100 {
            let data = syscall(&mut rng, &rules);
            let verdict = program.run(&data, endian).verdict.0;
            let wanted = rules.verdicts(&data);
            assert!(
                wanted.contains(&verdict),
                "{seed}: {verdict:x} {wanted:x?} {data:x?} {rules:x?}"
            );
        }
    }
    println!("{made} programs of libseccomp.so.2");
    assert!(cheat().is_some() || made == 400, "{made} programs");
}

/// A policy in Kafel.
struct Text {
    text: &'static str,
    /// In the order of the template.
    variables: &'static [&'static str],
}

const TEXTS: [Text; 4] = [
    Text { text: "ALLOW { read, write, exit_group } DEFAULT ERRNO(1)", variables: &[] },
    Text {
        text: "ALLOW { read { fd == 7 }, lseek { offset <= 0x100000000 } } LOG { write { fd != 1 } } DEFAULT KILL",
        variables: &[],
    },
    Text {
        text: "ALLOW { read { fd == $input }, lseek { offset <= $limit }, exit_group } DEFAULT ERRNO(2)",
        variables: &["input", "limit"],
    },
    Text {
        text: "ERRNO(3) { write { fd == $a && count > $b } } DEFAULT ALLOW",
        variables: &["a", "b"],
    },
];

/// A source of `callgate.h`, for x86-64.
fn source(text: &str) -> Option<Handle> {
    let mut source = null_mut();
    let set = |source, key: &str, value: &str| {
        let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
        // SAFETY: both texts have this length, and no error is wanted.
        unsafe { callgate_source_set(source, key.0, key.1, value.0, value.1, null_mut()) }
    };
    // SAFETY: the text has this length, and no error is wanted.
    let status = unsafe {
        callgate_source_text(text.as_ptr().cast(), text.len(), &raw mut source, null_mut())
    };
    let settings = [("machine", "x86_64"), ("format", "kafel")];
    let is_set = status == 0
        && !source.is_null()
        && settings.iter().all(|(key, value)| set(source, key, value) == 0);
    is_set.then_some(source)
}

/// The program of a source; with values, that of its template.
fn compiled(text: &Text, values: &[u64]) -> Option<Program> {
    let source = source(text.text)?;
    let values: Vec<Value> = text
        .variables
        .iter()
        .zip(values)
        .map(|(name, value)| Value {
            name: name.as_ptr().cast(),
            length: name.len(),
            value: *value,
        })
        .collect();
    let mut program = null_mut();
    let mut insns = Vec::new();
    // SAFETY: what is passed on was returned before, each array has its length, and no error is wanted.
    unsafe {
        if values.is_empty() {
            callgate_compile(source, null(), &raw mut program, null_mut());
        } else {
            let mut template = null_mut();
            callgate_compile_template(source, null(), &raw mut template, null_mut());
            let (list, count) = (values.as_ptr(), values.len());
            callgate_template_instantiate(template, list, count, &raw mut program, null_mut());
            callgate_template_free(template);
        }
        let mut count = 0;
        let first = callgate_program_instructions(program, &raw mut count);
        for at in 0..if first.is_null() { 0 } else { count } {
            let SockFilter { code, jt, jf, k } = *first.add(at);
            insns.push(RawInsn { code, jt, jf, k });
        }
        callgate_program_free(program);
        callgate_source_free(source);
    }
    Program::from_raw(&insns).ok()
}

#[test]
fn libcallgate_makes_programs_of_its_texts() {
    if cheat() == Some(Cheat::Compiler) {
        return;
    }
    let mut made = 0;
    for text in &TEXTS {
        let read = languages::read("kafel", text.text, &[Arch::X86_64]).unwrap();
        let [policy] = &read.filters[..] else { panic!("{read:?}") };
        let mut rng = Rng::new(7);
        for _ in 0..10 {
            let mut value = |bits: u32| rng.pick(&VALUES).unwrap() & u64::MAX >> (64 - bits);
            let values: Vec<u64> = policy.variables().iter().map(|one| value(one.bits())).collect();
            let given = policy.given(&values).unwrap();
            let Ok(Some(program)) = catch_unwind(|| compiled(text, &values)) else { continue };
            made += 1;
            for _ in 0..200 {
                let near: Vec<u64> = VALUES.iter().chain(&values).copied().collect();
                let args = std::array::from_fn(|_| {
                    rng.pick(&near).unwrap().wrapping_add(rng.below(3) as u64).wrapping_sub(1)
                });
                let nr = rng.pick(&["read", "write", "lseek", "exit_group", "futex"]).unwrap();
                let nr = Arch::X86_64.number(nr).unwrap();
                let arch = rng.pick(&[Arch::X86_64, Arch::X86_64, Arch::X86]).unwrap().token();
                let data = SeccompData { nr, arch, args, ..SeccompData::default() };
                let verdict = program.run(&data, Arch::X86_64.endian()).verdict;
                assert_eq!(verdict, given.evaluate(&data), "{} {values:x?} {data:x?}", text.text);
            }
        }
    }
    println!("{made} programs of libcallgate");
    assert!(cheat().is_some() || made == 40, "{made} programs");
}
