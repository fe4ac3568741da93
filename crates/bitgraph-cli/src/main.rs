//! The binary `bitgraph`: the command line of the library beside it.

fn main() -> std::process::ExitCode {
    bitgraph_cli::main()
}
