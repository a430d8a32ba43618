//! Other endpoints at run time (L-10).
//!
//! The shell knows which endpoint is which by label and URL; here places are mapped. An endpoint that
//! stays keeps everything that was learned about it, its quarantine too, since its URL is the same
//! one that is new begins with nothing, so a changed URL or credential ends an exclusion
//! . Requests under way find their endpoint by its number and meet no other one in its place.

use super::{Endpoint, Profile, Router, base_tier, explain::Decisions, groups};
use crate::{EndpointId, Now, heads::Heads, retry_budget::RetryBudget, settings::Settings};
use std::sync::Arc;

impl Router {
    /// Replaces the endpoints. `from` says for each of the new ones, in order, which of the present
    /// ones it is; `None`, or one that was named before, is a new one. Kept decisions are dropped.
    pub fn replace(
        &mut self,
        profiles: Vec<Profile>,
        from: &[Option<EndpointId>],
        settings: Arc<Settings>,
        now: Now,
    ) {
        let before = std::mem::replace(&mut self.settings, settings);
        let settings = Arc::clone(&self.settings);
        let voices = groups(&profiles);
        self.lists = profiles.iter().any(|profile| !profile.methods.is_open());
        self.base_tier = base_tier(&profiles);
        let mut present: Vec<_> = std::mem::take(&mut self.endpoints)
            .into_iter()
            .map(Some)
            .collect();
        let mut carried = Vec::with_capacity(profiles.len());
        for (place, profile) in profiles.into_iter().enumerate() {
            let was = from.get(place).copied().flatten();
            let known = was.and_then(|was| present.get_mut(was.index())?.take());
            carried.push(was.filter(|_| known.is_some()));
            self.endpoints.push(match known {
                Some(known) => known.carry(profile, &before, &settings),
                None => {
                    let serial = self.next_serial;
                    self.next_serial = serial.wrapping_add(1);
                    Endpoint::new(serial, profile, &settings)
                }
            });
        }
        self.heads = match (self.heads.take(), settings.heads.clone()) {
            (Some(mut heads), Some(settings)) => {
                heads.replace(voices, &carried, now.mono);
                heads.set_settings(settings, now.mono);
                Some(heads)
            }
            (None, Some(settings)) => Some(Heads::new(voices, settings)),
            (_, None) => None,
        };
        self.selector.replace(&carried, settings.select);
        self.operations.replace(&carried, settings.select);
        if before.retry_budget != settings.retry_budget {
            self.retries = RetryBudget::new(settings.retry_budget);
        }
        self.decisions = Decisions::default();
    }
}
