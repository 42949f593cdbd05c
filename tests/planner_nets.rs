//! Well-known networks reach their lower bound, and the lower bound is the published one.
//!
//! Sizes in MiB at float32, convolution fused with batch norm and activation, the input image excluded; compare table 2
//! of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020).

use frameway::plan::{Block, Lifetime, Options, Plan, Relation, plan, unify, validate};

/// Height, width, channels.
type Shape = [u64; 3];

/// A network as the planner sees it: one value a layer, steps in the order of the calls.
#[derive(Default)]
struct Net {
    shapes: Vec<Shape>,
    last_read: Vec<u32>,
    relations: Vec<Relation>,
    views: bool,
}

impl Net {
    /// A layer that reads `operands`; no operand means the input image. Returns its value.
    fn layer(&mut self, operands: &[usize], shape: Shape) -> usize {
        let step = self.shapes.len();
        operands.iter().for_each(|&operand| self.last_read[operand] = step as u32);
        self.shapes.push(shape);
        self.last_read.push(step as u32);
        step
    }

    /// A convolution or pooling with "same" padding: size divided by `stride`, rounded up.
    fn same(&mut self, x: usize, channels: u64, stride: u64) -> usize {
        let [h, w, _] = self.shapes[x];
        self.layer(&[x], [h.div_ceil(stride), w.div_ceil(stride), channels])
    }

    /// One with "valid" padding.
    fn valid(&mut self, x: usize, channels: u64, kernel: u64, stride: u64) -> usize {
        let [h, w, _] = self.shapes[x];
        self.layer(&[x], [(h - kernel) / stride + 1, (w - kernel) / stride + 1, channels])
    }

    fn channels(&self, x: usize) -> u64 {
        self.shapes[x][2]
    }

    fn depthwise(&mut self, x: usize, stride: u64) -> usize {
        self.same(x, self.channels(x), stride)
    }

    fn add(&mut self, x: usize, y: usize) -> usize {
        let sum = self.layer(&[x, y], self.shapes[x]);
        self.relations.extend([x, y].map(|operand| Relation::InPlace { operand, result: sum }));
        sum
    }

    /// Channels behind one another; channel-major, so that each part is one range.
    fn concat(&mut self, parts: &[usize]) -> usize {
        let [h, w, _] = self.shapes[parts[0]];
        let whole = self.layer(parts, [h, w, parts.iter().map(|&part| self.channels(part)).sum()]);
        let mut offset = 0;
        for &part in parts {
            if self.views {
                self.relations.push(Relation::View { whole, part, offset });
            }
            offset += bytes(self.shapes[part]);
        }
        whole
    }

    /// Keeps an output until the end.
    fn output(&mut self, x: usize) {
        self.last_read[x] = u32::MAX - 1;
    }

    fn plan(&self, in_place: bool, alignment: u64) -> Plan {
        let values: Vec<Block> = (0u32..)
            .zip(self.shapes.iter().zip(&self.last_read))
            .map(|(step, (&shape, &last))| Block { bytes: bytes(shape), life: Lifetime::through(step, last) })
            .collect();
        let wanted = |relation: &&Relation| in_place || matches!(relation, Relation::View { .. });
        let relations: Vec<Relation> = self.relations.iter().filter(wanted).copied().collect();
        let aliased = unify(&values, &relations, &[], alignment).expect("small sizes");
        let plan = plan(&aliased.blocks, &Options { alignment, ..Options::default() }).expect("small sizes");
        assert_eq!(validate(&aliased.blocks, &plan, alignment), Ok(()));
        plan
    }
}

fn bytes([h, w, c]: Shape) -> u64 {
    h * w * c * 4
}

#[track_caller]
fn assert_reaches(net: &Net, in_place: bool, mib: &str) {
    // The published figures do not round buffers up; WebGPU's alignment adds a little to plan and bound alike.
    for alignment in [4, 256] {
        let plan = net.plan(in_place, alignment);
        println!("alignment {alignment}: {plan}");
        assert_eq!(plan.bytes, plan.lower_bound, "{plan}");
        assert!(plan.optimal);
        if alignment == 4 {
            assert_eq!(format!("{:.3}", plan.lower_bound as f64 / 1_048_576.0), mib);
        }
    }
}

/// The body of MobileNet v1 with channels times `alpha` / 4; strides beyond `output_stride` become dilation.
fn mobilenet_v1(net: &mut Net, stem: Shape, alpha: u64, output_stride: u64) -> usize {
    let mut x = net.layer(&[], stem);
    let mut reached = 2;
    let body: [(u64, u64); 13] = [
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
        (512, 1),
        (512, 1),
        (512, 1),
        (512, 1),
        (1024, 2),
        (1024, 1),
    ];
    for (channels, stride) in body {
        let stride = if reached * stride > output_stride { 1 } else { stride };
        reached *= stride;
        x = net.depthwise(x, stride);
        x = net.same(x, channels * alpha / 4, 1);
    }
    x
}

fn classify(net: &mut Net, x: usize, classes: u64) {
    let pooled = net.layer(&[x], [1, 1, net.channels(x)]);
    let scores = net.layer(&[pooled], [1, 1, classes]);
    let probabilities = net.layer(&[scores], [1, 1, classes]);
    net.output(probabilities);
}

#[test]
fn mobilenet_v1_224() {
    let mut net = Net::default();
    let x = mobilenet_v1(&mut net, [112, 112, 32], 4, 32);
    classify(&mut net, x, 1001);
    assert_reaches(&net, false, "4.594");
}

