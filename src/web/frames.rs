//! Frames as the browser has them: `<video>`, VideoFrame, ImageBitmap, canvases, ImageData, `<img>`.

use super::buffers::Answer;
use super::error::bad_source;
use super::js::{class, field, number, object};
use super::webgpu::{Device, Pipeline, Queue, Texture, raw};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::ledger::Place;
use crate::runtime::{FramePass, FrameSlot, FrameSource, TextureTarget};
use js_sys::Array;
use wasm_bindgen::JsValue;

/// `GPUTextureUsage.TEXTURE_BINDING`.
const TEXTURE_BINDING: u32 = 4;
/// `HTMLMediaElement.HAVE_CURRENT_DATA`.
const HAVE_CURRENT_DATA: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Video,
    VideoFrame,
    Bitmap,
    Canvas,
    ImageData,
    Image,
    Texture,
}

/// A picture that JavaScript handed in.
#[derive(Debug, Clone)]
pub(super) struct WebFrame {
    kind: Kind,
    source: JsValue,
    in_place: bool,
    answer: Answer,
}

impl WebFrame {
    /// None where the value is no picture. `in_place` allows reading it without a copy.
    pub(super) fn of(source: &JsValue, in_place: bool) -> Option<Self> {
        let kind = match class(source).as_str() {
            "HTMLVideoElement" => Kind::Video,
            "VideoFrame" => Kind::VideoFrame,
            "ImageBitmap" => Kind::Bitmap,
            "HTMLCanvasElement" | "OffscreenCanvas" => Kind::Canvas,
            "ImageData" => Kind::ImageData,
            "HTMLImageElement" => Kind::Image,
            "GPUTexture" => Kind::Texture,
            _ => return None,
        };
        Some(Self { kind, source: source.clone(), in_place, answer: Answer::default() })
    }

    /// Resolves once it is known that the runtime's device could read it.
    pub(super) async fn settled(&self) -> Result<()> {
        self.answer.wait("texture").await
    }

    /// True for a GPU texture of the page's.
    pub(super) fn is_texture(&self) -> bool {
        self.kind == Kind::Texture
    }

    /// Whether the pre-processing kernel can sample it where it lies.
    pub(super) fn may_be_sampled(&self) -> bool {
        match self.kind {
            Kind::Texture => true,
            Kind::Video | Kind::VideoFrame => self.in_place,
            Kind::Bitmap | Kind::Canvas | Kind::ImageData | Kind::Image => false,
        }
    }

    /// That a texture can be sampled as a frame.
    fn check_texture(&self) -> Result<()> {
        let format = field(&self.source, "format").as_string().unwrap_or_default();
        if !matches!(format.as_str(), "rgba8unorm" | "bgra8unorm") {
            return Err(Error::new(ErrorKind::BadSource, format!("a frame is not read from a texture of {format}"))
                .hint("use rgba8unorm or bgra8unorm, whose texels are red, green, blue, alpha in 0 to 1"));
        }
        if number(&self.source, "usage").unwrap_or(0.0) as u32 & TEXTURE_BINDING == 0 {
            return Err(Error::new(ErrorKind::BadSource, "the texture cannot be sampled")
                .hint("create it with GPUTextureUsage.TEXTURE_BINDING"));
        }
        Ok(())
    }

    fn side(&self, name: &str) -> u32 {
        number(&self.source, name).map_or(0, |n| n as u32)
    }
}

impl FrameSource for WebFrame {
    fn size(&self) -> Result<(u32, u32)> {
        let (width, height) = match self.kind {
            Kind::Video => ("videoWidth", "videoHeight"),
            Kind::VideoFrame => ("displayWidth", "displayHeight"),
            Kind::Image => ("naturalWidth", "naturalHeight"),
            Kind::Bitmap | Kind::Canvas | Kind::ImageData | Kind::Texture => ("width", "height"),
        };
        let size = (self.side(width), self.side(height));
        let not_ready = |message: &str, hint: &str| Err(Error::new(ErrorKind::BadSource, message).hint(hint));
        match self.kind {
            Kind::Video if number(&self.source, "readyState").is_none_or(|s| s < HAVE_CURRENT_DATA) => {
                not_ready("the video has no frame yet", "wait for its loadeddata event, or for play() to resolve")
            }
            Kind::Image if !field(&self.source, "complete").is_truthy() => {
                not_ready("the image is not loaded yet", "await its decode()")
            }
            _ if size.0 > 0 && size.1 > 0 => Ok(size),
            Kind::VideoFrame | Kind::Bitmap => {
                not_ready("the frame was closed", "call close() after the run that reads it")
            }
            _ => not_ready("the picture has no pixels", "give it a width and a height, or wait until it has loaded"),
        }
    }

    fn place(&self) -> Place {
        match self.kind {
            Kind::Video | Kind::VideoFrame => Place::Video,
            Kind::Canvas => Place::Canvas,
            Kind::Bitmap | Kind::ImageData | Kind::Image => Place::Javascript,
            Kind::Texture => Place::Texture,
        }
    }

