//! Readers, by megabytes of file: Matrix Market and edge lists, parsed with all checks, and the container, mapped.

use bitgraph::io::{self, ReadOptions, WriteSource};
use bitgraph::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

type Error = Box<dyn std::error::Error>;

fn benches(c: &mut Criterion) {
    if let Err(error) = on(c, "kron:15") {
        panic!("{error}");
    }
}

fn on(c: &mut Criterion, name: &str) -> Result<(), Error> {
    let loaded = name.parse::<GraphSource>()?.load(&LoadOptions::default())?;
    let weights = bitgraph::hashed_weights(&loaded.csr, 255);
    let directory = tempfile::tempdir()?;
    let mut group = c.benchmark_group(format!("readers/{name}"));
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for (ending, values) in [("mtx", None), ("mtx", Some(&weights)), ("el", None), ("bgr", None)] {
        let label = if values.is_some() { "weights" } else { "pattern" };
        let path = directory.path().join(format!("{label}.{ending}"));
        let source = WriteSource::new(&loaded.csr).with_values(values).with_symmetric(Some(true));
        io::write(&path, &source, &io::WriteOptions::default())?;
        group.throughput(Throughput::Bytes(std::fs::metadata(&path)?.len()));
        group.bench_function(BenchmarkId::new(ending, label), |b| b.iter(|| io::read(&path, &ReadOptions::default())));
    }
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
