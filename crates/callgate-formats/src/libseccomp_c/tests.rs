//! What programs mean, and messages about them.

use super::{ReadOptions, read};
use crate::languages::{LanguageId, detect};
use crate::profile::Profile;
use callgate_bpf::FilterFlags;
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_bpf::text::Definition;
use callgate_core::{Arch, SeccompData, Verdict};

const ALLOW: Verdict = Verdict::ALLOW;
const KILL: Verdict = Verdict::KILL_THREAD;
const EPERM: Verdict = Verdict::errno(1);

fn filters(text: &str) -> Result<Vec<Profile>, Diagnostics> {
    read(text, &ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64) })
}

#[track_caller]
fn filter(text: &str) -> Profile {
    let mut filters = filters(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(filters.len(), 1);
    filters.remove(0)
}

/// The filter of the statements of a function, which makes the context itself.
#[track_caller]
fn body(statements: &str) -> Profile {
    filter(&format!("void f(void) {{\n{statements}\n}}"))
}

/// The filter of statements after the context was made, which allows what they do not mention.
#[track_caller]
fn rules(statements: &str) -> Profile {
    body(&format!(
        "scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW); int i, rc = 0; {statements}\nseccomp_load(ctx);"
    ))
}

fn errors(text: &str) -> String {
    filters(text).map_or_else(|errors| errors.to_string(), |_| "no error".to_owned())
}

/// The first line of the messages about statements after the context was made.
fn error(statements: &str) -> String {
    let text = format!(
        "void f(int level) {{ scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW); int i;\n{statements}\nseccomp_load(ctx); }}"
    );
    errors(&text).lines().next().unwrap_or_default().to_owned()
}

fn on(profile: &Profile, arch: Arch, name: &str, args: &[u64]) -> Verdict {
    let mut data = SeccompData { arch: arch.token(), ..SeccompData::default() };
    data.nr = arch.number(name).unwrap();
    for (slot, value) in data.args.iter_mut().zip(args) {
        *slot = *value;
    }
    profile.policy.evaluate(&data)
}

fn verdict(profile: &Profile, name: &str, args: &[u64]) -> Verdict {
    on(profile, Arch::X86_64, name, args)
}

#[test]
fn calls_are_rules() {
    let profile = body(
        "scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL);
         if (!ctx) return;
         seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 0);
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), 59, 0);
         seccomp_rule_add(ctx, SCMP_ACT_ALLOW, __NR_write, 1, SCMP_A0(SCMP_CMP_EQ, 1));
         seccomp_rule_add_exact(ctx, SCMP_ACT_TRACE(7), SCMP_SYS(open), 2,
             SCMP_CMP(1, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDONLY), SCMP_A2(SCMP_CMP_LT, 8));
         seccomp_load(ctx);
         seccomp_release(ctx);",
    );
    assert_eq!(verdict(&profile, "read", &[]), ALLOW);
    assert_eq!(verdict(&profile, "execve", &[]), EPERM);
    assert_eq!(verdict(&profile, "write", &[1]), ALLOW);
    assert_eq!(verdict(&profile, "write", &[1 << 32 | 1]), KILL);
    assert_eq!(verdict(&profile, "open", &[0, 0x80_000]), Verdict::trace(7));
    assert_eq!(verdict(&profile, "open", &[0, 1]), KILL);
    assert_eq!(verdict(&profile, "open", &[0, 0, 8]), KILL);
    assert_eq!(verdict(&profile, "mount", &[]), KILL);
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
    let rule = &profile.statements.unwrap().rules[0];
    assert_eq!((rule.name.as_str(), rule.site.position.line), ("read", 4));
}

