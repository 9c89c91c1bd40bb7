//! Uses of the array of a text in C: those that may change it, or install only a part of it, are refused.

use super::hostile_tests::{array, read};

#[test]
fn another_part_of_the_array_is_refused() {
    let rows = array("{6,0,0,1},{6,0,0,2},");
    for code in [
        "struct sock_fprog p = { 1, f + 1 };",
        "struct sock_fprog p = { 1, f };",
        "struct sock_fprog p = { .len = 1, .filter = f };",
        "struct sock_fprog p = { .filter = f, .len = sizeof(f) / sizeof(f[0]) - 1 };",
        "struct sock_fprog p = { .len = 2, .filter = &f[1] };",
        "struct sock_fprog p; void g(void) { p.len = 1; p.filter = f; }",
        "void g(void) { struct sock_filter *q = f; q++; struct sock_fprog p = { n, q }; }",
        "void g(void) { struct sock_filter *q = f; q += 1; p.filter = q; }",
    ] {
        let found = read(&format!("{rows}{code}"));
        assert!(found.unwrap_err().contains("a part of th"), "{code}");
    }
    for code in [
        "struct sock_fprog p = { 2, f };",
        "struct sock_fprog p = { .len = sizeof(f) / sizeof(f[0]), .filter = f };",
        "struct sock_fprog p = { (unsigned short)(sizeof(f) / sizeof(*f)), &f[0] };",
        "struct key k; void g(void) { k.len = 7; for (int i = 0; i < 2; i++) print(f[i].k); }",
    ] {
        assert_eq!(read(&format!("{rows}{code}")), Ok(vec![1, 2]), "{code}");
    }
}

const TWO: &str = "{6,0,0,1},{6,0,0,2},";

/// An array of two instructions, with what is before it, and a function after it with this code.
fn with(start: &str, code: &str) -> String {
    format!("{start}\n{}int g(void) {{ {code} }}", array(TWO))
}

#[track_caller]
fn is_whole(text: &str) {
    assert_eq!(read(text), Ok(vec![1, 2]), "{text}");
}

/// One of these is the reason that a text is refused.
#[track_caller]
fn is_refused(text: &str, reasons: &[&str]) {
    let error = read(text).expect_err(text);
    assert!(reasons.iter().any(|reason| error.contains(reason)), "{text}: {error}");
}

const CHANGED: &[&str] = &["chang"];
const CHANGED_OR_PART: &[&str] = &["chang", "a part of"];

