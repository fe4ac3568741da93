//! `bitgraph-bench cpu`: bitgraph beside its peers; `bitgraph-bench bit-graphblas`, `tc-gnn`, `qgtc`, `bitgnn`, `halfgnn`: beside the figures of that paper.
//! `cargo xtask bench` builds and starts it.

use anyhow::{Context, Result};
use bitgraph_benches::bandwidth::Bandwidth;
use bitgraph_benches::contender::compare;
use bitgraph_benches::external::External;
use bitgraph_benches::files::GraphFiles;
use bitgraph_benches::peers::Peer;
use bitgraph_benches::report::{Comparison, Report, table};
use bitgraph_benches::task::{Subject, Task};
use bitgraph_benches::{batches, bspmm, conversions, gemm_bits, gnn, inference, neighbours, ours, reproduce, sampled, spmm, threads};
use clap::{Args, Parser};
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: bitgraph::memory::TrackingAllocator = bitgraph::memory::TrackingAllocator;

/// Runs bitgraph beside its peers.
#[derive(Parser)]
#[command(name = "bitgraph-bench")]
enum Command {
    /// On the CPU. Results are compared first; runs take turns; times are medians.
    Cpu(CpuArgs),
    /// The tables of the Bit-GraphBLAS paper: published times, ours, compression and kernels.
    BitGraphblas(reproduce::Options),
    /// The tables of the TC-GNN paper: products, and what its translation of graphs saves and costs.
    TcGnn(reproduce::tc_gnn::Options),
    /// The tables of the QGTC paper: products of any bits, zero tiles, tiles that are used again, and sizes.
    Qgtc(reproduce::qgtc::Options),
    /// The transductive table of the BitGNN paper: accuracy, memory and time of a graph convolution in floats and in signs.
    Bitgnn(reproduce::networks::Options),
    /// The comparison of the HalfGNN paper: training in f32 and f16, sums of hubs, loss curves.
    Halfgnn(reproduce::networks::Options),
    /// Sampled dot products on a GPU, beside cuSPARSE.
    Sddmm(sampled::Options),
    /// Additive attention on a GPU.
    Gat(sampled::Options),
    /// Attention by dot products, cosines and GATv2's sums on a GPU.
    Attention(sampled::Options),
    /// A sparse matrix times dense features on a GPU, beside cuSPARSE.
    Spmm(spmm::Options),
    /// Lists made into SGT and FRDC on a GPU, beside the host.
    Conversions(conversions::Options),
    /// Dense products of bits and codes on a GPU, beside cuBLASLt with 8-bit numbers.
    GemmBits(gemm_bits::Options),
    /// Sums of signs over neighbours on a GPU, beside cuSPARSE with floats of the same width.
    Bspmm(bspmm::Options),
    /// Batches of small graphs with codes of few bits on a GPU, beside the same layers operation by operation.
    Batches(batches::Options),
    /// Inference of graph convolutions over signs on a GPU as one launch, beside the operations one by one.
    BitGcn(inference::Options),
    /// Passes and training steps of graph neural networks on a GPU, beside PyTorch Geometric.
    Gnn(gnn::Options),
    /// Training on batches of sampled neighbours on a GPU: drawn there, beside the same batches made in host memory.
    Neighbours(neighbours::Options),
}

