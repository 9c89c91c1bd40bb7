//! Lines of a list: syscalls and architectures with the names of bionic.

use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{is_known_name, known_name, nearest_name};
use callgate_core::Arch;

/// A syscall and its architectures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'t> {
    pub(super) name: &'t str,
    pub(super) at: At,
    pub(super) arches: ArchSet,
    /// The architectures that the entry names, without those for which `all`, `lp32` or `lp64` stand.
    pub(super) named: ArchSet,
}

/// Whether a type stands before the functions of the lists, which is known from the first entry on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    has_types: Option<bool>,
}

/// The lines of a text without blanks at both ends, each with its offset. Python also ends a line at a carriage return.
pub(super) fn trimmed_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive(['\n', '\r']).filter_map(move |line| {
        let start = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        let line = line.trim();
        (!line.is_empty() && !line.starts_with('#')).then_some((start, line))
    })
}

/// An entry. `None` after an error was reported.
pub(super) fn entry<'t>(
    report: &mut Report<'_>,
    style: &mut Style,
    line: &'t str,
    at: At,
) -> Option<Entry<'t>> {
    let place = |offset: usize| At { offset: at.offset + offset, ..at };
    if let Some(nul) = line.find('\0') {
        return report.refuse(place(nul), "a NUL byte", "remove it");
    }
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else {
        return no_parameters(report, line, at);
    };
    if close < open {
        return no_parameters(report, line, at);
    }
    let (head, after) = (line.get(..open)?, line.get(close + 1..)?);
    let (start, function) = function(report, style, head, at)?;
    let (in_function, name) = syscall_name(report, function, place(start))?;
    let list = after.trim();
    let list_at = close + 1 + (after.len() - after.trim_start().len());
    let (arches, named) = arches(report, list, place(list_at))?;
    Some(Entry { name, at: place(start + in_function), arches, named })
}

fn no_parameters<T>(report: &mut Report<'_>, line: &str, at: At) -> Option<T> {
    let message = format!("expected parameters in parentheses, but found `{}`", shorten(line));
    let help =
        "an entry is `name(parameters) architectures`, such as `read(int, void*, size_t) all`";
    report.refuse(at, message, help)
}

/// The function, with what belongs to it, and its offset in the text before the parameters.
fn function<'t>(
    report: &mut Report<'_>,
    style: &mut Style,
    head: &'t str,
    at: At,
) -> Option<(usize, &'t str)> {
    let trimmed = head.trim_end();
    let start = trimmed.rfind(char::is_whitespace).map_or(0, |blank| {
        blank + trimmed.get(blank..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    let has_type = start > 0;
    let has_types = *style.has_types.get_or_insert(has_type);
    let function = trimmed.get(start..)?;
    let error = match (has_types, has_type) {
        _ if function.is_empty() => {
            Some(("missing name before `(`", "write the name of a syscall"))
        }
        (true, false) => Some((
            "missing type before the function, as in the entries before",
            "until Android 15, an entry is `type name(parameters) architectures`",
        )),
        (false, true) => Some((
            "a type before the function, unlike in the entries before",
            "remove it, or give lists of one version of Android",
        )),
        (false, false) if trimmed.len() < head.len() => {
            Some(("a blank before `(`", "genseccomp.py takes it as part of the name; remove it"))
        }
        _ => None,
    };
    match error {
        Some((message, help)) => report.refuse(at, message, help),
        None => Some((start, function)),
    }
}

/// The name of the syscall and its offset: `read` of `__read|_read:read:1`.
fn syscall_name<'t>(
    report: &mut Report<'_>,
    function: &'t str,
    at: At,
) -> Option<(usize, &'t str)> {
    let without_alias = |text: &'t str| match text.find('|') {
        Some(bar @ 1..) => text.get(..bar).unwrap_or(text),
        _ => text,
    };
    let Some((function, rest)) = function.split_once(':') else {
        return Some((0, without_alias(function)));
    };
    let (name, number) = match rest.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (rest, None),
    };
    let start = function.len() + 1;
    let place = |offset: usize| At { offset: at.offset + offset, ..at };
    if function.is_empty() || name.is_empty() {
        let help = "write `function:syscall`, or only the name if both are the same";
        return report.refuse(place(function.len()), "a misplaced colon", help);
    }
    if let Some(number) = number.filter(|number| number.trim().parse::<u32>().is_err()) {
        let message = format!("`{}` is not the number of a sub-call", shorten(number));
        let help = "write `function:socketcall:number`";
        return report.refuse(place(start + name.len() + 1), message, help);
    }
    let has_alias = function.find('|').is_some_and(|bar| bar > 0);
    Some((start, if has_alias { without_alias(name) } else { name }))
}

