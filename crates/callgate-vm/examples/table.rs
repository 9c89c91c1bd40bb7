use callgate_vm::{EngineKind, measure, workloads};
fn main() {
    for w in workloads::all() {
        let e = measure::executed(&w);
        println!("{} executed {} / {:.1}", w.name, e.hot, e.cold);
        for &k in EngineKind::ALL {
            if let Some(c) = measure::measure(k, &w).unwrap() {
                println!(
                    "   {:<10} hot {:6.2} cold {:6.2} compile {:?} bytes {}",
                    k.name(),
                    c.hot_ns,
                    c.cold_ns,
                    c.compile,
                    c.code_bytes
                );
            }
        }
    }
}
