//! Streams, events, typed kernels and workspaces, on a GPU or the host shim.
#![allow(unsafe_code)]

use super::{Buffer, Device, DevicePtr, Observer, Parameters, Recorder, Stream, Workspace, parameters};
use crate::fused::bfs::{BfsLayout, BfsOptions, Variant};
use crate::primitives::tests::device;
use crate::{DeviceCsr, Error, Result};
use bitgraph_algorithms::BfsConfig;
use bitgraph_generate::{Control, Generator};
use bitgraph_testkit::reference;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

parameters! {
    struct IotaParams = "formats/basic.cu" "bg::FillParams" {
        output: DevicePtr<u8>,
        n: u64,
        value: u64,
    }
}

fn graph(text: &str) -> bitgraph_sparse::Csr {
    text.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()
}

/// Keeps the run that it is told of from starting until something arrives.
struct Held(Mutex<Receiver<()>>);

impl Observer for Held {
    fn begins(&self, _: &Stream) -> Result<()> {
        self.0.lock().unwrap().recv_timeout(Duration::from_secs(60)).expect("the other stream waited for this one");
        Ok(())
    }
    fn ends(&self, _: &Stream) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_run_that_no_one_observes_records_nothing() {
    let Some(device) = device() else { return };
    searched(&device, "grid:20x30", 2);
    // An event that was recorded and dropped would be kept for the next.
    assert!(super::lock(&device.shared().events).is_empty());
    let (_release, wait) = channel();
    _release.send(()).unwrap();
    device.stream().observe(Some(Arc::new(Held(Mutex::new(wait)))));
    device.stream().observe(None);
    searched(&device, "grid:20x30", 1);
}

fn searched(device: &Device, name: &str, sources: u32) {
    let host = graph(name);
    let arcs = DeviceCsr::upload(device, &host).unwrap();
    let layout = BfsLayout::build(device, &arcs, None, Variant::Slices, BfsOptions::default()).unwrap().unwrap();
    for source in 0..sources {
        let found = layout.run(device, &arcs, None, &BfsConfig { source, ..BfsConfig::default() }).unwrap();
        assert_eq!(found.levels.unwrap(), reference::levels(&host, source), "{name} from {source}");
    }
}

#[test]
fn two_threads_search_two_graphs_at_once() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for (name, sources) in [("kron:7", 12), ("grid:20x30", 12), ("urand:300:4", 12)] {
            let own = device.fork().unwrap();
            scope.spawn(move || searched(&own, name, sources));
        }
    });
}

#[test]
fn a_run_that_is_held_up_holds_up_no_other_stream() {
    let Some(device) = device() else { return };
    let (other, (release, wait)): (Device, (Sender<()>, Receiver<()>)) = (device.fork().unwrap(), channel());
    let host = graph("grid:20x30");
    let arcs = DeviceCsr::upload(&device, &host).unwrap();
    let layout = BfsLayout::build(&device, &arcs, None, Variant::Slices, BfsOptions::default()).unwrap().unwrap();
    device.stream().observe(Some(Arc::new(Held(Mutex::new(wait)))));
    std::thread::scope(|scope| {
        let held = scope.spawn(|| layout.run(&device, &arcs, None, &BfsConfig::default()).unwrap());
        scope.spawn(|| {
            searched(&other, "kron:7", 3);
            release.send(()).unwrap();
        });
        assert_eq!(held.join().unwrap().levels.unwrap(), reference::levels(&host, 0));
    });
}

#[test]
fn a_kernel_is_loaded_for_the_struct_that_it_takes() {
    let Some(device) = device() else { return };
    let n = 1000;
    let out: Buffer<u32> = device.alloc(n).unwrap();
    let parameters = IotaParams { output: out.ptr().cast(), value: 5, n: n as u64 };
    let kernel = device.kernel("formats/basic", "iota_u32").unwrap();
    // SAFETY: the array has `n` elements.
    unsafe { device.launch(&kernel, device.cover(n, 64), &parameters) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), (5..5 + n as u32).collect::<Vec<_>>());
    let other = device.kernel::<super::GridState>("formats/basic", "iota_u32").unwrap_err();
    assert!(matches!(other, Error::OtherParameters { .. }), "{other}");
    // What a kernel takes is in the shim's code alone; a GPU's driver does not tell.
    if device.properties().emulated {
        let other = device.kernel::<super::GridState>("formats/basic", "fill_u32").unwrap_err();
        assert!(other.to_string().contains("FillParams"), "{other}");
    }
    assert_eq!(IotaParams::STRUCT.short_name(), "FillParams");
}

#[test]
fn events_order_streams_and_tell_time() {
    let Some(device) = device() else { return };
    let other = device.fork().unwrap();
    let (from, to) = (device.upload(&[7u32; 4096]).unwrap(), other.zeroed::<u32>(4096).unwrap());
    let start = device.stream().record().unwrap();
    other.stream().after(from.stream(), || to.copy_from(0, &from)).unwrap();
    drop(from);
    let over = device.upload(&[9u32; 4096]).unwrap();
    let end = device.stream().record().unwrap();
    assert_eq!((to.to_vec().unwrap(), over.get(0).unwrap()), (vec![7; 4096], 9));
    assert!(end.seconds_since(&start).unwrap() >= 0.0 && end.is_reached().unwrap());
    device.synchronize().unwrap();
    assert!(device.stream().is_idle().unwrap());
}

