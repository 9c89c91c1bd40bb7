//! Redis, driven by `redis-benchmark`: SET and GET of small values over a Unix socket, 20 connections.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Ready, Recipe, Server, Step};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "redis",
    about: "redis-server, redis-benchmark with SET and GET",
    loads: &[],
    needs: &[
        Need::new(&["redis-server"], "redis-server"),
        Need::new(&["redis-benchmark"], "redis-tools"),
    ],
    recipe,
};

const TESTS: [&str; 2] = ["SET", "GET"];

/// Requests per second of a typical machine, from which the number of requests of a run is derived.
const USUAL_RATE: u32 = 50_000;

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let socket = place.join("socket");
    let server = Step::new(
        tools.get(0),
        ["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no", "--unixsocket"],
    )
    .and("", &socket);
    let count = requests(load).to_string();
    let client =
        Step::new(tools.get(1), ["--csv", "-t", "set,get", "-c", "20", "-n", &count, "-s"])
            .and("", &socket);
    Ok(Recipe {
        prepare: Vec::new(),
        server: Some(Server { step: server, ready: Ready::Socket(socket), stop: libc::SIGTERM }),
        fill: Vec::new(),
        client,
        measures: TESTS.to_vec(),
        unit: "requests",
        read: |text, load| read(text, requests(load)),
    })
}

/// The number of requests of each test.
fn requests(load: &Load) -> u32 {
    load.count(USUAL_RATE) / TESTS.len() as u32
}

/// Lines of quoted fields: the name of a test, then requests per second.
fn read(text: &str, requests: u32) -> Result<Done, String> {
    let rate = |test: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("\"{test}\",\"")));
        let rate = line.and_then(|line| line.split('"').next()).and_then(|rate| rate.parse().ok());
        rate.filter(|rate: &f64| *rate > 0.0).ok_or(format!("missing rate of {test}"))
    };
    let rates = TESTS.iter().map(rate).collect::<Result<Vec<f64>, String>>()?;
    Ok(Done { count: f64::from(requests) * rates.len() as f64, rates, processor: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rates_are_read() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"51234.50\",\"0.2\"\n\
                    \"GET\",\"60000.00\",\"0.1\"\n";
        assert_eq!(
            read(text, 100),
            Ok(Done { rates: vec![51234.5, 60000.0], count: 200.0, processor: None })
        );
        assert_eq!(read("\"SET\",\"51234.50\"\n", 100), Err("missing rate of GET".into()));
        assert!(read("\"SET\",\"0.00\"\n\"GET\",\"1.00\"\n", 100).is_err());
    }
}
