//! How errors cross: as plain objects `{ kind, message, where?, hint? }`, which the package turns into its own class.

use super::js::object;
use crate::error::{Error, ErrorKind};
use wasm_bindgen::JsValue;

/// The object of an error.
pub(super) fn thrown(error: &Error) -> JsValue {
    let hint = error.advice().unwrap_or(error.kind().advice());
    let (kind, message) = (error.kind().as_str(), error.message());
    let mut fields = vec![("kind", kind.into()), ("message", message.into()), ("hint", hint.into())];
    fields.extend(error.place().map(|place| ("where", place.into())));
    object(&fields)
}

/// What the browser threw, in words.
pub(super) fn words(thrown: &JsValue) -> String {
    let text = |field: &str| js_sys::Reflect::get(thrown, &field.into()).ok().and_then(|v| v.as_string());
    match (text("name"), text("message")) {
        (Some(name), Some(message)) => format!("{name}: {message}"),
        (_, Some(message)) => message,
        _ => thrown.as_string().unwrap_or_else(|| format!("{thrown:?}")),
    }
}

/// An error that the browser threw while a source was read.
pub(super) fn bad_source(thrown: &JsValue) -> Error {
    let words = words(thrown);
    let hint = if words.contains("SecurityError") {
        "the picture comes from another origin: set crossOrigin = \"anonymous\" and serve it with CORS headers"
    } else {
        "the picture cannot be read: it may be closed, or have no data yet"
    };
    Error::new(ErrorKind::BadSource, words).hint(hint)
}
