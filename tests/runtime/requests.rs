//! Pools, leases, closing.

use crate::fixture::*;
use frameway::ErrorKind;
use frameway::runtime::{Cancel, Feed, Lease, LoadOptions, Request};
use frameway::tensor::{DType, Tensor};
use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn stamp(n: f32) -> Tensor {
    Tensor::f32([4], vec![n; 4]).unwrap()
}

async fn run(request: &Request, n: f32) -> frameway::Result<Lease> {
    request.run(&[("x", Feed::Tensor(&stamp(n)))]).await
}

fn first(lease: &Lease) -> f32 {
    lease.read(0).unwrap().as_slice::<f32>().unwrap()[0]
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn requests_go_to_who_asked_first() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        let held = pool.acquire().await.unwrap();
        let cancel = Cancel::default();
        let (mut a, mut b, mut c) =
            (Box::pin(pool.acquire()), Box::pin(pool.acquire_unless(&cancel)), Box::pin(pool.acquire()));
        assert!(poll(a.as_mut()).is_pending());
        assert!(poll(b.as_mut()).is_pending());
        assert!(poll(c.as_mut()).is_pending());
        assert_eq!(runtime.ledger().memory().queue.waiting, 3);
        cancel.cancel();
        match poll(b.as_mut()) {
            Poll::Ready(result) => assert_eq!(kind(result), ErrorKind::Canceled),
            Poll::Pending => panic!("a canceled acquisition ends"),
        }
        held.release();
        assert!(poll(c.as_mut()).is_pending());
        let Poll::Ready(Ok(second)) = poll(a.as_mut()) else { panic!("who asked first gets first") };
        // A caller that gives up after the request was handed to him does not keep it.
        drop(second);
        drop(c);
        assert_eq!(pool.idle(), 1);
        assert_eq!(runtime.ledger().memory().queue.waiting, 0);
    });
}

#[test]
fn released_requests_can_run_while_nobody_else_has_them() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        let request = pool.acquire().await.unwrap();
        for n in 0..3 {
            let lease = run(&request, n as f32).await.unwrap();
            assert_eq!(first(&lease), n as f32 + 10.0);
            lease.release();
            assert_eq!(pool.idle(), 1);
            assert_eq!(kind(lease.read(0)), ErrorKind::StaleOutput);
        }
        let other = pool.acquire().await.unwrap();
        assert_eq!(kind(run(&request, 0.0).await), ErrorKind::Busy);
        drop(other);
        run(&request, 0.0).await.unwrap();
    });
}

#[test]
fn outputs_are_stale_when_the_request_has_run_again() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(2).await.unwrap();
        let (a, b) = (pool.acquire().await.unwrap(), pool.acquire().await.unwrap());
        let mut kept: Vec<(f32, Lease, Vec<Option<Tensor>>)> = Vec::new();
        for n in 0..500 {
            let request = if n % 3 == 0 { &a } else { &b };
            let lease = run(request, n as f32).await.unwrap();
            assert_eq!(first(&lease), n as f32 + 10.0);
            let copy = lease.detach().unwrap();
            kept.push((n as f32 + 10.0, lease, copy));
            let fresh: Vec<f32> = kept
                .iter()
                .filter_map(|(want, lease, _)| match lease.read(0) {
                    Ok(y) => Some((*want, y.as_slice::<f32>().unwrap()[0])),
                    Err(e) => {
                        assert_eq!(e.kind(), ErrorKind::StaleOutput);
                        assert!(!lease.is_fresh());
                        None
                    }
                })
                .map(|(want, got)| {
                    assert_eq!(want, got);
                    got
                })
                .collect();
            assert!(fresh.len() <= 2);
            assert!(
                kept.iter().all(|(want, _, copy)| copy[0].as_ref().unwrap().as_slice::<f32>().unwrap()[0] == *want)
            );
            if kept.len() > 20 {
                kept.remove(0);
            }
        }
        // A stale lease gives nothing back: the request belongs to the later one.
        kept[0].1.release();
        assert_eq!(pool.idle(), 0);
    });
}

