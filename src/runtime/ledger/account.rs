//! One adapter's account: what is alive, and what has moved.

use super::moves::{Move, MoveKind, Place};
use super::report::{Bytes, Edge, Snapshot};
use super::{CLASSES, Class, Object};

/// The account of one adapter.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) key: String,
    pub(super) frames: u64,
    pub(super) begun: u64,
    pub(super) edges: Vec<Total>,
    pub(super) live: [u64; CLASSES],
    pub(super) peaks: [u64; CLASSES],
    pub(super) peak: u64,
    pub(super) buffers_created: u64,
    pub(super) textures_created: u64,
    pub(super) bind_groups_created: u64,
    pub(super) buffers: u64,
    pub(super) textures: u64,
    pub(super) engines: u64,
    pub(super) requests: u64,
    pub(super) runs: u64,
    pub(super) waiters: u64,
}

/// All movements of one kind between two places.
#[derive(Debug)]
pub(super) struct Total {
    pub(super) key: (Place, Place, MoveKind, bool, Option<&'static str>),
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) cpu_ms: f64,
    pub(super) gpu_ms: f64,
    pub(super) gpu_count: u64,
    pub(super) frame: u64,
    pub(super) frame_bytes: u64,
}

impl Account {
    fn object(&mut self, object: Object) -> Option<&mut u64> {
        match object {
            Object::Buffer(_) => Some(&mut self.buffers),
            Object::Texture => Some(&mut self.textures),
            Object::BindGroup => None,
            Object::Engine => Some(&mut self.engines),
            Object::Request => Some(&mut self.requests),
            Object::Run => Some(&mut self.runs),
            Object::Waiter => Some(&mut self.waiters),
        }
    }

    fn class(object: Object) -> Option<usize> {
        match object {
            Object::Buffer(class) => Some(class as usize),
            Object::Texture => Some(Class::Textures as usize),
            _ => None,
        }
    }

    pub(super) fn open(&mut self, object: Object, bytes: u64) {
        match object {
            Object::Buffer(_) => self.buffers_created += 1,
            Object::Texture => self.textures_created += 1,
            Object::BindGroup => self.bind_groups_created += 1,
            _ => {}
        }
        if let Some(count) = self.object(object) {
            *count += 1;
        }
        if let Some(class) = Self::class(object) {
            self.live[class] += bytes;
            self.peaks[class] = self.peaks[class].max(self.live[class]);
            self.peak = self.peak.max(self.live.iter().sum());
        }
    }

    pub(super) fn close(&mut self, object: Object, bytes: u64) {
        if let Some(count) = self.object(object) {
            *count = count.saturating_sub(1);
        }
        if let Some(class) = Self::class(object) {
            self.live[class] = self.live[class].saturating_sub(bytes);
        }
    }

    pub(super) fn total(&mut self, m: &Move) -> &mut Total {
        let key = (m.from, m.to, m.kind, m.implicit, m.reason);
        let at = self.edges.iter().position(|e| e.key == key).unwrap_or_else(|| {
            self.edges.push(Total {
                key,
                count: 0,
                bytes: 0,
                cpu_ms: 0.0,
                gpu_ms: 0.0,
                gpu_count: 0,
                frame: 0,
                frame_bytes: 0,
            });
            self.edges.len() - 1
        });
        &mut self.edges[at]
    }

    pub(super) fn enter(&mut self, m: &Move, frame: u64) {
        let total = self.total(m);
        total.count += 1;
        total.bytes += m.bytes;
        total.cpu_ms += m.cpu_ms;
        if frame != 0 {
            let same = total.frame == frame;
            total.frame_bytes = if same { total.frame_bytes + m.bytes } else { m.bytes };
            total.frame = frame;
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let edges: Vec<Edge> = self.edges.iter().map(Total::edge).collect();
        let crossing = |to_gpu: bool| {
            edges.iter().filter(|e| e.from.on_gpu() != to_gpu && e.to.on_gpu() == to_gpu).map(|e| e.bytes).sum()
        };
        Snapshot {
            adapter: self.key.clone(),
            frames: self.frames,
            to_gpu_bytes: crossing(true),
            to_cpu_bytes: crossing(false),
            buffers_created: self.buffers_created,
            textures_created: self.textures_created,
            bind_groups_created: self.bind_groups_created,
            edges,
        }
    }

    pub(super) fn bytes(&self, of: &[u64; CLASSES]) -> Bytes {
        let at = |class: Class| of[class as usize];
        Bytes {
            weights: at(Class::Weights),
            arena: at(Class::Arena),
            staging: at(Class::Staging),
            textures: at(Class::Textures),
            uniforms: at(Class::Uniforms),
            build: at(Class::Build),
            total: self.live.iter().sum(),
            peak: self.peak,
        }
    }
}

impl Total {
    pub(super) fn edge(&self) -> Edge {
        let (from, to, kind, implicit, reason) = self.key;
        let mean = |sum: f64, n: u64| if n == 0 { 0.0 } else { sum / n as f64 };
        let mut id = format!("{}>{}:{}", from.as_str(), to.as_str(), kind.as_str());
        if let Some(reason) = reason {
            id.push('/');
            id.push_str(reason);
        }
        Edge {
            id,
            from,
            to,
            kind,
            bytes_per_frame: self.frame_bytes,
            count: self.count,
            bytes: self.bytes,
            implicit,
            reason,
            cpu_ms: mean(self.cpu_ms, self.count),
            gpu_ms: (self.gpu_count > 0).then(|| mean(self.gpu_ms, self.gpu_count)),
            last_frame: self.frame,
        }
    }
}
