//! How programs are run, with a library that notes its calls.

use super::{Answer, Argument, Call, Executed, Library, Role, Wanted, execute};
use crate::diagnostic::Diagnostic;
use crate::text::TextOptions;
use callgate_core::{Arch, Endian};

/// Notes the numbers that `note` gets.
#[derive(Clone, Default)]
struct Notes(Vec<String>);

impl Library for Notes {
    fn role(function: &str) -> Option<Role> {
        match function {
            "begin" => Some(Role::Begins),
            "note" => Some(Role::Changes),
            "end" => Some(Role::Installs),
            "ask" => Some(Role::Neutral),
            _ => None,
        }
    }

    fn writes(function: &str) -> bool {
        function == "ask"
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Diagnostic> {
        match call.function {
            "begin" => Ok(Answer::Handle(0)),
            "ask" => Ok(Answer::Unknown),
            "end" => {
                self.0.push("end".to_owned());
                Ok(Answer::Number(0))
            }
            _ => {
                for argument in call.arguments {
                    self.0.push(match argument {
                        Argument::Number(number) => number.to_string(),
                        Argument::Unknown(..) => "?".to_owned(),
                        other => format!("{other:?}"),
                    });
                }
                Ok(Answer::Number(-1))
            }
        }
    }

    fn has_result(&self) -> bool {
        self.0.last().is_some_and(|last| last == "end")
    }

    fn is_same(&self, other: &Notes) -> bool {
        self.0 == other.0
    }
}

fn run(text: &str) -> Result<String, String> {
    let options = TextOptions::new(Endian::Little).with_arch(Arch::X86_64);
    let wanted = Wanted {
        options: &options,
        header: "",
        function: None,
        choosing: |name| format!("choose {name}"),
    };
    let executed = execute(text, &wanted, &|_| Notes::default());
    let notes = |executed: Executed<Notes>| executed.library.0.join(" ");
    executed.map(notes).map_err(|error| error.to_string())
}

/// The notes of statements.
#[track_caller]
fn notes(statements: &str) -> String {
    let text = format!("int f(int p, char *q) {{ begin();\n{statements}\nend(); }}");
    run(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn expressions_have_the_values_of_c() {
    for (expression, value) in [
        ("1 + 2 * 3 - -4", "11"),
        ("(1, 2)", "2"),
        ("-1 > 0u", "1"),
        ("(unsigned char)300", "44"),
        ("1 ? 2 : 3", "2"),
        ("0 && p", "0"),
        ("1 || p", "1"),
        ("p && 0", "?"),
        ("!0 == 1", "1"),
        ("sizeof(int) * 2", "8"),
        ("sizeof(long[3])", "24"),
        ("'a' << 1 | 1", "195"),
        ("~0u", "4294967295"),
        ("p", "?"),
        ("q == 0", "?"),
        ("&p == 0", "0"),
        ("NULL", "0"),
        ("likely(3)", "3"),
        ("EPERM", "1"),
        ("unknown + 1", "?"),
        ("g(1)", "?"),
        ("((struct s { int a; }){ 4 }).a", "4"),
        ("(int[]){ 5, 6 }[1]", "6"),
    ] {
        assert_eq!(notes(&format!("note({expression});")), format!("{value} end"), "{expression}");
    }
}

#[test]
fn variables_keep_what_they_are_assigned() {
    for (statements, values) in [
        ("int a = 1, b; b = a += 2; note(a); note(b);", "3 3"),
        ("int a = 1; note(a++); note(++a); note(a--);", "1 3 3"),
        ("unsigned char a = 255; a++; note(a);", "0"),
        ("int a[] = { 1, 2, 3 }; int *b = a; note(*b++); note(b[1]); note(b - a);", "1 3 1"),
        ("int a[2][2] = { { 1, 2 }, { 3, 4 } }; a[1][0] = 9; note(a[1][0]); note(a[1][1]);", "9 4"),
        (
            "struct { int x; int y[2]; } s = { .y = { 5, 6 } }, *t = &s; t->x = 7; note(s.x); note(t->y[1]);",
            "7 6",
        ),
        ("int a = 1; { int a = 2; note(a); } note(a);", "2 1"),
        ("int a = 1; g(&a); note(a);", "?"),
        ("int a = 1; g(a); note(a);", "1"),
        ("int a = 1; ask(&a); note(a);", "?"),
        ("const int a = 1; g(&a); note(a);", "1"),
        ("static int a; note(a);", "0"),
        ("int a[3] = { [1] = 4 }; note(a[0]); note(a[1]); note(a[5]);", "0 4 ?"),
        ("int a; note(a);", "?"),
        ("elsewhere = 4; note(elsewhere);", "4"),
    ] {
        assert_eq!(notes(statements), format!("{values} end"), "{statements}");
    }
}

#[test]
fn statements_are_run() {
    for (statements, values) in [
        ("for (int i = 0; i < 3; i++) { if (i == 1) continue; note(i); }", "0 2"),
        ("int i = 0; while (1) { if (i > 1) break; note(i++); }", "0 1"),
        ("int i = 5; do { note(i); } while (i-- > 4);", "5 4"),
        ("do note(1); while (0);", "1"),
        (
            "switch (2) { case 1: note(1); case 2: note(2); case 3: note(3); break; default: note(4); }",
            "2 3",
        ),
        ("switch (9) { case 1: note(1); default: note(4); }", "4"),
        ("goto end; note(1); end: note(2);", "2"),
        ("if (0) note(1); else if (1) note(2); else note(3);", "2"),
        ("if (p) { int x = 1; (void)x; } note(1);", "1"),
        ("if (p) return 1; note(1);", "1"),
        ("int x = 1; if (p) x = 2; note(x);", "?"),
        ("int x = 1; while (g()) x++; note(x);", "?"),
        ("asm volatile (\"nop\" : : \"r\"(p)); note(1);", "1"),
        ("if (p) exit(1); note(1);", "1"),
        ("if (1) { note(1); goto done; } note(2); done:;", "1"),
    ] {
        assert_eq!(notes(statements), format!("{values} end"), "{statements}");
    }
}

#[test]
fn functions_of_the_text_are_run_or_tried() {
    let text = "static int twice(int x) { return 2 * x; }\nstatic int odd(int x) { if (g(x)) return 1; return 2; }\n\
        static void each(const int *p, int n) { for (int i = 0; i < n; i++) note(p[i]); }\n\
        static int shared = 4, changed = 5;\nstatic void change(void) { changed = g(1); }\nint other = 6;\n\
        static const int list[] = { 7, 8 };\n\
        void f(void) { begin(); note(twice(4)); note(odd(1)); each(list, 2); note(shared); note(changed); note(other); change(); end(); }\n\
        int main(int c, char **v) { if (c > 1) usage(); f(); return 0; }";
    assert_eq!(run(text).as_deref(), Ok("8 ? 7 8 4 ? ? end"));
}

#[test]
fn two_results_are_an_error_at_the_condition() {
    let error = run("void f(int p) { begin();\nif (p > 3)\nnote(1);\nend(); }").unwrap_err();
    assert!(
        error.starts_with(
            "2:1: the filter depends on this condition, and the value of `p` is not known"
        ),
        "{error}"
    );
    let error =
        run("void f(int p) { begin(); for (int i = 0; i < p; i++) note(i); end(); }").unwrap_err();
    assert!(error.starts_with("1:26: this loop changes the filter"), "{error}");
    let same = run("void f(int p) { begin(); if (p) note(1); else note(1); end(); }");
    assert_eq!(same.as_deref(), Ok("1 end"));
    let gives = run("void f(int p) { void *h = begin();\n helper(h); end(); }").unwrap_err();
    assert!(gives.starts_with("2:2: `helper` gets the filter"), "{gives}");
}
