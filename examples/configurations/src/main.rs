//! A program with options that need further syscalls. The filters of the usual combinations of options are compiled in the build
//! script; those of others are compiled when the program starts, if it has the compiler (the feature `compiler`).

use std::io;

mod policy {
    include!(concat!(env!("OUT_DIR"), "/sandbox.rs"));
}

/// The options, and a syscall that each needs.
const OPTIONS: [(&str, &str); 2] = [("clock", "clock_getres"), ("files", "getcwd")];

/// Installs the filter of a configuration. Returns whether it was compiled now.
fn install(configuration: &str, controller: u32) -> io::Result<bool> {
    match policy::install_sandbox(configuration, controller) {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            compile(configuration, controller, error).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

/// Compiles the filter of a configuration, and installs it.
#[cfg(feature = "compiler")]
fn compile(configuration: &str, controller: u32, _: io::Error) -> io::Result<()> {
    use callgate::{source::SourceText, values_by_name};
    use callgate_linux::{FilterFlags, install};

    let mut policy = include_str!("../parts/base.kafel").to_owned();
    let mut used = String::from("base");
    for option in configuration.split(',') {
        policy += match option {
            "clock" => include_str!("../parts/clock.kafel"),
            "files" => include_str!("../parts/files.kafel"),
            _ => {
                let unknown = format!("there is no option {option:?}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, unknown));
            }
        };
        used += &format!(", {option}");
    }
    policy += &format!("USE {used} DEFAULT ERRNO(1)");
    let compiled = SourceText::for_this_machine(policy)
        .and_then(|source| source.named("sandbox.kafel").compile_template())
        .map_err(io::Error::other)?;
    let template = compiled.program;
    let values = values_by_name(template.variables(), [("controller_fd", u64::from(controller))]);
    let program =
        values.and_then(|values| template.instantiate(&values)).map_err(io::Error::other)?;
    install(&program, compiled.flags | FilterFlags::TSYNC).map_err(io::Error::other)
}

/// Without the compiler, a configuration that was not compiled is an error.
#[cfg(not(feature = "compiler"))]
fn compile(_: &str, _: u32, unknown: io::Error) -> io::Result<()> {
    Err(unknown)
}

/// Makes a syscall, and returns the number of its error, or 0.
fn error_of(number: libc::c_long, first: usize, second: usize) -> i32 {
    // SAFETY: clock_getres without a structure and getcwd with an empty buffer write nothing.
    match unsafe { libc::syscall(number, first, second) } {
        -1 => io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    }
}

fn main() -> io::Result<()> {
    let configuration = std::env::args().nth(1).unwrap_or_else(|| "base".to_owned());
    // SAFETY: dup takes a number.
    let controller = unsafe { libc::dup(1) };
    if controller < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_new = install(&configuration, controller as u32)?;
    let mut text =
        format!("{configuration}: {}\n", if is_new { "compiled now" } else { "compiled before" });
    for ((option, syscalls), number) in
        OPTIONS.iter().zip([libc::SYS_clock_getres, libc::SYS_getcwd])
    {
        // EPERM if the filter denies it, else success or ERANGE.
        let is_denied = error_of(number, 0, 0) == libc::EPERM;
        let verdict = if is_denied { "denied" } else { "allowed" };
        text += &format!("{option}: {syscalls} is {verdict}\n");
    }
    // SAFETY: the kernel reads the text, which lives until the call returns.
    let written = unsafe { libc::write(controller, text.as_ptr().cast(), text.len()) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
