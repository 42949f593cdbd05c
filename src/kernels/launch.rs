use super::DeviceLimits;
use crate::error::{Error, ErrorKind, Result};
use crate::recording::Shader;
use std::fmt;

/// A constant operand in the order its kernel reads it.
pub struct Packed<'a> {
    /// Length in bytes.
    pub bytes: u64,
    pack: Box<dyn Fn() -> Result<Vec<u8>> + 'a>,
}

impl<'a> Packed<'a> {
    /// `pack` gives exactly `bytes` bytes; it is called at most once, when the weights are laid out.
    pub fn new(bytes: usize, pack: impl Fn() -> Result<Vec<u8>> + 'a) -> Self {
        Self { bytes: bytes as u64, pack: Box::new(pack) }
    }

    /// Packs.
    pub fn pack(&self) -> Result<Vec<u8>> {
        let bytes = (self.pack)()?;
        if bytes.len() as u64 != self.bytes {
            let message = format!("a kernel announced {} packed bytes and made {}", self.bytes, bytes.len());
            return Err(Error::new(ErrorKind::InvalidModel, message));
        }
        Ok(bytes)
    }
}

impl fmt::Debug for Packed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} bytes)", self.bytes)
    }
}

/// What a slot of group 0 is bound to; the slot is the place in [`Launch::bindings`].
#[derive(Debug)]
pub enum Source<'a> {
    /// The launch's parameter block: uniform.
    Params,
    /// The request's frame block of model input `n`: uniform.
    Frame(usize),
    /// The frame handed in for model input `n`: `texture_2d<f32>`, or `texture_external` in the shader's twin.
    Picture(usize),
    /// The arena range of the node's input `n`: read_write. Inputs and outputs of one storage are bound once.
    Input(usize),
    /// The arena range of the node's output `n`: read_write.
    Output(usize),
    /// The node's workspace in the arena: read_write.
    Scratch,
    /// A constant: read-only.
    Weights(Packed<'a>),
}

/// One dispatch of a kernel, before anything has a place in memory.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The complete module.
    pub shader: Shader,
    /// What each slot is bound to.
    pub bindings: Vec<Source<'a>>,
    /// Contents of the parameter block; a multiple of 16 bytes, empty where the kernel has none.
    pub params: Vec<u8>,
    /// Workgroups per dimension. A zero skips the launch.
    pub groups: [u32; 3],
}

/// A choice a kernel had: what the tuner may measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Key in [`super::Choices`].
    pub specialisation: String,
    /// What was taken.
    pub taken: &'static str,
    /// What could have been taken on this adapter.
    pub candidates: Vec<&'static str>,
}

/// Which side of a [`View`] is contained in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The input is a part of the output: a concatenation.
    Input,
    /// The output is a part of the input, or all of it: a slice, a reshape.
    Output,
}

/// A launch that could be saved: it copies an input's bytes, as they are, to or from a stretch of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Index of the input.
    pub input: usize,
    /// Index of the output.
    pub output: usize,
    /// Which is contained.
    pub part: Part,
    /// Where the part begins in the other, in bytes.
    pub offset: u64,
    /// The launch that is not needed where the two share memory.
    pub launch: usize,
}

/// How a node is computed.
#[derive(Debug)]
pub struct Kernel<'a> {
    /// Kernel and variant, for people.
    pub label: String,
    /// Dispatches in order.
    pub launches: Vec<Launch<'a>>,
    /// Bytes of workspace.
    pub scratch: u64,
    /// Inputs whose storage the first output may take over, where they die here: each element is read by the invocation that
    /// writes it, and at the same index.
    pub in_place: Vec<usize>,
    /// Launches that shared memory would save.
    pub views: Vec<View>,
    /// The choice between variants, where there was one.
    pub choice: Option<Choice>,
}

impl<'a> Kernel<'a> {
    /// A kernel of one launch.
    pub fn one(launch: Launch<'a>) -> Self {
        Self::many(launch.shader.label.clone(), vec![launch])
    }

    /// A kernel of several launches.
    pub fn many(label: impl Into<String>, launches: Vec<Launch<'a>>) -> Self {
        Self { label: label.into(), launches, scratch: 0, in_place: Vec::new(), views: Vec::new(), choice: None }
    }

    /// Permits the output to take over the storage of these inputs.
    #[must_use]
    pub fn in_place(mut self, inputs: impl IntoIterator<Item = usize>) -> Self {
        self.in_place = inputs.into_iter().collect();
        self
    }

    /// States which launches shared memory would save.
    #[must_use]
    pub fn views(mut self, views: impl IntoIterator<Item = View>) -> Self {
        self.views = views.into_iter().collect();
        self
    }

    /// States the workspace.
    #[must_use]
    pub fn scratch(mut self, bytes: u64) -> Self {
        self.scratch = bytes;
        self
    }

    /// States the choice.
    #[must_use]
    pub fn choice(mut self, choice: Choice) -> Self {
        self.choice = Some(choice);
        self
    }
}

/// Workgroups for `n` invocations in groups of `size`, folded over two dimensions where one is too short. The shader
/// finds its place as `(group.y * groups.x + group.x) * size + local` and turns back where that is `n` or more.
pub fn linear_groups(n: u32, size: u32, limits: &DeviceLimits) -> Result<[u32; 3]> {
    let groups = n.div_ceil(size.max(1));
    let rows = groups.div_ceil(limits.max_groups.max(1)).max(1);
    if rows > limits.max_groups {
        return Err(Error::new(
            ErrorKind::ShapeMismatch,
            format!("{n} invocations are more than one dispatch can hold"),
        ));
    }
    Ok([groups.div_ceil(rows), rows, 1])
}

/// `groups` as they are, or an error where a dimension is over the limit.
pub fn exact_groups(groups: [usize; 3], limits: &DeviceLimits) -> Result<[u32; 3]> {
    let mut out = [0; 3];
    for (to, from) in out.iter_mut().zip(groups) {
        *to = u32::try_from(from).ok().filter(|g| *g <= limits.max_groups).ok_or_else(|| {
            Error::new(ErrorKind::ShapeMismatch, format!("{groups:?} workgroups are more than one dispatch can hold"))
        })?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_what_one_dimension_cannot_hold() {
        let limits = DeviceLimits::default();
        assert_eq!(linear_groups(65_535 * 64, 64, &limits).unwrap(), [65_535, 1, 1]);
        let [x, y, z] = linear_groups(65_535 * 64 + 1, 64, &limits).unwrap();
        assert!(x * y > 65_535 && x <= 65_535 && y == 2 && z == 1);
        assert_eq!(linear_groups(0, 64, &limits).unwrap(), [0, 1, 1]);
        assert!(exact_groups([1, 70_000, 1], &limits).is_err());
    }
}
