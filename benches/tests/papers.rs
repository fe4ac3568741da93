//! The tables of TC-GNN and QGTC at tiny size: without a GPU, and on the host shim where there is one.

use bitgraph_benches::reproduce::paper::{Common, Tables};
use bitgraph_benches::reproduce::table::{NO_GPU, Table};
use bitgraph_benches::reproduce::{Place, networks, qgtc, tc_gnn};
use std::path::Path;

fn common(folder: &Path, backend: Place, graphs: &[&str]) -> Common {
    Common {
        data: Some(folder.into()),
        backend,
        graphs: graphs.iter().map(ToString::to_string).collect(),
        repeat: 1,
        quick: true,
        json: Some(folder.join("report.json")),
        markdown: Some(folder.join("report.md")),
    }
}

fn table<'a>(tables: &'a Tables, title: &str) -> &'a Table {
    tables.tables.iter().find(|t| t.title.starts_with(title)).unwrap_or_else(|| panic!("no table {title:?}"))
}

/// The cells of a column.
fn column<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    let at = table.header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name:?} in {:?}", table.header));
    table.rows.iter().map(|row| row[at].as_str()).collect()
}

/// Whether all cells are numbers; how large a time or rate is says nothing here, and a small one is rounded to 0.
fn numbers(cells: &[&str]) -> bool {
    !cells.is_empty() && cells.iter().all(|cell| cell.parse().is_ok_and(|number: f64| number.is_finite() && number >= 0.0))
}

#[test]
fn tc_gnn_has_a_row_for_each_published_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("gnn/cora")).unwrap();
    let ring: String = (1..40).map(|v| format!("{} {v}\n", v + 1)).collect();
    let text = format!("%%MatrixMarket matrix coordinate pattern symmetric\n40 40 39\n{ring}");
    std::fs::write(folder.path().join("gnn/cora/graph.mtx"), text).unwrap();

    let tables = tc_gnn::run(&tc_gnn::Options { common: common(folder.path(), Place::Cpu, &[]) }).unwrap();
    let graphs = table(&tables, "Graphs");
    assert_eq!(graphs.rows.len(), tc_gnn::published::datasets().unwrap().len());
    let ran = column(graphs, "what ran");
    assert_eq!(ran.iter().filter(|source| !source.starts_with("stand-in ")).collect::<Vec<_>>(), [&"cora/graph.mtx"]);
    let saved = table(&tables, "Blocks without");
    for (name, percent) in column(saved, "graph").iter().zip(column(saved, "saved %")) {
        // A path's neighbours are in one block of a window or in two, with and without translation.
        let percent: f64 = percent.parse().unwrap();
        assert!(if *name == "Cora" { percent.abs() <= 50.0 } else { percent > 10.0 && percent < 100.0 }, "{name}: {percent} %");
    }
    let overhead = table(&tables, "Translation");
    assert!(numbers(&column(overhead, "translation ms")));
    assert!(column(overhead, "GPU SpMM ms").iter().all(|cell| *cell == NO_GPU));
    let (times, rates) = (table(&tables, "SpMM in ms"), table(&tables, "SpMM in GFLOPS"));
    for row in tc_gnn::published::spmm().unwrap() {
        // Two widths each.
        assert_eq!(column(times, "TC-GNN").iter().filter(|cell| **cell == format!("{:.2}", row.tcgnn)).count(), 2);
    }
    assert_eq!(rates.rows.len(), tc_gnn::published::sparsity().unwrap().len());
    assert!(numbers(&column(rates, "host f32")));
    assert!(column(rates, "ours f32").iter().all(|cell| *cell == NO_GPU));

    let markdown = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(
        markdown.starts_with("# TC-GNN") && markdown.contains("\n## Blocks without") && markdown.contains("Left out: columns of a GPU")
    );
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    assert_eq!((&json["quick"], json["tables"][0]["rows"].as_array().map(Vec::len)), (&true.into(), Some(graphs.rows.len())));
}

fn qgtc_options(folder: &Path, backend: Place, graphs: &[&str]) -> qgtc::Options {
    qgtc::Options { common: common(folder, backend, graphs), parts: 100, batch: 10, seeds: 1 }
}

