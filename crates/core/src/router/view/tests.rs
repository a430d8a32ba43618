use super::*;
use crate::{ChainId, heads::Source, method::lookup, router::Profile, settings::Settings};
use std::{sync::Arc, time::SystemTime};

const SETTINGS: PinSettings = PinSettings {
    fresh: Duration::from_secs(1),
    forward_block_number: false,
};

fn origin() -> Now {
    Now {
        mono: crate::now::tests::origin(),
        wall: SystemTime::UNIX_EPOCH,
    }
}

fn router(endpoints: usize) -> Router {
    let settings = Settings {
        verify_chain_id: false,
        ..Settings::default()
    };
    let profiles = (0..endpoints).map(|_| Profile::default()).collect();
    Router::new(Arc::new(settings), Some(ChainId(1)), profiles, 1)
}

fn read(router: &mut Router, heads: &[u64], now: Now) {
    for (place, height) in (0..).zip(heads) {
        router.on_head(EndpointId(place), Source::Probe, *height, now);
    }
}

fn balance() -> Reader<'static> {
    Reader::new(lookup("eth_getBalance"), "eth_getBalance", None)
}

// P-2
#[test]
fn a_read_is_pinned_to_the_lowest_head_within_the_lag() {
    let now = origin();
    let mut router = router(3);
    read(&mut router, &[102, 101, 90], now);
    assert_eq!(
        router.pin(&balance(), None, false, &SETTINGS, now),
        Pin::At(101)
    );
    assert_eq!(router.newest_head(&balance(), now), Some(101));
    assert_eq!(router.lowest_head(&balance(), now), Some(90));
    assert!(router.all_hold(&balance(), 90, now));
    assert!(!router.all_hold(&balance(), 91, now));
}

// P-8
#[test]
fn a_floor_that_nobody_holds_is_waited_for() {
    let now = origin();
    let mut router = router(2);
    read(&mut router, &[100, 100], now);
    let pin = |floor| router.pin(&balance(), Some(floor), false, &SETTINGS, now);
    assert_eq!(pin(100), Pin::At(100));
    assert_eq!(pin(103), Pin::Behind { floor: 103 });
}

// P-2
#[test]
fn without_any_head_the_tag_passes_through_and_old_ones_are_read_again() {
    let now = origin();
    let mut router = router(2);
    let pin = |router: &Router, now| router.pin(&balance(), None, false, &SETTINGS, now);
    assert_eq!(pin(&router, now), Pin::PassThrough);
    read(&mut router, &[100, 100], now);
    let later = Now {
        mono: now.mono + Duration::from_secs(3),
        ..now
    };
    assert_eq!(pin(&router, later), Pin::FetchHead);
    let hours = Now {
        mono: now.mono + Duration::from_secs(7200),
        ..now
    };
    assert_eq!(pin(&router, hours), Pin::FetchHead);
}

// P-11, R-16
#[test]
fn a_lone_leader_makes_no_newest_head() {
    let now = origin();
    let mut router = router(3);
    read(&mut router, &[100, 100, 101], now);
    assert_eq!(router.newest_head(&balance(), now), Some(100));
    assert!(router.has_majority(now));
}

// R-14, P-2
#[test]
fn an_endpoint_without_the_method_sets_no_pin() {
    let now = origin();
    let mut router = router(2);
    read(&mut router, &[101, 100], now);
    let only: EndpointSet = std::iter::once(EndpointId(0)).collect();
    let reader = Reader::new(lookup("eth_getBalance"), "eth_getBalance", Some(&only));
    let pin = router.pin(&reader, None, false, &SETTINGS, now);
    // The other one is out, and what only one says does not lead.
    assert_eq!(pin, Pin::At(100));
}

// P-8, R-14
#[test]
fn only_an_endpoint_with_the_method_is_worth_a_wait() {
    let now = origin();
    let mut router = router(2);
    read(&mut router, &[100, 100], now);
    assert!(router.may_serve(&balance(), now));
    let nobody = EndpointSet::default();
    let listed = Reader::new(lookup("eth_getBalance"), "eth_getBalance", Some(&nobody));
    assert!(!router.may_serve(&listed, now));
    // Nor is there a head to read for it.
    let later = Now {
        mono: now.mono + Duration::from_secs(100),
        ..now
    };
    let pin = |reader: &Reader<'_>| router.pin(reader, None, false, &SETTINGS, later);
    assert_eq!(pin(&balance()), Pin::FetchHead);
    assert_eq!(pin(&listed), Pin::PassThrough);
}
