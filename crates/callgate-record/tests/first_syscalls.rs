//! A recording does not contain syscalls of the recorder: a program that only ends makes two.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use callgate_linux::{Command, Disposition};
use callgate_record::{RecordMethod, exit_status, record};
use callgate_testing::{Need, Skip, TestResult};

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    crate::alone(
        module_path!(),
        "a_program_that_only_ends_makes_two_syscalls",
        a_program_that_only_ends_makes_two_syscalls,
    )
}

/// A static ELF program of one segment that calls `exit_group(0)`.
fn program() -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    const AT: u64 = 0x40_0000;
    // xor edi, edi; mov eax, 231; syscall
    let code = [0x31, 0xff, 0xb8, 231, 0, 0, 0, 0x0f, 0x05];
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let short = |file: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|value| file.extend(value.to_le_bytes()));
    };
    let long = |file: &mut Vec<u8>, values: &[u64]| {
        values.iter().for_each(|value| file.extend(value.to_le_bytes()));
    };
    // An executable for x86-64, version 1; its entry point and the offset of the program headers.
    short(&mut file, &[2, 62, 1, 0]);
    long(&mut file, &[AT + HEADERS, 64, 0]);
    // No flags; sizes and numbers of headers.
    short(&mut file, &[0, 0, 64, 56, 1, 64, 0, 0]);
    // PT_LOAD, readable and executable.
    short(&mut file, &[1, 0, 5, 0]);
    let size = HEADERS + code.len() as u64;
    long(&mut file, &[0, AT, AT, size, size, 0x1000]);
    file.extend(code);
    file
}

fn a_program_that_only_ends_makes_two_syscalls(method: RecordMethod) -> TestResult {
    if !cfg!(target_arch = "x86_64") {
        return Err(Skip::new(Need::Kernel, "the program is for x86-64"));
    }
    // Beside the test: a temporary directory may be mounted without permission to execute.
    let name = format!("callgate-ends-{}-{method:?}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if let Err(why) = std::fs::write(&path, program()) {
        return Err(Skip::new(Need::Tool, format!("{}: {why}", path.display())));
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = Command::find(&[path.clone().into()]).unwrap();
    let command = command.with_signals(vec![(libc::SIGPIPE, Disposition::Default)]);
    let recorded = record(&command, vec!["ends".to_owned()], &[method]);
    std::fs::remove_file(&path).unwrap();
    let recorded = recorded.map_err(|why| crate::skip::impossible(method, &why))?;
    let syscalls: Vec<_> = recorded
        .recording
        .syscalls()
        .map(|(syscall, seen)| (syscall.name(), seen.count()))
        .collect();
    assert_eq!(syscalls, [(Some("execve"), 1), (Some("exit_group"), 1)]);
    assert_eq!(exit_status(recorded.status), 0);
    assert_eq!(recorded.notes, []);
    Ok(())
}
