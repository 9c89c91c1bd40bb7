//! Writer of cpio archives in the "newc" format, for the kernel's initial file system.
//!
//! Source: `Documentation/driver-api/early-userspace/buffer-format.rst` of Linux. Headers are text: a
//! magic number and thirteen fields of eight hexadecimal digits. Names and contents are padded to a multiple of
//! four bytes. Times and owners are 0, so the same files give the same bytes.

use callgate_tasks::Result;

const MAGIC: &str = "070701";
const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// The entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive under construction.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    pub(super) fn directory(&mut self, name: &str) -> Result<()> {
        self.entry(name, DIRECTORY, (0, 0), &[])
    }

    /// An executable file.
    pub(super) fn file(&mut self, name: &str, content: &[u8]) -> Result<()> {
        self.entry(name, FILE, (0, 0), content)
    }

    /// A character device.
    pub(super) fn device(&mut self, name: &str, major: u32, minor: u32) -> Result<()> {
        self.entry(name, CHARACTER_DEVICE, (major, minor), &[])
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.entry(TRAILER, 0, (0, 0), &[])?;
        Ok(self.bytes)
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) -> Result<()> {
        let size = u32::try_from(content.len()).map_err(|_| {
            format!(
                "{name} has {} bytes; a file in a cpio archive has less than 4 GiB",
                content.len()
            )
        })?;
        self.entries += 1;
        let (owner, group, links, time) = (0, 0, 1, 0);
        let name_size = name.len() as u32 + 1;
        let fields = [
            self.entries,
            mode,
            owner,
            group,
            links,
            time,
            size,
            0,
            0,
            device.0,
            device.1,
            name_size,
            0,
        ];
        self.bytes.extend(MAGIC.bytes());
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.fill();
        self.bytes.extend(content);
        self.fill();
        Ok(())
    }

    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an archive back: name, mode, device and content.
    fn entries(mut bytes: &[u8]) -> Vec<(String, u32, u32, Vec<u8>)> {
        let whole = bytes.len();
        let mut entries = Vec::new();
        loop {
            let field = |n: usize| {
                let text = std::str::from_utf8(&bytes[6 + 8 * n..14 + 8 * n]).unwrap();
                u32::from_str_radix(text, 16).unwrap()
            };
            assert_eq!(&bytes[..6], MAGIC.as_bytes());
            let (mode, size, minor, name_size) = (field(1), field(6), field(10), field(11));
            let name = &bytes[110..110 + name_size as usize - 1];
            assert_eq!(bytes[109 + name_size as usize], 0);
            let name = String::from_utf8(name.to_vec()).unwrap();
            let start = (110 + name_size as usize).next_multiple_of(4);
            let content = bytes[start..start + size as usize].to_vec();
            bytes = &bytes[(start + size as usize).next_multiple_of(4)..];
            assert_eq!((whole - bytes.len()) % 4, 0);
            if name == TRAILER {
                assert!(bytes.is_empty());
                return entries;
            }
            entries.push((name, mode, minor, content));
        }
    }

    #[test]
    fn an_archive_holds_what_was_put_in() {
        let mut archive = Archive::default();
        archive.directory("dev").unwrap();
        archive.device("dev/console", 5, 1).unwrap();
        archive.file("init", b"12345").unwrap();
        archive.file("f/1", b"").unwrap();
        let file = |name: &str, content: &[u8]| (name.to_owned(), FILE, 0, content.to_vec());
        assert_eq!(
            entries(&archive.finish().unwrap()),
            [
                ("dev".to_owned(), DIRECTORY, 0, vec![]),
                ("dev/console".to_owned(), CHARACTER_DEVICE, 1, vec![]),
                file("init", b"12345"),
                file("f/1", b""),
            ]
        );
    }
}
