//! A mesh to call: where it is, and what goes with every call.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use http::{Request, Response};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use crate::calls::{Bounds, Calls};
use crate::policy::Policy;
use crate::v1::bank_service_client::BankServiceClient;
use crate::v1::document_service_client::DocumentServiceClient;
use crate::v1::entity_service_client::EntityServiceClient;
use crate::v1::memory_service_client::MemoryServiceClient;
use crate::v1::operation_service_client::OperationServiceClient;
use crate::v1::recall_service_client::RecallServiceClient;
use crate::v1::retain_service_client::RetainServiceClient;

/// What goes with every call.
#[derive(Clone)]
pub struct Options {
    /// The key, sent as `authorization: Bearer KEY`. Absent: none is sent. Never in what `Debug` says.
    pub key: Option<String>,
    /// How long a call may take that brings no deadline of its own, with its repeats. As the server's: 30 s.
    pub timeout: Duration,
    /// The same for a call that takes or answers with a stream. As the server's: an hour.
    pub stream_timeout: Duration,
    /// What is repeated, and when. The default is the service config of all clients.
    pub policy: Policy,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            key: None,
            timeout: Duration::from_secs(30),
            stream_timeout: Duration::from_secs(3600),
            policy: Policy::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Options")
            .field("key", &self.key.as_ref().map(|_| "…"))
            .field("timeout", &self.timeout)
            .field("stream_timeout", &self.stream_timeout)
            .field("policy", &self.policy)
            .finish()
    }
}

/// A mesh to call, over a channel of tonic's or any other service. To clone it is cheap: clones share one connection.
#[derive(Clone)]
pub struct Mesh<S = Channel> {
    calls: Calls<S>,
}

impl Mesh {
    /// Open a mesh at `host:port`, unencrypted. Connecting happens with the first call, and again when it is lost.
    ///
    /// It must be called in a Tokio runtime. `dns:///host:port`, as gRPC has it, is the same: one of the name's addresses.
    ///
    /// # Errors
    ///
    /// The address is none, or the key cannot be one.
    pub fn open(address: &str, options: Options) -> Result<Self, InvalidOption> {
        let endpoint = Endpoint::from_shared(format!("http://{}", authority(address)?))
            .map_err(|_| no_address(address))?
            .connect_timeout(Duration::from_secs(5))
            .http2_keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(10));
        Self::over(endpoint.connect_lazy(), options)
    }
}

impl<S> Mesh<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    /// Call over a channel of your own: encrypted, balanced, over a Unix socket, with layers around it.
    ///
    /// # Errors
    ///
    /// The key cannot be one.
    pub fn over(channel: S, options: Options) -> Result<Self, InvalidOption> {
        let bounds = Bounds::new(options)?;
        Ok(Self { calls: Calls::new(channel, Arc::new(bounds)) })
    }

    /// Asking.
    #[must_use]
    pub fn recall(&self) -> RecallServiceClient<Calls<S>> {
        RecallServiceClient::new(self.calls.clone())
    }

    /// Telling.
    #[must_use]
    pub fn retain(&self) -> RetainServiceClient<Calls<S>> {
        RetainServiceClient::new(self.calls.clone())
    }

    /// Banks, their set-up, events and webhooks.
    #[must_use]
    pub fn banks(&self) -> BankServiceClient<Calls<S>> {
        BankServiceClient::new(self.calls.clone())
    }

    /// What a bank was told.
    #[must_use]
    pub fn documents(&self) -> DocumentServiceClient<Calls<S>> {
        DocumentServiceClient::new(self.calls.clone())
    }

    /// What became of it.
    #[must_use]
    pub fn memories(&self) -> MemoryServiceClient<Calls<S>> {
        MemoryServiceClient::new(self.calls.clone())
    }

    /// Who is who.
    #[must_use]
    pub fn entities(&self) -> EntityServiceClient<Calls<S>> {
        EntityServiceClient::new(self.calls.clone())
    }

    /// Work that goes on after a call.
    #[must_use]
    pub fn operations(&self) -> OperationServiceClient<Calls<S>> {
        OperationServiceClient::new(self.calls.clone())
    }
}

/// The host and port of an address.
fn authority(address: &str) -> Result<Authority, InvalidOption> {
    let named = address.strip_prefix("dns:///").unwrap_or(address);
    let read: Authority = named.parse().map_err(|_| no_address(address))?;
    let whole = !read.host().is_empty() && read.port_u16().is_some_and(|port| port > 0) && !named.contains('@');
    if whole { Ok(read) } else { Err(no_address(address)) }
}

fn no_address(address: &str) -> InvalidOption {
    InvalidOption(format!("address: {address:?} is no host:port"))
}

/// What a mesh cannot be opened with.
#[derive(Debug)]
pub struct InvalidOption(pub(crate) String);

impl fmt::Display for InvalidOption {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl Error for InvalidOption {}
