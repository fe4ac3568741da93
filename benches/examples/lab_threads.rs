//! Times sparse operations with one thread and with several, each in a pool of its own: what more threads gain.
//!
//! `lab_threads [--threads 1,4,16] [--only TEXT] [--runs N] GENERATOR...` prints, for each operation, the minimum of N (7) runs in milliseconds
//! at each number of threads, and how many times as fast the last is as the first; before them, bytes a second that these threads read.

use bitgraph::cpu::CpuMatrix;
use bitgraph::generate::Generator;
use bitgraph::prelude::*;
use bitgraph::semiring::{Identity, Tril, ValueAbove};
use rayon::ThreadPool;
use std::hint::black_box;
use std::time::Instant;

/// As in the command line program: memory of large arrays comes in huge pages, and is kept for the next ones.
#[global_allocator]
static ALLOCATOR: bitgraph::memory::TrackingAllocator = bitgraph::memory::TrackingAllocator;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

struct Lab {
    pools: Vec<ThreadPool>,
    only: Option<String>,
    runs: usize,
    graph: String,
}

impl Lab {
    /// Times `run` in every pool.
    fn time<R>(&self, what: impl AsRef<str>, mut run: impl FnMut() -> Outcome<R> + Send) -> Outcome {
        let what = what.as_ref();
        if self.only.as_ref().is_some_and(|only| !what.contains(only.as_str())) {
            return Ok(());
        }
        let mut all = Vec::new();
        for pool in &self.pools {
            let mut best = f64::INFINITY;
            let start = Instant::now();
            // One to warm up.
            for k in 0..=self.runs {
                let run = &mut run;
                let seconds = pool.install(move || {
                    let start = Instant::now();
                    black_box(run().map_err(|e| e.to_string())?);
                    Ok::<_, String>(start.elapsed().as_secs_f64())
                })?;
                best = if k > 0 { best.min(seconds) } else { best };
                if k > 1 && start.elapsed().as_secs_f64() > 0.2 {
                    break;
                }
            }
            all.push(best);
        }
        let times: Vec<String> = all.iter().map(|s| format!("{:10.3}", s * 1e3)).collect();
        println!("{:18} {what:36} {} x{:6.2}", self.graph, times.join(" "), all[0] / all[all.len() - 1]);
        Ok(())
    }

    fn read_rate(&self) -> Outcome {
        let array: Vec<u64> = (0..1 << 25).collect();
        for pool in &self.pools {
            let pass = || {
                let start = Instant::now();
                let sum = bitgraph::sparse::parallel::reduce(array.len(), 1 << 16, |r| array[r].iter().sum::<u64>(), u64::wrapping_add);
                black_box(sum);
                start.elapsed().as_secs_f64()
            };
            let seconds = pool.install(|| (0..5).map(|_| pass()).fold(f64::INFINITY, f64::min));
            println!("# {} threads read {:.1} GB/s", pool.current_num_threads(), (array.len() * 8) as f64 / seconds / 1e9);
        }
        Ok(())
    }

    fn products(&self, csr: &Csr) -> Outcome {
        let (cpu, n) = (Cpu::new(), csr.nrows());
        let weights = bitgraph::hashed_weights(csr, 255);
        let floats = weights.cast::<f32>();
        let bits = Vector::from_vec(&cpu, (0..n).map(|v| v % 3 == 0).collect::<Vec<bool>>())?;
        let few = Vector::from_indices(&cpu, n, &(0..n as u32).step_by(1000).collect::<Vec<_>>(), true)?;
        let some = Vector::from_entries(&cpu, n, (0..n as u32).step_by(20).map(|v| (v, v)))?;
        let x = Vector::from_vec(&cpu, (0..n).map(|v| 1.0 + (v % 7) as f32).collect::<Vec<f32>>())?;
        let wide = Vector::from_vec(&cpu, (0..n).map(|v| 1.0 + (v % 7) as f64).collect::<Vec<f64>>())?;
        let lengths = Vector::from_vec(&cpu, (0..n as u32).map(|v| v % 100).collect::<Vec<u32>>())?;
        for kind in FormatKind::ALL {
            let pattern = Matrix::new(&cpu, csr, None, kind)?;
            let weighted = Matrix::new(&cpu, csr, Some(&weights), kind)?;
            let real = Matrix::new(&cpu, csr, Some(&floats), kind)?;
            self.time(format!("mxv lor-land {kind}"), || Ok(mxv(LorLand, &pattern, &bits).eval()?))?;
            self.time(format!("mxv lor-land few {kind}"), || Ok(mxv(LorLand, &pattern, &few).eval()?))?;
            self.time(format!("mxv lor-land unless {kind}"), || Ok(mxv(LorLand, &pattern, &few).unless(&bits).eval()?))?;
            self.time(format!("mxv plus-second f32 {kind}"), || Ok(mxv(PlusSecond, &pattern, &x).eval()?))?;
            self.time(format!("mxv plus-second f64 {kind}"), || Ok(mxv(PlusSecond, &pattern, &wide).eval()?))?;
            self.time(format!("mxv plus-times f32 {kind}"), || Ok(mxv(PlusTimes, &real, &x).eval()?))?;
            self.time(format!("mxv min-plus u32 {kind}"), || Ok(mxv(MinPlus, &weighted, &lengths).eval()?))?;
            self.time(format!("mxv min-plus some {kind}"), || Ok(mxv(MinPlus, &weighted, &some).eval()?))?;
            self.time(format!("mxv max-min masked {kind}"), || Ok(mxv(MaxMin, &weighted, &lengths).mask_values(&bits).eval()?))?;
            self.time(format!("mxv any-second {kind}"), || Ok(mxv(AnySecond, &pattern, &lengths).eval()?))?;
            self.time(format!("vxm few {kind}"), || Ok(vxm(&few, LorLand, &pattern).eval()?))?;
            self.time(format!("vxm min-plus some {kind}"), || Ok(vxm(&some, MinPlus, &weighted).eval()?))?;
            self.time(format!("vxm plus-times {kind}"), || Ok(vxm(&x, PlusTimes, &real).eval()?))?;
        }
        Ok(())
    }

