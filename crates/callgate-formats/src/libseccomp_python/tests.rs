//! Programs in Python: what they do with filters, and what is refused.

use super::LANGUAGE;
use crate::languages::{Input, NoFiles, ReadSource, Reading, Text};
use callgate_bpf::SyscallTable;
use callgate_core::{Arch, SeccompData};

fn read_part(text: &str, part: Option<&str>) -> Result<ReadSource, String> {
    let texts = [Text::of(text)];
    let input = Input { part, ..Input::of(&texts) };
    (LANGUAGE.read)(&input, &Reading::new(Arch::X86_64), &mut NoFiles)
        .map_err(|errors| errors.to_string())
}

fn read(text: &str) -> ReadSource {
    read_part(text, None).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn error(text: &str) -> String {
    read_part(text, None).err().unwrap_or_else(|| panic!("{text}"))
}

/// The verdict of the only filter.
fn verdict(source: &ReadSource, name: &str, args: &[u64]) -> String {
    let [filter] = source.filters.as_slice() else { panic!("{} filters", source.filters.len()) };
    let mut data = SeccompData {
        nr: Arch::X86_64.number(name).unwrap(),
        arch: Arch::X86_64.token(),
        ..SeccompData::default()
    };
    data.args[..args.len()].copy_from_slice(args);
    filter.profile.policy.evaluate(&data).to_string()
}

fn warnings(source: &ReadSource) -> String {
    let lines: Vec<String> = source.warnings.iter().map(|one| one.diagnostic.to_string()).collect();
    lines.join("\n")
}

#[test]
fn rules_are_those_of_libseccomp() {
    let source = read(
        "import sys, errno\nfrom seccomp import *\n\nf = SyscallFilter(defaction=KILL)\n\
         f.add_rule(ALLOW, \"read\", Arg(0, EQ, sys.stdin.fileno()))\n\
         f.add_rule(ALLOW, 'write', Arg(0, LE, 2))\n\
         f.add_rule(ERRNO(errno.EACCES), \"openat\",\n           Arg(2, MASKED_EQ, 3, 1))  # O_WRONLY\n\
         f.add_rule(TRACE(7), 59)\nf.load()\n",
    );
    for (name, args, expected) in [
        ("read", &[0][..], "ALLOW"),
        ("read", &[1], "KILL_THREAD"),
        ("write", &[2], "ALLOW"),
        ("write", &[3], "KILL_THREAD"),
        ("openat", &[0, 0, 1], "ERRNO(EACCES)"),
        ("openat", &[0, 0, 3], "KILL_THREAD"),
        ("execve", &[], "TRACE(7)"),
        ("close", &[], "KILL_THREAD"),
    ] {
        assert_eq!(verdict(&source, name, args), expected, "{name} {args:?}");
    }
    assert!(
        warnings(&source).contains("5:38: sys.stdin.fileno is taken as the descriptor 0"),
        "{}",
        warnings(&source)
    );
}

#[test]
fn lists_loops_and_functions_are_run() {
    let object = error(
        "import os\ntry:\n    import seccomp\nexcept ImportError:\n    import pyseccomp as seccomp\n\n\
         BASE = (\"read\", \"write\")\nMORE = [\"close\"]\nMORE.append(\"dup\")\nMORE += \"fstat lseek\".split()\n\n\
         def allow(f, names, action=seccomp.ALLOW):\n    for name in names:\n        try:\n            f.add_rule(action, name)\n        except Exception:\n            pass\n\n\
         class Box:\n    def __init__(self):\n        self.f = seccomp.SyscallFilter(seccomp.ERRNO(1))\n\n    def start(self):\n        \"\"\"Start.\"\"\"\n\
         \x20       allow(self.f, [*BASE, \"nosuchcall\"])\n        allow(self.f, names=MORE)\n        for name, flag in [(\"open\", os.O_RDONLY)]: self.f.add_rule(seccomp.ALLOW, name, seccomp.Arg(1, seccomp.EQ, flag))\n        self.f.load()\n\n\
         def main():\n    if len(os.sys.argv) < 2:\n        print('usage')\n    box = Box()\n\nif __name__ == '__main__':\n    main()\n",
    );
    // Objects are not modelled.
    assert!(object.contains("the program ends before it installs a filter"), "{object}");
    let source = read(
        "from pyseccomp import SyscallFilter as Filter, ALLOW, ERRNO\nNAMES = ['read', 'close']\n\
         def allow(f, names, action=ALLOW):\n    for name in names:\n        try:\n            f.add_rule(action, name)\n        except Exception: pass\n\n\
         def install(names=NAMES):\n    f = Filter(ERRNO(1))\n    allow(f, [*names, 'nosuchcall'])\n    allow(f, 'fstat lseek'.split() + [\n        'dup',\n    ])\n    if False:\n        f.add_rule(ALLOW, 'mount')\n    elif True: f.add_rule(ALLOW, 'open'); f.add_rule(ALLOW, 'stat')\n    else:\n        f.add_rule(ALLOW, 'umount2')\n    return f\n\n\
         if __name__ == '__main__':\n    f = install()\n    f.load()\n",
    );
    for (name, expected) in [
        ("read", "ALLOW"),
        ("dup", "ALLOW"),
        ("fstat", "ALLOW"),
        ("stat", "ALLOW"),
        ("mount", "ERRNO(EPERM)"),
        ("umount2", "ERRNO(EPERM)"),
    ] {
        assert_eq!(verdict(&source, name, &[]), expected, "{name}");
    }
    assert!(warnings(&source).contains("nosuchcall"), "{}", warnings(&source));
}

#[test]
fn one_of_several_functions_is_chosen() {
    let text = "from seccomp import *\nX = [\"read\"]\ndef a():\n    f = SyscallFilter(KILL)\n    for s in X:\n        f.add_rule(ALLOW, s)\n    f.load()\ndef b():\n    f = SyscallFilter(ALLOW)\n    f.add_rule(ERRNO(13), \"open\")\n    f.load()\n";
    assert!(error(text).contains("several functions make filters: a, b"), "{}", error(text));
    let chosen = |name| read_part(text, Some(name)).unwrap();
    assert_eq!(verdict(&chosen("a"), "read", &[]), "ALLOW");
    assert_eq!(verdict(&chosen("b"), "open", &[]), "ERRNO(EACCES)");
    assert!(read_part(text, Some("c")).err().unwrap().contains("these make filters: a, b"));
}

#[test]
fn methods_use_the_members_of_their_class() {
    let source = read(
        "import seccomp, errno\nclass Box:\n    DENIED = ['ptrace', 'mount']\n    def install(self):\n        f = seccomp.SyscallFilter(seccomp.ALLOW)\n        for name in self.DENIED:\n            f.add_rule(seccomp.ERRNO(seccomp.errno.EACCES), name)\n        f.load()\n",
    );
    assert_eq!(verdict(&source, "mount", &[]), "ERRNO(EACCES)");
    assert_eq!(verdict(&source, "read", &[]), "ALLOW");
    // Whose method runs is not known.
    let two = "import seccomp\nclass A:\n    X = ['read']\n    def install(self):\n        f = seccomp.SyscallFilter(seccomp.KILL)\n        for n in self.X: f.add_rule(seccomp.ALLOW, n)\n        f.load()\nclass B:\n    X = ['open']\n";
    assert!(error(two).contains("what this loop runs over"), "{}", error(two));
}

#[test]
fn what_only_a_run_shows_is_refused() {
    let start = "import sys\nfrom seccomp import *\nf = SyscallFilter(KILL)\n";
    for (rest, message) in [
        (
            "for name in sys.argv: f.add_rule(ALLOW, name)\n",
            "what this loop runs over is known only when the program runs",
        ),
        (
            "if sys.argv:\n    f.add_rule(ALLOW, 'read')\n",
            "whether this condition holds is known only",
        ),
        ("while True:\n    f.add_rule(ALLOW, 'read')\n", "how often this loop runs is known only"),
        ("f.add_rule(ALLOW, sys.argv[1])\n", "the syscall of this rule is not known"),
        (
            "f.add_rule(ALLOW, 'read', Arg(0, EQ, fd))\n",
            "a comparison is not known: the value of `fd`",
        ),
        ("helper(f)\n", "`helper` is not read, and gets the filter"),
        ("[f.add_rule(ALLOW, n) for n in ('read',)]\n", "this expression is not read"),
        ("f.add_rule(KILL, 'read')\n", "its action is that of syscalls without a rule"),
        ("f.add_rule(ALLOW, 'nosuch')\n", "-1 is permitted only"),
        ("f.frob()\n", "a filter has no method `frob`"),
        ("x = 'open\n", "this string does not end"),
        ("raise SystemExit\n", "the program raises an exception here"),
    ] {
        let found = error(&format!("{start}{rest}f.load()\n"));
        assert!(found.contains(message), "{rest}: {found}");
        assert!(found.contains("help: "), "{rest}: {found}");
    }
    let names = "names = ['read']\nif sys.argv:\n    names.append('open')\nfor n in names: f.add_rule(ALLOW, n)\n";
    assert!(error(&format!("{start}{names}f.load()\n")).contains("what this loop runs over"));
    // What has nothing to do with filters does no harm.
    let source = read(&format!(
        "{start}x = [y for y in sys.argv]\nwhile x:\n    x = x[1:]\nprint(f'{{x}}', 1.5)\nf.add_rule(ALLOW, 'read')\nf.load()\n"
    ));
    assert_eq!(verdict(&source, "read", &[]), "ALLOW");
}

#[test]
fn hostile_programs_end() {
    let start = "from seccomp import *\n";
    let deep = format!(
        "{start}x = {}1{}\nf = SyscallFilter(KILL)\nf.load()\n",
        "(".repeat(500),
        ")".repeat(500)
    );
    assert!(error(&deep).contains("nested more than 40 deep"), "{}", error(&deep));
    assert!(
        error(&format!("{start}def a():\n    a()\na()\n")).contains("nested more than 40 deep")
    );
    let loops = "for a in L:\n for b in L:\n  for c in L:\n   for d in L: x = 1\n";
    let list = format!("L = [{}]\n", "1,".repeat(100));
    assert!(error(&format!("{start}{list}{loops}")).contains("200000 steps"));
    for text in [
        "",
        "f",
        "f = ",
        "def",
        "def f",
        "def f(",
        "for",
        "for x",
        "for x in",
        "if",
        "if:",
        "try:",
        "with",
        "x[",
        "x.",
        ".",
        "f = SyscallFilter(",
        "f = SyscallFilter(KILL)\nf.",
        "\\",
        "'",
        "\"\"\"",
        "x = *",
        "f(*",
        "f(a=",
        "a, = 1,",
        "\tx = 1\n  y",
    ] {
        let _ = read_part(&format!("{start}{text}"), None);
        let _ = read_part(text, Some("f"));
    }
    for more in
        ["x += x\n", "x = [x, x]\n", "x.append(x)\n", "x.extend(x)\n", "t += t\n", "x = (x,)\n"]
    {
        let _ = read_part(&format!("{start}x = ['a']\nt = 'a'\n{}", more.repeat(3000)), None);
    }
    let doubling =
        format!("{start}x = ['a']\n{}f = SyscallFilter(KILL)\nf.load()\n", "x += x\n".repeat(64));
    let _ = read_part(&doubling, None);
}
