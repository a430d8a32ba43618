//! A call whose pool got other endpoints under way.

use super::Machine;
use crate::{EndpointId, router::EndpointSet};

impl Machine {
    /// The endpoints of the router are others now: `place` says where each of them is, `allowed`
    /// which of them the method may be sent to. What runs goes on, also at one that is gone. Reports
    /// name places of before and are to be taken first, with [`Machine::take_reports`].
    pub fn follow(
        &mut self,
        place: impl Fn(EndpointId) -> Option<EndpointId>,
        allowed: Option<EndpointSet>,
    ) {
        let moved = |endpoint: EndpointId| place(endpoint).unwrap_or(EndpointId::GONE);
        self.plan.allowed = allowed;
        self.plan.only = self.plan.only.map(moved);
        // Whoever is preferred has other places now; that there was somebody still forbids a hedge.
        self.plan.prefer = self.plan.prefer.is_some().then(EndpointSet::new);
        if let Some(sending) = &mut self.sending {
            sending.moved(moved);
        }
        for asked in &mut self.asked {
            asked.endpoint = moved(asked.endpoint);
        }
        self.asked
            .retain(|asked| asked.endpoint != EndpointId::GONE);
        for running in &mut self.running {
            let endpoint = moved(running.ticket.endpoint());
            running.ticket.moved_to(endpoint);
        }
        for (endpoint, _) in &mut self.unsent {
            *endpoint = moved(*endpoint);
        }
        let kept = |endpoint: &mut EndpointId| {
            *endpoint = moved(*endpoint);
            *endpoint != EndpointId::GONE
        };
        self.warm.retain(kept);
        self.checked.retain(kept);
        self.looked.retain(kept);
        if let Some(checking) = &mut self.checking {
            checking.endpoint = moved(checking.endpoint);
        }
        let bound = self.bound.take();
        self.bound = bound.and_then(|(endpoint, slot)| Some((place(endpoint)?, slot)));
        self.last_failed = self.last_failed.and_then(place);
    }
}
