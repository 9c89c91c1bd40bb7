//! Public data types with `serde`: what is read is checked as by the constructors.

use callgate::{Arch, Filter, Program, SeccompData, Verdict, arg, instruction_pointer};
use callgate_core::policy::Policy;
use callgate_core::{Insn, LongProgram};
use serde_json::{from_str, json, to_string, to_value};

fn filter() -> Filter {
    Filter::builder([Arch::X86_64, Arch::X86, Arch::X32])
        .default(Verdict::errno(1))
        .allow(["read", "write"])
        .and_then(|builder| builder.allow_if("fcntl", arg("cmd").is_in([1, 3]) & !arg("arg").lt(9)))
        .and_then(|builder| builder.deny_if("time", instruction_pointer().low32().eq(7)))
        .and_then(|builder| builder.build())
        .unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let policy = filter().policy().clone();
    assert_eq!(from_str::<Policy>(&to_string(&policy).unwrap()).unwrap(), policy);
    let program = filter().compile().unwrap();
    assert_eq!(&from_str::<Program>(&to_string(&program).unwrap()).unwrap(), &*program);
    let data = SeccompData { nr: 3, args: [1, 2, 3, 4, 5, u64::MAX], ..SeccompData::default() };
    assert_eq!(from_str::<SeccompData>(&to_string(&data).unwrap()).unwrap(), data);
    for arch in Arch::ALL {
        assert_eq!(from_str::<Arch>(&to_string(arch).unwrap()).unwrap(), *arch);
    }
}

#[test]
fn forms_are_those_of_the_field() {
    let ret = Program::new(vec![Insn::new(callgate_core::Op::RetK, Verdict::ALLOW.0)]).unwrap();
    assert_eq!(to_value(&ret).unwrap(), json!([[6, 0, 0, 0x7fff_0000]]));
    assert_eq!(to_value(Verdict::errno(1)).unwrap(), json!(0x5_0001));
    assert_eq!(to_value(Arch::X86_64).unwrap(), json!("x86_64"));
    assert_eq!(from_str::<Arch>("\"SCMP_ARCH_AARCH64\"").unwrap(), Arch::Aarch64);
    let build = Filter::builder(Arch::Aarch64).allow_if("close", arg("fd").eq(3)).unwrap();
    assert_eq!(
        to_value(build.build().unwrap().policy()).unwrap(),
        json!({
            "sections": [{
                "arches": ["aarch64"],
                "rules": [{
                    "syscalls": [[57, 57]],
                    "when": {"test": {
                        "field": {"arg": 0, "bits": 32}, "mask": 0xffff_ffffu32, "cmp": "eq", "value": 3,
                    }},
                    "verdict": 0x7fff_0000,
                }],
                "default": 0x8000_0000u32,
            }],
            "bad_arch": 0x8000_0000u32,
        })
    );
}

#[test]
fn what_the_constructors_refuse_is_refused() {
    let refused = |error: serde_json::Error, says: &str| {
        assert!(error.to_string().contains(says), "{error}");
    };
    refused(from_str::<Program>("[[6, 0, 0, 0], [5, 0, 0, 9]]").unwrap_err(), "jump");
    refused(from_str::<Program>("[]").unwrap_err(), "the program is empty");
    refused(from_str::<LongProgram>("[[255, 0, 0, 0]]").unwrap_err(), "0xff");
    refused(from_str::<Arch>("\"z80\"").unwrap_err(), "unknown architecture \"z80\"");
    let policy = |sections: &str| {
        let text = format!("{{\"sections\": [{sections}], \"bad_arch\": 0}}");
        from_str::<Policy>(&text).unwrap_err()
    };
    let section =
        |arches: &str| format!("{{\"arches\": [{arches}], \"rules\": [], \"default\": 0}}");
    refused(policy(&section("")), "no architectures");
    refused(policy(&section("\"x86\", \"x86_64\"")), "a section of its own");
    refused(policy(&format!("{0}, {0}", section("\"x86\""))), "join their rules");
    let field = |form: &str| {
        let when = format!(
            "{{\"test\": {{\"field\": {form}, \"mask\": 1, \"cmp\": \"eq\", \"value\": 1}}}}"
        );
        let rule = format!("{{\"calls\": [[0, 1]], \"when\": {when}, \"verdict\": 0}}");
        policy(&format!("{{\"arches\": [\"x86\"], \"rules\": [{rule}], \"default\": 0}}"))
    };
    refused(field("{\"arg\": 6, \"bits\": 32}"), "argument 6 does not exist");
    refused(field("{\"arg\": 5, \"bits\": 33}"), "not 33");
}