#[test]
fn an_array_that_may_be_changed_is_refused() {
    for code in [
        "f[0] = g;",
        "f[1].k = 5;",
        "*f = g;",
        "(*(f+1)).k = 5;",
        "(f + 1)->k = 5;",
        "*(1 + f) = g;",
        "*(unsigned long *)f = 0;",
        "((unsigned char *)f)[3] = 1;",
        "((char *)&f[0].k)[1] = 1;",
        "(f)[0] = g;",
        "0[f] = g;",
        "if (x) *f = g;",
        "else *f = g;",
        "struct sock_filter *p; p = f; p->k = 3;",
        "struct sock_filter *p = f; *p = g;",
        "struct sock_filter *p = &f[1], *q = p; *q++ = g;",
        "struct sock_filter *p = f; (*p).k++;",
        "unsigned int *p = &f[0].k; *p = 3;",
        "unsigned int *p = &f->k; p[2] = 3;",
        "struct sock_filter (*p)[2] = &f; (*p)[0] = g;",
        "struct sock_filter *p = f; struct sock_filter **q = &p; **q = g;",
        "memcpy(f, o, sizeof(f));",
        "memcpy(&f[1], o, sizeof(f[0]));",
        "memcpy((char *)f + 4, &x, 4);",
        "memmove(f, f + 1, sizeof(g));",
        "memset(f, 0, sizeof f);",
        "bcopy(o, f, sizeof(f));",
        "bzero(f, sizeof(f));",
        "read(0, f, sizeof(f));",
        "memcpy(&f[0].k, &x, 4);",
        "patch(f);",
        "patch(&f[1]);",
        "patch(&f);",
        "patch(2, f + 0);",
        "(*fn)(f);",
        "ops->fn(f);",
        "return f;",
        "p = x ? f : o;",
        "struct { int n; struct sock_filter *p; } s = { 2, f };",
        "o[0] = f;",
        "*o = f;",
        "s->f = f; s->f[1] = g;",
        "struct sock_fprog prog = { .len = 2, .filter = f }; prog.filter[0] = g;",
        "struct sock_fprog prog = { 2, f }; prog.filter[0] = g;",
        "struct sock_fprog prog = { 2, f }; memcpy(prog.filter, o, 16);",
        "struct sock_fprog prog = { 2, f }; *prog.filter = g;",
        "struct sock_fprog prog = { 2, f }; patch(&prog);",
        "struct sock_fprog prog = { 2, f }, *p = &prog; patch(p);",
        "struct sock_filter c[2]; memcpy(c, f, sizeof(f)); c[0] = g;",
        "asm volatile(\"\" : \"=m\"(f));",
        "std::swap(f[0], f[1]);",
        "auto &first = f[0]; first.k = 3;",
        "for (auto &one : f) one.k = 3;",
        "swap(&f[0], &f[1]);",
        "build_seccomp(f);",
        "RESIZE(f);",
        "ARRAY_SIZE(f, 3);",
    ] {
        is_refused(&with("", code), CHANGED_OR_PART);
    }
    for (start, code) in [
        ("void patch(struct sock_filter *p, int n) { p[n] = x; }", "patch(f, 1);"),
        ("void patch(int n, struct sock_filter p[]) { init(p); }", "patch(1, f);"),
        ("#define SET(a, i, v) (a)[i] = v", "SET(f, 0, g);"),
        (
            "static void patch(struct sock_fprog *p) { p->filter[0] = x; }",
            "struct sock_fprog prog = { 2, f }; patch(&prog);",
        ),
        ("void patch(struct sock_filter *p);", "patch(f);"),
        ("int patch(struct sock_filter p[2]) { return p[0].k++; }", "patch(f);"),
    ] {
        is_refused(&with(start, code), CHANGED);
    }
    for text in [
        "void g(void) { struct sock_fprog p = { .filter = (struct sock_filter[]) { {6,0,0,1} } };\np.filter[0] = x; }",
        "void g(void) { patch((struct sock_filter[]) { {6,0,0,1} }, 1); }",
        &with("", "((struct sock_filter *)f)[0] = x;")
            .replace("struct sock_filter f", "static const struct sock_filter f"),
    ] {
        is_refused(text, CHANGED);
    }
}

#[test]
fn an_array_that_is_only_installed_or_read_is_the_filter() {
    for code in [
        "prctl(PR_SET_SECCOMP, 2, &(struct sock_fprog){ 2, f });",
        "x = (unsigned short)ARRAY_SIZE(f) + nitems(f) + __arraycount(f);",
        "struct sock_fprog prog = { .len = ARRAY_SIZE(f), .filter = f }; prctl(PR_SET_SECCOMP, 2, &prog);",
        "struct sock_fprog prog = { .filter = (struct sock_filter *)f, .len = sizeof f / sizeof *f }; if (seccomp(1, 0, &prog)) return 1;",
        "struct sock_fprog p; p.filter = f; p.len = sizeof(f) / sizeof(f[0]); syscall(__NR_seccomp, 1, 0, &p);",
        "struct sock_fprog *p = &q; p->filter = f; setsockopt(s, 1, 26, p, sizeof(*p));",
        "struct sock_fprog p = { sizeof(f) / sizeof((f)[0]), f }; ioctl(s, TUNATTACHFILTER, &p);",
        "for (i = 0; i < 2; i++) printf(\"%x %x\", f[i].code, (f[i]).k);",
        "if (x == f[0].k && f[1].jt) x = f[0].k + 1; x += f[0].k;",
        "struct sock_filter c = f[0]; x = c.k;",
        "fwrite(f, sizeof(f[0]), 2, stdout); write(1, &f[0], sizeof(f));",
        "(void)f;",
        "struct sock_filter *p = f; for (; p->code; x++) print(p->k);",
        "if (memcmp(f, o, sizeof(f)) == 0) return 0;",
        "_Static_assert(sizeof(f) == 16, \"\"); x = y * f[0].k; x = (int)f[0].k & f[1].k;",
        "struct key { int f; } q; q.f = 5; o->f = 3;",
    ] {
        is_whole(&with("", code));
    }
    for (start, code) in [
        (
            "static int install(struct sock_filter *filter, unsigned short len) { struct sock_fprog prog = { .len = len, .filter = filter }; return prctl(22, 2, &prog); }",
            "return install(f, 2);",
        ),
        (
            "static int install(struct sock_fprog *p) { return syscall(SYS_seccomp, 1, 0, p); }",
            "struct sock_fprog prog = { 2, f }; install(&prog);",
        ),
        ("int check(const struct sock_filter *f, int n);", "check(f, 2);"),
        (
            "#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))",
            "struct sock_fprog prog = { COUNT_OF(f), f };",
        ),
    ] {
        is_whole(&with(start, code));
    }
    // Constant arrays cannot be changed by a function.
    let constant = array(TWO).replace("struct sock_filter f", "static const struct sock_filter f");
    let text = format!("{constant}int g(void) {{ return install(f, 2); }}");
    is_whole(&text);
    // The name of a local array means something else outside of its block.
    let text = format!(
        "int g(void) {{ {}return 0; }}\nvoid h(char *f) {{ f[0] = 0; init(f); }}",
        array(TWO).replace("#include <linux/filter.h>\n", "")
    );
    is_whole(&text);
}