#[derive(Args)]
struct CpuArgs {
    /// Graphs: generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["kron:18", "urand:18", "grid:1000x1000", "mycielskian:14"])]
    graphs: Vec<String>,
    /// What to compute [default: all].
    #[arg(long, value_delimiter = ',', value_enum)]
    algorithms: Vec<Task>,
    /// Crates to run beside.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["graph", "petgraph", "sprs"])]
    crates: Vec<Peer>,
    /// An external program, NAME=ALGORITHM:COMMAND, with {sg} {wsg} {mtx} {el} {wel} {graph} {source} {threads} in the command. Its
    /// output tells times as "Trial Time: SECONDS" or "NUMBER ms". May be given more than once.
    #[arg(long = "peer", value_name = "NAME=ALGORITHM:COMMAND")]
    peers: Vec<External>,
    /// Numbers of threads [default: 1, and the CPUs of this process].
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Rounds; in each, every program has a turn.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Runs that the planner may spread the cost of building over.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    amortize: u32,
    /// A program whose run takes longer than this many seconds runs once.
    #[arg(long, default_value_t = 20.0)]
    limit: f64,
    /// Writes the report to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Cpu(args) => cpu(&args),
        Command::BitGraphblas(options) => bit_graphblas(&options),
        Command::TcGnn(options) => reproduce::tc_gnn::run(&options).and_then(|tables| tables.print()),
        Command::Qgtc(options) => reproduce::qgtc::run(&options).and_then(|tables| tables.print()),
        Command::Bitgnn(options) => reproduce::networks::bitgnn::run(&options).and_then(|tables| tables.print()),
        Command::Halfgnn(options) => reproduce::networks::halfgnn::run(&options).and_then(|tables| tables.print()),
        Command::Sddmm(options) => sampled::run(sampled::Operation::Sddmm, &options),
        Command::Gat(options) => sampled::run(sampled::Operation::Gat, &options),
        Command::Attention(options) => sampled::run(sampled::Operation::Pair, &options),
        Command::Spmm(options) => spmm::run(&options),
        Command::Conversions(options) => conversions::run(&options),
        Command::GemmBits(options) => gemm_bits::run(&options),
        Command::Bspmm(options) => bspmm::run(&options),
        Command::Batches(options) => batches::run(&options),
        Command::BitGcn(options) => inference::run(&options),
        Command::Gnn(options) => gnn::run(&options),
        Command::Neighbours(options) => neighbours::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bitgraph-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bit_graphblas(options: &reproduce::Options) -> Result<()> {
    print!("{}", reproduce::run(options)?.describe()?);
    Ok(())
}

fn cpu(args: &CpuArgs) -> Result<()> {
    let tasks = if args.algorithms.is_empty() { Task::ALL.to_vec() } else { args.algorithms.clone() };
    let mut counts = if args.threads.is_empty() { vec![1, threads::available()] } else { args.threads.clone() };
    counts.dedup();
    anyhow::ensure!(!counts.contains(&0), "--threads holds 0; there is at least one");
    let mut report = Report { schema: 1, amortize: args.amortize, bandwidth: Vec::new(), results: Vec::new() };
    for &count in &counts {
        report.bandwidth.push(threads::with(count, || Ok(Bandwidth::measure()))?);
    }
    for name in &args.graphs {
        let subject = Subject::load(name)?;
        let mut files = GraphFiles::new()?;
        for bandwidth in &report.bandwidth {
            for &task in tasks.iter().filter(|&&t| t != Task::Tc || subject.loaded.symmetric) {
                eprintln!("{name}: {}, threads: {}", task.name(), bandwidth.threads);
                let found = threads::with(bandwidth.threads, || side_by_side(args, &subject, &mut files, task, bandwidth));
                report.results.extend(found.with_context(|| format!("{} on {name}", task.name()))?);
            }
        }
    }
    print!("{}", table(&report));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn side_by_side(
    args: &CpuArgs,
    subject: &Subject,
    files: &mut GraphFiles,
    task: Task,
    bandwidth: &Bandwidth,
) -> Result<Option<Comparison>> {
    let mut contenders = ours::contenders(subject, task, args.amortize)?;
    for peer in &args.crates {
        contenders.extend(peer.contender(subject, task)?);
    }
    for peer in args.peers.iter().filter(|p| p.task() == task) {
        contenders.push(peer.contender(subject, files, bandwidth.threads)?);
    }
    let series = compare(&mut contenders, args.repeat, args.limit)?;
    let graph = (subject.loaded.name.as_str(), subject.csr().nrows(), subject.csr().nnz());
    Ok(Comparison::new(graph, task.name(), bandwidth, &contenders, &series))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clap checks its definitions (names that are taken twice, say) only in debug builds, when a command line is read.
    #[test]
    fn command_line_is_well_formed() {
        <Command as clap::CommandFactory>::command().debug_assert();
    }
}