    fn copy(&self, to: &TextureTarget<'_>) -> Result<()> {
        let Some((queue, texture)) = to.raw() else { return Err(no_handle()) };
        let texture: &JsValue = texture.as_ref();
        let (width, height) = to.size();
        raw::<Queue>(queue)
            .copy_external_image(
                &object(&[("source", self.source.clone())]),
                &object(&[("texture", texture.clone())]),
                &Array::of2(&width.into(), &height.into()),
            )
            .map_err(|e| bad_source(&e))
    }

    fn run_in_place(&self, pass: &FramePass<'_>) -> Result<bool> {
        if !self.may_be_sampled() {
            return Ok(false);
        }
        let device: &Device = raw(pass.raw_device().ok_or_else(no_handle)?);
        let (texture, wgsl) = if self.is_texture() {
            self.check_texture()?;
            (raw::<Texture>(&self.source).create_view(), pass.plain_wgsl())
        } else {
            // What cannot be imported is copied: the copy then says what is wrong.
            match device.import_external_texture(&object(&[("source", self.source.clone())])) {
                Ok(texture) => (texture, pass.wgsl()),
                Err(_) => return Ok(false),
            }
        };
        if self.is_texture() {
            self.answer.ask(device, || sample(pass, device, &texture, wgsl, Sampled::Texture))?;
        } else {
            sample(pass, device, &texture, wgsl, Sampled::Video)?;
        }
        Ok(true)
    }
}

/// The kinds of what a kernel samples; each has a kernel of its own.
#[derive(Debug, Clone, Copy)]
enum Sampled {
    Video,
    Texture,
}

/// Runs the pre-processing kernel `wgsl` on `texture`.
fn sample(pass: &FramePass<'_>, device: &Device, texture: &JsValue, wgsl: &str, kind: Sampled) -> Result<()> {
    let mut kept = pass.cache().borrow_mut().take().and_then(|kept| kept.downcast::<Kept>().ok()).unwrap_or_default();
    let Made { pipeline, clock } = kept[kind as usize]
        .get_or_insert_with(|| Made {
            pipeline: device.pipeline(wgsl),
            clock: pass.timing().and_then(|_| device.timestamps(2)),
        })
        .clone();
    *pass.cache().borrow_mut() = Some(kept);
    let timing = pass.timing().and_then(|(buffer, offset)| Some((clock.as_ref()?, buffer.as_webgpu()?, offset)));
    let entries = Array::new();
    for slot in pass.slots() {
        let (slot, resource) = match slot {
            FrameSlot::Frame { slot } => (*slot, texture.clone()),
            FrameSlot::Buffer { slot, buffer, offset, bytes } => {
                let buffer: &JsValue = buffer.as_webgpu().ok_or_else(no_handle)?.as_ref();
                let range =
                    [("buffer", buffer.clone()), ("offset", (*offset as f64).into()), ("size", (*bytes as f64).into())];
                (*slot, object(&range))
            }
        };
        entries.push(&object(&[("binding", slot.into()), ("resource", resource)]));
    }
    // An external texture lives as long as the task it was imported in, and its bind group with it.
    let group =
        device.create_bind_group(&object(&[("layout", pipeline.bind_group_layout(0)), ("entries", entries.into())]));
    pass.count_bind_group();
    let encoder = device.create_command_encoder();
    let compute = encoder.begin_compute_pass(&timing.map_or(JsValue::UNDEFINED, |(clock, ..)| timed_by(clock)));
    compute.set_pipeline(&pipeline);
    compute.set_bind_group(0, &group);
    let [x, y, z] = pass.groups();
    compute.dispatch(x, y, z);
    compute.end();
    if let Some((clock, buffer, offset)) = timing {
        encoder.resolve_query_set(clock, 0, 2, buffer.as_ref(), offset as f64);
        pass.has_timed();
    }
    device.queue().submit(&Array::of1(&encoder.finish()));
    Ok(())
}

/// What is kept from frame to frame, by [`Sampled`].
type Kept = [Option<Made>; 2];

/// A kernel's pipeline.
#[derive(Clone)]
struct Made {
    pipeline: Pipeline,
    /// Two timestamps, where the device has them.
    clock: Option<JsValue>,
}

/// The descriptor of a pass that writes its beginning and its end.
fn timed_by(clock: &JsValue) -> JsValue {
    let writes =
        [("querySet", clock.clone()), ("beginningOfPassWriteIndex", 0.into()), ("endOfPassWriteIndex", 1.into())];
    object(&[("timestampWrites", object(&writes))])
}

pub(super) fn no_handle() -> Error {
    Error::new(ErrorKind::NoWebgpu, "the device is not the browser's own")
}

impl WebFrame {
    /// Names of what is taken, for an error.
    pub(super) const TAKEN: &str =
        "a typed array, a tensor, a <video>, VideoFrame, ImageBitmap, canvas, ImageData, <img> or GPUTexture";
}
