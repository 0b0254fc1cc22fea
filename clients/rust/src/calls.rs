//! The layer that every call goes through: its key, its deadline, its repeats.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::body::Body;
use tonic::{Code, Status, TimeoutExpired};
use tower_service::Service;

use crate::bounded::Bounded;
use crate::mesh::{InvalidOption, Options};
use crate::once;
use crate::policy::{Backoff, Policy};

const TIMEOUT: &str = "grpc-timeout";
/// Methods that take or answer with a stream.
const STREAMING: &[&str] = include!("../gen/streaming.rs");
type Answer = Result<Response<Body>, Status>;

/// What every call is given.
pub(crate) struct Bounds {
    authorization: Option<HeaderValue>,
    timeout: Duration,
    stream_timeout: Duration,
    policy: Policy,
}

impl Bounds {
    pub(crate) fn new(options: Options) -> Result<Self, InvalidOption> {
        let authorization = options.key.as_deref().map(bearer).transpose()?;
        let Options { timeout, stream_timeout, policy, .. } = options;
        Ok(Self { authorization, timeout, stream_timeout, policy })
    }

    /// How long a call may take: as long as it asks for.
    fn allowed(&self, request: &Request<Body>) -> Duration {
        let asked = request.headers().get(TIMEOUT).and_then(read_timeout);
        let streams = STREAMING.binary_search(&request.uri().path()).is_ok();
        asked.unwrap_or(if streams { self.stream_timeout } else { self.timeout })
    }
}

/// Calls through a service of tonic's, such as its `Channel`.
#[derive(Clone)]
pub struct Calls<S> {
    inner: S,
    bounds: Arc<Bounds>,
}

impl<S> Calls<S> {
    pub(crate) fn new(inner: S, bounds: Arc<Bounds>) -> Self {
        Self { inner, bounds }
    }
}

impl<S> Service<Request<Body>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    /// Always ready: each attempt waits for the service itself, so that not being ready is a failure of the call.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (mut inner, bounds) = (self.inner.clone(), self.bounds.clone());
        Box::pin(async move {
            let deadline = after(bounds.allowed(&request));
            if let Some(authorization) = &bounds.authorization {
                request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            }
            let path = request.uri().path().to_owned();
            let answered = async {
                match bounds.policy.backoff(&path) {
                    Some(backoff) => repeat(&mut inner, request, deadline, backoff, &bounds.policy).await,
                    None => attempt(&mut inner, request, deadline).await,
                }
            };
            let response = timeout_at(deadline, answered).await.unwrap_or_else(|_| Err(too_late()))?;
            Ok(response.map(|body| Body::new(Bounded::new(body, deadline))))
        })
    }
}

/// Call until it succeeds, or fails with what is not repeated. Both messages are held in memory: of a call that is
/// repeated each is one message of 4 MiB at most.
async fn repeat<S>(
    inner: &mut S,
    request: Request<Body>,
    deadline: Instant,
    backoff: &Backoff,
    policy: &Policy,
) -> Answer
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let message = body.collect().await?.to_bytes();
    let Some(message) = once::identified(parts.uri.path(), &message) else {
        return attempt(inner, again(&parts, &message), deadline).await;
    };
    let mut attempts = 1;
    loop {
        let answer = whole(attempt(inner, again(&parts, &message), deadline).await).await;
        let code = match &answer {
            Ok((code, _)) => *code,
            Err(status) => status.code(),
        };
        if code == Code::Ok {
            policy.succeeded();
        }
        if !backoff.codes.contains(&code) {
            return answer.map(|(_, response)| response);
        }
        if !policy.failed() || attempts >= backoff.attempts {
            return answer.map(|(_, response)| response);
        }
        sleep(backoff.pause(attempts, f64::from(getrandom::u32().unwrap_or_default()) / 4_294_967_296.0)).await;
        attempts += 1;
    }
}

/// Call once, with what is left of the time.
async fn attempt<S>(inner: &mut S, mut request: Request<Body>, deadline: Instant) -> Answer
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(too_late());
    }
    request.headers_mut().insert(TIMEOUT, write_timeout(left));
    poll_fn(|to| inner.poll_ready(to)).await.map_err(failed)?;
    inner.call(request).await.map_err(failed)
}

/// A request as it was.
fn again(parts: &Parts, message: &Bytes) -> Request<Body> {
    Request::from_parts(parts.clone(), Body::new(Full::new(message.clone())))
}

/// Read an answer to its end, where its code is.
async fn whole(answer: Answer) -> Result<(Code, Response<Body>), Status> {
    let (parts, body) = answer?.into_parts();
    let body = body.collect().await.map_err(lost)?;
    let code = body.trailers().and_then(code_of).or_else(|| code_of(&parts.headers)).unwrap_or(Code::Unknown);
    Ok((code, Response::from_parts(parts, Body::new(body))))
}

fn code_of(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|value| Code::from_bytes(value.as_bytes()))
}

/// An error of the transport as a status.
fn failed<E: Into<Box<dyn Error + Send + Sync>>>(error: E) -> Status {
    let error = error.into();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.as_ref());
    while let Some(one) = cause {
        // tonic calls its own timeout CANCELLED, which would be repeated.
        if one.is::<TimeoutExpired>() {
            return too_late();
        }
        cause = one.source();
    }
    lost(Status::from_error(error))
}

/// A status that the transport made, and not the server: where tonic knows nothing the connection broke, which the other
/// libraries of gRPC call UNAVAILABLE.
pub(crate) fn lost(status: Status) -> Status {
    if status.code() != Code::Unknown {
        return status;
    }
    let mut unavailable = Status::unavailable(format!("the connection to the mesh was lost: {}", status.message()));
    unavailable.set_source(Arc::new(status));
    unavailable
}

/// A key as it is sent. What is wrong with one is said without it: it may be one that was mistyped.
fn bearer(key: &str) -> Result<HeaderValue, InvalidOption> {
    // RFC 6750, section 2.1; so it can be no second header.
    let body = key.trim_end_matches('=');
    let plain = |one: u8| one.is_ascii_alphanumeric() || b"-._~+/".contains(&one);
    let value = HeaderValue::try_from(format!("Bearer {key}")).ok();
    let mut value = value.filter(|_| !body.is_empty() && body.bytes().all(plain)).ok_or_else(|| {
        InvalidOption("key: is no bearer key: letters, digits and -._~+/, with = at its end alone".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The moment after so long, or as late as there is one.
fn after(timeout: Duration) -> Instant {
    // Thirty years, which is what Tokio's own "far future" is.
    Instant::now() + timeout.min(Duration::from_secs(30 * 365 * 86_400))
}

/// What a call ends with whose time is over.
pub(crate) fn too_late() -> Status {
    Status::deadline_exceeded("the call was not answered within its deadline")
}

/// Read a timeout as gRPC writes it: up to eight digits and a unit.
fn read_timeout(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok().filter(|text| text.len() <= 9)?;
    let number: u64 = text.get(..text.len().checked_sub(1)?)?.parse().ok()?;
    Some(match text.as_bytes().last()? {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Write a timeout as gRPC does, in the finest unit that eight digits hold.
fn write_timeout(timeout: Duration) -> HeaderValue {
    const MOST: u128 = 99_999_999;
    let (number, unit) = [(timeout.as_micros(), 'u'), (timeout.as_millis(), 'm')]
        .into_iter()
        .find(|(number, _)| *number <= MOST)
        .unwrap_or((u128::from(timeout.as_secs()).min(MOST), 'S'));
    HeaderValue::try_from(format!("{number}{unit}")).expect("digits and a letter")
}
