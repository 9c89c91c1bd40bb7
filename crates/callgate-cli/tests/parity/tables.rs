//! Inputs from tables: programs in all notations and both byte orders, presets, and policies of each language with damaged
//! ones.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_formats::PRESETS;
use serde_json::{Map, Value, json};

use crate::parity::inputs::Options;

/// A file with its name and options.
type File = (String, Vec<u8>, Options);

/// All files.
pub(crate) fn files() -> Vec<File> {
    let mut files = listings();
    for (name, text) in POLICIES {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "txt"));
        let mut add = |text: &str, options: Options| {
            let number = files.len();
            files.push((format!("{stem}-{number}.{extension}"), text.as_bytes().to_vec(), options));
        };
        add(text, Options::default());
        add(text, Options { is_strict: true, ..Options::default() });
        add(text, Options { arches: vec!["aarch64"], ..Options::default() });
        add(text, Options { arches: vec!["s390x"], ..Options::default() });
        add(
            text,
            Options { arches: vec!["x86_64", "x86"], caps: Some("all"), ..Options::default() },
        );
        damaged(text).iter().for_each(|text| add(text, Options::default()));
    }
    files
}

/// A text with errors: cut, without a line, with another word, with a name that does not exist, with a hidden character.
fn damaged(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let without = |at: usize| {
        let rest = lines.iter().enumerate().filter(|(own, _)| *own != at % lines.len());
        rest.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    vec![
        text[..middle].to_owned(),
        text[middle..].to_owned(),
        without(lines.len() / 2),
        without(lines.len() - 1),
        text.replacen("read", "raed", 1),
        text.replacen("write", "wr\u{200b}ite", 1),
        text.replacen('1', "-1", 1),
        format!("{text}{text}"),
        format!("\u{feff}{}", text.replace('\n', "\r\n")),
        format!("# x\n{text}"),
    ]
}

/// Policies in each language.
const POLICIES: &[(&str, &str)] = &[
    (
        "docker.json",
        r#"{
  "defaultAction": "SCMP_ACT_ERRNO",
  "defaultErrnoRet": 1,
  "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]}],
  "syscalls": [
    {"names": ["read", "write", "openat"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]},
    {"names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
    {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}}
  ]
}
"#,
    ),
    (
        "oci.json",
        r#"{
  "defaultAction": "SCMP_ACT_KILL_PROCESS",
  "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64", "SCMP_ARCH_S390X"],
  "flags": ["SECCOMP_FILTER_FLAG_LOG"],
  "syscalls": [
    {"names": ["read", "write", "exit_group", "clone"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["personality"], "action": "SCMP_ACT_TRAP", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_GT"}]},
    {"names": ["kexec_load"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}
  ]
}
"#,
    ),
    (
        "resource.yaml",
        "apiVersion: security-profiles-operator.x-k8s.io/v1beta1\nkind: SeccompProfile\nmetadata:\n  name: web\nspec:\n  \
         defaultAction: SCMP_ACT_ERRNO\n  architectures: [SCMP_ARCH_X86_64]\n  syscalls:\n  - action: SCMP_ACT_ALLOW\n    \
         names:\n    - read\n    - write\n    - socket\n  - action: SCMP_ACT_LOG\n    names: [openat]\n",
    ),
    (
        "policy.kafel",
        "#define ONE 1\nPOLICY p {\n  ALLOW { read, write, socket(family) { family == AF_UNIX || family == ONE } }\n  \
         ERRNO(13) { openat, mmap(addr, len, prot) { (prot & PROT_EXEC) != 0 } }\n}\nUSE p DEFAULT KILL\n",
    ),
    (
        "minijail.policy",
        "# frequency\nread: 1\nwrite: arg0 == 1 || arg0 == 2\nsocket: arg0 == AF_UNIX; return EPERM\nioctl: arg1 == TIOCSTI; \
         return 13\nopenat: return ENOENT\nclone: arg0 & CLONE_NEWUSER\n",
    ),
    (
        "fc.json",
        r#"{
  "vmm": {
    "default_action": "trap",
    "filter_action": "allow",
    "filter": [
      {"syscall": "read"},
      {"syscall": "write", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 1}]},
      {"syscall": "ioctl", "args": [{"index": 1, "type": "dword", "op": {"masked_eq": 65280}, "val": 256}]}
    ]
  }
}
"#,
    ),
    (
        "lxc.txt",
        "2\ndenylist\n[all]\nreboot errno 1\nkexec_load\n[x86_64]\nmount\nwrite errno 5\nread [1,2,SCMP_CMP_EQ]\n",
    ),
    (
        "android.txt",
        "# a list\nint read:read(int) all\nint write:write(int) all\nint __close:close(int) arm,lp64\nioctl(1) all\n",
    ),
    (
        "unit.service",
        "[Service]\nExecStart=/bin/true\nSystemCallFilter=@system-service\nSystemCallFilter=~@privileged read write\n\
         SystemCallErrorNumber=EPERM\nRestrictAddressFamilies=AF_UNIX AF_INET\nMemoryDenyWriteExecute=yes\n\
         SystemCallArchitectures=native\nRestrictNamespaces=1\n",
    ),
    ("lines.txt", "SystemCallFilter=read write @basic-io\nRestrictRealtime=1\n"),
    (
        "bpf.asm",
        "; denies ptrace\n  ld [4]\n  jeq #0xc000003e, native, bad\nnative:\n  ld [0]\n  jeq #101, deny, good\ndeny: ret #0x00050001\ngood: ret #0x7fff0000\nbad: ret #0x80000000\n",
    ),
    (
        "named.asm",
        "ld arch\njeq #AUDIT_ARCH_AARCH64, own, bad\nown: ld nr\njeq #read, good, bad\ngood: ret ALLOW\nbad: ret KILL_THREAD\nwrite: ret #1\n",
    ),
];

