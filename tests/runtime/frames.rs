//! Frames: textures, frame blocks, and what is kept between them.

use crate::fixture::*;
use frameway::ErrorKind;
use frameway::runtime::{Feed, Pixels};
use frameway::tensor::Tensor;

fn ramp(n: usize) -> Vec<u8> {
    (0..n * 4).map(|i| (i * 7 % 256) as u8).collect()
}

#[test]
fn a_frame_goes_through_a_texture() {
    on_device(|runtime| async move {
        let engine = load(&runtime, picture(6, 3)).await;
        let rgba = ramp(18);
        let frame = Pixels { width: 6, height: 3, rgba: &rgba };
        let outputs = engine.run(&[("image", Feed::Frame(&frame))]).await.unwrap();
        let want: Vec<f32> = rgba.iter().map(|&v| f32::from(v)).collect();
        assert_eq!(outputs[0].as_ref().unwrap().as_slice::<f32>().unwrap(), want);
        assert_eq!(outputs[1].as_ref().unwrap().as_slice::<f32>().unwrap()[..2], [6.0, 3.0]);

        let s = runtime.ledger().snapshot();
        let bytes = |id: &str| s.edges.iter().find(|e| e.id == id).map(|e| (e.bytes_per_frame, e.count));
        assert_eq!(bytes("javascript>texture:copy"), Some((72, 1)));
        assert_eq!(bytes("texture>input:convert"), Some((288, 1)));
        let timed = runtime.adapter().features.contains(&"timestamp-query");
        let convert = s.edges.iter().find(|e| e.id == "texture>input:convert").unwrap();
        assert_eq!(convert.gpu_ms.is_some(), timed);
        assert_eq!(runtime.ledger().memory().gpu.textures, 72);
    });
}

#[test]
fn the_texture_is_kept_until_the_size_changes() {
    on_device(|runtime| async move {
        let engine = load(&runtime, picture(8, 8)).await;
        let (small, large) = (ramp(64), ramp(256));
        let run = async |side: u32, rgba: &[u8]| {
            let frame = Pixels { width: side, height: side, rgba };
            let outputs = engine.run(&[("image", Feed::Frame(&frame))]).await.unwrap();
            outputs[1].as_ref().unwrap().as_slice::<f32>().unwrap()[0]
        };
        assert_eq!(run(8, &small).await, 8.0);
        let warm = runtime.ledger().snapshot();
        for _ in 0..10 {
            assert_eq!(run(8, &small).await, 8.0);
        }
        let s = runtime.ledger().snapshot();
        assert_eq!((s.textures_created, s.bind_groups_created), (warm.textures_created, warm.bind_groups_created));
        assert_eq!(s.buffers_created, warm.buffers_created);
        assert_eq!(run(16, &large).await, 16.0);
        let s = runtime.ledger().snapshot();
        assert_eq!((s.textures_created, s.bind_groups_created), (2, warm.bind_groups_created + 1));
        assert_eq!(runtime.ledger().memory().gpu.textures, 16 * 16 * 4);
        let block = s.edges.iter().find(|e| e.reason == Some("where the frame lies")).unwrap();
        assert_eq!(block.count, 2);
    });
}

#[test]
fn the_same_input_takes_tensors_too() {
    on_device(|runtime| async move {
        let engine = load(&runtime, picture(2, 2)).await;
        let tensor = Tensor::f32([2, 2, 4], (0..16).map(|i| i as f32).collect()).unwrap();
        let outputs = engine.run(&[("image", Feed::Tensor(&tensor))]).await.unwrap();
        assert_eq!(outputs[0].as_ref(), Some(&tensor));
        assert_eq!(outputs[1].as_ref().unwrap().as_slice::<f32>().unwrap()[..2], [2.0, 2.0]);
        assert_eq!(runtime.ledger().memory().gpu.textures, 0);
    });
}

#[test]
fn frames_without_content_are_refused() {
    on_device(|runtime| async move {
        let engine = load(&runtime, picture(2, 2)).await;
        let empty = Pixels { width: 0, height: 2, rgba: &[] };
        let e = engine.run(&[("image", Feed::Frame(&empty))]).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::BadSource, Some("input \"image\"")));
        assert!(e.advice().unwrap().contains("readyState"));
        let short = Pixels { width: 2, height: 2, rgba: &[0; 15] };
        assert_eq!(kind(engine.run(&[("image", Feed::Frame(&short))]).await), ErrorKind::BadSource);
        let wide = Pixels { width: 1 << 20, height: 1, rgba: &[] };
        assert_eq!(kind(engine.run(&[("image", Feed::Frame(&wide))]).await), ErrorKind::BadSource);
    });
}
