use super::*;

fn card() -> Card {
    Card {
        shape: Some([1, 3, 2, 2].into()),
        dtype: Some(DType::F32),
        strides: None,
        layout: Some(Layout::RowMajor),
        device: Some(Device::Host),
    }
}

fn port(dtype: DType) -> TensorDesc {
    TensorDesc::contiguous("x", &TensorType::new(dtype, [1, 3, 2, 2]), Device::Gpu)
}

#[test]
fn a_missing_part_is_named() {
    let without = |change: fn(&mut Card)| {
        let mut c = card();
        change(&mut c);
        c.complete("x").unwrap_err().to_string()
    };
    assert_eq!(
        [
            without(|c| c.shape = None),
            without(|c| c.dtype = None),
            without(|c| c.layout = None),
            without(|c| c.device = None)
        ],
        [
            "shape-mismatch: tensor \"x\": the identity card has no shape (say for instance shape: [1, 3, 128, 128], the \
             outermost first)",
            "dtype-mismatch: tensor \"x\": the identity card has no dtype (say for instance dtype: \"float32\"; nothing is \
             guessed)",
            "layout-mismatch: tensor \"x\": the identity card has no strides (say layout: \"row-major\" for an ordinary array, \
             or strides in elements)",
            "device-mismatch: tensor \"x\": the identity card has no device (hand in data, memory, or a buffer: it says where \
             the elements are)",
        ]
    );
    assert!(card().complete("x").is_ok());
}

#[test]
fn bytes_are_counted_where_the_elements_are() {
    let of = |dtype| Card { dtype: Some(dtype), ..card() }.complete("x").unwrap().bytes();
    assert_eq!(of(DType::U8) * 4, of(DType::F32));
    assert_eq!((of(DType::I64), of(DType::F16), port(DType::U8).bytes()), (96, 24, 48));
}

#[test]
fn zero_copy_needs_all_three_conditions() {
    for bits in 0..8u8 {
        let [shared, ty, layout] = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
        let verdict = Verdict::of(shared, ty, layout);
        assert_eq!(verdict.zero_copy, bits == 7);
        let names = [Condition::SharedMemory, Condition::TypeAndShape, Condition::Layout];
        let failed: Vec<_> =
            names.into_iter().zip([shared, ty, layout]).filter(|(_, met)| !met).map(|(c, _)| c).collect();
        assert_eq!(verdict.failed, failed);
    }
}

#[test]
fn one_mutant_a_part_makes_one_red_line() {
    let ok = |c: &Check| [c.shape.ok, c.dtype.ok, c.strides.ok, c.device.ok];
    let given = card().complete("t").unwrap();
    let plain = check(&given, &port(DType::F32), Reach::Cpu, false);
    assert_eq!(ok(&plain), [true; 4]);
    assert_eq!((plain.verdict.path.as_str(), plain.verdict.bytes), ("uploaded from CPU to GPU memory", 48));
    assert_eq!(plain.verdict.failed, [Condition::SharedMemory]);

    let shape = Card { shape: Some([1, 3, 2, 3].into()), ..card() }.complete("t").unwrap();
    let shape = check(&shape, &port(DType::F32), Reach::Cpu, false);
    assert_eq!(ok(&shape), [false, true, true, true]);
    assert_eq!(shape.shape.message, "expected [1, 3, 2, 2], got [1, 3, 2, 3]");
    assert_eq!((shape.verdict.path.as_str(), shape.verdict.bytes), ("refused: shape-mismatch", 0));

    let dtype = Card { dtype: Some(DType::U8), ..card() }.complete("t").unwrap();
    let dtype = check(&dtype, &port(DType::F32), Reach::Cpu, false);
    assert_eq!(ok(&dtype), [true, false, true, true]);
    assert_eq!(dtype.dtype.message, "expected float32, got uint8: convert the elements first");

    let strides = Card { strides: Some(vec![12, 1, 6, 3]), layout: None, ..card() }.complete("t").unwrap();
    let strides = check(&strides, &port(DType::F32), Reach::Cpu, false);
    assert_eq!(ok(&strides), [true, true, false, true]);
    assert_eq!(strides.strides.message, "expected [12, 4, 2, 1], got [12, 1, 6, 3]: a run lays them again on the GPU");
    assert_eq!(strides.verdict.path, "uploaded from CPU to GPU memory, then laid again on the GPU");
    assert_eq!(strides.verdict.failed, [Condition::SharedMemory, Condition::Layout]);

    let gpu = Card { device: Some(Device::Gpu), ..card() }.complete("t").unwrap();
    let device = check(&gpu, &port(DType::F32), Reach::OtherDevice, false);
    assert_eq!(ok(&device), [true, true, true, false]);
    assert_eq!(device.device.message, "expected gpu, got gpu: the buffer belongs to another GPUDevice");
    let bytes = Card { dtype: Some(DType::U8), ..card() }.complete("t").unwrap();
    let held = check(&bytes, &port(DType::U8), Reach::SameDevice, false);
    assert!(!held.dtype.ok, "elements in a GPU buffer are not converted");
    let same = check(&gpu, &port(DType::F32), Reach::SameDevice, false);
    assert_eq!((ok(&same), same.verdict.path.as_str()), ([true; 4], "copied inside GPU memory"));
}

#[test]
fn the_memory_that_a_request_reads_is_read_where_it_lies() {
    let of = |change: fn(&mut Card)| {
        let mut c = Card { device: Some(Device::Gpu), ..card() };
        change(&mut c);
        check(&c.complete("t").unwrap(), &port(DType::F32), Reach::InPlace, false).verdict
    };
    let plain = of(|_| {});
    assert_eq!((plain.zero_copy, plain.path.as_str(), plain.bytes), (true, "read where it lies by the network", 0));
    let strided = of(|c| (c.strides, c.layout) = (Some(vec![12, 1, 6, 3]), None));
    assert_eq!(strided.failed, [Condition::Layout]);
    assert_eq!(strided.path, "copied inside GPU memory, then laid again on the GPU");
    let other = of(|c| c.dtype = Some(DType::I32));
    assert_eq!((other.failed, other.path.as_str()), (vec![Condition::TypeAndShape], "refused: dtype-mismatch"));
}

#[test]
fn whole_numbers_of_64_bits_are_converted() {
    let given = Card { dtype: Some(DType::I64), ..card() }.complete("t").unwrap();
    let c = check(&given, &port(DType::I64), Reach::Cpu, false);
    assert!(c.dtype.ok);
    assert_eq!(c.dtype.message, "int64: ok, int64 becomes int32");
    assert_eq!(c.verdict.path, "converted on the CPU, then uploaded from CPU to GPU memory");
    assert_eq!(c.verdict.failed, [Condition::SharedMemory, Condition::TypeAndShape]);
}

#[test]
fn a_frame_is_read_where_it_lies() {
    let ty = TensorType::new(DType::U8, [480, 640, 4]);
    let frame = TensorDesc::contiguous("video", &ty, Device::Frame);
    let c = check(&frame, &port(DType::F32), Reach::Sampled, true);
    assert!(c.verdict.zero_copy && c.shape.ok && c.dtype.ok && c.strides.ok && c.device.ok);
    let copied = check(&frame, &port(DType::F32), Reach::Picture, true).verdict;
    assert_eq!((copied.failed, copied.bytes), (vec![Condition::SharedMemory], 640 * 480 * 4));
    let refused = check(&frame, &port(DType::F32), Reach::Sampled, false);
    assert!(!refused.shape.ok && !refused.verdict.zero_copy);
}
