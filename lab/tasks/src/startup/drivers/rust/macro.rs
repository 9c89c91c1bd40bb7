//! Installs the filter that the macro of Callgate compiles.

mod timed;

// counted: start
mod policy {
    callgate_macros::filter!("policy.kafel", installer);
}
// counted: end

fn main() -> std::io::Result<()> {
    let arguments = timed::arguments();
    let start = timed::now();
    // counted: start
    policy::install_policy(1, arguments.limit)?;
    // counted: end
    timed::report(start, &arguments);
    Ok(())
}