/// The architectures of a list, and those that it names.
fn arches(report: &mut Report<'_>, list: &str, at: At) -> Option<(ArchSet, ArchSet)> {
    if let Some(all) = ArchSet::of_all(list) {
        return Some((all, ArchSet::default()));
    }
    if list.is_empty() {
        let help = "write `all`, or a list such as `arm,lp64`";
        return report.refuse(at, "missing architectures after the parameters", help);
    }
    let (mut arches, mut named) = (ArchSet::default(), ArchSet::default());
    let mut offset = 0;
    for word in list.split(',') {
        let Some(set) = ArchSet::of_word(word) else {
            let place = At { offset: at.offset + offset, ..at };
            unknown_arch(report, word, place);
            return None;
        };
        arches = arches.or(set);
        if is_single(word) {
            named = named.or(set);
        }
        offset += word.len() + 1;
    }
    Some((arches, named))
}

fn unknown_arch(report: &mut Report<'_>, word: &str, at: At) {
    let trimmed = word.trim();
    let help = if trimmed == "all" && trimmed == word {
        "`all` stands alone".to_owned()
    } else if ArchSet::of_word(trimmed).is_some() {
        "remove the blank: commas separate architectures".to_owned()
    } else if word.contains('#') {
        "a comment has a line of its own".to_owned()
    } else {
        let otherwise = format!("the architectures are {}", words().collect::<Vec<_>>().join(", "));
        report.did_you_mean(|| nearest(trimmed, words()), &otherwise)
    };
    let message = format!("`{}` is not a bionic architecture", shorten(word));
    report.error(at, message).help = help;
}

/// Whether a text begins as a list: with an entry whose architectures are known.
///
/// ```
/// use callgate_formats::android::is_entry;
/// assert!(is_entry("# bionic\n__close:close(int)  all\n"));
/// assert!(is_entry("int close(int)  arm,lp64\n"));
/// assert!(!is_entry("close(3) = 0\n"));
/// ```
pub fn is_entry(text: &str) -> bool {
    let Some((_, line)) = trimmed_lines(text).next() else { return false };
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else { return false };
    let head = line.get(..open).unwrap_or_default().trim();
    let list = line.get(close + 1..).unwrap_or_default().trim();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_|:,* \t".contains(c);
    let is_arch = |word: &str| ArchSet::of_word(word).is_some();
    open < close
        && !head.is_empty()
        && head.chars().all(is_of_name)
        && (ArchSet::of_all(list).is_some() || list.split(',').all(is_arch))
}

/// The architectures of bionic, with its names for them. MIPS was removed after Android 10.
const ARCHES: [(&str, Arch); 7] = [
    ("arm", Arch::Arm),
    ("arm64", Arch::Aarch64),
    ("mips", Arch::Mipsel),
    ("mips64", Arch::Mipsel64),
    ("riscv64", Arch::Riscv64),
    ("x86", Arch::X86),
    ("x86_64", Arch::X86_64),
];

/// The words for several architectures.
const ALL: &str = "all";
const NARROW: &str = "lp32";
const WIDE: &str = "lp64";

/// A set of architectures of bionic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ArchSet(u8);

impl ArchSet {
    /// The architectures of a word, except `all`, which stands alone.
    fn of_word(word: &str) -> Option<ArchSet> {
        let of = |is_meant: &dyn Fn(&str, Arch) -> bool| {
            let nth = ARCHES.iter().enumerate();
            let meant = nth.filter(|(_, (name, arch))| is_meant(name, *arch));
            ArchSet(meant.fold(0, |set, (index, _)| set | 1 << index))
        };
        match word {
            NARROW => Some(of(&|_, arch| !arch.is_64bit())),
            WIDE => Some(of(&|_, arch| arch.is_64bit())),
            _ => Some(of(&|name, _| name == word)).filter(|set| set.0 != 0),
        }
    }

    /// The architectures of a whole list if it is one word for all of them.
    fn of_all(list: &str) -> Option<ArchSet> {
        (list == ALL).then_some(ArchSet(u8::MAX))
    }

    pub(super) fn or(self, other: ArchSet) -> ArchSet {
        ArchSet(self.0 | other.0)
    }

    pub(super) fn has(self, arch: Arch) -> bool {
        let nth = ARCHES.iter().position(|(_, of)| *of == arch);
        nth.is_some_and(|index| self.0 & 1 << index != 0)
    }
}

/// Whether a word is the name of a single architecture.
pub(super) fn is_single(word: &str) -> bool {
    ARCHES.iter().any(|(name, _)| *name == word)
}

