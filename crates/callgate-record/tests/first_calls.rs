//! What a recorder does itself is not in a recording: a program that only ends makes two calls. What this process
//! does with signals concerns all of it, so the test is alone in its own.
#![cfg(target_arch = "x86_64")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use callgate_linux::{Command, Disposition};
use callgate_record::{Way, exit_status, record};

/// A static program in the format ELF: one segment, and the call `exit_group(0)`.
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
    // An executable for x86-64, version 1; where it starts, where its segments are listed.
    short(&mut file, &[2, 62, 1, 0]);
    long(&mut file, &[AT + HEADERS, 64, 0]);
    // No flags; sizes and numbers of headers.
    short(&mut file, &[0, 0, 64, 56, 1, 64, 0, 0]);
    // To be loaded, readable and executable.
    short(&mut file, &[1, 0, 5, 0]);
    let size = HEADERS + code.len() as u64;
    long(&mut file, &[0, AT, AT, size, size, 0x1000]);
    file.extend(code);
    file
}

#[test]
fn a_program_that_only_ends_makes_two_calls() {
    // Beside the test: a temporary directory may be mounted without permission to execute.
    let path: PathBuf = std::env::current_exe()
        .unwrap()
        .with_file_name(format!("callgate-ends-{}", std::process::id()));
    std::fs::write(&path, program()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = Command::find(&[path.clone().into()]).unwrap();
    let command = command.with_signals(vec![(libc::SIGPIPE, Disposition::Default)]);
    let mut run = 0;
    for way in Way::ALL {
        let recorded = match record(&command, vec!["ends".to_owned()], &[way]) {
            Ok(recorded) => recorded,
            Err(why) => {
                eprintln!("not run by {way:?}: {why}");
                continue;
            }
        };
        let calls: Vec<_> =
            recorded.recording.calls().map(|(call, seen)| (call.name(), seen.count())).collect();
        let expected = [(Some("execve"), 1), (Some("exit_group"), 1)];
        assert_eq!(calls, expected, "{way:?}");
        assert_eq!(exit_status(recorded.status), 0);
        assert_eq!(recorded.notes, [], "{way:?}");
        run += 1;
    }
    std::fs::remove_file(&path).unwrap();
    eprintln!("recorded in {run} ways");
}
