//! An HTTP server of localhost that answers by a function.
//!
//! The rule kept here: an answer that cannot be made is one of status 502 that says why.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::apart::LOOPBACK;
use crate::failure::Failure;

/// A server on a free port. It stops when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// One whose answers the function makes.
    pub(super) async fn start<A, F>(answer: A) -> Result<Self, Failure>
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<Full<Bytes>>, String>> + Send + 'static,
    {
        let failed =
            |error| Failure::new(format_args!("cannot listen on a loopback port: {error}"));
        let listener = TcpListener::bind((LOOPBACK, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let task = tokio::spawn(serve(listener, answer));
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<A, F>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, String>> + Send + 'static,
{
    while let Ok((stream, _)) = listener.accept().await {
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let answer = answer(request);
            async move {
                Ok::<_, Infallible>(answer.await.unwrap_or_else(|problem| {
                    let mut response = Response::new(Full::new(Bytes::from(problem)));
                    *response.status_mut() = StatusCode::BAD_GATEWAY;
                    response
                }))
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service),
        );
    }
}
