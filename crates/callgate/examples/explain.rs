//! Print what a filter does with each syscall, and where it differs from another one.
//!
//!     cargo run -p callgate --example explain

use callgate::{Arch, Filter, FilterBuilder, Result, Verdict, arg, diff};
use callgate_bpf::SyscallTable;
use libc::{AF_UNIX, TCGETS, TIOCGWINSZ};

fn base() -> Result<FilterBuilder> {
    Filter::builder([Arch::X86_64, Arch::Aarch64]).default(Verdict::errno(1)).allow([
        "read",
        "write",
        "close",
        "exit_group",
    ])
}

fn main() -> Result<()> {
    let strict = base()?.build()?;
    let loose = base()?
        .allow_if("socket", arg("family").eq(AF_UNIX))?
        .allow_if("ioctl", arg("cmd").is_in([TCGETS, TIOCGWINSZ]))?
        .build()?;

    println!("{}", loose.explain()?);

    println!("Denied by the stricter filter:");
    for difference in diff(&strict, &loose, 10)? {
        let arch = Arch::of_syscall(difference.data.arch, difference.data.nr);
        let name = arch.and_then(|arch| arch.syscall_name(difference.data.nr)).unwrap_or("?");
        let (arch, args) = (arch.map_or("?", Arch::name), difference.data.args);
        println!("  {arch} {name}({args:x?}): {} and {}", difference.left, difference.right);
    }
    Ok(())
}
