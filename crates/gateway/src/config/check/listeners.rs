//! Where the gateway may listen.

use super::{AdminSettings, Listening, ServerSettings};
use crate::config::{problem::Problem, reader::Pass};
use std::{net::SocketAddr, ops::Range};

pub(super) fn check(
    server: &Listening<ServerSettings>,
    admin: &Listening<AdminSettings>,
    pass: &Pass<'_>,
) {
    for (place, message) in problems(server, admin) {
        let problem = match place {
            Some(span) => Problem::at(span, message),
            None => Problem::nowhere(message),
        };
        pass.problems.borrow_mut().push(problem);
    }
}

/// What is wrong with the listeners, and where it was given.
pub(super) fn problems(
    server: &Listening<ServerSettings>,
    admin: &Listening<AdminSettings>,
) -> Vec<(Option<Range<usize>>, String)> {
    let mut problems = Vec::new();
    let listen = server.settings.listen;
    if !server.guarded && !is_loopback(listen) {
        let message = format!(
            "listening on {listen} would let everybody who reaches it use the gateway, since no \
             key is configured: add a `[[keys]]` section to the configuration file (`highwater \
             keys create NAME` prints one), or listen on 127.0.0.1:{}",
            listen.port()
        );
        problems.push((server.place.clone(), message));
    }
    let Some(admin_listen) = admin.settings.listen else {
        return problems;
    };
    if !admin.guarded && !is_loopback(admin_listen) {
        let message = format!(
            "the admin listener on {admin_listen} can be reached from other machines and needs a \
             token: set `admin.token`, for example to \"${{HIGHWATER_ADMIN_TOKEN}}\", or listen on \
             127.0.0.1:{}",
            admin_listen.port()
        );
        problems.push((admin.place.clone(), message));
    }
    let overlap = admin_listen.port() == listen.port()
        && listen.port() != 0
        && (admin_listen.ip() == listen.ip()
            || admin_listen.ip().is_unspecified()
            || listen.ip().is_unspecified());
    if overlap {
        let message = format!(
            "the admin listener and the RPC listener both want port {}: give one of them another",
            listen.port()
        );
        problems.push((
            admin.place.clone().or_else(|| server.place.clone()),
            message,
        ));
    }
    problems
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
