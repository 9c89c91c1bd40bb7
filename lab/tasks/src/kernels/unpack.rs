//! Extracts the ELF file `vmlinux` from a bzImage. A kernel that unpacks itself in emulation takes as long as the
//! rest of its boot.
//!
//! Sources: `Documentation/arch/x86/boot.rst` of Linux (`setup_sects` at 0x1f1, `header` at 0x202,
//! `version` at 0x206, `payload_offset` and `payload_length` at 0x248, from protocol 2.08 on);
//! `scripts/Makefile.lib`: except for gzip, which contains it, the uncompressed size follows the compressed
//! bytes, little-endian, and is part of the length.

use std::io::Write;
use std::process::{Command, Stdio};

use callgate_tasks::Result;

/// The compression formats of Debian's kernels: magic bytes, and the command that unpacks them.
const FORMATS: [(&[u8], &[&str]); 5] = [
    (&[0x1f, 0x8b], &["gzip", "-dc"]),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], &["xz", "-dc"]),
    // The legacy frame format of lz4, which the kernel uses.
    (&[0x02, 0x21, 0x4c, 0x18], &["lz4", "-dc"]),
    (&[0x28, 0xb5, 0x2f, 0xfd], &["zstd", "-dc"]),
    (&[0x7f, b'E', b'L', b'F'], &[]),
];

/// The compressed kernel in an image.
#[derive(Debug, PartialEq, Eq)]
struct Payload<'a> {
    bytes: &'a [u8],
    /// The uncompressed size.
    size: usize,
    /// The command that unpacks it; empty if it is not compressed.
    command: &'static [&'static str],
}

/// Unpacks an image.
pub(super) fn vmlinux(image: &[u8]) -> Result<Vec<u8>> {
    let payload = payload(image)?;
    let Some((program, arguments)) = payload.command.split_first() else {
        return Ok(payload.bytes.to_vec());
    };
    let elf = filter(Command::new(program).args(arguments), payload.bytes)?;
    if elf.len() != payload.size {
        return Err(format!(
            "{program} unpacked {} bytes, the image says {}",
            elf.len(),
            payload.size
        ));
    }
    Ok(elf)
}

/// Finds the payload by the header of the image.
fn payload(image: &[u8]) -> Result<Payload<'_>> {
    let field = |at: usize, size: usize| {
        let bytes = image.get(at..at + size).ok_or_else(|| {
            format!(
                "the image ends in its header: {} bytes, and {} are read",
                image.len(),
                at + size
            )
        })?;
        Ok::<usize, String>(
            bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)),
        )
    };
    if image.get(0x202..0x206) != Some(b"HdrS") {
        return Err("the image is not a bzImage: missing \"HdrS\" at 0x202".to_owned());
    }
    let version = field(0x206, 2)?;
    if version < 0x208 {
        return Err(format!(
            "the boot protocol is {}.{:02}; before 2.08 it does not say where the kernel is",
            version >> 8,
            version & 0xff
        ));
    }
    // 0 stands for 4, and the boot sector comes before them.
    let sectors = match field(0x1f1, 1)? {
        0 => 4,
        sectors => sectors,
    };
    let start = (sectors + 1) * 512 + field(0x248, 4)?;
    let length = field(0x24c, 4)?;
    let bytes = image.get(start..start + length).filter(|bytes| bytes.len() >= 8).ok_or_else(|| {
        format!(
            "the kernel is at {start} and has {length} bytes, by the header, but the image has {}",
            image.len()
        )
    })?;
    let command = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic));
    let (_, command) = command
        .ok_or_else(|| format!("unknown compression format of the kernel: {:02x?}", &bytes[..8]))?;
    let (packed, size) = bytes.split_at(length - 4);
    let size = size.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte));
    Ok(match command.first() {
        None => Payload { bytes, size: length, command },
        Some(&"gzip") => Payload { bytes, size, command },
        Some(_) => Payload { bytes: packed, size, command },
    })
}

/// Runs a command from standard input to standard output.
fn filter(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().map_err(|error| {
        format!("{program}: {error}; install it with: apt-get install lz4 zstd xz-utils")
    })?;
    let mut to = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A command that does not read all of its input reports the reason on its standard error.
        scope.spawn(move || to.as_mut().map(|to| to.write_all(input)));
        child.wait_with_output()
    });
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image with one setup sector, immediately followed by the payload.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&0_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    fn error(image: &[u8]) -> String {
        payload(image).unwrap_err()
    }

    #[test]
    fn the_payload_is_found_with_its_form_and_size() {
        let lz4 = [0x02, 0x21, 0x4c, 0x18, 9, 9, 9, 5, 1, 0, 0];
        let image = image(&lz4);
        let found = payload(&image).unwrap();
        assert_eq!((found.bytes, found.size), (&lz4[..7], 0x105));
        assert_eq!(found.command, ["lz4", "-dc"]);
    }

    #[test]
    fn what_is_not_packed_is_taken_as_it_is() {
        let elf = b"\x7fELF and so on";
        assert_eq!(vmlinux(&image(elf)).unwrap(), elf);
    }

    #[test]
    fn a_payload_is_unpacked_and_its_size_compared() {
        // "callgate\n" as gzip writes it; its last four bytes are the size.
        let gzip = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4e, 0xcc, 0xc9, 0x49, 0x4f, 0x2c, 0x49,
            0xe5, 2, 0, 0x11, 0x6d, 0xa9, 0xaf, 9, 0, 0, 0,
        ];
        match vmlinux(&image(&gzip)) {
            Err(why) if why.contains("No such file") => {}
            unpacked => assert_eq!(unpacked.as_deref(), Ok(&b"callgate\n"[..])),
        }
    }

    #[test]
    fn an_image_that_is_cut_off_is_refused_at_every_length() {
        let whole = image(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0, 0, 0]);
        assert!(payload(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(payload(&whole[..length]).is_err(), "{length}");
        }
        assert!(error(&whole[..0x208]).contains("ends in its header: 520 bytes, and 588"));
        assert!(error(&whole[..1030]).contains("is at 1024 and has 10 bytes"));
    }

    #[test]
    fn other_images_are_refused_with_a_reason() {
        assert!(error(b"\x7fELF").contains("not a bzImage"));
        let mut old = image(&[0; 10]);
        old[0x206] = 7;
        assert!(error(&old).contains("2.07"));
        assert!(error(&image(&[7; 10])).contains("[07, 07"));
        assert!(error(&image(&[])).contains("has 0 bytes"));
    }
}
