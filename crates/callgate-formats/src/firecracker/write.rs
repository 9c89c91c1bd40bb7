//! Filters of Firecracker and of the crate `seccompiler`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::convert::atoms::{Atom, AtomTest, LowHalf, alternatives_of, by_name, fit_arch};
use crate::convert::error::Result;
use crate::convert::fit::{Fit, is_as_strict, strictest};
use crate::convert::numbering::{Numbering, Unlisted};
use crate::languages::Writing;
use crate::layout::QuotedString;
use callgate_bpf::SyscallTable;
use callgate_core::{Action, Arch, Verdict};

/// The architectures of `seccompiler`.
const ARCHES: &[Arch] = &[Arch::X86_64, Arch::Aarch64, Arch::Riscv64];

/// The verdict of other architectures.
const BAD_ARCH: Verdict = Verdict::KILL_PROCESS;

/// The name of the thread, unless one is given.
const THREAD: &str = "main";

/// Writes a document with one filter.
pub(crate) fn write(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String> {
    let arch = fit_arch(fit, writing.target, ARCHES)?;
    fit.set_others(
        BAD_ARCH,
        "a filter is for one architecture; syscalls of others kill the process",
    )?;
    let takes = |action| matches!(action, Action::Errno(_) | Action::Trace(_));
    fit.drop_numbers(Some(arch), takes, |plain| Some(word(plain).to_owned()))?;
    let unlisted = Unlisted {
        why: "entries name syscalls, so numbers without a name get the mismatch action",
        enosys_above: false,
        kills_other_abi: false,
        can_be_default: |_| true,
        fallbacks: &[Verdict::KILL_PROCESS],
        may_lack_enosys: false,
    };
    let numbering = Numbering::choose(fit, unlisted)?;
    numbering.fit_unnamed(fit)?;
    let mismatch = numbering.default;
    let matching = fit_match_action(fit, arch, mismatch)?;
    let mut entries = Vec::new();
    for (name, nr) in by_name(arch) {
        let all = alternatives_of(fit, (arch, name, nr), matching, LowHalf::Ordered)?;
        if all.iter().flatten().any(|atom| atom.arg.is_none()) {
            let why = "no condition can test the instruction pointer";
            let verdict = fit.strictest(fit.syscall(arch.token(), nr));
            fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
            entries.extend((verdict == matching).then(|| entry(arch, name, &[])));
            continue;
        }
        entries.extend(all.iter().map(|all| entry(arch, name, all)));
    }
    let thread = writing.name.unwrap_or(THREAD);
    let mut text = format!("{{\n  {}: {{\n", QuotedString(thread));
    let _ = writeln!(text, "    \"mismatch_action\": {},", action(mismatch));
    let _ = writeln!(text, "    \"match_action\": {},", action(matching));
    let _ = match entries.is_empty() {
        true => writeln!(text, "    \"filter\": []"),
        false => {
            writeln!(text, "    \"filter\": [\n      {}\n    ]", entries.join(",\n      "))
        }
    };
    text.push_str("  }\n}\n");
    Ok(text)
}

/// The match action: the only verdict besides the mismatch action. Others are replaced.
fn fit_match_action(fit: &mut Fit<'_>, arch: Arch, mismatch: Verdict) -> Result<Verdict> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for (nr, _) in arch.syscalls() {
        let verdicts: BTreeSet<Verdict> =
            fit.store.verdicts(fit.syscall(arch.token(), nr)).into_iter().collect();
        for verdict in verdicts.into_iter().filter(|verdict| *verdict != mismatch) {
            *counts.entry(verdict).or_default() += 1;
        }
    }
    // An allowlist is about what is permitted, a denylist about what is not.
    let is_about = |verdict: &Verdict| verdict.permits() != mismatch.permits();
    let most = counts.iter().max_by_key(|(verdict, count)| (is_about(verdict), **count));
    let Some(matching) = most.map(|(verdict, _)| *verdict) else {
        // Any other action: nothing has it.
        let other = [Verdict::ALLOW, Verdict::KILL_PROCESS];
        return Ok(other
            .into_iter()
            .find(|verdict| *verdict != mismatch)
            .unwrap_or(Verdict::ALLOW));
    };
    for verdict in counts.into_keys().filter(|verdict| *verdict != matching) {
        let strict = [matching, mismatch].into_iter().filter(|new| is_as_strict(*new, verdict));
        let least = strict.min_by_key(|new| new.precedence());
        let nearest = least.unwrap_or_else(|| strictest([matching, mismatch]));
        let why = "a filter has two actions: the match action and the mismatch action";
        fit.replace_verdict(Some(arch), verdict, nearest, why)?;
    }
    Ok(matching)
}

/// An action in JSON.
fn action(verdict: Verdict) -> String {
    match verdict.action() {
        Action::Errno(errno) => format!("{{\"errno\": {errno}}}"),
        Action::Trace(data) => format!("{{\"trace\": {data}}}"),
        _ => format!("\"{}\"", word(verdict)),
    }
}

/// The word for an action without a number.
fn word(verdict: Verdict) -> &'static str {
    match verdict.action() {
        Action::Allow => "allow",
        Action::Log => "log",
        Action::KillThread => "kill_thread",
        Action::Trap(_) => "trap",
        Action::UserNotif(_) => "user_notif",
        _ => "kill_process",
    }
}

/// An entry in JSON.
fn entry(arch: Arch, name: &str, all: &[Atom]) -> String {
    let syscall = QuotedString(name);
    if all.is_empty() {
        return format!("{{\"syscall\": {syscall}}}");
    }
    let args: Vec<String> = all.iter().map(|atom| condition(arch, name, atom)).collect();
    format!(
        "{{\n        \"syscall\": {syscall},\n        \"args\": [\n          {}\n        ]\n      }}",
        args.join(",\n          ")
    )
}

fn condition(arch: Arch, name: &str, atom: &Atom) -> String {
    let (op, value) = match atom.test {
        AtomTest::Eq(value) => ("\"eq\"".to_owned(), value),
        AtomTest::Ne(value) => ("\"ne\"".to_owned(), value),
        AtomTest::Le(value) => ("\"le\"".to_owned(), value),
        AtomTest::Ge(value) => ("\"ge\"".to_owned(), value),
        AtomTest::Masked { mask, wanted } => (format!("{{\"masked_eq\": {mask}}}"), wanted),
    };
    let is_narrow = match atom.test {
        AtomTest::Masked { mask, .. } => mask <= u64::from(u32::MAX),
        _ => atom.is_low,
    };
    let width = if is_narrow { "dword" } else { "qword" };
    let comment = QuotedString(&atom.describe(arch, name)).to_string();
    format!(
        "{{\"index\": {}, \"type\": \"{width}\", \"op\": {op}, \"val\": {value}, \"comment\": {comment}}}",
        atom.arg.unwrap_or(0)
    )
}
