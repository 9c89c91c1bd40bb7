//! PostgreSQL, driven by `pgbench`: its select-only script over a Unix socket, 4 connections.
//!
//! The table is never written, so its state is the same in every round.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Ready, Recipe, Server, Step, number_behind};
use super::tools::{Need, Tools};

const VERSIONS: &[(&str, &str)] = &[("/usr/lib/postgresql", "bin")];

const fn need(names: &'static [&'static str], package: &'static str) -> Need {
    Need { names, package, versions: VERSIONS }
}

pub(super) const WORKLOAD: Workload = Workload {
    name: "postgres",
    about: "postgres, pgbench's select-only script",
    loads: &[],
    needs: &[
        need(&["postgres"], "postgresql"),
        need(&["initdb"], "postgresql"),
        need(&["pg_isready"], "postgresql-client"),
        need(&["pgbench"], "postgresql-contrib"),
    ],
    recipe,
};

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let data = place.join("data");
    let args = ["-U", "callgate", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8", "-D"];
    let install = Step::new(tools.get(1), args).and("", &data);
    let server = Step::new(tools.get(0), ["-c", "listen_addresses=", "-c", "fsync=off", "-D"])
        .and("", &data)
        .and("-k", place.path());
    let ready = Step::new(tools.get(2), ["-q"]).and("-h", place.path());
    let bench = |args: &[&str]| {
        let mut step = Step::new(tools.get(3), ["-U", "callgate"]).and("-h", place.path());
        step.args.extend(args.iter().map(Into::into));
        step
    };
    let seconds = load.seconds().to_string();
    Ok(Recipe {
        prepare: vec![install],
        // SIGINT is the shutdown that does not wait for clients (postgres(1)).
        server: Some(Server { step: server, ready: Ready::Probe(ready), stop: libc::SIGINT }),
        fill: vec![bench(&["-i", "-q", "-s", "1", "postgres"])],
        client: bench(&["-S", "-n", "-c", "4", "-j", "1", "-T", &seconds, "postgres"]),
        measures: vec!["SELECT"],
        unit: "transactions",
        read: |text, _| read(text),
    })
}

/// The last rate is the one without connecting, in all versions.
fn read(text: &str) -> Result<Done, String> {
    let count = number_behind(text, "number of transactions actually processed:")?;
    Ok(Done { rates: vec![number_behind(text, "tps =")?], count, processor: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_without_connecting_is_read() {
        let recent = "latency average = 1.0 ms\ntps = 812.25 (without initial connection time)\n";
        let older = "tps = 800.5 (including connections establishing)\n\
                     tps = 812.25 (excluding connections establishing)\n";
        for text in [recent, older] {
            let text = format!("number of transactions actually processed: 1624\n{text}");
            assert_eq!(
                read(&text),
                Ok(Done { rates: vec![812.25], count: 1624.0, processor: None })
            );
        }
    }
}