#[test]
fn one_frame_is_read_while_the_next_runs() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        let request = pool.acquire().await.unwrap();
        let submit = |n: f32| request.submit(&[("x", Feed::Tensor(&stamp(n)))]);
        let mut before = submit(0.0).unwrap();
        for n in 1..20 {
            let next = submit(n as f32).unwrap();
            assert_eq!(kind(request.start(&[("x", Feed::Tensor(&stamp(0.0)))])), ErrorKind::Busy);
            assert_eq!(runtime.ledger().memory().queue.in_flight, 2);
            let lease = before.await.unwrap();
            assert_eq!(first(&lease), n as f32 + 9.0);
            before = next;
        }
        assert_eq!(first(&before.await.unwrap()), 29.0);
        // The results of three runs stay, the oldest goes for the fourth.
        let mut leases = Vec::new();
        for n in 0..4 {
            leases.push(submit(n as f32).unwrap().await.unwrap());
        }
        assert_eq!(kind(leases[0].read(0)), ErrorKind::StaleOutput);
        assert_eq!(leases[1..].iter().map(first).collect::<Vec<_>>(), [11.0, 12.0, 13.0]);
        // A run that waits for nobody makes them all stale.
        let alone = run(&request, 4.0).await.unwrap();
        assert!(leases.iter().all(|lease| !lease.is_fresh()));
        assert_eq!(first(&alone), 14.0);
        let three = [submit(1.0).unwrap(), submit(2.0).unwrap(), submit(3.0).unwrap()];
        assert_eq!(kind(submit(4.0)), ErrorKind::Busy);
        drop(three);
        assert_eq!(runtime.ledger().memory().queue.in_flight, 0);
        assert_eq!(first(&submit(5.0).unwrap().await.unwrap()), 15.0);
    });
}

#[test]
fn requests_share_the_weights() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let base = runtime.ledger().memory();
        assert_eq!((base.gpu.weights, base.gpu.arena, base.engines), (16, 0, 1));
        let pool = engine.requests(5).await.unwrap();
        let m = runtime.ledger().memory();
        assert_eq!((m.gpu.weights, m.gpu.arena, m.requests), (16, 5 * 512, 5));
        pool.close().await;
        let m = runtime.ledger().memory();
        assert_eq!((m.gpu.weights, m.gpu.arena, m.requests), (16, 0, 0));
    });
}

#[test]
fn concurrent_runs_of_an_engine_wait_for_one_another() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let done = RefCell::new(Vec::new());
        let one = async |n: f32| {
            let outputs = engine.run(&[("x", Feed::Tensor(&stamp(n)))]).await.unwrap();
            done.borrow_mut().push(outputs[0].as_ref().unwrap().as_slice::<f32>().unwrap()[0]);
        };
        let mut runs = [pin!(one(1.0)), pin!(one(2.0)), pin!(one(3.0))];
        for _ in 0..10 {
            for run in &mut runs {
                if done.borrow().len() < 3 {
                    let _ = poll(run.as_mut());
                }
            }
        }
        assert_eq!(*done.borrow(), [11.0, 12.0, 13.0]);
        assert_eq!(runtime.ledger().memory().requests, 1);
    });
}

#[test]
fn closing_frees_everything_and_says_so() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(2).await.unwrap();
        let request = pool.acquire().await.unwrap();
        let other = pool.acquire().await.unwrap();
        let lease = run(&request, 1.0).await.unwrap();
        let in_flight = request.submit(&[("x", Feed::Tensor(&stamp(2.0)))]).unwrap();
        let mut waiting = Box::pin(pool.acquire());
        assert!(poll(waiting.as_mut()).is_pending());

        engine.close().await;
        engine.close().await;
        let Poll::Ready(turned_away) = poll(waiting.as_mut()) else { panic!("nobody waits for a closed pool") };
        assert_eq!(kind(turned_away), ErrorKind::Closed);
        assert_eq!(kind(lease.read(0)), ErrorKind::Closed);
        assert_eq!(kind(run(&other, 1.0).await), ErrorKind::Closed);
        assert_eq!(kind(engine.run(&[]).await), ErrorKind::Closed);
        assert_eq!(kind(engine.requests(1).await), ErrorKind::Closed);
        assert_eq!(kind(pool.acquire().await), ErrorKind::Closed);
        // Its results went with the request.
        assert_eq!(kind(in_flight.await.and_then(|lease| lease.read(0))), ErrorKind::Closed);
        let m = runtime.ledger().memory();
        assert_eq!((m.gpu.total, m.buffers, m.requests, m.engines), (0, 0, 0, 0));

        runtime.close().await;
        runtime.close().await;
        assert_eq!(kind(runtime.load(scale(), LoadOptions::default()).await), ErrorKind::Closed);
    });
}

#[test]
fn dropping_in_flight_is_safe() {
    on_device(|runtime| async move {
        for _ in 0..20 {
            let engine = load(&runtime, identity(DType::F32, 1 << 16)).await;
            let pool = engine.requests(1).await.unwrap();
            let request = pool.acquire().await.unwrap();
            let x = Tensor::f32([1 << 16], vec![1.0; 1 << 16]).unwrap();
            let run = request.submit(&[("x", Feed::Tensor(&x))]).unwrap();
            drop((engine, pool, request));
            drop(run);
        }
        assert_eq!(runtime.ledger().memory().gpu.total, 0);
    });
}

#[test]
fn a_lost_device_is_an_error_everywhere() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        let request = pool.acquire().await.unwrap();
        runtime.close().await;
        assert_eq!(runtime.until_lost().await.reason, "destroyed");
        assert!(runtime.lost().is_some());
        assert!(matches!(kind(run(&request, 1.0).await), ErrorKind::Closed | ErrorKind::DeviceLost));
    });
}
