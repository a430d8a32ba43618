//! On whose behalf a call is made: whoever has seen a block is not taken back behind it (P-8).
//!
//! A key has a view of its own on each chain; all callers without a key share one. A session, named by
//! the header `X-Highwater-Session`, has its own instead, so that two users behind one key see the
//! chain each in their own order; the same name under another key is another session. Sessions are
//! remembered up to a number; the least recently used is forgotten and begins anew when it returns.

use crate::auth::Key;
use highwater::Viewer;
use quick_cache::sync::Cache;

/// Longest name of a session, in bytes.
pub(crate) const LONGEST: usize = 128;

/// The views of one chain.
pub(crate) struct Sessions {
    anonymous: Viewer,
    /// By the number of the key, from 1.
    keys: Box<[Viewer]>,
    named: Cache<(u64, Box<str>), Viewer>,
}

impl Sessions {
    pub(crate) fn new(keys: usize, most: usize) -> Self {
        Self {
            anonymous: Viewer::new(),
            keys: (0..keys).map(|_| Viewer::new()).collect(),
            named: Cache::new(most),
        }
    }

    /// Whose view binds a call.
    pub(crate) fn viewer(&self, key: Option<&Key>, session: Option<&str>) -> Viewer {
        let number = key.map_or(0, |key| key.number);
        if let Some(name) = session {
            let named = (number, Box::from(name));
            let found = self
                .named
                .get_or_insert_with(&named, || Ok::<_, std::convert::Infallible>(Viewer::new()));
            return match found {
                Ok(viewer) => viewer,
                Err(never) => match never {},
            };
        }
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let own = place.checked_sub(1).and_then(|place| self.keys.get(place));
        own.unwrap_or(&self.anonymous).clone()
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("keys", &self.keys.len())
            .field("named", &self.named.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::floor::Falls;

    fn seen(viewer: &Viewer) -> Option<u64> {
        let now = tokio::time::Instant::now().into_std();
        viewer.marks().latest.get(&Falls::default(), now)
    }

    // P-8, scenario P19
    #[test]
    fn sessions_are_apart_and_the_same_name_is_the_same_session() {
        let sessions = Sessions::new(0, 100);
        let one = sessions.viewer(None, Some("one"));
        one.marks().latest.raise(105, None, &Falls::default());
        assert_eq!(seen(&sessions.viewer(None, Some("one"))), Some(105));
        assert_eq!(seen(&sessions.viewer(None, Some("two"))), None);
        assert_eq!(seen(&sessions.viewer(None, None)), None);
    }

    // P-8
    #[test]
    fn what_is_over_the_number_is_forgotten() {
        let sessions = Sessions::new(0, 10);
        for name in 0..1000 {
            sessions.viewer(None, Some(&name.to_string()));
        }
        assert!(sessions.named.len() <= 10);
    }
}
