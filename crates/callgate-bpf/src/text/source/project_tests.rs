//! Arrays as projects have them: among functions and other arrays, copied to their callers, with values from variables and
//! parameters.

use super::hostile_tests::{array, read};
use crate::text::{Definition, TextOptions, parse_program};
use callgate_core::{Arch, Endian};

fn options() -> TextOptions {
    TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64)
}

/// The constants of the program, or the errors.
fn constants(text: &str, options: &TextOptions) -> Result<Vec<u32>, Vec<String>> {
    match parse_program(text, options) {
        Ok(read) => Ok(read.insns.iter().map(|insn| insn.k).collect()),
        Err(error) => Err(error.diagnostics().iter().map(ToString::to_string).collect()),
    }
}

fn defining(definitions: &[&str]) -> TextOptions {
    let definitions = definitions.iter().map(|one| Definition::new(one).unwrap());
    options().with_definitions(definitions.collect())
}

const SEVERAL: &str = "
#include <linux/filter.h>
static const struct option names[] = { { 1, 2, 3, 4 } };
static struct sock_filter deny[] = { { 6, 0, 0, 1 } };
int first(void)
{
	struct sock_filter filter[] = { { 6, 0, 0, 2 } };
	return install(0);
}
int second(void)
{
	struct sock_filter filter[] = {
		{ 6, 0, 0, 3 }, { 6, 0, 0, OTHER },
	};
	return install(1);
}
";

#[test]
fn several_arrays_are_listed() {
    assert_eq!(
        constants(SEVERAL, &options()),
        Err(vec![
            "7:34: this text has 3 programs, and which one is meant is not known: `deny` (line 4, 1 instruction), \
             `filter` in `first` (line 7, 1 instruction), `filter` in `second` (line 12, 1 instruction)"
                .to_owned()
        ])
    );
    let help = parse_program(SEVERAL, &options()).unwrap_err().diagnostics()[0].help.clone();
    assert!(help.contains("such as 12"), "{help}");
}

#[test]
fn one_of_several_arrays_is_chosen_by_its_name_its_function_or_its_line() {
    let chosen = |part: &str| constants(SEVERAL, &options().with_part(part.to_owned()));
    for part in ["deny", "4"] {
        assert_eq!(chosen(part), Ok(vec![1]), "{part}");
    }
    for part in ["first", "7"] {
        assert_eq!(chosen(part), Ok(vec![2]), "{part}");
    }
    // Only the errors of the chosen one count.
    assert_eq!(chosen("12"), Err(vec!["13:30: the value of `OTHER` is not known".to_owned()]));
    for (part, message) in [
        ("filter", "this text has several programs `filter`: `filter` in `first` (line 7, "),
        ("main", "this text has no program `main`: "),
        ("", "this text has no program ``: "),
    ] {
        assert!(chosen(part).unwrap_err()[0].starts_with(message), "{part}: {:?}", chosen(part));
    }
    let listing = options().with_part("f".to_owned());
    let found = constants("1\n6 0 0 0\n", &listing).unwrap_err();
    assert_eq!(found, ["a program in this form has no parts with names"]);
    let go =
        "var f = []bpf.RawInstruction{{Op: 6, K: 1}}\nvar g = []bpf.RawInstruction{{Op: 6, K: 2}}";
    assert_eq!(constants(go, &options().with_part("g".to_owned())), Ok(vec![2]));
    let rust = "static F: [sock_filter; 1] = [sock_filter { code: 6, jt: 0, jf: 0, k: 1 }];
fn g() { let h = [sock_filter { code: 6, jt: 0, jf: 0, k: 2 }]; }";
    assert_eq!(constants(rust, &options().with_part("F".to_owned())), Ok(vec![1]));
    assert_eq!(constants(rust, &options().with_part("h".to_owned())), Ok(vec![2]));
}

