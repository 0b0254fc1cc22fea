//! Request ids: what makes it harmless to repeat a write.

use bytes::{Bytes, BytesMut};
use prost::encoding::{DecodeContext, decode_key, skip_field, string};

/// The methods whose requests may have a request id, sorted, each with the number of that field.
const REQUEST_IDS: &[(&str, u32)] = include!("../gen/request_ids.rs");
/// Of gRPC's frame of a message: whether it is compressed, and its length.
const FRAME: usize = 5;

/// Return the framed message of a method as it may be sent again: a write without a request id gets one, as a field
/// behind the others.
///
/// None when it cannot be seen what it has, as in a message that is compressed, or no id can be made: it is sent once.
pub(crate) fn identified(path: &str, framed: &Bytes) -> Option<Bytes> {
    let Ok(at) = REQUEST_IDS.binary_search_by_key(&path, |(one, _)| one) else {
        return Some(framed.clone());
    };
    let field = REQUEST_IDS[at].1;
    let (frame, message) = framed.split_at_checked(FRAME)?;
    if frame[0] != 0 {
        return None;
    }
    if has(field, message)? {
        return Some(framed.clone());
    }
    let (high, low) = (getrandom::u64().ok()?, getrandom::u64().ok()?);
    let mut written = BytesMut::from(framed.as_ref());
    string::encode(field, &format!("{high:016x}{low:016x}"), &mut written);
    let length = u32::try_from(written.len() - FRAME).ok()?;
    written[1..FRAME].copy_from_slice(&length.to_be_bytes());
    Some(written.freeze())
}

/// Whether a message has a field; none when it is no message.
fn has(field: u32, mut message: &[u8]) -> Option<bool> {
    while !message.is_empty() {
        let (number, kind) = decode_key(&mut message).ok()?;
        if number == field {
            return Some(true);
        }
        skip_field(kind, number, &mut message, DecodeContext::default()).ok()?;
    }
    Some(false)
}
