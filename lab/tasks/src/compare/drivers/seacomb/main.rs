//! Compiles rules with seacomb: `main RULES PROGRAM - MILLISECONDS`
//!
//! Reads the text form of lab/tasks/src/compare/text.rs, writes the program as the bytes of a
//! sock_filter array. The library has no function that returns a program, only one that installs it. So the
//! function `syscall` of the C library is replaced in this process: seccomp(2) keeps the program and succeeds.
//! The time is that of the library's installation, which checks, compiles and encodes the policy.
//!
//! The library compares arguments as the kernel does, by their types in C: of an `int` only 32 bits. Arguments
//! of such types are reported as `narrow ARCH NR ARG BITS`.

use std::arch::asm;
use std::cell::RefCell;
use std::fs;
use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seacomb::{
    Action, Arch, BinOp, CmpOp, Cond, Expr, InstallFlags, Policy, PrimType, Rule, Syscall,
};

/// The exit status if the compiler cannot express the rules.
const CANNOT_EXPRESS: i32 = 3;
const MAX_RUNS: usize = 1001;
const X86_64: u64 = 0xc000_003e;
const SYS_SECCOMP: i64 = 317;

thread_local! {
    static INSTALLED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    insns: u16,
    filter: *const u8,
}

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// Replaces the function of the C library: seccomp(2) is not executed.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    nr: i64,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
    e: i64,
    f: i64,
) -> i64 {
    if nr == SYS_SECCOMP {
        // SAFETY: the library gives a pointer to a program that it owns during the call.
        let bytes = unsafe {
            let program = &*(c as *const Program);
            std::slice::from_raw_parts(program.filter, 8 * usize::from(program.insns))
        };
        INSTALLED.with(|installed| installed.replace(bytes.to_vec()));
        return 0;
    }
    let result: i64;
    // SAFETY: the caller answers for the syscall; the registers are those of the x86-64 convention.
    unsafe {
        asm!("syscall", inlateout("rax") nr => result, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _);
    }
    if (-4095..0).contains(&result) {
        // SAFETY: the C library returns the address of this thread's errno.
        unsafe { *__errno_location() = -result as i32 };
        return -1;
    }
    result
}

fn stop(status: i32, message: impl std::fmt::Display) -> ! {
    eprintln!("{message}");
    exit(status)
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| stop(1, format!("not a number: {text}")))
}

fn action(verdict: u32) -> Action {
    let data = verdict as u16;
    match verdict >> 16 {
        0x8000 => Action::KillProcess,
        0x0000 => Action::KillThread,
        0x0003 => Action::Trap(data),
        0x0005 => Action::Errno(data),
        0x7ff0 => Action::Trace(data),
        0x7ffc => Action::Log,
        0x7fff => Action::Allow,
        0x7fc0 => Action::Notify,
        _ => stop(CANNOT_EXPRESS, format!("it has no action for {verdict:#010x}")),
    }
}

struct Test {
    arg: usize,
    bits: u32,
    cmp: String,
    value: u64,
    mask: u64,
}

/// The alternatives of a syscall: the first whose tests all hold decides.
struct Call {
    nr: i64,
    name: String,
    alternatives: Vec<(Vec<Test>, u32)>,
}

struct Rules {
    default: u32,
    bad_arch: u32,
    calls: Vec<Call>,
}

fn read(path: &str) -> Rules {
    let text = fs::read_to_string(path).unwrap_or_else(|error| stop(1, error));
    let mut rules = Rules { default: 0, bad_arch: 0, calls: Vec::new() };
    let mut arches = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let last = rules.calls.last_mut();
        match words.as_slice() {
            // x32 numbers get the verdict for other architectures.
            [] | ["x32" | "hot", ..] => {}
            ["bad_arch", verdict] => rules.bad_arch = number(verdict) as u32,
            ["arch", _, token, default] => {
                arches += 1;
                if arches > 1 || number(token) != X86_64 {
                    stop(CANNOT_EXPRESS, "it does not support x32");
                }
                rules.default = number(default) as u32;
            }
            ["call", nr, name] => {
                let (nr, name) = (number(nr) as i64, (*name).to_owned());
                rules.calls.push(Call { nr, name, alternatives: Vec::new() });
            }
            ["then", verdict] => {
                let call = last.unwrap_or_else(|| stop(1, "`call` comes first"));
                call.alternatives.push((Vec::new(), number(verdict) as u32));
            }
            ["test", arg, bits, cmp, value, mask] => {
                let tests = last.and_then(|call| call.alternatives.last_mut());
                let (tests, _) = tests.unwrap_or_else(|| stop(1, "`then` comes first"));
                tests.push(Test {
                    arg: number(arg) as usize,
                    bits: number(bits) as u32,
                    cmp: (*cmp).to_owned(),
                    value: number(value),
                    mask: number(mask),
                });
            }
            _ => stop(1, format!("cannot read: {line}")),
        }
    }
    rules
}

/// The width of a type on x86-64.
fn width(of: PrimType) -> u32 {
    match of {
        PrimType::I(bits) | PrimType::U(bits) => bits,
        _ => 64,
    }
}