#[test]
fn arrays_of_other_types_are_no_programs() {
    let rows = array("{6,0,0,9}");
    for other in [
        "static const struct rule rules[] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };",
        "static const int table[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };",
        "static const uint32_t table[][4] = { { 1, 2, 3, 4 } };",
    ] {
        assert_eq!(read(&format!("{other}\n{rows}")), Ok(vec![9]), "{other}");
        assert_eq!(read(&format!("{rows}\n{other}")), Ok(vec![9]), "{other}");
    }
    // A type that is not known may be that of instructions.
    let other = "static const rule_t rules[] = { { 1, 2, 3, 4 } };";
    assert!(read(&format!("{other}\n{rows}")).unwrap_err().contains("which one is meant"));
}

#[test]
fn elements_may_have_their_type_before_them() {
    for element in [
        "(struct sock_filter) BPF_STMT(BPF_RET | BPF_K, 7)",
        "(const struct sock_filter) { 6, 0, 0, 7 }",
        "(sock_filter){ .code = BPF_RET, .k = 7 }",
    ] {
        assert_eq!(read(&array(&format!("{element},"))), Ok(vec![7]), "{element}");
    }
    for element in ["(7)", "(struct sock_filter)", "(struct other) { 6, 0, 0, 7 }"] {
        assert!(read(&array(&format!("{element},"))).is_err(), "{element}");
    }
}

#[test]
fn offsets_and_masks_of_arguments_are_computed() {
    let text = "
#include <linux/filter.h>
#if __BYTE_ORDER == __LITTLE_ENDIAN
# define LOW 0
# define HIGH sizeof(uint32_t)
#elif __BYTE_ORDER == __BIG_ENDIAN
# define LOW sizeof(uint32_t)
# define HIGH 0
#else
# error \"unknown\"
#endif
#define ALLOW_ARG(_nr, _n, _val) \\
	BPF_STMT(BPF_LD+BPF_W+BPF_ABS, offsetof(struct seccomp_data, args[(_n)]) + LOW), /* low */ \\
	BPF_JUMP(BPF_JMP+BPF_JEQ+BPF_K, ((_val) & 0xFFFFFFFF), 0, 3), \\
	BPF_STMT(BPF_LD+BPF_W+BPF_ABS, offsetof(struct seccomp_data, args[(_n)]) + HIGH), \\
	BPF_STMT(BPF_ALU+BPF_AND+BPF_K, ~(((uint32_t)((uint64_t)(_val) >> 32)) & 0xFFFFFFFF)), \\
	BPF_JUMP(BPF_JMP+BPF_JEQ+BPF_K, (_nr), 0, 1)
static const struct sock_filter f[] = {
	ALLOW_ARG(__NR_ioctl, 1, TIOCGWINSZ),
	ALLOW_ARG(__NR_futex, 2, FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME),
};";
    let expected = [24, 0x5413, 28, u32::MAX, 16, 32, 0x180, 36, u32::MAX, 202];
    assert_eq!(constants(text, &options()), Ok(expected.to_vec()));
    let big = TextOptions::new(Endian::Big).with_arch(Arch::S390x);
    let expected = [28, 0x5413, 24, u32::MAX, 54, 36, 0x180, 32, u32::MAX, 238];
    assert_eq!(constants(text, &big), Ok(expected.to_vec()));
    let mask = "BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME)),";
    assert_eq!(read(&array(mask)), Ok(vec![0xffff_fe7f]));
}

/// A function that fills what its caller gives.
fn filling(copy: &str, rest: &str) -> String {
    format!(
        "#include <linux/filter.h>\nstatic void fill(unsigned long count, struct sock_filter *out, unsigned fd) {{\n\
         ASSERT(count >= 2);\n\
         struct sock_filter f[2] = {{ {{ 0x15, 0, 0, ((unsigned)(fd)) }}, {{ 6, 0, 0, fd + 1 }} }};\n{copy}\n}}\n{rest}"
    )
}