#[test]
fn mobilenet_v2_224() {
    let mut net = Net::default();
    let mut x = net.layer(&[], [112, 112, 32]);
    let rows =
        [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];
    for (expansion, channels, repeats, first_stride) in rows {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first_stride } else { 1 };
            let wide = if expansion == 1 { x } else { net.same(x, net.channels(x) * expansion, 1) };
            let deep = net.depthwise(wide, stride);
            let y = net.same(deep, channels, 1);
            x = if repeat == 0 { y } else { net.add(x, y) };
        }
    }
    x = net.same(x, 1280, 1);
    classify(&mut net, x, 1001);
    assert_reaches(&net, false, "5.742");
}

#[test]
fn resnet_50() {
    let mut net = Net::default();
    let stem = net.layer(&[], [112, 112, 64]);
    let mut x = net.same(stem, 64, 2);
    for (channels, repeats, first_stride) in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)] {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first_stride } else { 1 };
            let narrow = net.same(x, channels, 1);
            let deep = net.same(narrow, channels, stride);
            let wide = net.same(deep, channels * 4, 1);
            let shortcut = if repeat == 0 { net.same(x, channels * 4, stride) } else { x };
            x = net.add(shortcut, wide);
        }
    }
    classify(&mut net, x, 1000);
    assert_reaches(&net, false, "9.188");
    assert_reaches(&net, true, "6.891");
}

#[test]
fn blazeface_front_128_in_place() {
    let mut net = Net::default();
    let mut x = net.layer(&[], [64, 64, 24]);
    let mut block = |net: &mut Net, channels: u64, stride: u64| {
        let deep = net.depthwise(x, stride);
        let wide = net.same(deep, channels, 1);
        let mut shortcut = if stride == 2 { net.depthwise(x, 2) } else { x };
        if net.channels(shortcut) != channels {
            shortcut = net.same(shortcut, channels, 1);
        }
        x = net.add(shortcut, wide);
        x
    };
    let mut fine = 0;
    for (channels, stride) in
        [(24, 1), (28, 1), (32, 2), (36, 1), (42, 1), (48, 2), (56, 1), (64, 1), (72, 1), (80, 1), (88, 1)]
    {
        fine = block(&mut net, channels, stride);
    }
    let mut coarse = 0;
    for stride in [2, 1, 1, 1, 1] {
        coarse = block(&mut net, 96, stride);
    }
    for [at_fine, at_coarse] in [[2, 6], [32, 96]] {
        let parts = [net.same(fine, at_fine, 1), net.same(coarse, at_coarse, 1)];
        let rows = parts.map(|part| bytes(net.shapes[part]) / 4);
        let all = net.layer(&parts, [1, 1, rows[0] + rows[1]]);
        net.output(all);
    }
    assert_reaches(&net, true, "1.250");
}

#[test]
fn posenet_353_by_257() {
    let mut net = Net::default();
    let x = mobilenet_v1(&mut net, [177, 129, 24], 3, 16);
    for channels in [17, 34, 32, 32] {
        let head = net.same(x, channels, 1);
        net.output(head);
    }
    assert_reaches(&net, false, "6.271");
}

#[test]
fn inception_v3_299() {
    for views in [false, true] {
        let mut net = Net { views, ..Net::default() };
        let mut x = net.layer(&[], [149, 149, 32]);
        x = net.valid(x, 32, 3, 1);
        x = net.same(x, 64, 1);
        x = net.valid(x, 64, 3, 2);
        x = net.same(x, 80, 1);
        x = net.valid(x, 192, 3, 1);
        x = net.valid(x, 192, 3, 2);
        let chain = |net: &mut Net, x: usize, channels: &[u64]| channels.iter().fold(x, |x, &c| net.same(x, c, 1));
        for pooled in [32, 64, 64] {
            let parts = [&[64][..], &[48, 64], &[64, 96, 96], &[net.channels(x), pooled]];
            let parts = parts.map(|channels| chain(&mut net, x, channels));
            x = net.concat(&parts);
        }
        let reduce = |net: &mut Net, x: usize, chains: &[(&[u64], u64)]| {
            let mut parts: Vec<usize> = Vec::new();
            for &(channels, last) in chains {
                let narrow = chain(net, x, channels);
                parts.push(net.valid(narrow, last, 3, 2));
            }
            parts.push(net.valid(x, net.channels(x), 3, 2));
            net.concat(&parts)
        };
        x = reduce(&mut net, x, &[(&[], 384), (&[64, 96], 96)]);
        for narrow in [128, 160, 160, 192] {
            let n = narrow;
            let parts = [&[192][..], &[n, n, 192], &[n, n, n, n, 192], &[net.channels(x), 192]];
            let parts = parts.map(|channels| chain(&mut net, x, channels));
            x = net.concat(&parts);
        }
        x = reduce(&mut net, x, &[(&[192], 320), (&[192, 192, 192], 192)]);
        for _ in 0..2 {
            let first = chain(&mut net, x, &[320]);
            let second = chain(&mut net, x, &[384]);
            let second = [net.same(second, 384, 1), net.same(second, 384, 1)];
            let third = chain(&mut net, x, &[448, 384]);
            let third = [net.same(third, 384, 1), net.same(third, 384, 1)];
            let channels = net.channels(x);
            let pooled = chain(&mut net, x, &[channels, 192]);
            x = net.concat(&[first, second[0], second[1], third[0], third[1], pooled]);
        }
        assert_eq!(net.shapes[x], [8, 8, 2048]);
        classify(&mut net, x, 1001);
        assert_reaches(&net, false, "7.913");
    }
}
