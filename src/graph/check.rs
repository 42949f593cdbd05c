use super::{Graph, Node, ValueId};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Step;

impl Graph {
    /// Verifies that the graph is consistent: every value exists, is made once, before it is read, and epilogues speak of
    /// inputs that exist. Passes and tests call it; it shares no code with them.
    ///
    /// # Errors
    /// `invalid-model` naming the node or value.
    pub fn check(&self) -> Result<()> {
        let mut made = vec![false; self.values.len()];
        for &id in &self.inputs {
            self.define(&mut made, id, || "a model input".into())?;
        }
        for (i, value) in self.values.iter().enumerate() {
            if let (Some(constant), Some(slot)) = (&value.constant, made.get_mut(i)) {
                *slot = true;
                if value.ty.as_ref() != Some(&constant.ty()) {
                    let message = format!("constant {:?} is {} and says otherwise", value.name, constant.ty());
                    return Err(broken(message));
                }
            }
        }
        for node in &self.nodes {
            for &input in node.inputs.iter().flatten() {
                if made.get(input.index()) != Some(&true) {
                    let name = self.values.get(input.index()).map_or("?", |v| v.name.as_str());
                    return Err(broken(format!("it reads {name:?} before it is made")).at(node.place()));
                }
            }
            check_epilogue(node)?;
            for &output in &node.outputs {
                self.define(&mut made, output, || node.place())?;
            }
        }
        match self.outputs.iter().find(|id| made.get(id.index()) != Some(&true)) {
            Some(id) => Err(broken(format!("nothing makes output {}", id.0))),
            None => Ok(()),
        }
    }

    fn define(&self, made: &mut [bool], id: ValueId, place: impl Fn() -> String) -> Result<()> {
        match made.get_mut(id.index()) {
            Some(slot) if !*slot => {
                *slot = true;
                Ok(())
            }
            Some(_) => Err(broken(format!("value {} is made twice", id.0)).at(place())),
            None => Err(broken(format!("value {} does not exist", id.0)).at(place())),
        }
    }
}

fn check_epilogue(node: &Node) -> Result<()> {
    if node.own_inputs > node.inputs.len() {
        return Err(broken("it has fewer inputs than its operator wants").at(node.place()));
    }
    if !node.epilogue.is_empty() && node.outputs.len() != 1 {
        return Err(broken("only a node with one output can have an epilogue").at(node.place()));
    }
    for step in &node.epilogue.steps {
        if let Step::Tensor { input, .. } = *step
            && node.inputs.get(input).copied().flatten().is_none()
        {
            return Err(broken(format!("its epilogue reads input {input}, which does not exist")).at(node.place()));
        }
    }
    Ok(())
}

fn broken(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidModel, message)
}

#[cfg(test)]
mod tests {
    use crate::graph::{Builder, Graph, ValueId};
    use crate::ops::{Binary, Step};
    use crate::tensor::DType;

    /// What is said of x -> Relu -> y after `spoil`.
    fn said(spoil: impl Fn(&mut Graph)) -> String {
        let b = Builder::new("check");
        let x = b.input("x", DType::F32, [2]);
        let mut graph = b.finish([("y", x.relu().sigmoid())]).unwrap();
        spoil(&mut graph);
        graph.check().unwrap_err().to_string()
    }

    #[test]
    fn says_what_is_broken() {
        assert!(said(|g| g.nodes.reverse()).contains("it reads \"Relu0\" before it is made"));
        assert!(said(|g| g.nodes[1].outputs = g.nodes[0].outputs.clone()).contains("is made twice"));
        assert!(said(|g| g.nodes[0].outputs = vec![ValueId(99)]).contains("value 99 does not exist"));
        assert!(said(|g| g.outputs = vec![ValueId(99)]).contains("nothing makes output 99"));
        assert!(said(|g| g.nodes[1].own_inputs = 2).contains("fewer inputs than its operator wants"));
        let step = Step::Tensor { op: Binary::Add, input: 5, swapped: false };
        assert!(said(|g| g.nodes[1].epilogue.steps.push(step)).contains("reads input 5, which does not exist"));
    }
}
