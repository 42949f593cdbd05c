use super::*;

fn upload(bytes: u64) -> Move {
    Move::new(Place::Javascript, Place::Input, MoveKind::Upload, bytes)
}

fn readback(bytes: u64) -> Move {
    Move::new(Place::Staging, Place::Javascript, MoveKind::Readback, bytes)
}

#[test]
fn bytes_live_and_peak_by_class() {
    let ledger = Ledger::new("a");
    let weights = ledger.open(Object::Buffer(Class::Weights), 100);
    let arena = ledger.open(Object::Buffer(Class::Arena), 30);
    drop(arena);
    let texture = ledger.open(Object::Texture, 7);
    let m = ledger.memory();
    assert_eq!((m.gpu.weights, m.gpu.arena, m.gpu.textures, m.gpu.total, m.gpu.peak), (100, 0, 7, 107, 130));
    assert_eq!((m.peaks.arena, m.buffers, m.textures), (30, 1, 1));
    drop((weights, texture));
    assert_eq!(ledger.memory().gpu.total, 0);
    assert_eq!(ledger.snapshot().buffers_created, 2);
}

#[test]
fn edges_sum_to_the_totals() {
    let ledger = Ledger::new("a");
    ledger.enter(Move::new(Place::Wasm, Place::Weights, MoveKind::Upload, 1000));
    for _ in 0..3 {
        let frame = ledger.begin_frame();
        frame.enter(upload(40).took(2.0));
        frame.enter(upload(8).took(4.0));
        frame.enter(Move::new(Place::Result, Place::Staging, MoveKind::Copy, 16));
        frame.enter(readback(16));
        frame.finish();
    }
    let s = ledger.snapshot();
    assert_eq!((s.frames, s.to_gpu_bytes, s.to_cpu_bytes), (3, 1000 + 3 * 48, 48));
    let e = s.edges.iter().find(|e| e.id == "javascript>input:upload").unwrap();
    assert_eq!((e.bytes_per_frame, e.count, e.bytes, e.cpu_ms), (48, 6, 144, 3.0));
    assert_eq!(s.edges[0].bytes_per_frame, 0);
}

#[test]
fn overlapping_frames_keep_their_bytes_apart() {
    let ledger = Ledger::new("a");
    let first = ledger.begin_frame();
    first.enter(upload(10));
    let second = ledger.begin_frame();
    second.enter(upload(20));
    first.enter(readback(1));
    second.enter(readback(2));
    let s = ledger.snapshot();
    assert_eq!(s.edges.iter().map(|e| e.bytes_per_frame).collect::<Vec<_>>(), [20, 2]);
}

#[test]
fn another_adapter_is_another_account() {
    let ledger = Ledger::new("a");
    let buffer = ledger.open(Object::Buffer(Class::Arena), 64);
    ledger.open_account("b");
    assert_eq!(ledger.memory().gpu.total, 0);
    assert_eq!(ledger.snapshot().buffers_created, 0);
    ledger.open_account("a");
    assert_eq!(ledger.memory().gpu.total, 64);
    ledger.open_account("b");
    drop(buffer);
    ledger.open_account("a");
    assert_eq!(ledger.memory().gpu.total, 0);
    assert_eq!(ledger.accounts().len(), 2);
}

#[test]
fn bounds_name_what_is_exceeded() {
    let ledger = Ledger::new("a");
    let frame = ledger.begin_frame();
    frame.enter(readback(5000));
    frame.enter(Move::new(Place::Input, Place::Input, MoveKind::Relayout, 8).implicit().because("strides"));
    ledger.assert(&Bounds { to_cpu_bytes_per_frame: Some(5000), implicit: Some(1), ..Bounds::default() }).unwrap();
    let bounds: Bounds = serde_json::from_str(r#"{"implicit":0}"#).unwrap();
    let e = ledger.assert(&bounds).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::LayoutMismatch);
    assert_eq!(
        e.to_string(),
        "layout-mismatch: ledger: implicit is 1, allowed are 0 (not asked for: input>input:relayout/strides)"
    );
    let bounds = Bounds { to_cpu_bytes_per_frame: Some(4096), ..Bounds::default() };
    assert_eq!(ledger.assert(&bounds).unwrap_err().message(), "toCpuBytesPerFrame is 5000, allowed are 4096");
}

#[test]
fn the_snapshot_speaks_the_api() {
    let ledger = Ledger::new("a");
    ledger.begin_frame().enter(Move::new(Place::Video, Place::Texture, MoveKind::Reference, 0));
    let json = serde_json::to_value(ledger.snapshot()).unwrap();
    assert_eq!(json["edges"][0]["from"], "video");
    assert_eq!(json["edges"][0]["kind"], "reference");
    assert_eq!(json["edges"][0]["bytesPerFrame"], 0);
    assert!(json["edges"][0].get("gpuMs").is_none());
    for field in ["frames", "toGpuBytes", "toCpuBytes", "buffersCreated", "bindGroupsCreated"] {
        assert!(json[field].is_number(), "{field}");
    }
}