#[test]
fn elements_that_are_assigned_one_by_one_are_in_their_order() {
    let row =
        |place: &str, k: u32| format!("{place} = (struct sock_filter)BPF_STMT(BPF_RET, {k});");
    for (places, is_read) in [
        (["f[0]", "f[1]"], true),
        (["f[n++]", "f[n++]"], true),
        (["*p++", "*p++"], true),
        (["f[1]", "f[0]"], false),
        (["f[0]", "f[0]"], false),
        (["f[i]", "f[j]"], false),
    ] {
        let [first, second] = places;
        let text = format!("void g(void) {{ {} {} }}", row(first, 1), row(second, 2));
        assert_eq!(read(&text).is_ok(), is_read, "{text}: {:?}", read(&text));
    }
}

#[test]
fn an_array_in_a_structure_is_followed() {
    let text = |code: &str| {
        format!(
            "struct {{ int n; struct sock_filter f[1]; }} x = {{ .n = 1, .f = {{ {{6,0,0,1}} }} }};\nvoid g(void) {{ {code} }}"
        )
    };
    assert_eq!(read(&text("x.n = 3; use(x.f[0].k);")), Ok(vec![1]));
    for code in ["x.f[0].k = 3;", "memset(&x, 0, sizeof x);", "patch(x.f);", "patch(&x);"] {
        assert!(read(&text(code)).unwrap_err().contains("chang"), "{code}");
    }
}

