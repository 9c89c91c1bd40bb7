//! The environment of a workload: a private directory, an unprivileged user, a port.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// The user that servers run as if this process is root: most servers refuse to run as root.
const UNPRIVILEGED: &str = "nobody";

/// The maximum length of a Unix socket path with its NUL byte (unix(7)), minus the name in the directory.
const LONGEST: usize = 108 - 24;

/// A directory that only the servers' user can access. It is removed when dropped.
pub(super) struct Place {
    path: PathBuf,
    /// The user ID and the group ID of the servers; `None`: those of this process.
    pub(super) user: Option<(u32, u32)>,
}

impl Place {
    pub(super) fn new() -> io::Result<Place> {
        let other = |text: String| io::Error::other(text);
        let parent = std::env::temp_dir();
        let path = (0..100)
            .find_map(|attempt| {
                let path = parent.join(format!("callgate-{}-{attempt}", std::process::id()));
                match DirBuilder::new().mode(0o700).create(&path) {
                    Err(why) if why.kind() == io::ErrorKind::AlreadyExists => None,
                    result => Some(result.map(|()| path)),
                }
            })
            .unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
            .map_err(|why| {
                let text = callgate_linux::error_text(&why);
                other(format!("cannot create a directory in {}: {text}", parent.display()))
            })?;
        let mut place = Place { path, user: None };
        let length = place.path.as_os_str().len();
        if length > LONGEST {
            return Err(other(format!(
                "{} has {length} bytes, which is more than {LONGEST}: too long for a Unix socket in \
                 it; set TMPDIR to a shorter one",
                place.path.display()
            )));
        }
        // Files that this process creates are its own.
        if fs::metadata(&place.path)?.uid() == 0 {
            let users = fs::read_to_string("/etc/passwd")?;
            let ids = ids_of(&users, UNPRIVILEGED);
            place.user =
                Some(ids.ok_or(other(format!("missing user {UNPRIVILEGED}, which it runs as")))?);
        }
        place.give(&open_directory(&place.path)?)?;
        Ok(place)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the directory.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A new file for writing and reading, which replaces an existing one. The servers' user may create symbolic links in
    /// the directory; none is followed.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let path = self.join(name);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// Writes a file that belongs to the servers' user.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let mut file = self.create(name)?;
        file.write_all(text.as_bytes())?;
        self.give(&file)?;
        Ok(self.join(name))
    }

    /// Creates a directory that belongs to the servers' user.
    pub(super) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.join(name);
        fs::create_dir(&path)?;
        self.give(&open_directory(&path)?)?;
        Ok(path)
    }

    fn give(&self, file: &File) -> io::Result<()> {
        match self.user {
            Some((user, group)) => fchown(file, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A directory that remains is harmless, and errors cannot be reported here.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Opens a directory without following a symbolic link of this name.
fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

/// The IDs of a user and its group (passwd(5)).
fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A free port of 127.0.0.1.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_private_and_goes_away() {
        let place = Place::new().unwrap();
        let path = place.path().to_owned();
        place.write("file", "text").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o700);
        assert_ne!(metadata.uid(), 0, "servers refuse to be root");
        drop(place);
        assert!(!path.exists());
    }

    #[test]
    fn links_in_the_directory_are_not_followed() {
        let place = Place::new().unwrap();
        let outside = place.write("outside", "old").unwrap();
        for name in ["a", "b"] {
            std::os::unix::fs::symlink(&outside, place.join(name)).unwrap();
        }
        place.write("a", "new").unwrap();
        place.create("b").unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "old");
        assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "new");
        std::os::unix::fs::symlink(&outside, place.join("c")).unwrap();
        assert!(open_directory(&place.join("c")).is_err());
    }

    #[test]
    fn ids_are_read_from_the_list_of_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(ids_of(users, "nobody"), Some((65534, 65533)));
        assert_eq!(ids_of(users, "nobod"), None);
    }
}