/// All words for architectures.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    ARCHES.iter().map(|(name, _)| *name).chain([ALL, NARROW, WIDE])
}

/// bionic's name of an architecture.
pub(super) fn arch_name(arch: Arch) -> &'static str {
    ARCHES.iter().find(|(_, of)| *of == arch).map_or(arch.name(), |(name, _)| name)
}

/// The architectures of a filter on a host with this one, the 64-bit one first; none if bionic has no filters for it.
pub fn arches_of(native: Arch) -> &'static [Arch] {
    match native {
        Arch::X86_64 | Arch::X86 => &[Arch::X86_64, Arch::X86],
        Arch::Aarch64 | Arch::Arm => &[Arch::Aarch64, Arch::Arm],
        Arch::Riscv64 => &[Arch::Riscv64],
        Arch::Mipsel64 | Arch::Mipsel => &[Arch::Mipsel64, Arch::Mipsel],
        _ => &[],
    }
}

/// The prefix of syscalls that only arm has. The headers have no other name for them.
const OF_ARM: &str = "__ARM_NR_";

/// The first number of syscalls that only arm has.
const FIRST_OF_ARM: u32 = 0xf0000;

/// The number of a syscall.
pub(super) fn number(arch: Arch, name: &str) -> Option<u32> {
    let of_arm = name.strip_prefix(OF_ARM).filter(|_| arch == Arch::Arm);
    let number = arch.number(of_arm.unwrap_or(name))?;
    let has_own = arch == Arch::Arm && number >= FIRST_OF_ARM;
    (has_own == of_arm.is_some()).then_some(number)
}

/// Whether some architecture has a syscall of this name.
pub(super) fn is_known(name: &str) -> bool {
    match name.strip_prefix(OF_ARM) {
        Some(_) => number(Arch::Arm, name).is_some(),
        None => is_known_name(name),
    }
}

/// The name in the kernel's tables, without a prefix.
pub(super) fn kernel_name(name: &str) -> Option<&'static str> {
    known_name(name.strip_prefix(OF_ARM).unwrap_or(name))
}

/// The name in bionic's headers of a syscall that arm has under another one.
pub(super) fn arm_name(name: &str) -> Option<String> {
    let prefixed = format!("{OF_ARM}{name}");
    number(Arch::Arm, &prefixed).map(|_| prefixed)
}

/// Reports a name that no architecture has.
pub(super) fn report_unknown(report: &mut Report<'_>, severity: Severity, name: &str, at: At) {
    if report.leave_out(severity, at) {
        return;
    }
    let help = report.did_you_mean(|| nearest_name(name), "check the spelling against syscalls(2)");
    let message = format!("no architecture has a syscall `{}`", shorten(name));
    report.report(severity, at, message).help = help;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_architectures() {
        let of = |word: &str| {
            let set = ArchSet::of_word(word).or_else(|| ArchSet::of_all(word))?;
            Some(ARCHES.map(|(_, arch)| arch).into_iter().filter(|arch| set.has(*arch)).collect())
        };
        let arches = |arches: &[Arch]| Some(arches.to_vec());
        assert_eq!(of("lp32"), arches(&[Arch::Arm, Arch::Mipsel, Arch::X86]));
        let wide = [Arch::Aarch64, Arch::Mipsel64, Arch::Riscv64, Arch::X86_64];
        assert_eq!(of("lp64"), arches(&wide));
        assert_eq!(of("all"), arches(&ARCHES.map(|(_, arch)| arch)));
        assert_eq!(of("arm"), arches(&[Arch::Arm]));
        assert_eq!(of("aarch64"), None);
        assert!(!ArchSet(u8::MAX).has(Arch::S390x));
    }

    #[test]
    fn syscalls_of_arm_have_a_prefix() {
        assert_eq!(number(Arch::Arm, "__ARM_NR_cacheflush"), Some(0xf0002));
        assert_eq!(number(Arch::Arm, "cacheflush"), None);
        assert_eq!(number(Arch::Mipsel, "cacheflush"), Some(4147));
        assert_eq!(number(Arch::Mipsel, "__ARM_NR_cacheflush"), None);
        assert_eq!(number(Arch::Arm, "__ARM_NR_read"), None);
        assert_eq!(number(Arch::Arm, "read"), Some(3));
        assert!(
            is_known("cacheflush") && is_known("__ARM_NR_set_tls") && !is_known("__ARM_NR_read")
        );
        assert_eq!(arm_name("set_tls").as_deref(), Some("__ARM_NR_set_tls"));
        assert_eq!(arm_name("read"), None);
    }
}
