//! Which namespaces profiles let programs create.

use super::*;
use callgate_core::{SeccompData, Verdict};

#[test]
fn clone3_does_not_bypass_the_limit_of_clone() {
    let complete = GenerateOptions { complete: true, ..bare() };
    let fork = [recorded(1, &[("clone", &[0x0120_0011])])];
    let draft = generate(&fork, &complete).unwrap();
    let by_chance = ["futex", "madvise", "munmap", "sched_yield"];
    let siblings = names(&draft).into_iter().filter(|name| !by_chance.contains(name));
    assert!(siblings.eq(["clone", "fork", "vfork"]));
    assert_eq!(draft.refused(), ["clone3"]);
    // If others fail with EPERM, it needs a rule of its own; otherwise libraries do not fall back.
    for (deny, said) in
        [(DenyAction::Enosys, false), (DenyAction::Eperm, true), (DenyAction::Log, false)]
    {
        let draft = generate(&fork, &GenerateOptions { deny, ..complete.clone() }).unwrap();
        let text = draft.write(to("oci")).unwrap().text;
        assert_eq!(text.contains("clone3"), said, "{deny:?}");
    }
    // Also if it was recorded, unless all namespaces are wanted.
    let both = recorded(1, &[("clone", &[0x0120_0011]), ("clone3", &[])]);
    let draft = generate(std::slice::from_ref(&both), &complete).unwrap();
    assert_eq!(draft.refused(), ["clone3"]);
    let any = GenerateOptions { namespaces: AllowedNamespaces::Any, ..complete.clone() };
    let draft = generate(&[both], &any).unwrap();
    assert!(draft.refused().is_empty());
    assert_eq!(grant(&draft, "clone3").unlimited[0].name, "uargs");
    // It is refused with another member of the family too.
    for options in [complete.clone(), GenerateOptions::default()] {
        let draft = drafted(1, &[("fork", &[])], &options);
        assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
        assert_eq!(draft.refused(), ["clone3"]);
    }
    let off = GenerateOptions { arguments: LimitedArgs::Off, ..any };
    let draft = drafted(1, &[("fork", &[])], &off);
    assert_eq!(grant(&draft, "clone3").limits, []);
    // It grants clone without new namespaces.
    for options in [complete, bare()] {
        let draft = drafted(1, &[("clone3", &[])], &options);
        assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
        assert_eq!(draft.refused(), ["clone3"]);
    }
}

/// The verdicts of a profile for flags of `clone` and `unshare`, in all formats, and whether `clone3` may be called.
fn permits(draft: &Draft, name: &str, args: [u64; 6]) -> Vec<bool> {
    let formats = [to("oci"), to("k8s"), to("systemd"), to("kafel")];
    let arch = draft.arches()[0];
    let (nr, token) = (arch.number(name).unwrap(), arch.token());
    let data = SeccompData { nr, arch: token, args, ..SeccompData::default() };
    let of = |format| draft.write(format).unwrap().policy.evaluate(&data).permits();
    formats.map(of).to_vec()
}

