//! Installs the filter that Callgate emitted as Rust.

mod timed;

// counted: start
mod policy {
    include!("filter.rs");
}
// counted: end

fn main() -> std::io::Result<()> {
    let arguments = timed::arguments();
    let start = timed::now();
    // counted: start
    policy::install_filter(1, arguments.limit)?;
    // counted: end
    timed::report(start, &arguments);
    Ok(())
}
