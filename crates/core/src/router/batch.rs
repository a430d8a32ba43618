//! How many calls an endpoint takes in one batch.

use super::Router;
use crate::{
    EndpointId, Now,
    learn::{Learned, Size},
};

impl Router {
    /// The most calls to send to an endpoint in one body: its own limit, declared or learned, within
    /// [`BatchSettings::most`](crate::settings::BatchSettings::most).
    #[must_use]
    pub fn batch_limit(&self, endpoint: EndpointId, now: Now) -> u16 {
        let most = self.settings.batch.most;
        let own = self
            .learned(endpoint)
            .and_then(|learned| learned.largest(Size::Batch, now.mono));
        own.and_then(|own| u16::try_from(own).ok())
            .map_or(most, |own| own.clamp(1, most))
    }

    /// An endpoint took so many calls in one body.
    pub fn on_batch_taken(&mut self, endpoint: EndpointId, calls: usize, now: Now) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            let calls = u64::try_from(calls).unwrap_or(u64::MAX);
            known.learned.on_accepted(Size::Batch, calls, now.mono);
        }
    }

    /// An endpoint refused a body because there were so many calls in it.
    pub fn on_batch_refused(&mut self, endpoint: EndpointId, calls: usize, now: Now) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            let calls = u64::try_from(calls).unwrap_or(u64::MAX);
            known.learned.on_refused(Size::Batch, calls, None, now.mono);
        }
    }

    fn learned(&self, endpoint: EndpointId) -> Option<&Learned> {
        let known = self.endpoints.get(endpoint.index())?;
        Some(&known.learned)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        EndpointId, Now,
        learn::{Declared, Size},
        now::tests::origin,
        router::{Profile, Router},
        settings::Settings,
    };
    use std::{
        sync::Arc,
        time::{Duration, SystemTime},
    };

    fn router(declared: Option<u64>) -> Router {
        let largest = declared.map(|most| (Size::Batch, most));
        let profile = Profile {
            declared: Declared {
                largest: largest.into_iter().collect(),
                ..Declared::default()
            },
            ..Profile::default()
        };
        Router::new(Arc::new(Settings::default()), None, vec![profile], 1)
    }

    //
    #[test]
    fn a_batch_is_as_large_as_was_declared_or_learned() {
        let first = EndpointId(0);
        let now = Now {
            mono: origin(),
            wall: SystemTime::UNIX_EPOCH,
        };
        assert_eq!(router(None).batch_limit(first, now), 100);
        assert_eq!(router(Some(7)).batch_limit(first, now), 7);
        assert_eq!(router(Some(5000)).batch_limit(first, now), 100);
        assert_eq!(router(Some(0)).batch_limit(first, now), 1);
        let mut router = router(None);
        router.on_batch_refused(first, 20, now);
        assert_eq!(router.batch_limit(first, now), 10);
        router.on_batch_taken(first, 10, now);
        router.on_batch_refused(first, 16, now);
        assert_eq!(router.batch_limit(first, now), 10);
        // Forgotten in time: limits are raised too.
        let later = Now {
            mono: now.mono + Duration::from_secs(24 * 3600),
            ..now
        };
        assert_eq!(router.batch_limit(first, later), 100);
    }
}
