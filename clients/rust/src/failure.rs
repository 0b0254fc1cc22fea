//! Why a call failed, for programs.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::v1::ErrorReason;

const DOMAIN: &str = "recallmesh";

/// The codes by their names, as every language but Rust writes them.
const NAMES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

/// Why a call failed, in the mesh's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The reason, such as `BANK_NOT_FOUND`. A newer mesh may say one that is not in [`ErrorReason`].
    pub name: String,
    /// What a program may need to know, such as the bank's id; the request id among them.
    pub metadata: HashMap<String, String>,
}

impl Reason {
    /// The reason as the protos have it; `Unspecified` for one that only a newer mesh knows.
    #[must_use]
    pub fn known(&self) -> ErrorReason {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", self.name)).unwrap_or(ErrorReason::Unspecified)
    }

    /// The request's id, by which the logs of the mesh have it.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.metadata.get("request_id").map(String::as_str)
    }
}

/// The reason in a status, from its `google.rpc.ErrorInfo`. Absent when the mesh itself did not answer: nobody did, or a
/// proxy.
///
/// Its other details, such as which fields were wrong, are read by `tonic_types::StatusExt`.
#[must_use]
pub fn reason(status: &Status) -> Option<Reason> {
    let info = status.get_details_error_info()?;
    (info.domain == DOMAIN).then_some(Reason { name: info.reason, metadata: info.metadata })
}

/// The name of a code, such as `NOT_FOUND`.
#[must_use]
pub fn code_name(code: Code) -> &'static str {
    NAMES.iter().find(|(one, _)| *one == code).map_or("UNKNOWN", |(_, name)| name)
}

/// The code of a name.
pub(crate) fn code_named(name: &str) -> Option<Code> {
    NAMES.iter().find(|(_, one)| *one == name).map(|(code, _)| *code)
}
