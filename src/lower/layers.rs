use super::place::{Placement, bound_bytes};
use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::kernels::{Choice, Kernel};
use crate::tensor::{DType, Layout, Shape};

/// A tensor as a layer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerTensor {
    /// Index of the value in the graph.
    pub value: usize,
    /// Its name.
    pub name: String,
    /// Dimensions.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Layout in the arena.
    pub layout: Layout,
    /// First byte in the arena; none for a constant.
    pub offset: Option<u64>,
    /// Bytes in the arena, or of the constant as the model holds it.
    pub bytes: u64,
    /// Steps it is needed in, `[first, end)`; both 0 for a constant.
    pub life: [u32; 2],
}

/// A node after lowering: what the inspector tells about it. Its index is its step.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The node's name.
    pub name: String,
    /// Its operator, in ONNX's word.
    pub op: String,
    /// Steps fused into it.
    pub fused: usize,
    /// Kernel and variant; `view` where no dispatch is made.
    pub kernel: String,
    /// What it reads, constants included; inputs that were left out are missing.
    pub inputs: Vec<LayerTensor>,
    /// What it writes.
    pub outputs: Vec<LayerTensor>,
    /// Bytes of workspace.
    pub workspace: u64,
    /// First byte of the workspace in the arena, where there is one.
    pub workspace_offset: Option<u64>,
    /// Dispatches made.
    pub dispatches: usize,
    /// First step its results occupy memory.
    pub first_step: u32,
    /// Last step they do.
    pub last_step: u32,
    /// The choice between kernel variants, where there was one.
    pub choice: Option<Choice>,
}

pub(super) fn layer(
    graph: &Graph,
    node: &Node,
    kernel: &Kernel<'_>,
    places: &Placement,
    step: usize,
    dispatches: usize,
) -> Result<Layer> {
    let tensor = |id: ValueId| -> Result<LayerTensor> {
        let (value, ty) = (graph.value(id)?, graph.ty(id)?);
        let offset = places.offsets.get(id.index()).copied().flatten();
        let life = places.lives.get(id.index()).map_or([0, 0], |l| [l.start, l.end]);
        let bytes = match &value.constant {
            Some(constant) => constant.data().as_bytes().len() as u64,
            None => bound_bytes(graph, id)?,
        };
        let (name, shape, dtype) = (value.name.clone(), ty.shape.clone(), ty.dtype);
        Ok(LayerTensor { value: id.index(), name, shape, dtype, layout: value.layout, offset, bytes, life })
    };
    let scratch = places.scratch.get(step).copied().flatten();
    let outputs = node.outputs.iter().map(|&o| tensor(o)).collect::<Result<Vec<_>>>()?;
    let view = dispatches == 0 && outputs.iter().all(|o| !o.shape.contains(&0));
    Ok(Layer {
        name: node.name.clone(),
        op: node.op.definition().name().to_owned(),
        fused: node.epilogue.steps.len(),
        kernel: if view { "view".to_owned() } else { kernel.label.clone() },
        inputs: node.inputs.iter().flatten().map(|&i| tensor(i)).collect::<Result<_>>()?,
        workspace: scratch.map_or(0, |(_, bytes)| bytes),
        workspace_offset: scratch.map(|(offset, _)| offset),
        dispatches,
        first_step: outputs.iter().map(|o| o.life[0]).min().unwrap_or(step as u32),
        last_step: outputs.iter().map(|o| o.life[1].saturating_sub(1)).max().unwrap_or(step as u32),
        outputs,
        choice: kernel.choice.clone(),
    })
}