fn condition(test: &Test, signature: &[PrimType], nr: i64) -> Arc<Cond> {
    let Some(&of) = signature.get(test.arg) else {
        stop(CANNOT_EXPRESS, format!("call {nr} has no argument {} in its table", test.arg))
    };
    let bits = width(of).min(test.bits);
    let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let masked = test.mask & ones != ones;
    let ordered = !matches!(test.cmp.as_str(), "eq" | "ne");
    let argument = Arc::new(Expr::Var(test.arg as u32));
    let cast = |expr, to| Arc::new(Expr::Cast(expr, to));
    // The type of the argument where a program would use it, else an unsigned one of its width.
    let signed = matches!(of, PrimType::I(_) | PrimType::IWord);
    let keeps = width(of) == bits && !(ordered && signed) && of != PrimType::Ptr;
    let (mut to, mut expr) =
        if keeps { (of, argument) } else { (PrimType::U(bits), cast(argument, PrimType::U(bits))) };
    if test.value > ones {
        (to, expr) = (PrimType::U(64), cast(expr, PrimType::U(64)));
    }
    let literal = |value: u64| Arc::new(Expr::Lit(value as i64, to));
    if masked {
        expr = Arc::new(Expr::BinOp(BinOp::And, expr, literal(test.mask & ones)));
    }
    let value = literal(test.value);
    let compare = |op, left, right| Arc::new(Cond::Cmp(op, left, right));
    match test.cmp.as_str() {
        "eq" => compare(CmpOp::Eq, expr, value),
        "ne" => Arc::new(Cond::Not(compare(CmpOp::Eq, expr, value))),
        "lt" => compare(CmpOp::Lt, expr, value),
        "le" => compare(CmpOp::Le, expr, value),
        "gt" => compare(CmpOp::Lt, value, expr),
        _ => compare(CmpOp::Le, value, expr),
    }
}

/// The rules of the library for one syscall. There the action of highest precedence wins, so the conditions of
/// alternatives with different verdicts exclude each other.
fn add(policy: &mut Policy, call: &Call, syscall: Syscall) {
    let signature = syscall.signature(Arch::X86_64);
    let and = |left: Arc<Cond>, right: Arc<Cond>| match &*left {
        Cond::True => right,
        _ => Arc::new(Cond::And(left, right)),
    };
    let mut before: Vec<(Arc<Cond>, u32)> = Vec::new();
    for (tests, verdict) in &call.alternatives {
        let conditions = tests.iter().map(|test| condition(test, signature, call.nr));
        let own = conditions.fold(Arc::new(Cond::True), and);
        let others = before.iter().filter(|(_, other)| other != verdict);
        let not = others.map(|(other, _)| Arc::new(Cond::Not(other.clone())));
        let cond = not.fold(own.clone(), and);
        before.push((own, *verdict));
        let rule =
            Rule { action: action(*verdict), syscall, cond, archs: Vec::new(), no_mux: true };
        policy.add(rule).unwrap_or_else(|error| stop(CANNOT_EXPRESS, format!("{error:?}")));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, output, _, milliseconds] = arguments.as_slice() else {
        stop(1, "usage: main RULES PROGRAM - MILLISECONDS")
    };
    let rules = read(path);
    let fail = |error: seacomb::Error| -> ! { stop(CANNOT_EXPRESS, format!("{error:?}")) };
    let mut policy = Policy::new(action(rules.default)).unwrap_or_else(|error| fail(error));
    policy.add_arch(Arch::X86_64).unwrap_or_else(|error| fail(error));
    policy.on_bad_arch(action(rules.bad_arch)).unwrap_or_else(|error| fail(error));
    for call in &rules.calls {
        if call.name == "-" {
            let why = format!("it identifies syscalls by name only, and {} has none", call.nr);
            stop(CANNOT_EXPRESS, why);
        }
        let found = Syscall::lookup(&call.name);
        let Some(syscall) = found.filter(|found| found.nr(Arch::X86_64).map(i64::from) == Some(call.nr))
        else {
            println!("unknown x86_64 {}", call.nr);
            continue;
        };
        let signature = syscall.signature(Arch::X86_64);
        for (arg, of) in signature.iter().enumerate().filter(|(_, of)| width(**of) < 64) {
            if call.alternatives.iter().any(|(tests, _)| tests.iter().any(|test| test.arg == arg)) {
                println!("narrow x86_64 {} {arg} {}", call.nr, width(*of));
            }
        }
        add(&mut policy, call, syscall);
    }
    let budget = Duration::from_millis(number(milliseconds));
    let mut flags = InstallFlags::default();
    flags.ctl_nnp = false;
    let mut times: Vec<Duration> = Vec::new();
    while times.is_empty() || times.iter().sum::<Duration>() < budget && times.len() < MAX_RUNS {
        let start = Instant::now();
        policy.install_with_flags(flags).unwrap_or_else(|error| fail(error));
        times.push(start.elapsed());
    }
    let bytes = INSTALLED.with(RefCell::take);
    if let Err(error) = fs::write(output, bytes) {
        stop(1, format!("{output}: {error}"));
    }
    times.sort();
    println!("time {} {}", times.len(), times[times.len() / 2].as_nanos());
    println!("memory {}", peak());
}

/// The maximum resident memory of this process in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_else(|error| stop(1, error));
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    number(line.and_then(|line| line.split_whitespace().next()).unwrap_or("0"))
}
