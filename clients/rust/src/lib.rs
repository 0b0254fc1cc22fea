//! Client of recallmesh: typed calls with a deadline, a key and repeats wherever they do no harm.
//!
//! ```ignore
//! let mesh = Mesh::open("127.0.0.1:7070", Options::default())?;
//! let answer = mesh.recall().recall(RecallRequest { bank_id, query, ..Default::default() }).await?.into_inner();
//! ```
//!
//! A field that holds an enum is an `i32`, so that a value which only a newer mesh knows is kept: its getter then says
//! `Unspecified`, and `try_from` an error.

mod bounded;
mod calls;
mod failure;
mod mesh;
mod once;
mod policy;

/// Messages and stubs, as `protos/recallmesh/v1` describes them.
#[allow(missing_docs, clippy::pedantic, clippy::doc_lazy_continuation)]
pub mod v1 {
    include!("../gen/recallmesh.v1.rs");
}

pub use calls::Calls;
pub use failure::{Reason, code_name, reason};
pub use mesh::{InvalidOption, Mesh, Options};
pub use policy::{Backoff, InvalidPolicy, Policy};
