//! What every call goes through, on a service that answers what a test tells it to.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use prost::Message as _;
use recallmesh_client::v1::{
    ArmReport, CreateBankRequest, ErrorReason, GetBankRequest, PartState, RecallRequest, RecallResponse,
    RecallStreamRequest, RetainRequest,
};
use recallmesh_client::{Mesh, Options, Policy, reason};
use tokio::time::{Instant, timeout};
use tonic::body::Body;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use tower_service::Service;

/// What ends a test that would wait for ever; the clock stands still until nothing else is left to do.
const AGES: Duration = Duration::from_secs(86_400);

/// What the service does with a call.
enum Turn {
    Fail(Status),
    /// Fail behind the headers, as a server does that had begun.
    FailLate(Status),
    Answer(RecallResponse),
    /// Answer, and never end.
    Hang(RecallResponse),
    /// Answer, and lose the connection before the end.
    Tear(RecallResponse),
    /// Lose the connection.
    Lose,
    /// Never answer.
    Silence,
}

/// The headers and the message of a call.
type Came = (HeaderMap, Vec<u8>);

/// Takes its turns in order, and remembers what it was sent.
#[derive(Clone, Default)]
struct Server {
    turns: Arc<Mutex<VecDeque<Turn>>>,
    calls: Arc<Mutex<Vec<Came>>>,
}

impl Server {
    fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: Arc::new(Mutex::new(turns.into_iter().collect())), calls: Arc::default() }
    }

    fn mesh(&self, options: Options) -> Mesh<Self> {
        Mesh::over(self.clone(), options).unwrap()
    }

    fn headers(&self, name: &str) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(headers, _)| headers.get(name).map_or("", |one| one.to_str().unwrap()).to_owned()).collect()
    }

    fn messages(&self) -> Vec<Vec<u8>> {
        self.calls.lock().unwrap().iter().map(|(_, message)| message.clone()).collect()
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let message = body.collect().await.unwrap().to_bytes().to_vec();
            server.calls.lock().unwrap().push((parts.headers, message));
            let turn = server.turns.lock().unwrap().pop_front().expect("one call more than the test expects");
            Ok(match turn {
                Turn::Fail(status) => status.into_http(),
                Turn::FailLate(status) => {
                    let (parts, _) = status.into_http::<Body>().into_parts();
                    grpc(Body::new(http_body_util::Full::default().with_trailers(async { Some(Ok(parts.headers)) })))
                }
                Turn::Answer(answer) => grpc(Body::new(framed(&answer).with_trailers(async { Some(Ok(ok())) }))),
                Turn::Hang(answer) => grpc(Body::new(framed(&answer).with_trailers(pending()))),
                Turn::Tear(answer) => {
                    let torn = async { Some(Err(Status::unknown("reading from the connection"))) };
                    grpc(Body::new(framed(&answer).map_err(|never| match never {}).with_trailers(torn)))
                }
                Turn::Lose => return Err(io::Error::other("connection reset")),
                Turn::Silence => pending().await,
            })
        })
    }
}

fn framed(answer: &RecallResponse) -> http_body_util::Full<bytes::Bytes> {
    let message = answer.encode_to_vec();
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend(message);
    http_body_util::Full::new(frame.into())
}

fn ok() -> HeaderMap {
    HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())])
}

fn grpc(body: Body) -> Response<Body> {
    Response::builder().header("content-type", "application/grpc").body(body).unwrap()
}

fn unavailable() -> Turn {
    Turn::Fail(Status::unavailable("not now"))
}