    fn matrices(&self, csr: &Csr) -> Outcome {
        let (cpu, n) = (Cpu::new(), csr.nrows());
        let weights = bitgraph::hashed_weights(csr, 255).cast::<f32>();
        let every: Vec<u32> = (0..n as u32).collect();
        let half: Vec<u32> = (0..n as u32).step_by(2).collect();
        for kind in FormatKind::ALL {
            self.time(format!("layout {kind}"), || Ok(CpuMatrix::new(csr, None, kind)?))?;
            let a = Matrix::new(&cpu, csr, Some(&weights), kind)?;
            let pattern = a.pattern();
            let lower = select(Tril { diagonal: -1 }, pattern.typed::<u64>()).eval()?;
            let typed = || a.typed::<f32>();
            self.time(format!("ewise_add {kind}"), || Ok(ewise_add(Plus, typed(), typed()).eval()?))?;
            self.time(format!("ewise_mult masked {kind}"), || Ok(ewise_mult(Plus, typed(), typed()).mask(&lower).eval()?))?;
            self.time(format!("apply {kind}"), || Ok(apply(Identity, typed()).eval()?))?;
            self.time(format!("select {kind}"), || Ok(select(ValueAbove(99f32), typed()).eval()?))?;
            self.time(format!("reduce {kind}"), || Ok(reduce(Plus, typed()).eval()?))?;
            self.time(format!("reduce_rows {kind}"), || Ok(reduce_rows(Plus, typed()).eval()?))?;
            self.time(format!("extract {kind}"), || Ok(extract(typed(), (&every, &half)).eval()?))?;
            self.time(format!("transpose {kind}"), || Ok(transpose(typed()).eval()?))?;
            self.time(format!("transpose pattern {kind}"), || Ok(transpose(pattern.typed::<bool>()).eval()?))?;
            self.time(format!("mxm_reduce masked {kind}"), || {
                Ok(mxm_reduce(PlusPair::<u64>::new(), &lower, &lower).transpose_b().mask(&lower).eval()?)
            })?;
        }
        Ok(())
    }

    fn squares(&self, csr: &Csr) -> Outcome {
        let cpu = Cpu::new();
        let weights = bitgraph::hashed_weights(csr, 255).cast::<f32>();
        for kind in FormatKind::ALL {
            let a = Matrix::new(&cpu, csr, Some(&weights), kind)?;
            self.time(format!("mxm {kind}"), || Ok(mxm(PlusTimes::<f32>::new(), &a, &a).eval()?))?;
            self.time(format!("mxm masked {kind}"), || Ok(mxm(PlusTimes::<f32>::new(), &a, &a).mask(&a).eval()?))?;
        }
        Ok(())
    }

    fn whole(&self, csr: &Csr) -> Outcome {
        let n = csr.nrows() as u32;
        self.time("is_symmetric", || Ok(csr.is_symmetric()))?;
        self.time("csr transpose", || Ok(csr.transpose()))?;
        self.time("csr with positions", || Ok(csr.transpose_with_positions()))?;
        for order in [Ordering::Degree, Ordering::Rcm, Ordering::Community] {
            self.time(format!("order {order}"), || Ok(order.compute(csr)))?;
        }
        let graph = Graph::try_from(csr.clone())?;
        let sources = |count: u32| (0..count).map(move |k| (u64::from(k) * u64::from(n) / u64::from(count)) as u32);
        self.time("ms_bfs 64", || Ok(graph.ms_bfs(sources(64)).run()?))?;
        self.time("ms_bfs 512", || Ok(graph.ms_bfs(sources(512)).run()?))?;
        self.time("ms_bfs 64 levels", || Ok(graph.ms_bfs(sources(64)).levels().run()?))?;
        Ok(())
    }
}

fn main() -> Outcome {
    bitgraph::memory::keep_freed_blocks();
    let (mut threads, mut only, mut runs, mut graphs) = ("1,4,16".to_string(), None, 7, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().unwrap_or(threads),
            "--only" => only = arguments.next(),
            "--runs" => runs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(runs),
            graph => graphs.push(graph.to_string()),
        }
    }
    let pool = |n: &str| Ok::<_, Box<dyn std::error::Error>>(rayon::ThreadPoolBuilder::new().num_threads(n.parse()?).build()?);
    let pools = threads.split(',').map(pool).collect::<Result<Vec<_>, _>>()?;
    let mut lab = Lab { pools, only, runs, graph: String::new() };
    lab.read_rate()?;
    for graph in graphs {
        let csr = graph.parse::<Generator>()?.generate(&Control::default())?;
        println!("# {graph}: {} rows, {} entries", csr.nrows(), csr.nnz());
        lab.graph = graph;
        lab.whole(&csr)?;
        lab.products(&csr)?;
        lab.matrices(&csr)?;
        if csr.nnz() < 1 << 23 {
            lab.squares(&csr)?;
        }
    }
    Ok(())
}
