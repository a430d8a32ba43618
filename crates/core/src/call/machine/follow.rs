//! A call whose pool got other endpoints under way (L-10).

use super::Machine;
use crate::{EndpointId, router::EndpointSet};

impl Machine {
    /// The endpoints of the router are others now: `place` says where each of them is, `allowed`
    /// which of them the method may be sent to. What runs goes on, also at one that is gone; an
    /// attempt that is still to be told to the driver then names [`EndpointId::GONE`]. Reports name
    /// places of before and are to be taken first, with [`Machine::take_reports`].
    pub fn follow(
        &mut self,
        place: impl Fn(EndpointId) -> Option<EndpointId>,
        allowed: Option<EndpointSet>,
    ) {
        let moved = |endpoint: EndpointId| place(endpoint).unwrap_or(EndpointId::GONE);
        self.plan.allowed = allowed;
        self.plan.only = self.plan.only.map(moved);
        for asked in &mut self.asked {
            asked.endpoint = moved(asked.endpoint);
        }
        self.asked.retain(|asked| asked.endpoint != EndpointId::GONE);
        for running in &mut self.running {
            let endpoint = moved(running.ticket.endpoint());
            running.ticket.moved_to(endpoint);
        }
        for (endpoint, _) in &mut self.unsent {
            *endpoint = moved(*endpoint);
        }
        if let Some(checking) = &mut self.checking {
            checking.endpoint = moved(checking.endpoint);
        }
        if let Some((endpoint, _)) = &mut self.bound {
            *endpoint = moved(*endpoint);
        }
        let stays = |endpoint: &mut EndpointId| {
            *endpoint = moved(*endpoint);
            *endpoint != EndpointId::GONE
        };
        self.checked.retain(stays);
        self.looked.retain(stays);
        self.warm.retain(stays);
        self.last_failed = self.last_failed.and_then(place);
    }
}