fn question() -> RecallRequest {
    RecallRequest { bank_id: "diary".into(), query: "Who is Pixel?".into(), ..Default::default() }
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_is_repeated_as_it_was_until_it_succeeds() {
    let answer = RecallResponse { token_count: 7, ..Default::default() };
    let late = Turn::FailLate(Status::unavailable("not now"));
    let server = Server::new([unavailable(), late, Turn::Answer(answer.clone())]);
    let came = server.mesh(Options::default()).recall().recall(question()).await.unwrap().into_inner();
    assert_eq!(came, answer);
    let messages = server.messages();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| *message == messages[0] && !message.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_is_unavailable_and_the_call_repeated() {
    let answer = RecallResponse { token_count: 7, ..Default::default() };
    let server =
        Server::new([Turn::Lose, Turn::Tear(answer.clone()), Turn::Answer(answer.clone()), Turn::Tear(answer.clone())]);
    let mesh = server.mesh(Options::default());
    assert_eq!(mesh.recall().recall(question()).await.unwrap().into_inner(), answer);
    // A stream has given what it gave: it is the caller's to begin anew.
    let mut answers = mesh.recall().recall_stream(RecallStreamRequest::default()).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    assert_eq!(answers.message().await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_third_failure_is_the_callers() {
    let server = Server::new([unavailable(), unavailable(), unavailable()]);
    let status = server.mesh(Options::default()).recall().recall(question()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "not now"));
    assert_eq!(server.messages().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_repeated_is_called_once() {
    let server = Server::new([unavailable()]);
    let status = server.mesh(Options::default()).banks().create_bank(CreateBankRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_another_call_would_not_change_is_not_repeated() {
    let server = Server::new([Turn::Fail(Status::not_found("there is no such bank"))]);
    let status = server.mesh(Options::default()).recall().recall(question()).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_most_calls_is_not_repeated_at() {
    let throttled = r#"{"methodConfig": [{"name": [{"service": "recallmesh.v1.RecallService"}], "retryPolicy":
        {"maxAttempts": 3, "initialBackoff": "0.05s", "maxBackoff": "0.5s", "backoffMultiplier": 3,
         "retryableStatusCodes": ["UNAVAILABLE"]}}], "retryThrottling": {"maxTokens": 4, "tokenRatio": 0.5}}"#;
    let policy = Policy::from_service_config(throttled).unwrap();
    let server = Server::new((0..3).map(|_| unavailable()));
    let mesh = server.mesh(Options { policy, ..Options::default() });
    // Of four tokens two are gone with the second failure: half of them, and nothing is repeated any more.
    mesh.recall().recall(question()).await.unwrap_err();
    assert_eq!(server.messages().len(), 2);
    mesh.recall().recall(question()).await.unwrap_err();
    assert_eq!(server.messages().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_deadline_gets_one_and_its_own_goes_before() {
    let server = Server::new((0..3).map(|_| Turn::Answer(RecallResponse::default())));
    let mesh = server.mesh(Options::default());
    mesh.recall().recall(question()).await.unwrap();
    mesh.recall().recall_stream(RecallStreamRequest::default()).await.unwrap();
    let mut own = tonic::Request::new(question());
    own.set_timeout(Duration::from_secs(2));
    mesh.recall().recall(own).await.unwrap();
    assert_eq!(server.headers("grpc-timeout"), ["30000000u", "3600000m", "2000000u"]);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_has_what_is_left_of_the_time() {
    let server = Server::new([unavailable(), Turn::Answer(RecallResponse::default())]);
    server.mesh(Options::default()).recall().recall(question()).await.unwrap();
    let left: Vec<u64> =
        server.headers("grpc-timeout").iter().map(|one| one.trim_end_matches('u').parse().unwrap()).collect();
    assert_eq!(left[0], 30_000_000);
    assert!((29_900_000..29_970_000).contains(&left[1]), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_left_at_the_deadline() {
    let begun = Instant::now();
    let server = Server::new([Turn::Silence]);
    let mut recall = server.mesh(Options::default()).recall();
    let status = timeout(AGES, recall.recall(question())).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_in_a_stream_is_left_at_the_deadline() {
    let server = Server::new([Turn::Hang(RecallResponse::default())]);
    let mesh = server.mesh(Options { stream_timeout: Duration::from_secs(5), ..Options::default() });
    let mut answers = mesh.recall().recall_stream(RecallStreamRequest::default()).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    let status = timeout(AGES, answers.message()).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn the_key_goes_with_every_call_and_is_in_no_log() {
    let server = Server::new([Turn::Answer(RecallResponse::default())]);
    let mesh = server.mesh(Options { key: Some("secret".into()), ..Options::default() });
    mesh.recall().recall(question()).await.unwrap();
    assert_eq!(server.headers("authorization"), ["Bearer secret"]);
    assert!(server.calls.lock().unwrap()[0].0["authorization"].is_sensitive());
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_and_not_told() {
    let options = |key: &str| Options { key: Some(key.into()), ..Options::default() };
    for key in ["", "=", "two\nlines", "with space", "sécret", "a=b"] {
        let refused = Mesh::over(Server::default(), options(key)).err().unwrap().to_string();
        assert!(refused.starts_with("key: "), "{refused}");
        assert!(!refused.contains("secret") && !refused.contains("lines"));
    }
    assert!(Mesh::over(Server::default(), options("abc-._~+/9==")).is_ok());
    assert!(!format!("{:?}", options("secret")).contains("secret"));
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    for address in [
        "",
        "here",
        "http://127.0.0.1:7070",
        "127.0.0.1:0",
        "127.0.0.1:99999",
        "a b:1",
        "here:7070/x",
        "me@here:1",
        ":7070",
    ] {
        let refused = Mesh::open(address, Options::default()).err().unwrap_or_else(|| panic!("{address}")).to_string();
        assert_eq!(refused, format!("address: {address:?} is no host:port"));
    }
    for address in ["127.0.0.1:7070", "[::1]:7070", "here:7070", "dns:///here:7070"] {
        assert!(Mesh::open(address, Options::default()).is_ok(), "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_may_be_as_far_as_one_likes() {
    let server = Server::new((0..2).map(|_| Turn::Answer(RecallResponse::default())));
    let mesh = server.mesh(Options { timeout: Duration::MAX, ..Options::default() });
    mesh.recall().recall(question()).await.unwrap();
    let mut nonsense = tonic::Request::new(question());
    nonsense.metadata_mut().insert("grpc-timeout", "99999999999999999H".parse().unwrap());
    mesh.recall().recall(nonsense).await.unwrap();
    assert_eq!(server.headers("grpc-timeout"), ["99999999S", "99999999S"]);
}

#[test]
fn pauses_grow_to_the_longest_and_are_spread_by_a_fifth() {
    let policy = Policy::default();
    let backoff = policy.backoff("/recallmesh.v1.RecallService/Recall").unwrap();
    assert_eq!((backoff.attempts, &backoff.codes[..]), (3, &[Code::Unavailable, Code::Cancelled][..]));
    assert_eq!(backoff.pause(1, 0.5), Duration::from_millis(50));
    assert_eq!(backoff.pause(2, 0.5), Duration::from_millis(150));
    assert_eq!(backoff.pause(9, 0.5), Duration::from_millis(500));
    assert_eq!(backoff.pause(1, 0.0), Duration::from_millis(40));
    assert!(policy.backoff("/recallmesh.v1.BankService/CreateBank").is_none());
}

#[test]
fn a_service_config_that_lacks_something_is_refused_by_its_name() {
    let config = |policy: &str| format!(r#"{{"methodConfig": [{{"name": [{{}}], "retryPolicy": {policy}}}]}}"#);
    let whole = r#"{"maxAttempts": 9, "initialBackoff": "1s", "maxBackoff": "2s", "backoffMultiplier": 2, "retryableStatusCodes": ["ABORTED"]}"#;
    // Without a name it is every method's; gRPC makes five attempts at most.
    assert_eq!(
        Policy::from_service_config(&config(whole)).unwrap().backoff("/any.Service/Method").unwrap().attempts,
        5
    );
    for (was, is, field) in [
        ("maxAttempts", "attempts", "maxAttempts"),
        (r#""1s""#, r#""soon""#, "initialBackoff"),
        (r#""2s""#, "2", "maxBackoff"),
        (": 2,", r#": "2","#, "backoffMultiplier"),
        ("ABORTED", "GONE", "retryableStatusCodes"),
    ] {
        let refused = Policy::from_service_config(&config(&whole.replace(was, is))).unwrap_err().to_string();
        assert!(refused.contains(field), "{refused}");
    }
    assert!(Policy::from_service_config("{").is_err());
}

#[tokio::test]
async fn the_reason_is_read_out_of_the_details() {
    let info =
        |name: &str| ErrorDetails::with_error_info(name, "recallmesh", [("request_id".to_owned(), "r-1".to_owned())]);
    let failing = |name: &str| Turn::Fail(Status::with_error_details(Code::NotFound, "not there", info(name)));
    let server =
        Server::new([failing("BANK_NOT_FOUND"), failing("SHELF_NOT_FOUND"), Turn::Fail(Status::not_found("a proxy"))]);
    let mesh = server.mesh(Options::default());
    let mut found = Vec::new();
    for _ in 0..3 {
        found.push(reason(&mesh.banks().get_bank(GetBankRequest::default()).await.unwrap_err()));
    }
    let known = found[0].as_ref().unwrap();
    assert_eq!((known.known(), known.request_id()), (ErrorReason::BankNotFound, Some("r-1")));
    // One that only a newer mesh knows keeps its name.
    let newer = found[1].as_ref().unwrap();
    assert_eq!((newer.name.as_str(), newer.known()), ("SHELF_NOT_FOUND", ErrorReason::Unspecified));
    assert!(found[2].is_none());
}

#[tokio::test]
async fn an_enum_value_of_a_newer_mesh_is_kept_and_no_error() {
    let arm = ArmReport { arm: "newer".into(), state: 99, ..Default::default() };
    let server = Server::new([Turn::Answer(RecallResponse { arms: vec![arm], ..Default::default() })]);
    let came = server.mesh(Options::default()).recall().recall(question()).await.unwrap().into_inner();
    assert_eq!((came.arms[0].state, came.arms[0].state()), (99, PartState::Unspecified));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_repeated_has_one_request_id() {
    let server =
        Server::new([unavailable(), Turn::Answer(RecallResponse::default()), Turn::Answer(RecallResponse::default())]);
    let mesh = server.mesh(Options::default());
    let written = RetainRequest { bank_id: "diary".into(), no_wait: true, ..Default::default() };
    mesh.retain().retain(written.clone()).await.unwrap();
    mesh.retain().retain(RetainRequest { request_id: "mine".into(), ..written.clone() }).await.unwrap();
    let sent: Vec<_> = server.messages().iter().map(|one| RetainRequest::decode(&one[5..]).unwrap()).collect();
    assert_eq!(sent[0].request_id.len(), 32);
    assert_eq!(sent[0], sent[1]);
    assert_eq!(sent[0], RetainRequest { request_id: sent[0].request_id.clone(), ..written });
    assert_eq!(sent[2].request_id, "mine");
    for framed in server.messages() {
        assert_eq!(u32::from_be_bytes(framed[1..5].try_into().unwrap()) as usize, framed.len() - 5);
    }
}