#[test]
fn values_are_converted_as_in_c() {
    // A negative `int` has all bits of the upper half, `(uint32_t)` and SCMP_A0_32 none.
    let profile = rules(
        "seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(openat), 1, SCMP_A0(SCMP_CMP_EQ, AT_FDCWD));
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(mkdirat), 1, SCMP_A0_32(SCMP_CMP_EQ, AT_FDCWD));
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(close), 1, SCMP_A0(SCMP_CMP_EQ, (uint32_t)-1));
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, (int)TIOCSTI));",
    );
    let wide = (-100i64) as u64;
    assert_eq!(verdict(&profile, "openat", &[wide]), EPERM);
    assert_eq!(verdict(&profile, "openat", &[wide & 0xffff_ffff]), ALLOW);
    assert_eq!(verdict(&profile, "mkdirat", &[wide & 0xffff_ffff]), EPERM);
    assert_eq!(verdict(&profile, "mkdirat", &[wide]), ALLOW);
    assert_eq!(verdict(&profile, "close", &[0xffff_ffff]), EPERM);
    assert_eq!(verdict(&profile, "ioctl", &[0, 0x5412]), EPERM);
    // The hole that such rules have.
    assert_eq!(verdict(&profile, "ioctl", &[0, 1 << 32 | 0x5412]), ALLOW);
}

#[test]
fn loops_over_arrays_are_run() {
    let profile = filter(
        "static const int denied[] = { SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(vm86), };
         static struct { int nr; int error; const struct scmp_arg_cmp *test; } table[] = {
             { SCMP_SYS(clone), EPERM, &SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER) },
             { .nr = SCMP_SYS(clone3), .error = ENOSYS },
         };
         static const int pairs[][2] = { { 1, 2 }, { 3, 4 } };
         const char *names[] = { \"swapon\", \"swapoff\" };
         int install(void) {
             scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
             int rc = 0;
             for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
                 rc |= seccomp_rule_add(ctx, SCMP_ACT_KILL, denied[i], 0);
             for (unsigned i = 0; i < ARRAY_SIZE(table); ++i) {
                 int nr = table[i].nr, error = table[i].error;
                 if (table[i].test)
                     rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(error), nr, 1, *table[i].test);
                 else
                     rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(error), nr, 0);
                 if (rc < 0)
                     goto out;
             }
             for (int i = 0; i < sizeof pairs / sizeof *pairs; i++)
                 seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(prctl), 2, SCMP_A0(SCMP_CMP_EQ, pairs[i][0]),
                     SCMP_A1(SCMP_CMP_EQ, pairs[i][1]));
             for (int i = 0; i < 2; i++) {
                 int nr = seccomp_syscall_resolve_name(names[i]);
                 if (nr == __NR_SCMP_ERROR)
                     continue;
                 seccomp_rule_add(ctx, SCMP_ACT_KILL, nr, 0);
             }
             rc = seccomp_load(ctx);
         out:
             seccomp_release(ctx);
             return rc;
         }",
    );
    for name in ["mount", "umount2", "swapon", "swapoff"] {
        assert_eq!(verdict(&profile, name, &[]), KILL, "{name}");
    }
    assert_eq!(verdict(&profile, "clone", &[0x1000_0011]), EPERM);
    assert_eq!(verdict(&profile, "clone", &[0x11]), ALLOW);
    assert_eq!(verdict(&profile, "clone3", &[]), Verdict::errno(38));
    assert_eq!(verdict(&profile, "prctl", &[3, 4]), KILL);
    assert_eq!(verdict(&profile, "prctl", &[1, 4]), ALLOW);
}

#[test]
fn macros_and_functions_are_followed() {
    let profile = filter(
        "#define TRY(nr, ...) do { if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(nr), __VA_ARGS__) != 0) goto fail; } while (0)
         static scmp_filter_ctx ctx;
         static int allow(int nr) { return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0); }
         static void group(const int *list, size_t count) { while (count-- > 0) allow(*list++); }
         static uint32_t action(int is_strict) { return is_strict ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM); }
         static const int basic[] = { SCMP_SYS(read), SCMP_SYS(write) };
         static int begin(void) { ctx = seccomp_init(action(0)); return ctx == NULL ? -1 : 0; }
         int main(int argc, char **argv) {
             if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) { perror(\"prctl\"); return 1; }
             if (argc > 1) printf(\"%s\\n\", argv[1]);
             if (begin() < 0) return 1;
             group(basic, sizeof(basic) / sizeof(basic[0]));
             TRY(futex, 0);
             TRY(close, 1, SCMP_A0(SCMP_CMP_GE, 3));
             switch (seccomp_load(ctx)) { case 0: break; default: goto fail; }
             while (1) { if (work()) return 3; }
         fail:
             return 2;
         }",
    );
    for name in ["read", "write", "futex"] {
        assert_eq!(verdict(&profile, name, &[]), ALLOW, "{name}");
    }
    assert_eq!(verdict(&profile, "close", &[3]), ALLOW);
    assert_eq!(verdict(&profile, "close", &[2]), EPERM);
    assert_eq!(verdict(&profile, "mount", &[]), EPERM);
}

