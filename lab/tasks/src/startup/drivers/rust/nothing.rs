//! Installs no filter: the cost of a process.

mod timed;

fn main() {
    let arguments = timed::arguments();
    timed::report(timed::now(), &arguments);
}
