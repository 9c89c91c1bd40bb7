//! Texts with several documents or resources: the only profile is read, or the one with the name that is asked for.

use callgate::{Arch, Verdict};
use callgate_formats::oci::{self, Dialect, Included, ReadOptions};
use callgate_testing::reader::numbered;

use crate::oci::support::{lines, options, warnings};

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {spec: x}\n";
const POD: &str = "kind: Pod\nspec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}\n";

/// A resource that allows one syscall.
fn resource(name: &str, more: &str, syscall: &str) -> String {
    format!(
        "apiVersion: security-profiles-operator.x-k8s.io/v1\nkind: SeccompProfile\nmetadata: {{name: {name}}}\n\
         spec:\n  defaultAction: SCMP_ACT_ERRNO\n{more}  syscalls:\n  - {{names: [{syscall}], action: SCMP_ACT_ALLOW}}\n"
    )
}

fn joined(documents: &[&str]) -> String {
    documents.join("---\n")
}

fn named(name: Option<&str>) -> ReadOptions {
    ReadOptions { resource: name.map(str::to_owned), ..options(Dialect::Runc) }
}

/// Which of `read`, `write` and `close` a text allows, or the messages about it.
fn allowed(text: &str, name: Option<&str>) -> Result<Vec<u32>, String> {
    let mut bases = |name: &str, _: Option<&str>| match name {
        "far" => Ok(Included {
            name: "far.yaml".to_owned(),
            identity: "far".to_owned(),
            text: joined(&[CONFIG, &resource("other", "", "read"), &resource("far", "", "close")]),
            is_private: false,
        }),
        _ => Err("there is no such file".to_owned()),
    };
    let profile = oci::read_with_bases(text, &named(name), &mut bases)
        .map_err(|messages| lines(&messages))?;
    assert_eq!(warnings(&profile), Vec::<&str>::new());
    let verdict = |nr: &u32| {
        let data = numbered(Arch::X86_64, *nr, &[]);
        profile.policy.evaluate(&data) == Verdict::ALLOW
    };
    Ok([0, 1, 3].into_iter().filter(verdict).collect())
}

#[test]
fn the_only_profile_is_read() {
    let web = resource("web", "", "write");
    for documents in [&[&*web, CONFIG][..], &[CONFIG, &web, POD], &["", &web, ""], &["# x\n", &web]]
    {
        assert_eq!(allowed(&joined(documents), None), Ok(vec![1]), "{documents:?}");
    }
    let bare =
        "defaultAction: SCMP_ACT_ERRNO\nsyscalls: [{names: [read], action: SCMP_ACT_ALLOW}]\n";
    assert_eq!(allowed(&joined(&[CONFIG, bare]), None), Ok(vec![0]));
    let list = |items: &str| format!(r#"{{"kind": "List", "items": [{items}]}}"#);
    let one = r#"{"kind": "SeccompProfile", "metadata": {"name": "a"}, "spec": {"defaultAction": "SCMP_ACT_ERRNO",
        "syscalls": [{"names": ["close"], "action": "SCMP_ACT_ALLOW"}]}}"#;
    assert_eq!(allowed(&list(one), None), Ok(vec![3]));
    assert_eq!(allowed(&list(one), Some("a")), Ok(vec![3]));
}

#[test]
fn one_of_several_resources_is_chosen_by_its_name() {
    let text = joined(&[&resource("web", "", "write"), CONFIG, &resource("db", "", "read")]);
    assert_eq!(allowed(&text, Some("web")), Ok(vec![1]));
    assert_eq!(allowed(&text, Some("db")), Ok(vec![0]));
    for (text, name, expected) in [
        (
            &text,
            None,
            "Error 14:1: the text has 2 profiles; one must be chosen: web, db (choose one with the option \
             `resource`, such as \"web\")\n",
        ),
        (
            &text,
            Some("wbe"),
            "Error 1:1: no profile is named `wbe` (did you mean `web`? The names are web, db)\n",
        ),
        (
            &joined(&[CONFIG, POD]),
            Some("web"),
            "Error 1:1: the text has no profile with a name, so none is named `web` (omit the name)\n",
        ),
        (
            &joined(&[&resource("a", "", "read"), &resource("a", "", "write")]),
            Some("a"),
            "Error 9:1: two profiles are named `a`, the first at 1:1 (put one into its own file)\n",
        ),
        (
            &joined(&["a: b\n", "c: d\n"]),
            None,
            "Error 3:1: the text has 2 profiles; one must be chosen: one without a name, one without a name (put \
             each profile into its own file)\n",
        ),
        (
            &joined(&[CONFIG, POD]),
            None,
            "Error 6:7: this Pod is not a profile; it names RuntimeDefault for the pod at 7:42 (RuntimeDefault is the \
             default of the node's runtime: give containerd-default or crio-default)\n",
        ),
    ] {
        assert_eq!(allowed(text, name), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn base_profiles_may_be_in_the_same_text() {
    let text = joined(&[
        &resource("web", "  baseProfileName: base\n", "write"),
        &resource("base", "  baseProfileName: far\n", "read"),
    ]);
    assert_eq!(allowed(&text, Some("web")), Ok(vec![0, 1, 3]));
    assert_eq!(allowed(&text, Some("base")), Ok(vec![0, 3]));
    let cycle = joined(&[
        &resource("a", "  baseProfileName: b\n", "write"),
        &resource("b", "  baseProfileName: a\n", "read"),
    ]);
    let expected = "Error 15:20: the base profile `a` is based on itself: a -> b -> a (remove one `baseProfileName`)\n";
    assert_eq!(allowed(&cycle, Some("a")), Err(expected.to_owned()));
}
