//! A body that ends when its deadline is over, so that a server which hangs in a stream holds nobody.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;

use crate::calls::{lost, too_late};

/// What a server answers, until the deadline.
pub struct Bounded {
    body: Body,
    over: Pin<Box<Sleep>>,
}

impl Bounded {
    /// Bound a body.
    pub fn new(body: Body, deadline: Instant) -> Self {
        Self { body, over: Box::pin(sleep_until(deadline)) }
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, to: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(to) {
            return Poll::Ready(frame.map(|one| one.map_err(lost)));
        }
        self.over.as_mut().poll(to).map(|()| Some(Err(too_late())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