/// The programs of listings: one that compares no architecture, and one for each of these.
const OF_ARCHES: &[&str] = &[
    "x86_64",
    "x86",
    "aarch64",
    "arm",
    "riscv64",
    "loongarch64",
    "ppc64le",
    "ppc64",
    "ppc",
    "s390x",
    "s390",
    "mips",
    "mips64",
    "mipsel64",
    "parisc",
    "m68k",
];

fn arch(name: &str) -> Option<Arch> {
    Arch::ALL.iter().copied().find(|arch| arch.name() == name)
}

/// Instructions: code, jt, jf, k.
type Rows = Vec<(u16, u8, u8, u32)>;

/// Denies a syscall with EPERM, for these architectures.
fn program(arches: &[Arch]) -> Rows {
    let count = arches.len() as u8;
    let mut rows = vec![(0x20, 0, 0, 4)];
    for (at, arch) in arches.iter().enumerate() {
        rows.push((0x15, count - 1 - at as u8, u8::from(at + 1 == arches.len()), arch.token()));
    }
    if let Some(last) = rows.last_mut().filter(|_| count > 0) {
        (last.1, last.2) = (0, 3);
    }
    let write = arches.first().and_then(|arch| arch.number("write")).unwrap_or(4);
    rows.extend([(0x20, 0, 0, 0), (0x15, 0, 1, write), (0x06, 0, 0, 0x0005_0001)]);
    rows.push((0x06, 0, 0, 0x7fff_0000));
    rows
}

/// Programs in all notations, for both byte orders.
fn listings() -> Vec<File> {
    let mut files = Vec::new();
    let mut sets: Vec<(String, Vec<Arch>)> =
        OF_ARCHES.iter().filter_map(|name| Some(((*name).to_owned(), vec![arch(name)?]))).collect();
    sets.push(("none".to_owned(), Vec::new()));
    for pair in
        [["x86_64", "s390x"], ["s390x", "s390"], ["x86_64", "aarch64"], ["ppc64", "ppc64le"]]
    {
        sets.push((pair.join("-"), pair.iter().filter_map(|name| arch(name)).collect()));
    }
    for (name, arches) in &sets {
        let rows = program(arches);
        for (notation, content) in notations(&rows) {
            files.push((format!("{name}.{notation}"), content, Options::default()));
        }
        let given = Options { endian: Some("big"), ..Options::default() };
        files.push((format!("{name}-given.asm"), ddd(&rows).into_bytes(), given));
    }
    files
}

