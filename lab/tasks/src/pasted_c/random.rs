//! Random texts: macros, conditionals, comments, continued lines and arrays.

use std::fmt::Write;

use callgate_bpf::random::Rng;

use super::expression::{Kind, condition, expression};
use super::stores::{HELPERS, READS, STORES};

const INCLUDES: &str = "#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
";

/// A text that is made.
struct Writer<'r> {
    rng: &'r mut Rng,
    kind: Kind,
    text: String,
    /// Macros for expressions; those with a parameter end with `()`.
    values: Vec<String>,
    /// Macros for conditions, too.
    switches: Vec<String>,
    /// Macros that are instructions.
    rows: Vec<String>,
    names: u32,
}

/// A random text whose array is called `filter`; with a function that changes it, or only reads it.
pub(super) fn text(rng: &mut Rng, kind: Kind, is_changed: bool) -> String {
    let mut writer = Writer {
        rng,
        kind,
        text: String::new(),
        values: Vec::new(),
        switches: Vec::new(),
        rows: Vec::new(),
        names: 0,
    };
    let is_guarded = writer.chance(4);
    if is_guarded {
        writer.line("#ifndef FILTER_H");
        writer.line("#define FILTER_H");
    }
    writer.text.push_str(INCLUDES);
    for _ in 0..2 + writer.rng.below(6) {
        writer.definition();
    }
    writer.arrays(is_changed);
    if is_guarded {
        writer.line("#endif /* FILTER_H */");
    }
    writer.continued()
}

