use super::{millis, origin};
use highwater_core::recent::{Block, Fault, Header, Link, Recent, Reorg, WINDOW};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const STALE: Duration = Duration::from_secs(30);

/// The hash of a block on a branch: branch 0 is the first one.
fn hash(number: u64, branch: u8) -> [u8; 32] {
    let mut hash = [branch; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

fn block(number: u64, branch: u8) -> Block {
    Block {
        number,
        hash: hash(number, branch),
    }
}

/// A header of a branch that left branch 0 above `fork`.
fn header(number: u64, branch: u8, fork: u64) -> Header {
    let below = number - 1;
    Header {
        number,
        hash: hash(number, branch),
        parent: hash(below, if below > fork { branch } else { 0 }),
    }
}

fn main_chain(number: u64) -> Header {
    header(number, 0, 0)
}

/// Blocks 100 to 105, by voice 1.
fn chain(now: Instant) -> Recent {
    let mut recent = Recent::new(STALE);
    for number in 100..=105 {
        let tip = block(number, 0);
        assert_eq!(
            recent.observe(main_chain(number), 1, now),
            Link::Extended { tip }
        );
    }
    recent
}

// P-14
#[test]
fn headers_that_link_make_a_chain() {
    let now = origin();
    let mut recent = chain(now);
    assert_eq!(recent.tip(), Some(block(105, 0)));
    assert_eq!(recent.hash_at(100), Some(hash(100, 0)));
    assert_eq!(recent.hash_at(99), None);
    assert_eq!(recent.hash_at(106), None);
    // The lowest header names the block below.
    assert!(recent.denies(99, &hash(99, 1)) && !recent.denies(99, &hash(99, 0)));
    assert!(recent.denies(105, &hash(105, 1)) && !recent.denies(105, &hash(105, 0)));
    assert!(!recent.denies(98, &hash(98, 1)) && !recent.denies(106, &hash(106, 1)));
    assert_eq!(recent.number_of(&hash(103, 0)), Some(103));
    assert!(recent.contains(block(103, 0)) && !recent.contains(block(103, 1)));
    assert_eq!(recent.observe(main_chain(104), 2, now), Link::Known);
    // Below it what the links reach belongs to the chain, in whatever order it comes.
    assert_eq!(recent.observe(main_chain(97), 2, now), Link::Old);
    assert_eq!(recent.observe(header(98, 1, 97), 2, now), Link::Old);
    assert_eq!(recent.observe(main_chain(99), 2, now), Link::Known);
    assert_eq!(recent.fill(main_chain(98), now), Link::Known);
    assert!((97..=99).all(|number| recent.contains(block(number, 0))));
    assert_eq!(recent.hash_at(96), None);
    assert!(!recent.is_disputed(105));
}

// P-14
#[test]
fn one_voice_that_changes_its_mind_reorganises() {
    let now = origin();
    let mut recent = chain(now);
    let before = recent.mark();
    let link = recent.observe(header(104, 1, 103), 1, now);
    let dropped = vec![block(104, 0), block(105, 0)];
    assert_eq!(
        link,
        Link::Reorg(Reorg {
            fork: 103,
            dropped,
            majority: true
        })
    );
    assert_eq!(recent.tip(), Some(block(104, 1)));
    assert!(recent.has_left(104, before) && recent.has_left(105, before));
    assert!(!recent.has_left(103, before));
    assert!(recent.is_linked_since(before));
    let after = recent.mark();
    assert!(!recent.has_left(104, after));
}

// P-14, P-8: one endpoint's branch against others
#[test]
fn a_rival_needs_more_voices_or_as_many_and_a_higher_tip() {
    let now = origin();
    let mut recent = chain(now);
    recent.observe(main_chain(105), 2, now);
    // One of three.
    assert_eq!(
        recent.observe(header(105, 1, 104), 3, now),
        Link::Rival { fork: 104 }
    );
    assert!(recent.is_rival(3, now) && !recent.is_rival(1, now) && !recent.is_rival(9, now));
    assert!(!recent.is_disputed(105), "two against one");
    assert_eq!(
        recent.observe(header(106, 1, 104), 3, now),
        Link::Rival { fork: 104 }
    );
    // Two of three.
    let link = recent.observe(header(105, 1, 104), 2, now);
    let dropped = vec![block(105, 0)];
    assert_eq!(
        link,
        Link::Reorg(Reorg {
            fork: 104,
            dropped,
            majority: true
        })
    );
    assert_eq!(recent.tip(), Some(block(106, 1)));
    assert!(recent.is_rival(1, now));

    let mut recent = chain(now);
    assert_eq!(
        recent.observe(header(105, 1, 104), 2, now),
        Link::Rival { fork: 104 }
    );
    assert!(
        recent.is_disputed(105) && !recent.is_disputed(104),
        "one against one"
    );
    let link = recent.observe(header(106, 1, 104), 2, now);
    let dropped = vec![block(105, 0)];
    assert_eq!(
        link,
        Link::Reorg(Reorg {
            fork: 104,
            dropped,
            majority: false
        })
    );
    // The voice left behind comes over, and the doubt is gone.
    assert!(recent.is_disputed(105));
    assert_eq!(recent.observe(header(105, 1, 104), 1, now), Link::Known);
    assert!(!recent.is_disputed(105));
}

// P-14: a voice that has not spoken for `stale` is not heard
#[test]
fn old_statements_do_not_count() {
    let now = origin();
    let mut recent = chain(now);
    recent.observe(main_chain(105), 2, now);
    let later = now + STALE + millis(1);
    let link = recent.observe(header(105, 1, 104), 3, later);
    let dropped = vec![block(105, 0)];
    assert_eq!(
        link,
        Link::Reorg(Reorg {
            fork: 104,
            dropped,
            majority: true
        })
    );
}

// P-14: headers with a gap, and the walk that closes it
#[test]
fn a_gap_names_the_header_that_closes_it() {
    let now = origin();
    let mut recent = chain(now);
    let gap = |number| Link::Gap {
        missing: block(number, 0),
        tip: 105,
    };
    assert_eq!(recent.observe(main_chain(109), 1, now), gap(108));
    assert_eq!(recent.tip(), Some(block(105, 0)));
    assert_eq!(recent.fill(main_chain(108), now), gap(107));
    assert_eq!(recent.fill(main_chain(107), now), gap(106));
    let tip = block(109, 0);
    assert_eq!(recent.fill(main_chain(106), now), Link::Extended { tip });
    assert_eq!(recent.hash_at(106), Some(hash(106, 0)));
}

// P-14: a reorganisation of which only the tip is known yet
#[test]
fn while_a_fork_is_looked_for_everything_is_in_doubt() {
    let now = origin();
    let mut recent = chain(now);
    let before = recent.mark();
    let link = recent.observe(header(105, 1, 102), 1, now);
    assert_eq!(
        link,
        Link::Gap {
            missing: block(104, 1),
            tip: 105
        }
    );
    assert!(recent.is_disputed(100));
    assert!(matches!(
        recent.fill(header(104, 1, 102), now),
        Link::Gap { .. }
    ));
    let link = recent.fill(header(103, 1, 102), now);
    let dropped = vec![block(103, 0), block(104, 0), block(105, 0)];
    assert_eq!(
        link,
        Link::Reorg(Reorg {
            fork: 102,
            dropped,
            majority: true
        })
    );
    assert!(!recent.is_disputed(105));
    assert!(recent.has_left(103, before) && !recent.has_left(102, before));
}

// P-14: a gap that nobody wants to close
#[test]
fn a_jump_begins_anew_and_says_nothing_of_the_blocks_before() {
    let now = origin();
    let mut recent = chain(now);
    let before = recent.mark();
    assert_eq!(recent.jump(now), None, "there is no gap");
    recent.observe(main_chain(109), 1, now);
    assert_eq!(recent.jump(now), Some(block(109, 0)));
    assert_eq!(recent.hash_at(105), None);
    assert!(!recent.is_linked_since(before));
    assert!(!recent.has_left(105, before), "it may be there still");
    let tip = block(110, 0);
    assert_eq!(
        recent.observe(main_chain(110), 1, now),
        Link::Extended { tip }
    );
}

// P-14, R-16: a branch whose way down nobody knows needs voices, as any rival.
#[test]
fn one_voice_on_a_branch_that_ends_nowhere_makes_nothing_begin_anew() {
    let now = origin();
    let mut recent = chain(now);
    recent.observe(main_chain(105), 2, now);
    let before = recent.mark();
    let branch = header(106, 9, 100);
    let gap = recent.observe(branch, 3, now);
    assert!(matches!(gap, Link::Gap { .. }), "{gap:?}");
    assert_eq!(recent.jump(now), None);
    assert_eq!(recent.tip(), Some(block(105, 0)));
    assert!(recent.is_linked_since(before));
    // Whoever is on it now is not on the chain any more.
    recent.observe(branch, 1, now);
    assert_eq!(recent.jump(now), Some(block(106, 9)));
    assert!(!recent.is_linked_since(before));
}

// lessons N11, N8
#[test]
fn links_that_cannot_be_are_refused_and_walks_are_bounded() {
    let now = origin();
    let mut recent = chain(now);
    let own = Header {
        number: 106,
        hash: hash(106, 0),
        parent: hash(106, 0),
    };
    assert_eq!(recent.observe(own, 1, now), Link::Refused(Fault::OwnParent));
    let skips = Header {
        number: 107,
        hash: hash(107, 0),
        parent: hash(105, 0),
    };
    assert_eq!(recent.observe(skips, 1, now), Link::Refused(Fault::Number));
    let down = Header {
        number: 105,
        hash: hash(9, 9),
        parent: hash(105, 0),
    };
    assert_eq!(recent.observe(down, 1, now), Link::Refused(Fault::Number));
    let other = Header {
        number: 105,
        hash: hash(105, 0),
        parent: hash(9, 9),
    };
    assert_eq!(recent.observe(other, 1, now), Link::Refused(Fault::Hash));
    let moved = Header {
        number: 106,
        hash: hash(105, 0),
        parent: hash(9, 9),
    };
    assert_eq!(recent.observe(moved, 1, now), Link::Refused(Fault::Hash));
    assert_eq!(recent.tip(), Some(block(105, 0)));
    // At one height only so many.
    for branch in 1..=7 {
        let link = recent.observe(header(105, branch, 104), 100 + u16::from(branch), now);
        assert!(!matches!(link, Link::Refused(_)), "{branch}");
    }
    let link = recent.observe(header(105, 8, 104), 200, now);
    assert_eq!(link, Link::Refused(Fault::TooMany));
    // The first block has no parent to walk to.
    let mut recent = Recent::new(STALE);
    let first = Header {
        number: 0,
        hash: hash(0, 3),
        parent: [0; 32],
    };
    assert_eq!(
        recent.observe(first, 1, now),
        Link::Extended { tip: block(0, 3) }
    );
}

// P-14: after a long pause, and against one voice that is elsewhere
#[test]
fn a_tip_out_of_reach_begins_anew_only_where_most_voices_are_there() {
    let now = origin();
    let far = 105 + WINDOW as u64 + 1;
    let mut recent = chain(now);
    let before = recent.mark();
    assert_eq!(
        recent.observe(main_chain(far), 1, now),
        Link::Restarted { reorg: false }
    );
    assert_eq!(recent.tip(), Some(block(far, 0)));
    assert!(!recent.is_linked_since(before) && !recent.has_left(105, before));

    let mut recent = chain(now);
    recent.observe(main_chain(105), 2, now);
    assert_eq!(recent.observe(main_chain(far), 3, now), Link::Old);
    assert_eq!(recent.tip(), Some(block(105, 0)));
    let tip = block(106, 0);
    assert_eq!(
        recent.observe(main_chain(106), 1, now),
        Link::Extended { tip }
    );
}

// P-14
#[test]
fn a_branch_from_below_the_window_takes_everything() {
    let now = origin();
    let mut recent = chain(now);
    let before = recent.mark();
    recent.observe(header(105, 1, 50), 1, now);
    for number in (101..=104).rev() {
        recent.fill(header(number, 1, 50), now);
    }
    let link = recent.fill(header(100, 1, 50), now);
    assert_eq!(link, Link::Restarted { reorg: true });
    assert_eq!(recent.tip(), Some(block(105, 1)));
    assert!(recent.has_left(1, before) && recent.has_left(100, before));
}

// scenario F9 of hardening: a development node that is set back
#[test]
fn a_restart_voids_everything() {
    let now = origin();
    let mut recent = chain(now);
    let before = recent.mark();
    recent.restart();
    assert_eq!(recent.tip(), None);
    assert!(recent.has_left(0, before) && !recent.is_linked_since(before));
}

#[test]
fn the_window_is_bounded() {
    let now = origin();
    let mut recent = Recent::new(STALE);
    for number in 1..=1000 {
        recent.observe(main_chain(number), 1, now);
    }
    assert_eq!(recent.hash_at(1000 - WINDOW as u64), None);
    assert_eq!(
        recent.hash_at(1001 - WINDOW as u64),
        Some(hash(1001 - WINDOW as u64, 0))
    );
}

proptest! {
    // P-14: whatever is stated, the chain is linked, and a block that is on it at two moments but
    // was off it in between has left it
    #[test]
    fn the_chain_is_linked_and_what_left_it_is_known_to_have_left(
        steps in prop::collection::vec((0_u16..4, 0_u8..4, 0_u64..6, 0_u8..8), 1..120),
    ) {
        let now = origin();
        let mut recent = Recent::new(STALE);
        recent.observe(main_chain(100), 0, now);
        // Each branch left branch 0 at a height of its own.
        let fork = |branch: u8| 100 + 2 * u64::from(branch);
        let mut learned: Vec<(Block, highwater_core::recent::Mark, bool)> = Vec::new();
        for (voice, branch, up, kind) in steps {
            let tip = recent.tip().unwrap();
            let number = (tip.number + up).saturating_sub(3).max(101);
            let branch = if number <= fork(branch) { 0 } else { branch };
            let one = header(number, branch, fork(branch));
            let link = match kind {
                0 => recent.fill(one, now),
                _ => recent.observe(one, voice, now),
            };
            if kind == 1 && matches!(link, Link::Gap { .. }) {
                recent.jump(now);
            }
            let tip = recent.tip().unwrap();
            for number in 101..=tip.number {
                let (Some(own), Some(below)) = (recent.hash_at(number), recent.hash_at(number - 1)) else {
                    continue;
                };
                let branch = own[31];
                prop_assert_eq!(own, hash(number, branch));
                prop_assert_eq!(header(number, branch, fork(branch)).parent, below);
            }
            for (block, mark, was_off) in &mut learned {
                let on = recent.contains(*block);
                let left = recent.has_left(block.number, *mark);
                if recent.is_linked_since(*mark) && recent.hash_at(block.number).is_some() {
                    *was_off |= !on;
                    prop_assert!(!*was_off || left, "{:?} left unseen", block);
                }
            }
            if learned.len() < 40 {
                learned.push((tip, recent.mark(), false));
            }
        }
    }
}

// P-14
#[test]
fn a_voice_above_the_chain_that_goes_over_leaves_everything_in_doubt() {
    let now = origin();
    // Nothing links 110 to 105: the branch may have left the chain anywhere below.
    let hanging = || {
        let mut recent = chain(now);
        let gap = recent.observe(main_chain(110), 2, now);
        assert!(matches!(gap, Link::Gap { .. }), "{gap:?}");
        recent
    };
    let mut recent = hanging();
    let before = recent.mark();
    recent.observe(main_chain(110), 2, now);
    assert!(!recent.has_left(105, before));
    recent.observe(header(110, 1, 100), 2, now);
    assert!(recent.has_left(110, before) && recent.has_left(100, before));

    // What callers ask for below is not the voice's newest, and takes nothing back.
    for lower in [main_chain(108), main_chain(104)] {
        let mut recent = hanging();
        let before = recent.mark();
        recent.observe(lower, 2, now);
        assert!(!recent.has_left(105, before));
        recent.observe(header(110, 1, 100), 2, now);
        assert!(recent.has_left(110, before), "{lower:?}");
    }

    // A statement that is too old to count binds nobody to it.
    let mut recent = hanging();
    let later = now + STALE + millis(1);
    recent.observe(main_chain(108), 2, later);
    let before = recent.mark();
    recent.observe(header(108, 1, 100), 2, later);
    assert!(recent.has_left(105, before));
}

// P-14
#[test]
fn the_first_word_of_another_branch_leaves_what_was_read_above_the_fork_in_doubt() {
    let now = origin();
    let mut recent = chain(now);
    recent.observe(main_chain(105), 2, now);
    let before = recent.mark();
    // One of three: the chain stays.
    let rival = recent.observe(header(105, 1, 103), 3, now);
    assert!(matches!(rival, Link::Gap { .. }), "{rival:?}");
    assert_eq!(recent.mark(), before);
    let rival = recent.fill(header(104, 1, 103), now);
    assert_eq!(rival, Link::Rival { fork: 103 });
    assert!(recent.has_left(104, before) && !recent.has_left(103, before));
    // Said again it is nothing new.
    let known = recent.mark();
    recent.observe(header(105, 1, 103), 3, now);
    assert_eq!(recent.mark(), known);

    // Before the first header nobody knew any block.
    let mut recent = Recent::new(STALE);
    let before = recent.mark();
    recent.observe(main_chain(105), 1, now);
    recent.observe(main_chain(105), 2, now);
    assert!(!recent.has_left(105, before));
    recent.observe(header(105, 1, 100), 3, now);
    assert!(recent.has_left(105, before));
}
