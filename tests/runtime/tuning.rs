//! Kernel variants are measured on the adapter, within a budget, and leave nothing behind.

use super::fixture::on_device;
use frameway::kernels::{Choices, tune::probes};

#[test]
fn every_probe_is_decided_and_nothing_stays() {
    on_device(async |runtime| {
        let before = runtime.ledger().memory();
        runtime.tune(f64::INFINITY).await.unwrap();
        let choices = runtime.choices();
        let probes = probes(&runtime.target().limits);
        assert!(!probes.is_empty());
        for probe in &probes {
            let taken = choices.get(&probe.specialisation).unwrap_or_else(|| panic!("{}", probe.specialisation));
            assert!(probe.candidates.iter().any(|c| c.variant == taken));
            println!("{}: {taken}", probe.specialisation);
        }
        assert_eq!(runtime.target().choices, choices);
        assert_eq!(runtime.ledger().memory().gpu.total, before.gpu.total);
    });
}

#[test]
fn a_budget_of_nothing_measures_nothing() {
    on_device(async |runtime| {
        runtime.tune(0.0).await.unwrap();
        assert_eq!(runtime.choices(), Choices::default());
    });
}

#[test]
fn a_kept_table_replaces_measuring() {
    on_device(async |runtime| {
        let mut kept = Choices::default();
        kept.set("conv 1x1 large deep", "matrix");
        let kept: Choices = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        runtime.set_choices(kept.clone());
        runtime.tune(f64::INFINITY).await.unwrap();
        assert_eq!(runtime.choices(), kept);
    });
}