impl Writer<'_> {
    fn chance(&mut self, of: usize) -> bool {
        self.rng.below(of) == 0
    }

    fn one(&mut self, from: &[&'static str]) -> &'static str {
        self.rng.pick(from).unwrap_or_default()
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        let comment = self.one(&[
            "",
            "",
            "",
            "",
            "",
            "",
            " /* a comment */",
            " // another",
            "\t/* two\n lines */",
        ]);
        self.text.push_str(comment);
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("{}{}", self.one(&["M", "VALUE_", "x", "_k"]), self.names)
    }

    fn expression(&mut self) -> String {
        let depth = self.rng.below(3) as u32;
        let names: Vec<String> = self.values.iter().chain(&self.switches).cloned().collect();
        expression(self.rng, self.kind, &names, depth)
    }

    fn condition(&mut self) -> String {
        let depth = self.rng.below(3) as u32;
        condition(self.rng, self.kind, &self.switches, depth)
    }

    fn definition(&mut self) {
        match self.rng.below(13) {
            0..=2 => {
                let value =
                    self.one(&["0", "1", "2", "3", "(1)", "0x1", "1U", "(2 + 1)", "5L", "0", "-1"]);
                let name = self.name();
                self.line(&format!("#define {name} {value}"));
                self.switches.push(name);
            }
            3 if !self.switches.is_empty() => {
                // A chain.
                let at = self.rng.below(self.switches.len());
                let other = self.switches.get(at).cloned().unwrap_or_default();
                let name = self.name();
                self.line(&format!("#define {name} {other}"));
                self.switches.push(name);
            }
            4 => self.conditional(),
            5 => {
                let name = self.name();
                let body = self.one(&[
                    "((x) + 1)",
                    "x",
                    "(x)",
                    "(unsigned char)(x)",
                    "x + 1",
                    "~(x)",
                    "(x) | 4",
                    "(1u << ((x) & 7))",
                ]);
                self.line(&format!("#define {name}(x) {body}"));
                self.values.push(format!("{name}()"));
            }
            6 => {
                let (name, value) = (self.name(), self.expression());
                self.line(&format!("#  define {name} {value}"));
                self.values.push(name);
            }
            7 => {
                let (name, value) = (self.name(), self.expression());
                let array = self.one(&[
                    "enum { @ = #, @_ };",
                    "static const int @ = #;",
                    "static const unsigned char @ = #;",
                    "enum { @_ = 3, @ };",
                ]);
                let value = if self.kind == Kind::Usual { "7".to_owned() } else { value };
                self.line(&array.replace('@', &name).replace('#', &value));
                self.values.push(name);
            }
            8 | 9 => self.row_macro(),
            10 => {
                let (name, value) = (self.name(), self.expression());
                self.line(&format!("#ifndef {name}"));
                self.line(&format!("#define {name} {value}"));
                self.line("#endif");
                self.values.push(name);
            }
            11 if !self.switches.is_empty() => {
                let at = self.rng.below(self.switches.len());
                let name = self.switches.get(at).cloned().unwrap_or_default();
                let value = self.rng.below(4);
                self.line(&format!("#undef {name}"));
                self.line(&format!("#define {name} {value}"));
            }
            _ => self.dead(),
        }
    }

    /// A macro whose value a conditional chooses.
    fn conditional(&mut self) {
        let name = self.name();
        let first = self.condition();
        self.line(&format!("#if {first}"));
        let (a, b, c) = (self.rng.below(4), self.rng.below(4), self.rng.below(4));
        self.line(&format!("#define {name} {a}"));
        if self.chance(2) {
            let second = self.condition();
            self.line(&format!("#elif {second}"));
            if self.chance(3) {
                let inner = self.condition();
                self.line(&format!("# if {inner}"));
                self.line(&format!("#  define {name} {b}"));
                self.line("# else");
                self.line(&format!("#  define {name} ({b} + 1)"));
                self.line("# endif");
            } else {
                self.line(&format!("#define {name} {b}"));
            }
        }
        self.line("#else");
        self.line(&format!("#define {name} {c}"));
        self.line("#endif");
        self.switches.push(name);
    }

    /// Lines that no compiler reads.
    fn dead(&mut self) {
        let line = self.one(&[
            "#define DEAD it's \"open",
            "struct sock_filter filter[] = { { 1, 2, 3, 4 } };",
            "#error no",
            "# unknown",
            "#if 1\n#endif",
            "don't // \\\nthis",
        ]);
        self.line("#if 0");
        self.line(line);
        self.line("#endif");
    }

    fn row_macro(&mut self) {
        let name = self.name();
        let body = self.one(&[
            "BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)",
            "BPF_JUMP(BPF_JMP + BPF_JEQ + BPF_K, SYS_##nr, 0, 1), \\\n\tBPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EPERM)",
            "{ 0x15, 0, 1, __NR_ ## nr }, { .code = 6, .k = 0x7fff0000 }",
        ]);
        let plain = self.one(&[
            "BPF_STMT(BPF_RET + BPF_K, SECCOMP_RET_KILL_PROCESS)",
            "BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offsetof(struct seccomp_data, nr)))",
            "{ 0x06, 0, 0, 0x7fff0000 }",
        ]);
        match self.rng.below(3) {
            0 => {
                self.line(&format!("#define {name} {plain}"));
                self.rows.push(name);
            }
            1 => {
                self.line(&format!("#define {name}_(nr) {body}"));
                self.line(&format!("#define {name}(nr) {name}_(nr)"));
                self.rows.push(format!("{name}()"));
            }
            _ => {
                self.line(&format!("#define {name}(code, ...) {{ code, ##__VA_ARGS__ }}"));
                self.rows.push(format!("{name}[]"));
            }
        }
    }

    fn row(&mut self) -> String {
        if !self.rows.is_empty() && self.chance(3) {
            let at = self.rng.below(self.rows.len());
            let name = self.rows.get(at).cloned().unwrap_or_default();
            return match (name.strip_suffix("()"), name.strip_suffix("[]")) {
                (Some(name), _) => {
                    format!("{name}({})", self.one(&["read", "openat", "ptrace", "clone3"]))
                }
                (_, Some(name)) => format!("{name}(6, 0, 0, {})", self.expression()),
                _ => name,
            };
        }
        let k = self.expression();
        let is_any = self.kind == Kind::Any;
        let (jt, jf) = match is_any && self.chance(4) {
            true => (self.expression(), self.expression()),
            false => (self.rng.below(4).to_string(), self.rng.below(4).to_string()),
        };
        match self.rng.below(7) {
            0 => format!("BPF_STMT(BPF_LD | BPF_W | BPF_ABS, {k})"),
            1 => format!("BPF_STMT(BPF_RET+BPF_K, {k})"),
            2 => format!("BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, {k}, {jt}, {jf})"),
            3 => format!("{{ 0x20, {jt}, {jf}, {k} }}"),
            4 => format!("{{ .code = BPF_ALU | BPF_AND | BPF_K, .k = {k} }}"),
            5 if is_any => format!("{{ {k}, {jt}, {jf}, {} }}", self.expression()),
            5 => format!("{{ .k = {k}, .code = 0x06, .jf = {jf}, }}"),
            _ => format!("BPF_JUMP (BPF_JMP + BPF_JSET, ({k}), {jt}, {jf})"),
        }
    }

    fn rows(&mut self) {
        for _ in 0..1 + self.rng.below(6) {
            match self.rng.below(9) {
                0 => {
                    let condition = self.condition();
                    let (then, other) = (self.row(), self.row());
                    let _ = write!(
                        self.text,
                        "#if {condition}\n    {then},\n#else\n    {other},\n#endif\n"
                    );
                }
                1 => {
                    let name = self.one(&[
                        "__x86_64__",
                        "__i386__",
                        "__NR_clone3",
                        "_WIN32",
                        "__NR_mmap2",
                    ]);
                    let row = self.row();
                    let directive = self.one(&["ifdef", "ifndef"]);
                    let _ = write!(self.text, "#{directive} {name}\n    {row},\n#endif\n");
                }
                2 => {
                    let row = self.row();
                    let mark = self.one(&[
                        "// off \\\n",
                        "/* off ",
                        "// off \\ \n",
                        "//\n",
                        "// on ??/ x\n",
                    ]);
                    let end = if mark.starts_with("/*") { " */" } else { "" };
                    let _ = writeln!(self.text, "    {mark}    {row},{end}");
                }
                _ => {
                    let row = self.row();
                    self.text.push_str("    ");
                    self.line(&format!("{row},"));
                }
            }
        }
        let last = self.row();
        let _ = writeln!(self.text, "    {last}");
    }

    fn arrays(&mut self, is_changed: bool) {
        // Constant arrays are in memory that cannot be written.
        let declarations: &[&str] = &[
            "static struct sock_filter filter[]",
            "struct sock_filter filter[]",
            "static const struct sock_filter filter[]",
        ];
        let writable = declarations.get(..2).unwrap_or_default();
        let declaration = self.one(if is_changed { writable } else { declarations });
        match self.rng.below(4) {
            0 => {
                // One of several arrays.
                let condition = self.condition();
                let _ = write!(self.text, "#if {condition}\n{declaration} = {{\n");
                self.rows();
                let _ = write!(self.text, "}};\n#else\n{declaration} = {{\n");
                self.rows();
                self.text.push_str("};\n#endif\n");
            }
            _ => {
                let _ = writeln!(self.text, "{declaration} = {{");
                self.rows();
                self.text.push_str("};\n");
            }
        }
        let after = self.one(&[
            "",
            "",
            "static struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = (void *)filter };\n",
            "static int numbers[] = { 1, 2, 3 };\n",
        ]);
        self.text.push_str(after);
        if is_changed || (!declaration.contains("const") && self.chance(2)) {
            self.function(is_changed);
        }
    }

    /// A function that uses the array.
    fn function(&mut self, is_changed: bool) {
        let mut code = String::new();
        for _ in 0..1 + self.rng.below(3) {
            let statement = match is_changed && !self.chance(3) {
                true => self.one(STORES),
                false => self.one(READS),
            };
            let _ = writeln!(code, "\t{{ {statement} }}");
        }
        for (_, helper) in HELPERS.iter().filter(|(name, _)| code.contains(name)) {
            self.text.push_str(helper);
        }
        self.line("static void change(void)");
        self.line("{");
        self.text.push_str(&code);
        self.line("}");
        self.line("#define CHANGE change");
    }

    /// The text with some of its lines continued on the next one.
    fn continued(mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        if self.kind == Kind::Usual && !self.chance(4) {
            return text;
        }
        for _ in 0..self.rng.below(4) {
            let at = self.rng.below(text.len());
            // What `??/` and a line end mean depends on options of gcc.
            if text.is_char_boundary(at)
                && !text.get(..at).is_some_and(|before| before.ends_with('?'))
            {
                text.insert_str(at, self.one(&["\\\n", "\\\n", "\\ \n", "\\\r\n"]));
            }
        }
        text
    }
}