#[test]
fn no_profile_creates_namespaces_that_were_not_recorded() {
    const FLAGS: [u64; 7] =
        [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
    let mut unknown = recorded(1, &[("read", &[])]);
    unknown.count(syscall("clone"), 3);
    unknown.count(syscall("unshare"), 1);
    let recordings = [
        recorded(1, &[("clone3", &[0x7fff_0000, 88])]),
        recorded(1, &[("clone", &[0x3d_0f00]), ("clone3", &[0x7fff_0000, 88])]),
        recorded(1, &[("clone", &[0x11]), ("unshare", &[0x200])]),
        recorded(1, &[("vfork", &[])]),
        unknown,
    ];
    let code = [("clone", 56), ("clone3", 435), ("unshare", 272)].map(|(name, nr)| CodeSyscall {
        arch: X86_64,
        nr,
        place: name.to_owned(),
    });
    for deny in [DenyAction::Enosys, DenyAction::Eperm, DenyAction::Kill] {
        for arguments in [LimitedArgs::Off, LimitedArgs::Stable, LimitedArgs::All] {
            let options = GenerateOptions { deny, arguments, ..GenerateOptions::default() };
            let with_code = generate_with_code(&[], &code, &options).unwrap();
            let drafts = recordings.iter().map(|one| {
                let one = std::slice::from_ref(one);
                generate(one, &options).unwrap()
            });
            for draft in drafts.chain([with_code]) {
                for flags in FLAGS {
                    for low in [0, 0x11, 0x3d_0f00] {
                        let args = [flags | low, 0, 0, 0, 0, 0];
                        assert_eq!(permits(&draft, "clone", args), [false; 4], "{flags:x}");
                        assert_eq!(permits(&draft, "unshare", args), [false; 4], "{flags:x}");
                    }
                }
                assert_eq!(permits(&draft, "unshare", [0x80, 0, 0, 0, 0, 0]), [false; 4]);
                assert_eq!(permits(&draft, "clone3", [0; 6]), [false; 4]);
                assert_eq!(permits(&draft, "clone", [0x3d_0f00, 0, 0, 0, 0, 0]), [true; 4]);
                assert_eq!(draft.granted_namespaces(), []);
            }
        }
    }
}

/// So that libraries fall back to `clone` also where everything else kills the process.
#[test]
fn clone3_fails_with_enosys_whatever_happens_to_others() {
    let recording = [recorded(1, &[("clone3", &[0x7fff_0000, 88])])];
    for deny in [DenyAction::Enosys, DenyAction::Eperm, DenyAction::Kill] {
        let draft = generate(&recording, &GenerateOptions { deny, ..bare() }).unwrap();
        let clone3 = SeccompData { nr: 435, arch: X86_64.token(), ..SeccompData::default() };
        for format in [to("oci"), to("k8s"), to("systemd"), to("kafel")] {
            let written = draft.write(format).unwrap();
            assert_eq!(written.policy.evaluate(&clone3), Verdict::errno(38), "{format:?}");
        }
    }
}

#[test]
fn recorded_namespaces_are_granted_and_listed() {
    let recording = [recorded(
        2,
        &[("clone", &[0x3d_0f00]), ("clone", &[0x3000_0011]), ("unshare", &[0x4000_0000])],
    )];
    let draft = generate(&recording, &bare()).unwrap();
    let granted = |syscall, names: &[&'static str], is_recorded| GrantedNamespaces {
        syscall,
        names: names.to_vec(),
        is_recorded,
    };
    assert_eq!(
        draft.granted_namespaces(),
        [granted("clone", &["pid", "user"], true), granted("unshare", &["net"], true)]
    );
    let args = |flags: u64| [flags, 0, 0, 0, 0, 0];
    // A unit cannot tell combinations apart.
    assert_eq!(permits(&draft, "clone", args(0x3000_0011)), [true; 4]);
    assert_eq!(permits(&draft, "clone", args(0x1000_0011)), [false, false, true, false]);
    assert_eq!(permits(&draft, "clone", args(0x4000_0011)), [false, false, true, false]);
    assert_eq!(permits(&draft, "unshare", args(0x4000_0000)), [true; 4]);
    assert_eq!(permits(&draft, "unshare", args(0x2_0000)), [false; 4]);
    // On request: the flags of clone3 are not recorded.
    let namespaces = AllowedNamespaces::Recorded { and: 0x1000_0000 };
    let clone3 = [recorded(1, &[("clone3", &[0x7fff_0000, 88])])];
    let draft = generate(&clone3, &GenerateOptions { namespaces, ..bare() }).unwrap();
    assert_eq!(draft.granted_namespaces(), [granted("clone", &["user"], false)]);
    assert_eq!(permits(&draft, "clone", args(0x1000_0011)), [true; 4]);
    assert_eq!(permits(&draft, "clone", args(0x3000_0011)), [false; 4]);
    assert_eq!(permits(&draft, "clone3", [0; 6]), [false; 4]);
    let draft = generate(&recording, &GenerateOptions { namespaces, ..bare() }).unwrap();
    assert_eq!(permits(&draft, "unshare", args(0x1000_0000)), [true; 4]);
    assert_eq!(permits(&draft, "unshare", args(0x5000_0000)), [true; 4]);
}

#[test]
fn the_flags_of_clone_are_limited_on_s390x() {
    let clone = id(Arch::S390x, "clone");
    let mut recording = Recording::of(Run::default());
    recording.observe(clone, &[0x7fff_1000, 0x0120_0011, 0, 0, 0, 0]);
    let draft = generate(&[recording], &bare()).unwrap();
    let limit = &grant(&draft, "clone").limits[0];
    assert_eq!((limit.arg, limit.to_string().as_str()), (1, "clone_flags & 0x7e020000 == 0"));
    assert!(permits(&draft, "clone", [0x1000_0000, 0x11, 0, 0, 0, 0])[0]);
    assert_eq!(permits(&draft, "clone", [0, 0x1000_0011, 0, 0, 0, 0]), [false; 4]);
}