#[test]
fn an_array_that_is_copied_whole_is_followed() {
    let fd = defining(&["fd=3"]);
    for copy in [
        "memcpy(out, f, sizeof(f));",
        "memcpy(out, f, sizeof f);",
        "own_memcpy( out, f, sizeof( f ) );",
        "memmove(&out[0], f, sizeof(f));",
        "memcpy((void *)out, f, sizeof(f));",
    ] {
        assert_eq!(constants(&filling(copy, ""), &fd), Ok(vec![3, 4]), "{copy}");
    }
    let memcpy = "memcpy(out, f, sizeof(f));";
    for rest in [
        "void g(void) { struct sock_filter h[2]; fill(2, h, 3); struct sock_fprog p = { 2, h }; prctl(22, 2, &p); }",
        "void g(void) { struct sock_filter *h = malloc(16); fill(2, h, 3); print(h[0].k); free(h); }",
    ] {
        assert_eq!(constants(&filling(memcpy, rest), &options()), Ok(vec![3, 4]), "{rest}");
    }
    for copy in [
        "memcpy(out + 1, f, sizeof(f));",
        "memcpy(&out[1], f, sizeof(f));",
        "memcpy(out, f, 8);",
        "memcpy(out, f, sizeof(f[0]));",
        "memcpy(out, &f[1], sizeof(f));",
        "memcpy(out, f, sizeof(f)); out[0].k = 5;",
        "memcpy(out, f, sizeof(f)); patch(out);",
        "memcpy(f, out, sizeof(f));",
        "struct sock_filter *p = f; memcpy(out, p, sizeof(p));",
        "memcpy(s->out, f, sizeof(f));",
        "strcpy(out, f);",
    ] {
        assert!(constants(&filling(copy, ""), &fd).is_err(), "{copy}");
    }
    for rest in [
        "void g(void) { struct sock_filter h[2]; fill(2, h, 3); h[1].k = 7; }",
        "void g(void) { struct sock_filter h[2]; fill(2, h, 3); patch(h); }",
        "void g(void) { struct sock_filter h[9]; fill(2, h, 3); struct sock_fprog p = { 9, h }; }",
        "void g(void) { struct sock_filter h[9]; fill(2, h, 3); struct sock_fprog p = { sizeof(h) / 8, h }; }",
        "void g(void) { struct sock_filter h[9]; fill(2, h + 1, 3); }",
        "void g(void) { fill(2, get(), 3); }",
        "void h(struct sock_filter *f) { struct sock_filter c[2]; memcpy(c, f, sizeof(f)); }",
    ] {
        assert!(constants(&filling(memcpy, rest), &options()).is_err(), "{rest}");
    }
    // A copy of a constant array can be changed.
    let constant = |code: &str| {
        format!(
            "static const struct sock_filter f[] = {{ {{ 6, 0, 0, 1 }} }};\nvoid g(void) {{ struct sock_filter c[1]; memcpy(c, f, sizeof(f)); {code} }}"
        )
    };
    assert_eq!(read(&constant("print(c[0].k);")), Ok(vec![1]));
    for code in ["c[0].k = 2;", "patch(c);", "struct sock_filter *p = c; patch(p);"] {
        assert!(read(&constant(code)).is_err(), "{code}");
    }
}

#[test]
fn values_of_parameters_are_given() {
    let text = "
static int install(int nr, unsigned arch, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW + (nr - nr)),
	};
	return 0;
}
";
    let main = "int main(int argc, char **argv) { return install(atoi(argv[1]), strtoul(argv[2], 0, 0), EPERM); }";
    let called = format!("{text}{main}");
    let errors = |text: &str| constants(text, &options()).unwrap_err();
    assert_eq!(
        errors(&called),
        [
            "6:39: `arch` is a parameter of `install`, whose argument is computed when the program runs",
            "8:39: `nr` is a parameter of `install`, whose argument is computed when the program runs",
        ]
    );
    assert_eq!(
        errors(text)[0],
        "6:39: `arch` is a parameter of `install`, which this text does not call"
    );
    let given = defining(&["nr=__NR_ptrace", "arch=AUDIT_ARCH_X86_64"]);
    let expected = [4, 0xc000_003e, 0, 101, 0x5_0001, 0x7fff_0000];
    assert_eq!(constants(&called, &given), Ok(expected.to_vec()));
    // The value is converted to the type of the parameter.
    let text = "void g(unsigned char a, unsigned b) { struct sock_filter f[] = { { 6, 0, 0, a }, { 6, 0, 0, b / 2 } }; }";
    assert_eq!(constants(text, &defining(&["a=0x101", "b=-2"])), Ok(vec![1, 0x7fff_ffff]));
    // A macro of a condition is a macro.
    let text = "#if nr == 1\nint f0;\n#endif\nvoid g(int nr) { struct sock_filter f[] = { { 6, 0, 0, nr } }; }";
    assert_eq!(constants(text, &defining(&["nr=1"])), Ok(vec![1]));
}