/// Each with what is before the array, and the code after it.
#[test]
fn a_store_through_any_other_expression_is_refused() {
    let context = "struct ctx { struct sock_filter *filter, *insns; };";
    for (start, code) in [
        // The value of an assignment is a pointer, too.
        ("", "struct sock_filter *p, *q; p = q = f; p[0] = x;"),
        ("", "struct sock_filter *p; (p = f)[0] = x;"),
        ("", "struct sock_filter *p; *(p = f) = x;"),
        ("", "struct sock_filter *p; memset(p = f, 0, 8);"),
        ("", "struct sock_filter *p = f; *(p += 1) = x;"),
        ("", "struct sock_filter *p = f; (p = p + 1)->k = x;"),
        ("", "int a[] = { (p = f) != 0 }; p[0] = x;"),
        ("", "if (p = f) p[0] = x;"),
        ("", "p = f ?: o; p[0] = x;"),
        ("", "*(f ?: o) = x;"),
        ("", "p = ({ f; }); p[0] = x;"),
        ("", "p = ({ struct sock_filter *q = f; q; }); p[0] = x;"),
        ("", "*({ struct sock_filter *q; q = f; }) = x;"),
        ("", "p = (n, f); p[0] = x;"),
        // Members of other structures.
        (context, "} void h(struct ctx *p) { p->filter = f; p->filter[0] = x;"),
        (context, "} void h(struct ctx *p, struct ctx *q) { p->filter = f; q->filter[0] = x;"),
        (context, "struct ctx c; c.insns = f; memset(c.insns, 0, 16);"),
        (context, "struct ctx c = { .insns = f }, *p = &c; p->insns[0] = x;"),
        ("", "union { struct sock_filter *p; unsigned *w; } u; u.p = f; u.w[1] = 3;"),
        // Functions that install programs, not arrays.
        ("", "syscall(__NR_read, fd, f, sizeof f);"),
        ("", "syscall(SYS_getrandom, f, sizeof(f), 0);"),
        ("", "prctl(PR_GET_NAME, f);"),
        ("", "ioctl(0, TIOCGWINSZ, f);"),
        ("static void seccomp(struct sock_filter *q) { q[0] = x; }", "seccomp(f);"),
        ("static void raw_seccomp(struct sock_filter *q) { q[0] = x; }", "raw_seccomp(f);"),
        ("static void array(struct sock_filter *q) { q[0] = x; }", "array(f);"),
        (
            "void patch(struct sock_filter *p);",
            "void (*printf)(struct sock_filter *) = patch; printf(f);",
        ),
        // Parameters.
        ("void patch(struct sock_filter p[static 2]) { p[0] = x; }", "patch(f);"),
        ("enum { N = 2 }; void patch(struct sock_filter p[N]) { p[0] = x; }", "patch(f);"),
        ("void patch(struct sock_filter *p __attribute__((unused))) { p[0] = x; }", "patch(f);"),
        ("void patch(struct sock_filter (*p)[2]) { (*p)[0] = x; }", "patch((void *)f);"),
        ("void patch(struct sock_filter *const p);", "patch(f);"),
        ("", "patch((const void *)f, 1); patch((const void *)f, 2);"),
        ("", "patch((const void *)o); patch(f);"),
        ("", "__extension__ f[0] = x;"),
        ("", "int *q = f; n = m * q[1]++;"),
        // Casts of C++ and functions in parentheses.
        ("", "memset(static_cast<void *>(f), 0, 8);"),
        ("", "char *c = reinterpret_cast<char *>(f); c[0] = 6;"),
        ("", "fix<3>(f);"),
        ("static void update(void *p) { memset(p, 0, 8); }", "(update)(f);"),
        ("static void _update(void *p) { memset(p, 0, 8); }", "(_update)(f);"),
        ("", "(fns[i])(f);"),
        ("", "(ns::change)(f);"),
        // References of C++.
        ("", "auto &k{f[0].k}; k = 3;"),
        ("", "unsigned &k(f[0].k); k = 3;"),
        ("void set(unsigned &k) { k = 3; }", "set(f[0].k);"),
        ("", "using std::swap; swap(f[0], f[1]);"),
        ("", "(x ? f[0] : f[1]) = y;"),
        ("sock_filter &get();", "return f[0];"),
    ] {
        is_refused(&with(start, code), CHANGED_OR_PART);
    }
    let rows = "{6,0,0,1},{6,0,0,2}";
    for text in [
        format!(
            "struct v {{ struct sock_filter f[2]; }}; struct w {{ struct v in; }} y, s = {{ .in = {{ .f = {{ {rows} }} }} }}; void g(void) {{ s.in = y; }}"
        ),
        format!(
            "struct w {{ struct sock_filter f[2]; }} y, s = {{ .f = {{ {rows} }} }}; void g(void) {{ s = y; }}"
        ),
        format!(
            "struct w {{ struct sock_filter f[2]; }} s = {{ {{ {rows} }} }}; void g(void) {{ s.f[0] = y; }}"
        ),
        format!(
            "struct w {{ struct sock_filter f[2]; }} s = {{ .f = {{ {rows} }} }}; void g(struct w *p) {{ p->f[0] = y; }}"
        ),
        format!("struct sock_filter f[1][2] = {{ {{ {rows} }} }}; void g(void) {{ f[0][0] = y; }}"),
        format!("std::array<sock_filter, 2> f = {{{{ {rows} }}}}; void g(void) {{ f[0] = y; }}"),
        format!("void g(void) {{ patch((struct sock_filter[2]) {{ {rows} }}); }}"),
        format!(
            "void g(void) {{ struct sock_filter *p = (struct sock_filter[1 + 1]) {{ {rows} }}; p[0] = x; }}"
        ),
        format!("struct sock_filter (f)[] = {{ {rows} }}; void g(void) {{ f[0] = x; }}"),
        format!(
            "static const struct sock_filter f[] = {{ {rows} }}; void g(void) {{ memcpy(c, f, sizeof f); c[0] = x; prctl(22, 2, &(struct sock_fprog){{ 2, c }}); }}"
        ),
    ] {
        is_refused(&text, CHANGED);
    }
}

#[test]
fn assignments_whose_value_is_not_used_are_followed() {
    for code in [
        "struct sock_filter *p; p = f; print(p[0].k);",
        "struct sock_filter *p, *q; p = f, q = p; print(q[0].k);",
        "struct sock_filter *p; for (p = f, n = 0; n < 2; n++) print(p[n].k);",
        "for (const struct sock_filter *p = f; n < 2; n++) print(p[n].k);",
        "struct sock_filter *p = 0; if (x) p = f; else p = f; print(p[0].k);",
        "struct sock_fprog prog; memset(&prog, 0, sizeof(prog)); prog.len = 2; prog.filter = f;",
        "if (f ? 1 : 2) x = f[0].k;",
    ] {
        is_whole(&with("", code));
    }
}

