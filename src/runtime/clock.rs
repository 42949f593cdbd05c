//! The time of day in milliseconds from some beginning, which the host supplies: `std::time` has no clock on wasm.

/// A clock: milliseconds, never running backwards.
pub type Clock = fn() -> f64;

/// The clock of a native build; stands still on wasm, where the host must pass its own.
pub fn system() -> f64 {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGINNING: OnceLock<Instant> = OnceLock::new();
        BEGINNING.get_or_init(Instant::now).elapsed().as_secs_f64() * 1000.0
    }
    #[cfg(target_arch = "wasm32")]
    0.0
}
