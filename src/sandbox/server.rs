//! Connections: hyper by hand, since a connection must be closed without an answer on demand.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::routes;
use super::settings::Settings;
use super::state::Sandbox;

/// Out of file descriptors, most likely: wait for some to be closed.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Serves a sandbox until `shutdown`. The caller owns the socket and the stop signal. On shutdown
/// open requests are cut, as by a provider that dies.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidInput`] if the fault plan in the settings is invalid.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let sandbox = Sandbox::new(settings)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let router = routes::router(Arc::new(sandbox));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, router.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "sandbox cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
    Ok(())
}

async fn connection(stream: TcpStream, router: Router) {
    // Without it answers wait for the client's delayed ACK; a failure only costs that time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let Ok(response) = router.oneshot(request.map(Body::new)).await;
            if is_cut(&response) {
                Err(Broken)
            } else {
                Ok(response)
            }
        }
    });
    // An error is a fault that was asked for, or a client that went away.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Marks a response that must not be sent: its connection is closed instead.
#[derive(Debug, Clone, Copy)]
struct Cut;

/// No answer at all.
pub(super) fn cut() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Cut);
    response
}

pub(super) fn is_cut(response: &Response) -> bool {
    response.extensions().get::<Cut>().is_some()
}

/// The connection breaks here, on purpose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection broken on purpose")
    }
}

impl std::error::Error for Broken {}
