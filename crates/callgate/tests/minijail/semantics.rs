//! The two compilers of minijail: where they agree, where they differ, and what the parser in C refuses.

use callgate::Arch;
use callgate_formats::minijail::{self, ReadOptions, Semantics};
use callgate_testing::reader::{expect_messages, invalid, valid};

use crate::minijail::support::{lines, syscall};

const ALL: [Option<Semantics>; 3] = [None, Some(Semantics::Python), Some(Semantics::C)];

fn options(semantics: Option<Semantics>) -> ReadOptions {
    ReadOptions { semantics, ..ReadOptions::new(Arch::X86_64) }
}

/// The verdicts for values of the first argument of `read`, with each compiler.
fn verdicts(text: &str, args: &[u64]) -> [Vec<String>; 3] {
    ALL.map(|semantics| {
        let policy = valid(text, minijail::read(text, &options(semantics))).profile.policy;
        args.iter().map(|arg| syscall(&policy, "read", &[*arg])).collect()
    })
}

fn errors_of_c(text: &str) -> String {
    invalid(text, minijail::read(text, &options(Some(Semantics::C))))
}

fn warnings(text: &str, semantics: Option<Semantics>) -> String {
    lines(&valid(text, minijail::read(text, &options(semantics))).profile.warnings)
}

#[test]
fn both_compilers_agree_on_most_policies() {
    for text in [
        "read: 1",
        "read: return EPERM",
        "  read \t:  arg0 == 1 || arg0 == 2 && arg1 == 0x10\n",
        "# comment\n\nread: arg0 in ~7|010 && arg0 != -1",
        "read: arg0 & (O_APPEND|~(1|2)) || \\\n  arg0 >= 077\nwrite: 1",
        "read: return 5 # more words",
    ] {
        let [none, python, c] = verdicts(text, &[0, 1, 2, 7, 8, 0x3f, 0x400, u64::MAX]);
        assert_eq!(none, python, "{text}");
        assert_eq!(none, c, "{text}");
    }
}

#[test]
fn an_errno_after_conditions_is_for_opposite_calls() {
    let text = "read: arg0 == 1; return 5\nwrite: arg0 == 1 || arg0 == 3; return EPERM";
    let [none, python, c] = verdicts(text, &[1, 2]);
    assert_eq!(none, ["ERRNO(EIO)", "KILL_THREAD"]);
    assert_eq!(python, none);
    assert_eq!(c, ["ALLOW", "ERRNO(EIO)"]);
    assert!(warnings(text, None).contains("minijail's parser in C returns the errno"));
    assert_eq!(warnings(text, Some(Semantics::Python)), "");
    assert_eq!(warnings(text, Some(Semantics::C)), "");
    // Only the parser in C knows this action, and combines errnos.
    let text = "read: arg0 == 1; return\nwrite: return";
    let policy = valid(text, minijail::read(text, &options(Some(Semantics::C)))).profile.policy;
    assert_eq!(syscall(&policy, "read", &[1]), "ALLOW");
    assert_eq!(syscall(&policy, "read", &[2]), "KILL_THREAD");
    assert_eq!(syscall(&policy, "write", &[]), "KILL_THREAD");
    let text = "read: return 1|4";
    let policy = valid(text, minijail::read(text, &options(Some(Semantics::C)))).profile.policy;
    assert_eq!(syscall(&policy, "read", &[]), "ERRNO(EIO)");
}

#[test]
fn a_comment_that_goes_on_hides_a_statement_from_one_of_them() {
    let text = "# a comment \\\nread: 1\nwrite: 1";
    let [none, python, c] = verdicts(text, &[0]);
    assert_eq!((none, python), (vec!["ALLOW".to_owned()], vec!["ALLOW".to_owned()]));
    assert_eq!(c, ["KILL_THREAD"]);
    assert!(warnings(text, None).contains("1:13: the next line is a statement"));
    // Several lines, and nothing to read after them.
    let [_, _, c] =
        verdicts("write: 1\n# a \\\nread: arg0 == 0 \\\n|| arg0 == 1\n# b \\\n# c\n#\\", &[0]);
    assert_eq!(c, ["KILL_THREAD"]);
    for quiet in ["# a \\\n# b\nread: 1", "# a \\\n\nread: 1", "read: 1\n# a \\"] {
        assert_eq!(warnings(quiet, None), "", "{quiet}");
    }
}

#[test]
fn counts_have_no_effect_for_the_parser_in_c() {
    assert_eq!(
        warnings("@frequency ./none\nread: 1", Some(Semantics::C)),
        "1:1: minijail's parser in C ignores @frequency, and so are these counts (remove it)"
    );
}

/// What the compiler in Python accepts, and the parser in C refuses.
const POLICIES: &str = r#"
"@default trap\nread: 1"
    1:1: minijail's parser in C has no such directive: `@default` (its only directive is @include)
"@denylist\nread: return 1"
    1:1: minijail's parser in C has no such directive: `@denylist` (its only directive is @include)
{read, write}: 1
    1:1: minijail's parser in C has no lists of syscalls: `{` (write a statement for each syscall)
read[arch=x86_64]: 1
    1:5: minijail's parser in C takes this as a part of the name: `[` (write the name of one syscall before the colon, without brackets)
read: {arg0 == 1, kill}
    1:7: minijail's parser in C has no lists of filters: `{` (write one condition, perhaps with `; return` and an errno)
read: allow
    1:7: minijail's parser in C has no such action: `allow` (its only actions are `1` and `return` with an errno)
read: arg0 == 1; trap
    1:18: minijail's parser in C has no such action: `trap` (its only actions are `1` and `return` with an errno)
read: 0x1
    1:7: minijail's parser in C reads only `1` as an action: `0x1` (write 1)
read: arg0==1
    1:11: minijail's parser in C reads the words here in another way: `==` (write blanks around the operator, and none in the value)
read: arg0 == 1 | 2
    1:17: minijail's parser in C reads the words here in another way: `|` (write blanks around the operator, and none in the value)
read: arg0 == ~ 1
    1:17: minijail's parser in C reads the words here in another way: `1` (write blanks around the operator, and none in the value)
read: arg0 == 08
    1:15: minijail's parser in C reads this as an octal number: `08` (a number with a 0 in front is octal; remove the 0)
read: 1 # comment
    1:9: minijail's parser in C takes this comment as a part of the statement (give the comment a line of its own)
"read: 1\r\nwrite: 1"
    1:8: minijail's parser in C takes the carriage return here as a part of the line (end lines with line feeds only)
"read: arg0 == 1\nwrite: 1\nread: 1"
    3:1: minijail's parser in C refuses this second statement for `read`; the first is at 1:1 (join the conditions with `||`; a minijail built with ALLOW_DUPLICATE_SYSCALLS takes the first)
"#;

#[test]
fn what_the_parser_in_c_refuses_is_an_error() {
    expect_messages(POLICIES, errors_of_c);
    let tab = errors_of_c("read: arg0 ==\t1");
    assert!(tab.starts_with("1:14: minijail's parser in C separates words by blanks"), "{tab}");
}