#[test]
fn comparisons_may_be_in_arrays() {
    let profile = rules(
        "struct scmp_arg_cmp both[] = { SCMP_A0(SCMP_CMP_EQ, 2), { 1, SCMP_CMP_NE, 5 } };
         struct scmp_arg_cmp one[1];
         one[0] = SCMP_CMP(2, SCMP_CMP_GT, 9);
         seccomp_rule_add_array(ctx, SCMP_ACT_KILL, SCMP_SYS(socket), 2, both);
         seccomp_rule_add_array(ctx, SCMP_ACT_KILL, SCMP_SYS(socketpair), 1, one);
         seccomp_rule_add_exact_array(ctx, SCMP_ACT_KILL, SCMP_SYS(mount), 0, NULL);",
    );
    assert_eq!(verdict(&profile, "socket", &[2, 4]), KILL);
    assert_eq!(verdict(&profile, "socket", &[2, 5]), ALLOW);
    assert_eq!(verdict(&profile, "socketpair", &[0, 0, 10]), KILL);
    assert_eq!(verdict(&profile, "mount", &[]), KILL);
}

#[test]
fn architectures_get_the_rules_that_follow() {
    let profile = rules(
        "seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(mount), 0);
         if (seccomp_arch_add(ctx, SCMP_ARCH_X86) == -EEXIST) rc = 0;
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(reboot), 0);
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(vm86), 0);
         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(1), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_ALG));
         seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRAP);
         seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);",
    );
    assert_eq!(verdict(&profile, "mount", &[]), EPERM);
    assert_eq!(on(&profile, Arch::X86, "mount", &[]), ALLOW);
    assert_eq!(on(&profile, Arch::X86, "reboot", &[]), EPERM);
    assert_eq!(on(&profile, Arch::X86, "vm86", &[]), EPERM);
    assert_eq!(on(&profile, Arch::X86, "socketcall", &[1]), EPERM);
    assert_eq!(on(&profile, Arch::Aarch64, "mount", &[]), Verdict::trap(0));
    // The numbers of x32 belong to another architecture.
    assert_eq!(on(&profile, Arch::X32, "mount", &[]), Verdict::trap(0));
    assert_eq!(profile.flags, FilterFlags::TSYNC);
    assert!(profile.warnings.iter().any(|warning| warning.message.contains("socketcall")));
    let removed =
        rules("seccomp_arch_add(ctx, SCMP_ARCH_X32); seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);");
    assert_eq!(on(&removed, Arch::X32, "mount", &[]), ALLOW);
    assert_eq!(verdict(&removed, "mount", &[]), KILL);
}

#[test]
fn refused_calls_return_their_errors() {
    // The program goes on, or it ends before it loads the filter.
    let profile = rules(
        "rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 0);
         if (rc != -EACCES) seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(read), 0);
         seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 1));
         seccomp_rule_add(ctx, SCMP_ACT_TRAP, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 1));
         seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(open), 2, SCMP_A0(SCMP_CMP_EQ, 1), SCMP_A0(SCMP_CMP_EQ, 2));
         seccomp_rule_add(ctx, SCMP_ACT_KILL, -1, 0);",
    );
    assert_eq!(verdict(&profile, "read", &[]), ALLOW);
    assert_eq!(verdict(&profile, "write", &[1]), KILL);
    assert_eq!(verdict(&profile, "open", &[1]), ALLOW);
    let messages: Vec<&str> =
        profile.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "libseccomp refuses this rule with EACCES: its action is that of syscalls without a rule, ALLOW",
            "libseccomp refuses this rule with EEXIST: it contradicts an earlier rule of this syscall",
            "libseccomp refuses this rule with EINVAL: it compares argument 0 twice",
            "libseccomp refuses this rule with EINVAL: -1 is permitted only with SCMP_FLTATR_API_TSKIP",
        ]
    );
    let ended = errors(
        "int f(void) { scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);\n\
         if (seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(read), 0) < 0) return -1;\nreturn seccomp_load(c); }",
    );
    assert!(ended.contains("2:5: "), "{ended}");
    assert!(ended.contains("the program ends before it installs a filter"), "{ended}");
}