#[test]
fn devices_that_were_opened_apart_do_not_mix() {
    let (Some(device), Some(apart)) = (device(), device()) else { return };
    let event = apart.stream().record().unwrap();
    assert!(matches!(device.stream().wait_for(&event), Err(Error::OtherDevice { .. })));
    let array = apart.zeroed::<u32>(1).unwrap();
    assert!(matches!(device.stream().after(array.stream(), || Ok(())), Err(Error::OtherDevice { .. })));
}

#[test]
fn a_workspace_gives_memory_out_again() {
    let Some(device) = device() else { return };
    let used = || device.memory().unwrap().used;
    let before = used();
    let mut workspace = Workspace::new(&device);
    let round = |workspace: &mut Workspace| {
        let (a, b): (Buffer<u32>, Buffer<u64>) = (workspace.take(100).unwrap(), workspace.take(1000).unwrap());
        a.copy_from_slice(0, &[1; 100]).unwrap();
        b.copy_from_slice(0, &[2; 1000]).unwrap();
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![1; 100], vec![2; 1000]));
        assert!(a.ptr().address() % 16 == 0 && b.ptr().address() % 16 == 0);
        (a.ptr().address(), b.ptr().address())
    };
    round(&mut workspace);
    let first = round(&mut workspace);
    let bytes = workspace.bytes();
    assert_eq!((round(&mut workspace), used() - before, workspace.bytes()), (first, bytes, bytes));
    let kept: Buffer<u8> = workspace.take(1).unwrap();
    assert_ne!(round(&mut workspace).0, kept.ptr().address());
    assert_eq!(workspace.take::<u32>(0).unwrap().len(), 0);
    drop((kept, workspace));
    assert_eq!(used(), before);
}

#[test]
fn what_is_written_down_is_done_by_replays() {
    let Some(device) = device() else { return };
    let device = device.fork().unwrap();
    let (a, b) = (device.upload(&[1u32, 2, 3]).unwrap(), device.zeroed::<u32>(3).unwrap());
    let mut recorder = Recorder::new(&device).unwrap();
    let number = recorder.write(0, &mut || {
        let scratch = device.alloc::<u32>(3)?;
        scratch.copy_from(0, &a)?;
        b.copy_from(0, &scratch)
    });
    assert_eq!(b.to_vec().unwrap(), [0; 3], "nothing is done yet");
    let number = number.unwrap().unwrap();
    // What the launches name stays, though no other handle holds it.
    a.copy_from_slice(0, &[4, 5, 6]).unwrap();
    drop(a);
    recorder.replay(number).unwrap();
    assert_eq!(b.to_vec().unwrap(), [4, 5, 6]);
    assert_eq!(recorder.replay(7), Err(Error::NotWritten));
    // What goes to the host or comes from it is refused, and leaves the stream as it was.
    let refused = recorder.write(0, &mut || b.to_vec().map(drop));
    assert!(matches!(refused, Err(Error::Unwritable { .. })), "{refused:?}");
    assert!(matches!(recorder.write(0, &mut || b.copy_from_slice(0, &[1])), Err(Error::Unwritable { .. })));
    assert_eq!(b.to_vec().unwrap(), [4, 5, 6]);
}

#[test]
fn memory_of_a_recorder_stays_its_own() {
    let Some(device) = device() else { return };
    let device = device.fork().unwrap();
    let recorder = Recorder::new(&device).unwrap();
    let kept = recorder.run(|| device.upload(&[7u32; 100])).unwrap();
    let address = recorder.run(|| Ok::<_, Error>(device.alloc::<u32>(50)?.ptr().address())).unwrap();
    let other = device.alloc::<u32>(50).unwrap();
    assert_ne!(other.ptr().address(), address, "the block is the recorder's, though it is free");
    assert_eq!(recorder.run(|| Ok::<_, Error>(device.alloc::<u32>(50)?.ptr().address())).unwrap(), address);
    // An array outlives the recorder.
    drop(recorder);
    assert_eq!(kept.to_vec().unwrap(), [7; 100]);
}

#[test]
fn other_threads_wait_while_work_is_written_down() {
    let Some(device) = device() else { return };
    let device = device.fork().unwrap();
    let (here, there) = (device.zeroed::<u32>(4).unwrap(), device.zeroed::<u32>(4).unwrap());
    let mut recorder = Recorder::new(&device).unwrap();
    let number = std::thread::scope(|scope| {
        let (begun, wait) = channel();
        let other = scope.spawn({
            let there = there.clone();
            move || {
                wait.recv().unwrap();
                there.fill_bytes(1).unwrap();
            }
        });
        let number = recorder.write(0, &mut || {
            begun.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            here.fill_bytes(2)
        });
        other.join().unwrap();
        number.unwrap().unwrap()
    });
    assert_eq!((here.to_vec().unwrap(), there.to_vec().unwrap()), (vec![0; 4], vec![0x0101_0101; 4]));
    there.fill_bytes(3).unwrap();
    recorder.replay(number).unwrap();
    assert_eq!((here.to_vec().unwrap(), there.to_vec().unwrap()), (vec![0x0202_0202; 4], vec![0x0303_0303; 4]));
}
