use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What kernels may ask of an adapter, as plain data: an engine is compiled against it without a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLimits {
    /// Storage buffers in one shader stage.
    pub max_storage_buffers: u32,
    /// Bytes of one storage binding.
    pub max_binding_bytes: u64,
    /// Bytes of one buffer.
    pub max_buffer_bytes: u64,
    /// Invocations of one workgroup.
    pub max_invocations: u32,
    /// Bytes of `var<workgroup>` of one workgroup.
    pub max_workgroup_bytes: u32,
    /// Workgroups of one dispatch in each dimension.
    pub max_groups: u32,
    /// Bytes of workspace that one node may take; a kernel that would want more takes another way where it has one.
    pub max_workspace_bytes: u64,
    /// `enable f16` is possible.
    pub f16: bool,
    /// The adapter is a CPU: barriers are ruinous and registers are the only fast memory.
    pub cpu: bool,
}

impl Default for DeviceLimits {
    /// What every WebGPU implementation grants.
    fn default() -> Self {
        Self {
            max_storage_buffers: 8,
            max_binding_bytes: 128 << 20,
            max_buffer_bytes: 256 << 20,
            max_invocations: 256,
            max_workgroup_bytes: 16 << 10,
            max_groups: 65_535,
            max_workspace_bytes: u64::MAX,
            f16: false,
            cpu: false,
        }
    }
}

/// Which variant serves a specialisation on this adapter: what was measured, or nothing, and then the kernel's own rule
/// decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Choices {
    table: BTreeMap<String, String>,
}

impl Choices {
    /// Enters a choice.
    pub fn set(&mut self, specialisation: impl Into<String>, variant: impl Into<String>) {
        self.table.insert(specialisation.into(), variant.into());
    }

    /// The variant entered for a specialisation.
    pub fn get(&self, specialisation: &str) -> Option<&str> {
        self.table.get(specialisation).map(String::as_str)
    }

    /// All entries, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.table.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// The entered variant where it is one of `candidates`, else `rule`.
    pub fn pick(&self, specialisation: &str, candidates: &[&'static str], rule: &'static str) -> &'static str {
        self.get(specialisation).and_then(|v| candidates.iter().find(|c| **c == v)).copied().unwrap_or(rule)
    }
}
