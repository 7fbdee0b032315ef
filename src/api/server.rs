//! The HTTP server: its routes, how it starts, and how it stops without cutting anybody off.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_web::dev::{Extensions, ServerHandle};
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::rt::net::TcpStream;
use actix_web::{App as HttpApp, HttpRequest, HttpServer, Resource, Route, guard, web};
use tokio::time::{Instant, sleep};
use tracing::info;

use super::errors::http_error;
use super::state::{App, Stop};
use super::{assets, health, normalize, speech, ws};

/// What a peer that takes nothing, or is not there any more, may hold of the system's buffers: the connection is broken
/// after this. Frames waiting inside a web framework cannot time out by themselves.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the close frames to leave.
const LAST_WORDS: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    pub bind: SocketAddr,
    /// Threads that serve sockets.
    pub workers: usize,
    /// How long streams may go on when the server stops.
    pub drain: Duration,
}

/// A server that accepts connections.
pub struct Running {
    pub addr: SocketAddr,
    handle: ServerHandle,
    server: actix_web::dev::Server,
    app: web::Data<App>,
    drain: Duration,
}

/// Binds and begins to accept.
pub fn start(app: web::Data<App>, options: ServerOptions) -> std::io::Result<Running> {
    let data = app.clone();
    let server = HttpServer::new(move || HttpApp::new().app_data(data.clone()).configure(routes))
        .workers(options.workers)
        .max_connections(app.sockets.sockets + 256)
        .backlog(2048)
        .on_connect(on_connect)
        .h1_allow_half_closed(false)
        .disable_signals()
        .shutdown_timeout(1)
        .bind(options.bind)?;
    let addr = server.addrs().first().copied().unwrap_or(options.bind);
    let server = server.run();
    Ok(Running { addr, handle: server.handle(), server, app, drain: options.drain })
}

fn routes(config: &mut web::ServiceConfig) {
    // Supervisors ask with HEAD too.
    let read = || web::route().guard(guard::Any(guard::Get()).or(guard::Head()));
    let page = |path: &'static str, route: Route| resource(path, "GET, HEAD", route);
    config
        .service(resource("/v1/ws", "GET", web::get().to(ws::upgrade)))
        .service(resource("/v1/audio/speech", "POST", web::post().to(speech::speech)))
        .service(resource("/v1/text/normalize", "POST", web::post().to(normalize::normalize)))
        .service(page("/healthz", read().to(health::healthz)))
        .service(page("/readyz", read().to(health::readyz)))
        .service(page("/metrics", read().to(health::metrics)))
        .service(page("/", read().to(assets::index)))
        .default_service(web::to(assets::asset));
}

/// A path with the methods it has; others are told which.
fn resource(path: &'static str, allowed: &'static str, route: Route) -> Resource {
    let refuse = move |request: HttpRequest| async move {
        let message = format!("{path}: expected {allowed}, found {}", request.method());
        let mut reply = http_error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &message, None);
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        reply
    };
    web::resource(path).route(route).default_service(web::to(refuse))
}

fn on_connect(connection: &dyn Any, _: &mut Extensions) {
    let Some(stream) = connection.downcast_ref::<TcpStream>() else { return };
    // A packet of 80 bytes must not wait for the one before it to be acknowledged.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    {
        let socket = socket2::SockRef::from(stream);
        let _ = socket.set_tcp_user_timeout(Some(SEND_TIMEOUT));
    }
}

impl Running {
    /// Serves until `stop` is complete, then drains: not ready any more, streams finish up to the limit, sockets are
    /// closed with 1001.
    pub async fn until(self, stop: impl Future<Output = ()> + 'static) -> std::io::Result<()> {
        let Self { handle, server, app, drain, .. } = self;
        actix_web::rt::spawn(async move {
            stop.await;
            info!(sessions = app.sessions.count(), utterances = app.service.under_way(), "stopping");
            app.drain();
            let limit = Instant::now() + drain;
            while (app.sessions.count() > 0 || app.service.under_way() > 0 || app.downloads.load(Ordering::Relaxed) > 0)
                && Instant::now() < limit
            {
                sleep(Duration::from_millis(20)).await;
            }
            app.sessions.tell(Stop::Now);
            sleep(LAST_WORDS).await;
            handle.stop(false).await;
        });
        server.await
    }
}