fn notations(rows: &Rows) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = |is_big: bool| -> Vec<u8> {
        let insn = |(code, jt, jf, k): &(u16, u8, u8, u32)| {
            let (code, k) = match is_big {
                true => (code.to_be_bytes(), k.to_be_bytes()),
                false => (code.to_le_bytes(), k.to_le_bytes()),
            };
            [&code[..], &[*jt, *jf], &k[..]].concat()
        };
        rows.iter().flat_map(insn).collect()
    };
    let hex = |bytes: Vec<u8>| -> Vec<u8> {
        let line =
            |insn: &[u8]| insn.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
        bytes.chunks(8).map(line).collect::<String>().into_bytes()
    };
    let each = |row: fn(&(u16, u8, u8, u32)) -> String| rows.iter().map(row).collect::<String>();
    let initializers =
        each(|(code, jt, jf, k)| format!("{{ {code:#04x}, {jt}, {jf}, {k:#010x} }},\n"));
    let macros = each(|(code, jt, jf, k)| match code & 7 {
        5 => format!("BPF_JUMP({code:#x}, {k:#x}, {jt}, {jf}),\n"),
        _ => format!("BPF_STMT({code:#x}, {k:#x}),\n"),
    });
    vec![
        ("le.bpf", bytes(false)),
        ("be.bpf", bytes(true)),
        ("le.hex", hex(bytes(false))),
        ("be.hex", hex(bytes(true))),
        ("ddd.txt", ddd(rows).into_bytes()),
        ("rows.c", initializers.into_bytes()),
        ("macros.c", format!("struct sock_filter f[] = {{\n{macros}}};\n").into_bytes()),
        ("cut.bpf", bytes(false)[..rows.len() * 8 - 3].to_vec()),
        ("order.asm", format!(".endian big\n{}", assembler(rows)).into_bytes()),
        ("plain.asm", assembler(rows).into_bytes()),
    ]
}

/// As `tcpdump -ddd` writes programs.
fn ddd(rows: &Rows) -> String {
    let lines = rows.iter().map(|(code, jt, jf, k)| format!("{code} {jt} {jf} {k}\n"));
    format!("{}\n{}", rows.len(), lines.collect::<String>())
}

/// As assembler text, with labels.
fn assembler(rows: &Rows) -> String {
    let line = |(at, (code, jt, jf, k)): (usize, &(u16, u8, u8, u32))| {
        let target = |offset: &u8| at + 1 + usize::from(*offset);
        match code {
            0x20 => format!("l{at}: ld [{k}]\n"),
            0x15 => format!("l{at}: jeq #{k:#x}, l{}, l{}\n", target(jt), target(jf)),
            _ => format!("l{at}: ret #{k:#x}\n"),
        }
    };
    rows.iter().enumerate().map(line).collect()
}

/// Sources that are not files: presets, and directives of systemd.
pub(crate) fn others() -> Vec<(String, Map<String, Value>, Options)> {
    let mut others = Vec::new();
    let content = |key: &str, value: &str| Map::from_iter([(key.to_owned(), json!(value))]);
    let sets: [&[&'static str]; 6] =
        [&[], &["aarch64"], &["x86_64", "x86"], &["s390x"], &["x86_64", "aarch64"], &["mips64"]];
    for arches in sets {
        let options = Options { arches: arches.to_vec(), ..Options::default() };
        for name in PRESETS {
            others.push((format!("preset:{name}"), content("preset", name), options.clone()));
        }
        for caps in ["none", "all", "docker,CAP_SYS_ADMIN"] {
            let mut built_in = content("preset", "container-default");
            built_in.insert("name".to_owned(), "container-default".into());
            let options = Options { caps: Some(caps), ..options.clone() };
            others.push(("container-default".to_owned(), built_in, options));
        }
        for name in ["docker-default", "podman-default@4.9"] {
            let mut built_in = content("preset", name);
            built_in.insert("name".to_owned(), name.into());
            others.push((name.to_owned(), built_in, options.clone()));
        }
        for text in [
            "@system-service",
            "~@mount @privileged",
            "RestrictNamespaces=yes",
            "SystemCallFilter=raed",
        ] {
            for systemd in [None, Some("252")] {
                let name = format!("systemd:{text}");
                let mut of_unit = content("text", text);
                of_unit.insert("format".to_owned(), "systemd".into());
                of_unit.insert("name".to_owned(), name.clone().into());
                others.push((name, of_unit, Options { systemd, ..options.clone() }));
            }
        }
    }
    others
}