#[test]
fn conditions_that_do_not_matter_are_passed() {
    let profile = filter(
        "extern int debug;
         int f(const char *name, int fd) {
             int rc, tries = 0, unused;
             scmp_filter_ctx ctx;
             if (getenv(\"NO_SANDBOX\") != NULL) return 0;
             if (debug && name) { printf(\"%s\", name); unused = 1; } else unused = 2;
             while (read(fd, &unused, 4) > 0) { if (unused == 3) return -1; tries++; }
             for (;;) { if (tries++ > 3 || !poll(0, 0, unused)) break; }
             ctx = seccomp_init(SCMP_ACT_KILL);
             if (ctx == NULL) { rc = errno; goto out; }
             if ((rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 0)) < 0) {
                 log_error(\"no\", strerror(-rc)); goto out;
             }
             if (debug) seccomp_export_pfc(ctx, 2);
             if (fork() == 0) { rc = seccomp_load(ctx); if (rc) abort(); execve(name, 0, 0); }
         out:
             seccomp_release(ctx);
             return rc;
         }",
    );
    assert_eq!(verdict(&profile, "read", &[]), ALLOW);
    assert_eq!(verdict(&profile, "write", &[]), KILL);
}

#[test]
fn what_only_a_run_shows_is_refused() {
    for (statements, message) in [
        (
            "if (level > 1) seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(read), 0);",
            "2:1: the filter depends on this condition, and the value of `level` is not known",
        ),
        (
            "seccomp_rule_add(ctx, SCMP_ACT_KILL, level, 0);",
            "2:1: the syscall of this rule is not known: the value of `level` is not known",
        ),
        (
            "seccomp_rule_add(ctx, level, SCMP_SYS(read), 0);",
            "2:1: the action of this rule is not known: the value of `level` is not known",
        ),
        (
            "seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(kill), 1, SCMP_A0(SCMP_CMP_EQ, getpid()));",
            "2:1: the value of a comparison is not known: the result of `getpid` is known only when the program runs",
        ),
        (
            "for (i = 0; i < level; i++) seccomp_rule_add(ctx, SCMP_ACT_KILL, i, 0);",
            "2:1: this loop changes the filter, and the value of `level` is not known",
        ),
        (
            "switch (level) { case 1: seccomp_rule_add(ctx, SCMP_ACT_KILL, 1, 0); break; default: break; }",
            "2:1: the filter depends on this condition, and the value of `level` is not known",
        ),
        (
            "more_rules(ctx);",
            "2:1: `more_rules` gets the filter and may change it, but is not read",
        ),
        (
            "seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(raed), 0);",
            "2:38: no architecture has a syscall `raed`",
        ),
        (
            "seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(read), 1);",
            "2:1: this rule has 1 comparisons, of which 0 are given",
        ),
        (
            "seccomp_rule_add(other, SCMP_ACT_KILL, 1, 0);",
            "2:1: the filter that this call is about is not known: the value of `other` is not known",
        ),
    ] {
        assert_eq!(error(statements), message, "{statements}");
    }
    assert!(
        errors("int f(int a) { seccomp_load(seccomp_init(a)); }")
            .contains("the default action is not known")
    );
    let helper = "scmp_filter_ctx c; void a(void) { c = seccomp_init(SCMP_ACT_KILL); }\nvoid b(void) { seccomp_rule_add(c, SCMP_ACT_ALLOW, 1, 0); }";
    assert!(
        errors(helper).starts_with(
            "2:16: `b` changes a filter, but the text does not show when it is called"
        ),
        "{}",
        errors(helper)
    );
}

#[test]
fn given_values_decide() {
    let text = "void f(int level) { scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);\n\
        if (level > 1) seccomp_rule_add(c, SCMP_ACT_KILL, SCMP_SYS(read), 0);\n#ifdef STRICT\n\
        seccomp_rule_add(c, SCMP_ACT_KILL, SCMP_SYS(write), 0);\n#endif\nseccomp_load(c); }";
    let read_with = |definitions: &[&str]| {
        let definitions = definitions.iter().map(|one| Definition::new(one).unwrap()).collect();
        read(text, &ReadOptions { definitions, ..ReadOptions::new(Arch::X86_64) })
    };
    let profile = &read_with(&["level=2", "STRICT"]).unwrap()[0];
    assert_eq!([verdict(profile, "read", &[]), verdict(profile, "write", &[])], [KILL, KILL]);
    assert!(read_with(&["level=2"]).unwrap_err().to_string().contains("`STRICT` is not defined"));
}

#[test]
fn what_the_headers_define_is_defined() {
    let profile = filter(
        "#include <seccomp.h>
         void f(void) { void *ctx = seccomp_init(SCMP_ACT_ALLOW);
         #if defined(__NR_mseal) && defined(__SNR_mseal)
         seccomp_rule_add(ctx, SCMP_ACT_KILL, SCMP_SYS(mseal), 0);
         #endif
         #ifdef SCMP_ACT_KILL_PROCESS
         seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, __SNR_read, 0);
         #endif
         #if SCMP_VER_MAJOR >= 2 && defined(__SNR_vm86)
         seccomp_rule_add(ctx, SCMP_ACT_KILL, __SNR_write, 0);
         #endif
         seccomp_load(ctx); }",
    );
    assert_eq!(verdict(&profile, "mseal", &[]), KILL);
    assert_eq!(verdict(&profile, "read", &[]), Verdict::KILL_PROCESS);
    assert_eq!(verdict(&profile, "write", &[]), KILL);
}

#[test]
fn one_of_several_functions_is_chosen() {
    let text = "void a(void) { scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW); seccomp_load(c); }\n\
        void b(void) { scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL); seccomp_load(c); }\nint main(void) { a(); b(); }";
    assert!(
        errors(text).starts_with("several functions make a filter: `a`, `b`"),
        "{}",
        errors(text)
    );
    let chosen = |name: &str| {
        let function = Some(name.to_owned());
        read(text, &ReadOptions { function, ..ReadOptions::new(Arch::X86_64) })
    };
    assert_eq!(verdict(&chosen("b").unwrap()[0], "read", &[]), KILL);
    assert!(chosen("c").unwrap_err().to_string().contains("no function `c` makes a filter"));
    // One function that installs two.
    let both = filters(
        "void f(void) { scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW); seccomp_load(c);\n\
         seccomp_rule_add(c, SCMP_ACT_KILL, SCMP_SYS(read), 0); seccomp_load(c); }",
    )
    .unwrap();
    assert_eq!([0, 1].map(|at| verdict(&both[at], "read", &[])), [ALLOW, KILL]);
}

#[test]
fn fragments_are_read() {
    let profile = filter(
        "ctx = seccomp_init(SCMP_ACT_KILL);\nint s[] = { SCMP_SYS(read), SCMP_SYS(write) };\n\
         for (int i = 0; i < 2; i++) seccomp_rule_add(ctx, SCMP_ACT_ALLOW, s[i], 0);",
    );
    assert_eq!(verdict(&profile, "write", &[]), ALLOW);
    // Other ways to end: an export, and no call at all.
    let exported = body(
        "void *c = seccomp_init(SCMP_ACT_LOG); seccomp_export_bpf(c, 1); seccomp_export_bpf(c, 2);",
    );
    assert_eq!(verdict(&exported, "read", &[]), Verdict::LOG);
    let merged = body(
        "void *a = seccomp_init(SCMP_ACT_KILL), *b = seccomp_init(SCMP_ACT_KILL);
         seccomp_arch_remove(b, SCMP_ARCH_NATIVE); seccomp_arch_add(b, SCMP_ARCH_X86);
         seccomp_rule_add(b, SCMP_ACT_ALLOW, SCMP_SYS(read), 0); seccomp_merge(a, b);
         seccomp_transaction_start(a); seccomp_rule_add(a, SCMP_ACT_ALLOW, SCMP_SYS(write), 0);
         seccomp_transaction_reject(a); seccomp_load(a);",
    );
    assert_eq!(on(&merged, Arch::X86, "read", &[]), ALLOW);
    assert_eq!(verdict(&merged, "read", &[]), KILL);
    assert_eq!(verdict(&merged, "write", &[]), KILL);
}

#[test]
fn hostile_programs_end_with_a_message() {
    let deep = |open: &str, close: &str, count: usize| {
        format!(
            "void f(void) {{ void *c = seccomp_init(SCMP_ACT_KILL); seccomp_load(c, {}1{}); }}",
            open.repeat(count),
            close.repeat(count)
        )
    };
    for text in [
        deep("(", ")", 100_000),
        deep("!", "", 100_000),
        deep("-", "", 200),
        deep("f(", ")", 240),
        deep("1 ? 1 : ", "", 5_000),
        deep("*&", "", 10_000),
        format!("void f(void) {{ void *c = seccomp_init(0); {} ; }}", "if (x) ".repeat(50_000)),
        format!("void f(void) {{ void *c = seccomp_init(0); {} }}", "if (x()) return; else ".repeat(2_000)),
        format!("void f(void) {{ void *c = seccomp_init(0); {} }}", "{ ".repeat(5_000)),
        "void f(void) { void *c = seccomp_init(0); for (;;) seccomp_rule_add(c, SCMP_ACT_ALLOW, 1, 0); }".to_owned(),
        "void f(void) { void *c = seccomp_init(0); f(); }".to_owned(),
        format!("void f(void) {{ void *c = seccomp_init(0); {} seccomp_load(c); }}", "if (x()) goto end; ".repeat(10)),
        format!("void f(void) {{ void *c = seccomp_init(0); {} seccomp_load(c); }}", "if (x()) seccomp_rule_add(c, SCMP_ACT_ALLOW, 1, 0); ".repeat(100)),
        "void f(void) { void *c = seccomp_init(".to_owned(),
        "seccomp_init(\u{0}) }}}".to_owned(),
        "int a[65536][65536]; int b[] = { [99999999999] = 1 }; struct s { struct s x[9999]; } t[9999]; void f(void) { seccomp_load(seccomp_init(0), b[1], t); }".to_owned(),
        "x".repeat(2_000_000),
    ] {
        let message = errors(&text);
        assert!(message.len() < 2_000, "{}", message.chars().take(500).collect::<String>());
    }
    // Many ways that do not matter.
    let ways = format!(
        "void f(void) {{ void *c = seccomp_init(SCMP_ACT_KILL); {} seccomp_load(c); }}",
        "if (x()) return; ".repeat(300)
    );
    assert_eq!(verdict(&filter(&ways), "read", &[]), KILL);
}

#[test]
fn every_cut_of_a_program_is_read_or_refused() {
    let text = "#define A(x) seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(x), 0)\nstatic const int l[] = { SCMP_SYS(read) };\n\
        int f(int n) { void *c = seccomp_init(SCMP_ACT_KILL); for (int i = 0; i < 1; i++) A(write); switch (n) { case 1: return 2; }\n\
        do { if (seccomp_load(c) < 0) goto out; } while (0); out: return sizeof(l) / sizeof(l[0]) ? -1 : (int){ 2 }; }";
    for at in 0..text.len() {
        let _ = filters(&text[..at]);
        let _ = filters(&text[at..]);
    }
    assert_eq!(verdict(&filter(text), "write", &[]), ALLOW);
}

#[test]
fn programs_are_detected() {
    let name = |extension, text: &str| {
        detect(extension, text.as_bytes()).map(|(id, _)| LanguageId::name(id))
    };
    let text = "int f(void) { ctx = seccomp_init(SCMP_ACT_KILL); }";
    assert_eq!(name(Some("c"), text), Some("scmp"));
    assert_eq!(name(None, text), Some("scmp"));
    assert_eq!(name(Some("c"), "struct sock_filter f[] = { { 6, 0, 0, 0 } };"), None);
}
