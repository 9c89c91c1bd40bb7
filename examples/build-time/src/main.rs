//! A program that may write to the descriptor of its controller only. Its filter is compiled in the build script.

mod policy {
    include!(concat!(env!("OUT_DIR"), "/sandbox.rs"));
}

/// Writes to a descriptor; returns the number of the error.
fn write(fd: i32, text: &str) -> Result<(), i32> {
    // SAFETY: the kernel reads the text, which lives until the call returns.
    let written = unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
    if written >= 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

fn main() -> std::io::Result<()> {
    // SAFETY: dup takes a number.
    let controller = unsafe { libc::dup(1) };
    if controller < 0 {
        return Err(std::io::Error::last_os_error());
    }
    policy::install_sandbox(controller as u32)?;
    let other = write(1, "not printed\n");
    let _ = write(controller, "to the controller: written\n");
    let _ = write(controller, &format!("to standard output: {other:?}\n"));
    Ok(())
}
