//! The only program in a container. It waits for a minute and ends, with two syscalls and without memory, so that
//! few filters affect it, and it does not outlive an interrupted run for long.

use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::write;

/// The code for x86-64: `poll(NULL, 0, 60000)` and `exit_group(0)`.
const X86_64: &[u8] = &[
    0x31, 0xff, // xor edi, edi
    0x31, 0xf6, // xor esi, esi
    0xba, 0x60, 0xea, 0x00, 0x00, // mov edx, 60000
    0xb8, 0x07, 0x00, 0x00, 0x00, // mov eax, 7
    0x0f, 0x05, // syscall
    0x31, 0xff, // xor edi, edi
    0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231
    0x0f, 0x05, // syscall
];

/// The code for 64-bit Arm: `ppoll(NULL, 0, {60, 0}, NULL, 8)` and `exit_group(0)`, then the time.
const AARCH64: &[u32] = &[
    0xd280_0000, // mov x0, #0
    0xd280_0001, // mov x1, #0
    0x1000_0102, // adr x2, the time
    0xd280_0003, // mov x3, #0
    0xd280_0104, // mov x4, #8
    0xd280_0928, // mov x8, #73
    0xd400_0001, // svc #0
    0xd280_0000, // mov x0, #0
    0xd280_0bc8, // mov x8, #94
    0xd400_0001, // svc #0
    60,
    0,
    0,
    0,
];

/// Writes the program for the running machine.
pub(super) fn install(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let aarch64: Vec<u8> = AARCH64.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = match std::env::consts::ARCH {
        "x86_64" => executable(62, X86_64),
        "aarch64" => executable(183, &aarch64),
        other => {
            return Err(format!(
                "the architecture {other} is not supported; containers need x86_64 or aarch64"
            ));
        }
    };
    write(path, program)?;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).map_err(|error| format!("{}: {error}", path.display()))
}

/// An ELF file with one segment: `Elf64_Ehdr`, `Elf64_Phdr` and the code, `elf(5)`.
fn executable(machine: u16, code: &[u8]) -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    const BASE: u64 = 0x40_0000;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let size = HEADERS + code.len() as u64;
    // ET_EXEC, the machine, the version, the entry point, the offset of the headers.
    file.extend([2u16, machine].map(u16::to_le_bytes).concat());
    file.extend(1u32.to_le_bytes());
    file.extend([BASE + HEADERS, 64, 0].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
    // PT_LOAD, readable and executable.
    file.extend([1u32, 5].map(u32::to_le_bytes).concat());
    file.extend([0, BASE, BASE, size, size, 0x1000].map(u64::to_le_bytes).concat());
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_have_the_sizes_that_they_name() {
        assert_eq!(executable(62, &[]).len(), 120);
    }
}