#[test]
fn a_length_that_changes_is_refused() {
    for code in [
        "struct sock_fprog prog = { 2, f }; prog.len -= 1;",
        "struct sock_fprog prog = { 2, f }; prog.len--;",
        "struct sock_fprog prog = { 2, f }; --prog.len;",
        "struct sock_fprog prog = { 2, f }; prog.len = prog.len - 1;",
        "struct sock_fprog prog = { 2, f }; struct sock_fprog *q = &prog; q->len--;",
        "struct sock_fprog prog = { 2, f }; prog.filter++;",
        "struct sock_fprog prog = { 2, f }; prog.filter += 1;",
        "struct sock_fprog prog = { 2, f }; prog.filter = prog.filter + 1;",
        "prog_t prog; prog.len = 1; prog.filter = f;",
        "struct bpf_program prog; prog.bf_len = 1; prog.bf_insns = f;",
    ] {
        is_refused(&with("", code), &["a part of"]);
    }
}

#[test]
fn rows_that_are_assigned_are_followed_like_an_array() {
    let text = |code: &str| {
        let row = |k: u32| format!("(struct sock_filter)BPF_STMT(BPF_RET, {k})");
        let code = code.replace('@', &row(1)).replace('#', &row(2));
        format!("void g(void) {{ struct sock_filter f[2], h[2]; {code} }}")
    };
    for code in [
        "f[0] = @; f[1] = #;",
        "f[0] = @; f[1] = #; struct sock_fprog p = { 2, f }; prctl(22, 2, &p);",
        "int n = 0; f[n++] = @; f[n++] = #;",
        "struct sock_filter *p = f; *p++ = @; *p++ = #; print(f[0].k);",
    ] {
        assert_eq!(read(&text(code)), Ok(vec![1, 2]), "{code}");
    }
    for code in [
        "f[0] = @; f[1] = #; f[0] = x;",
        "f[0] = @; f[1] = #; f[0] = f[1];",
        "f[0] = @; f[1] = #; f[1].k = 3;",
        "f[0] = @; f[1] = #; memset(f, 0, sizeof f);",
        "f[0] = @; f[1] = #; prog.len = 1; prog.filter = f;",
        "f[0] = @; f[1] = #; prog.len = 1; prog.filter = f + 1;",
        "f[0] = @; h[1] = #;",
        "f[n++] = @; f[m++] = #;",
        "*(f+1) = @; *f = #;",
        "*p-- = @; *p-- = #;",
        "f[--n] = @; f[--n] = #;",
        "f[n++] = @; n = 0; f[n++] = #;",
        "f[n++] = @; n--; f[n++] = #;",
        "int n = 1; f[n++] = @; f[n++] = #;",
        "f[n++] = x ? @ : #;",
        "struct sock_filter *p = f; *p++ = @; p = f; *p++ = #;",
        "struct sock_filter *p = f; *p++ = @; *p++ = #; f[0] = x;",
        "struct sock_filter a = BPF_STMT(6, 1), b = BPF_STMT(6, 2); f[0] = b; f[1] = a;",
        "struct sock_filter a = @; struct sock_filter b = #; f[0] = b; f[1] = a;",
    ] {
        assert!(read(&text(code)).is_err(), "{code}");
    }
}

/// Each text has some 200,000 tokens of one kind, and takes seconds only if the work for each depends on the others.
#[test]
fn long_texts_take_linear_work() {
    let rows = array(TWO);
    let functions = |text: &str| -> String {
        (0..12_000).map(|number| text.replace('N', &number.to_string())).collect()
    };
    for text in [
        format!("{rows}void g(void) {{ printf({}f); }}", "f,".repeat(100_000)),
        format!("{rows}void g(void) {{ char *p = (char *)f; {}p; }}", "p+".repeat(100_000)),
        format!("{rows}void g(void) {{ c.m = f; use = x.{}m; }}", "m.".repeat(100_000)),
        format!(
            "{}{rows}void g(void) {{ {} }}",
            functions("int gN(const void *p);"),
            functions("gN(f);")
        ),
        format!(
            "int h({}int);{rows}void g(void) {{ h({}0); }}",
            "const void *,".repeat(40_000),
            "f,".repeat(40_000)
        ),
        format!("{rows}struct sock_fprog q; void g(void) {{ {} }}", "z.len=n;".repeat(33_000)),
        format!("{rows}void g(void) {{ {} }}", "p=q=f;".repeat(33_000)),
        format!("{rows}void g(void) {{ {} }}", "z=f[0].k;".repeat(25_000)),
    ] {
        let _ = read(&text);
    }
}