#[test]
fn qgtc_has_a_row_for_each_published_one() {
    let folder = tempfile::tempdir().unwrap();
    let tables = qgtc::run(&qgtc_options(folder.path(), Place::Cpu, &[])).unwrap();
    let zero = table(&tables, "Zero tiles");
    assert_eq!(zero.rows.len(), qgtc::published::datasets().unwrap().len());
    let parts = ["non-zero %", "zero between parts %", "zero within %"].map(|name| column(zero, name));
    for row in 0..zero.rows.len() {
        let [filled, between, within] = parts.each_ref().map(|cells| cells[row].parse::<f64>().unwrap());
        assert!((filled + between + within - 100.0).abs() < 0.02 && filled > 0.0 && between > 0.0, "{:?}", zero.rows[row]);
    }
    let gemm = table(&tables, "Aggregation in TFLOPS (Table 3)");
    let published = qgtc::published::gemm().unwrap();
    assert_eq!(gemm.rows.len(), 4 * published.len());
    for (row, theirs) in gemm.rows.chunks(4).zip(&published) {
        assert_eq!(row.iter().map(|cells| cells[4].parse().unwrap()).collect::<Vec<f64>>(), theirs.bits);
        assert!(row.iter().all(|cells| cells[0] == theirs.n.to_string() && cells[1] == theirs.columns.to_string()));
    }
    assert!(column(gemm, "ours").iter().all(|cell| *cell == NO_GPU));
    for title in ["Aggregation in TFLOPS (Table 3)", "Aggregation in TFLOPS by bits"] {
        assert!(numbers(&column(table(&tables, title), "host")));
    }
    assert_eq!(column(table(&tables, "Aggregation in TFLOPS by size"), "N"), ["128", "256"]);
    let again = table(&tables, "Non-zero tiles");
    assert_eq!(column(again, "bits"), ["4", "8", "16"]);
    assert!(std::fs::read_to_string(folder.path().join("report.md")).unwrap().starts_with("# QGTC"));
}

#[test]
fn only_graphs_of_the_paper_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let error = tc_gnn::run(&tc_gnn::Options { common: common(folder.path(), Place::Cpu, &["karate"]) }).unwrap_err();
    assert!(error.to_string().contains("karate") && error.to_string().contains("Pubmed"), "{error}");
}

#[test]
fn where_there_is_no_such_gpu_its_columns_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let tables = tc_gnn::run(&tc_gnn::Options { common: common(folder.path(), Place::Cuda(4095), &["Cora"]) }).unwrap();
    assert!(tables.left_out[0].starts_with("columns of a GPU: ") && tables.device.is_none(), "{:?}", tables.left_out);
    assert_eq!(column(table(&tables, "Translation"), "GPU SpMM ms"), [NO_GPU]);
}

#[test]
fn on_the_host_shim() {
    if std::env::var_os("BITGRAPH_CUDA_EMULATOR").is_none() {
        println!("skipped: the tables on the host shim (BITGRAPH_CUDA_EMULATOR is not set)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tables = tc_gnn::run(&tc_gnn::Options { common: common(folder.path(), Place::Cuda(0), &["Cora"]) }).unwrap();
    assert!(tables.left_out.is_empty() && tables.device.is_some());
    assert!(numbers(&column(table(&tables, "Translation"), "GPU SpMM ms")) && tables.failed.is_empty());
    let rates = table(&tables, "SpMM in GFLOPS");
    assert!(numbers(&column(rates, "ours f16")) && numbers(&column(rates, "ours f32")));
    assert!(column(rates, "cuSPARSE f32").iter().all(|cell| *cell == "-"));

    let tables = qgtc::run(&qgtc_options(folder.path(), Place::Cuda(0), &["Proteins", "PPI"])).unwrap();
    assert!(tables.failed.is_empty(), "{:?}", tables.failed);
    for (title, name) in
        [("Zero tiles", "GPU ms"), ("Aggregation in TFLOPS (Table 3)", "ours"), ("Non-zero tiles", "GPU ms, a product each bit")]
    {
        let cells = column(table(&tables, title), name);
        assert!(numbers(&cells), "{title}: {cells:?}");
    }
    assert!(column(table(&tables, "Aggregation in TFLOPS by bits"), "cuBLASLt int8").iter().all(|cell| *cell == "-"));
}

#[test]
fn networks_have_a_row_for_each_published_one() {
    let folder = tempfile::tempdir().unwrap();
    let options = networks::Options { common: common(folder.path(), Place::Cpu, &["Cora"]), seeds: 1 };
    let tables = networks::bitgnn::run(&options).unwrap();
    let found = table(&tables, "Transductive GCN");
    assert_eq!(column(found, "variant"), ["FP32 (S)", "FP32 (T)", "Bi-GCN", "Ours (full)", "Ours (bin)"]);
    assert_eq!(column(found, "ours in"), ["f32", "f32", "bi-full", "bi-full", "bin"]);
    assert!(numbers(&column(found, "CPU ms")) && column(found, "GPU ms").iter().all(|cell| *cell == NO_GPU));

    let tables = networks::halfgnn::run(&options).unwrap();
    let found = table(&tables, "Training in f32");
    assert_eq!(column(found, "model"), ["gcn", "gat", "gin"]);
    let hubs = table(&tables, "Means over");
    let means = |name| column(hubs, name).iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
    // A mean is added up in halves, of eleven bits, batch by batch.
    for (exact, found) in means("exact").into_iter().zip(means("f16, by batches")) {
        assert!((found - exact).abs() < 0.02 * exact, "{found} where {exact} is exact");
    }
    assert!(numbers(&column(table(&tables, "Losses"), "f16")));
}