#[test]
fn variables_that_never_change_have_their_value() {
    let function = |start: &str, rest: &str| {
        format!(
            "int g(void) {{ {start} struct sock_filter f[] = {{ {{ 6, 0, 0, SECCOMP_RET_ERRNO | error }} }}; {rest} }}"
        )
    };
    for (start, rest) in [
        ("int error = EPERM;", ""),
        ("unsigned error = EPERM; print(error);", "return error == 1;"),
        ("static int error = EPERM;", "struct data d; d.error = 5;"),
        ("int one = 1, error = EPERM;", ""),
    ] {
        let read = read(&function(start, rest));
        match start.contains("one") {
            // Lists of variables are not read.
            true => assert!(read.is_err(), "{start}"),
            false => assert_eq!(read, Ok(vec![0x5_0001]), "{start}"),
        }
    }
    let text = format!("static int error = EPERM;\n{}", function("", ""));
    assert_eq!(read(&text), Ok(vec![0x5_0001]));
    for (start, rest) in [
        ("int error = EPERM; error = EACCES;", ""),
        ("int error = EPERM;", "error++;"),
        ("int error = EPERM; scanf(\"%d\", &error);", ""),
        ("int error = get();", ""),
        ("volatile int error = EPERM;", ""),
        ("{ int error = EPERM; }", ""),
        ("for (int error = EPERM; x; ) y();", ""),
        ("int other = EPERM; int error = other; other = EACCES;", ""),
        ("int error = EPERM; auto &x = error;", ""),
        ("if (x) { int error = EPERM; y(error); }", ""),
    ] {
        assert!(read(&function(start, rest)).is_err(), "{start}");
    }
    // Another file may change it, and another function may mean another one.
    for text in [
        format!("int error = EPERM;\n{}", function("", "")),
        format!("int h(void) {{ int error = EPERM; return error; }}\n{}", function("", "")),
        format!("void set(void) {{ error = EACCES; }}\n{}", function("int error = EPERM;", "")),
    ] {
        assert!(read(&text).is_err(), "{text}");
    }
}

#[test]
fn a_missing_value_is_reported_once() {
    let rows = "{ 6, 0, 0, LIMIT }, { 6, 0, 0, LIMIT }, { 6, 0, 0, OTHER },";
    let found = constants(&array(rows), &options()).unwrap_err();
    assert_eq!(
        found,
        ["3:12: the value of `LIMIT` is not known", "3:52: the value of `OTHER` is not known"]
    );
}

#[test]
fn structures_of_the_headers_have_sizes() {
    let value = |start: &str, of: &str| {
        read(&format!("{start}\n{}", array(&format!("{{ 6, 0, 0, sizeof({of}) }},"))))
    };
    for (of, size) in
        [("struct sockaddr_in", 16), ("struct sockaddr_un", 110), ("struct seccomp_data", 64)]
    {
        assert_eq!(value("", of), Ok(vec![size]), "{of}");
        assert_eq!(value(&format!("{of};"), of), Ok(vec![size]), "{of}");
    }
    assert!(value("", "struct own").is_err());
    for own in
        ["struct sockaddr_in { int a; };", "struct __attribute__((packed)) sockaddr_in { int a; };"]
    {
        let found = value(own, "struct sockaddr_in").unwrap_err();
        assert!(found.contains("this text defines `struct sockaddr_in` itself"), "{found}");
    }
}
