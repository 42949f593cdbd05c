//! Fixes the dimensions of the inputs.

use crate::error::{Error, ErrorKind, Result};
use crate::import::{Dim, PortInfo};
use crate::tensor::Shape;
use std::collections::BTreeMap;

/// The shape of each input: what the model states, filled up from `given`. Inputs that share a symbolic dimension share
/// its size, so fixing one fixes the others.
///
/// # Errors
/// `shape-mismatch` that names the input: its dimensions are not fixed, contradict the model, or no such input exists.
pub fn resolve(ports: &[PortInfo], given: &BTreeMap<String, Vec<usize>>) -> Result<Vec<Shape>> {
    if let Some(stranger) = given.keys().find(|name| ports.iter().all(|p| p.name != **name)) {
        let names = ports.iter().map(|p| format!("{:?}", p.name)).collect::<Vec<_>>().join(", ");
        let message = format!("shapes speaks of {stranger:?}, but the model's inputs are {names}");
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    let mut symbols: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for port in ports {
        let Some(shape) = given.get(&port.name) else { continue };
        check(port, shape)?;
        for (dim, &size) in port.dims.iter().flatten().zip(shape) {
            if let Dim::Symbolic(name) = dim {
                // Where the caller gives one name two sizes it says nothing about others.
                symbols.entry(name).and_modify(|s| *s = s.filter(|&s| s == size)).or_insert(Some(size));
            }
        }
    }
    ports.iter().map(|port| shape_of(port, given.get(&port.name), &symbols)).collect()
}

fn shape_of(port: &PortInfo, given: Option<&Vec<usize>>, symbols: &BTreeMap<&str, Option<usize>>) -> Result<Shape> {
    if let Some(shape) = given {
        return Ok(Shape::from(shape.as_slice()));
    }
    let size = |dim: &Dim| match dim {
        Dim::Fixed(n) => Some(*n),
        Dim::Symbolic(name) => symbols.get(name.as_str()).copied().flatten(),
        Dim::Unknown => None,
    };
    let shape = port.dims.as_ref().and_then(|dims| dims.iter().map(size).collect::<Option<Vec<_>>>());
    shape.map(Shape).ok_or_else(|| {
        let message = format!("its shape {} is not fixed", port.dims_text());
        let slot = |d: &Dim| if let Dim::Fixed(n) = d { n.to_string() } else { "…".into() };
        let example = port.dims.iter().flatten().map(slot).collect::<Vec<_>>().join(", ");
        Error::new(ErrorKind::ShapeMismatch, message)
            .at(format!("input {:?}", port.name))
            .hint(format!("pass shapes: {{ {:?}: [{example}] }}", port.name))
    })
}

fn check(port: &PortInfo, shape: &[usize]) -> Result<()> {
    let Some(dims) = &port.dims else { return Ok(()) };
    // A stated 0 is what some exporters write for "not known".
    let fits = |(dim, &size): (&Dim, &usize)| !matches!(dim, Dim::Fixed(n) if *n != size && *n != 0);
    if dims.len() == shape.len() && dims.iter().zip(shape).all(fits) {
        return Ok(());
    }
    let message = format!("shapes gives {}, which does not fit the model's {}", Shape::from(shape), port.dims_text());
    Err(Error::new(ErrorKind::ShapeMismatch, message).at(format!("input {:?}", port.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    fn port(name: &str, dims: Vec<Dim>) -> PortInfo {
        PortInfo { name: name.into(), dtype: DType::F32, dims: Some(dims) }
    }

    fn given(pairs: &[(&str, &[usize])]) -> BTreeMap<String, Vec<usize>> {
        pairs.iter().map(|(n, s)| ((*n).to_owned(), s.to_vec())).collect()
    }

    #[test]
    fn a_shared_name_is_fixed_once() {
        let batch = || Dim::Symbolic("N".into());
        let ports = [port("a", vec![batch(), Dim::Fixed(3)]), port("b", vec![batch()])];
        let shapes = resolve(&ports, &given(&[("a", &[2, 3])])).unwrap();
        assert_eq!(shapes, [Shape::from([2, 3]), Shape::from([2])]);
    }

    #[test]
    fn says_which_input_is_open_and_how_to_fix_it() {
        let ports = [port("x", vec![Dim::Symbolic("N".into()), Dim::Fixed(3), Dim::Unknown])];
        let e = resolve(&ports, &given(&[])).unwrap_err();
        assert_eq!(
            e.to_string(),
            "shape-mismatch: input \"x\": its shape [N, 3, ?] is not fixed (pass shapes: { \"x\": […, 3, …] })"
        );
        let e = resolve(&ports, &given(&[("x", &[1, 4, 8])])).unwrap_err();
        assert!(e.message().contains("does not fit the model's [N, 3, ?]"), "{e}");
        let e = resolve(&ports, &given(&[("y", &[1])])).unwrap_err();
        assert!(e.message().contains("the model's inputs are \"x\""), "{e}");
    }
}
