//! What goes into an index and what comes out.

use crate::chain::{Chain, Emitted, Wanted};
use highwater_core::{
    cache::{Miss, Refusal},
    logs::{Ask, Blooms, Cut, Filter, Found, List, Piece, Shelf, Told},
};
use std::{sync::Arc, time::Duration};

pub(crate) const WINDOW: u64 = 1000;
const MOST: u64 = 1 << 20;

fn log() -> Emitted {
    Emitted {
        address: 1,
        topics: vec![],
    }
}

/// A chain with a log in every block up to a head.
fn chain(head: u64) -> Chain {
    let mut chain = Chain::new();
    while chain.head() < head {
        chain.grow(vec![log()]);
    }
    chain
}

fn any() -> Filter {
    Filter::read("[{}]").unwrap()
}

fn ask(from: u64, to: Option<u64>) -> Ask {
    Ask {
        from,
        to,
        newest: false,
        floor: None,
    }
}

struct Put {
    from: u64,
    to: u64,
    all_hold: bool,
    pinned: bool,
    rival: bool,
    /// Blocks whose headers say that they are empty.
    bare: Vec<u64>,
    pieces: Vec<Piece>,
    text: Option<String>,
}

impl Put {
    fn new(from: u64, to: u64) -> Self {
        Self {
            from,
            to,
            all_hold: true,
            pinned: false,
            rival: false,
            bare: Vec::new(),
            pieces: vec![Piece { to, voice: Some(0) }],
            text: None,
        }
    }

    fn into(self, shelf: &mut Shelf, chain: &Chain) -> Result<(), Refusal> {
        self.told(chain, |told| {
            shelf.put(&any(), told, WINDOW, MOST, &chain.view())
        })
    }

    fn told<T>(self, chain: &Chain, take: impl FnOnce(&Told<'_>) -> T) -> T {
        let scan = || format!("[{}]", chain.scan(&Wanted::default(), self.from, self.to));
        let text = self.text.unwrap_or_else(scan);
        let list = List::read(&text, &any(), self.from, self.to).unwrap();
        let mut blooms = Blooms::default();
        for number in self.bare {
            blooms.on_block(&chain.bare_header(number));
        }
        let told = Told {
            from: self.from,
            to: self.to,
            list: &list,
            pinned: self.pinned,
            all_hold: self.all_hold,
            rival: self.rival,
            pieces: &self.pieces,
            endpoint: &Arc::from("a"),
            blooms: &blooms,
            at: chain.now,
            since: chain.recent.mark(),
        };
        take(&told)
    }
}

fn texts(cut: &Cut) -> String {
    joined(&cut.texts)
}

pub(crate) fn joined(texts: &[(u64, Arc<str>)]) -> String {
    let texts: Vec<&str> = texts.iter().map(|(_, text)| &**text).collect();
    texts.join(",")
}

/// What is missing begins at a block that both pieces have.
fn tail(chain: &Chain, from: u64) -> Result<Found, Miss> {
    let seam = chain.blocks[usize::try_from(from).unwrap()].hash;
    Ok(Found::Tail {
        from,
        seam: Some(seam),
    })
}

fn found(shelf: &mut Shelf, ask: Ask, chain: &Chain) -> Result<Found, Miss> {
    shelf.find(&any(), &ask, &chain.view()).map(|cut| cut.found)
}

// P-21
#[test]
fn a_range_inside_is_answered_in_the_bytes_that_came() {
    let chain = chain(100);
    let mut shelf = Shelf::default();
    assert_eq!(
        found(&mut shelf, ask(60, Some(70)), &chain),
        Err(Miss::Absent)
    );
    Put::new(50, 100).into(&mut shelf, &chain).unwrap();
    let cut = shelf
        .find(&any(), &ask(60, Some(70)), &chain.view())
        .unwrap();
    let whole = Found::Whole {
        to: 70,
        stale_blocks: 0,
    };
    assert_eq!(cut.found, whole);
    assert_eq!(texts(&cut), chain.scan(&Wanted::default(), 60, 70));
    assert_eq!(
        found(&mut shelf, ask(49, Some(70)), &chain),
        Err(Miss::OtherBlock)
    );
}

// P-21
#[test]
fn what_ends_at_latest_is_served_within_the_blocks_and_the_age() {
    let mut chain = chain(100);
    let mut shelf = Shelf::default();
    Put::new(50, 100).into(&mut shelf, &chain).unwrap();
    let latest = ask(60, None);
    let whole = |stale_blocks| {
        Ok(Found::Whole {
            to: 100,
            stale_blocks,
        })
    };
    assert_eq!(found(&mut shelf, latest, &chain), whole(0));
    let bound = Ask {
        floor: Some(101),
        ..latest
    };
    assert_eq!(found(&mut shelf, bound, &chain), tail(&chain, 100));
    chain.grow(vec![log()]);
    assert_eq!(found(&mut shelf, latest, &chain), whole(1));
    chain.now += Duration::from_secs(2);
    assert_eq!(found(&mut shelf, latest, &chain), tail(&chain, 100));
    // A number does not age.
    assert_eq!(found(&mut shelf, ask(60, Some(100)), &chain), whole(0));
    // The number that `latest` became does: its block is read again.
    let newest = |from| Ask {
        newest: true,
        ..ask(from, Some(100))
    };
    let again = tail(&chain, 100);
    assert_eq!(found(&mut shelf, newest(60), &chain), again);
    assert_eq!(found(&mut shelf, newest(100), &chain), Err(Miss::Age));
    let cut = shelf.find(&any(), &newest(60), &chain.view()).unwrap();
    assert_eq!(texts(&cut), chain.scan(&Wanted::default(), 60, 99));
    Put::new(100, 101).into(&mut shelf, &chain).unwrap();
    chain.grow(vec![]);
    chain.grow(vec![]);
    assert_eq!(found(&mut shelf, latest, &chain), tail(&chain, 101));
    chain.settings.max_stale_blocks = 0;
    Put::new(101, 102).into(&mut shelf, &chain).unwrap();
    assert_eq!(found(&mut shelf, latest, &chain), tail(&chain, 101));
}

// P-21, L07: rule suspect
#[test]
fn the_newest_block_is_not_indexed_on_an_empty_list_alone() {
    let mut chain = chain(99);
    chain.grow(vec![]);
    let mut shelf = Shelf::default();
    assert_eq!(
        Put::new(100, 100).into(&mut shelf, &chain),
        Err(Refusal::Empty)
    );
    Put::new(90, 100).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((90, 99)));
    let signed = Put {
        bare: vec![100],
        ..Put::new(99, 100)
    };
    signed.into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((90, 100)));
    // After the next block the second read is the sign.
    let mut shelf = Shelf::default();
    chain.grow(vec![log()]);
    Put::new(100, 100).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((100, 100)));
}

// P-21
#[test]
fn what_is_not_sure_is_not_indexed() {
    let chain = chain(100);
    let mut shelf = Shelf::default();
    let refused = |put: Put| put.into(&mut Shelf::default(), &chain);
    let not_all = Put {
        all_hold: false,
        ..Put::new(50, 100)
    };
    assert_eq!(refused(not_all), Err(Refusal::NotAllHold));
    let rival = Put {
        rival: true,
        ..Put::new(50, 100)
    };
    assert_eq!(refused(rival), Err(Refusal::Rival));
    assert_eq!(refused(Put::new(50, 101)), Err(Refusal::AboveHead));
    let foreign = chain
        .scan(&Wanted::default(), 90, 100)
        .replace("00000001\"", "00000002\"");
    let foreign = Put {
        text: Some(format!("[{foreign}]")),
        ..Put::new(90, 100)
    };
    assert_eq!(refused(foreign), Err(Refusal::OffChain));
    let pinned = Put {
        all_hold: false,
        pinned: true,
        ..Put::new(50, 100)
    };
    assert_eq!(pinned.into(&mut shelf, &chain), Ok(()));
    // A development chain is set back at will.
    let mut local = self::chain(100);
    local.id = 31_337;
    let put = Put::new(50, 100).into(&mut shelf, &local);
    assert_eq!(put, Err(Refusal::LocalChain));
}

/// Pieces that end there, each by a voice that has told a header, or by one that has not.
fn pieces(all: &[(u64, Option<u16>)]) -> Vec<Piece> {
    let of = |(to, voice): &(u64, Option<u16>)| Piece {
        to: *to,
        voice: *voice,
    };
    all.iter().map(of).collect()
}

// P-14, P-21: an endpoint on a branch that nobody told gives a list that no known hash contradicts
#[test]
fn blocks_of_which_nothing_says_that_they_are_of_the_chain_are_not_indexed() {
    let mut chain = chain(70);
    // Logs in 75 and 95 only. What is at or below 60 is final.
    while chain.head() < 100 {
        let bare = !matches!(chain.head() + 1, 75 | 95);
        chain.grow(if bare { vec![] } else { vec![log()] });
    }
    let range = |chain: &Chain, from, bare: &[u64], parts: &[(u64, Option<u16>)]| {
        let mut shelf = Shelf::default();
        let put = Put {
            bare: bare.to_vec(),
            pieces: pieces(parts),
            ..Put::new(from, 100)
        };
        put.into(&mut shelf, chain)?;
        Ok(shelf.range(&any()).unwrap())
    };
    // Its voice told the newest block; nobody knows it; a log ties it, and headers say the rest.
    let told = [(100, Some(0))];
    assert_eq!(range(&chain, 50, &[100], &told), Ok((50, 100)));
    let silent = [(100, None)];
    assert_eq!(range(&chain, 50, &[], &silent), Ok((50, 95)));
    assert_eq!(range(&chain, 50, &[96, 97, 99], &silent), Ok((50, 97)));
    assert_eq!(range(&chain, 98, &[98, 99], &silent), Ok((98, 99)));
    let empty = range(&chain, 98, &[99], &silent);
    assert_eq!(empty, Err(Refusal::Empty));
    // Each piece by itself: what is above one that ends in doubt is in doubt.
    let both = [(80, None), (100, Some(0))];
    assert_eq!(range(&chain, 50, &[100], &both), Ok((50, 75)));
    let both = [(80, Some(0)), (100, None)];
    assert_eq!(range(&chain, 50, &[100], &both), Ok((50, 95)));
    // A log below the lowest hash that is known says nothing.
    chain.forget();
    assert_eq!(range(&chain, 50, &[100], &silent), Ok((50, 60)));
    assert_eq!(range(&chain, 50, &[100], &told), Ok((50, 100)));
    assert_eq!(range(&chain, 100, &[100], &silent), Ok((100, 100)));
}

// P-23
#[test]
fn pieces_that_are_not_final_are_of_one_chain_only_where_something_says_so() {
    let mut chain = chain(70);
    // Logs in 75 and 95 only. What is at or below 60 is final.
    while chain.head() < 100 {
        let bare = !matches!(chain.head() + 1, 75 | 95);
        chain.grow(if bare { vec![] } else { vec![log()] });
    }
    let is_one = |to, bare: &[u64], parts: &[(u64, Option<u16>)]| {
        let put = Put {
            bare: bare.to_vec(),
            pieces: pieces(parts),
            ..Put::new(50, to)
        };
        put.told(&chain, |told| told.is_of_one_chain(&any(), &chain.view()))
    };
    assert!(is_one(100, &[], &[(100, None)]));
    // All but the last is final.
    assert!(is_one(100, &[], &[(55, None), (60, None), (100, None)]));
    assert!(!is_one(100, &[], &[(55, None), (72, None), (100, None)]));
    // Each by a log in its last block, by who gave it, or by headers.
    assert!(is_one(100, &[], &[(75, None), (100, None)]));
    assert!(!is_one(100, &[], &[(80, None), (100, None)]));
    assert!(is_one(100, &[], &[(80, Some(0)), (100, None)]));
    let bare = [76, 77, 78, 79, 80];
    assert!(is_one(100, &bare, &[(80, None), (100, None)]));
    assert!(!is_one(100, &bare[1..], &[(80, None), (100, None)]));
    // The last one may be of any branch above the one before, and of none below.
    assert!(!is_one(90, &bare, &[(80, None), (90, None)]));
    assert!(is_one(90, &bare, &[(80, None), (90, Some(0))]));
    assert!(!is_one(
        90,
        &[76, 77, 78, 79, 80, 81],
        &[(80, None), (90, None)]
    ));
    assert!(is_one(
        82,
        &[76, 77, 78, 79, 80, 81, 82],
        &[(80, None), (82, None)]
    ));
}

// P-21
#[test]
fn an_index_reaches_back_as_far_as_the_window() {
    let mut chain = chain(1100);
    let mut shelf = Shelf::default();
    assert_eq!(
        Put::new(5, 100).into(&mut shelf, &chain),
        Err(Refusal::Window)
    );
    Put::new(5, 1100).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((101, 1100)));
    for _ in 0..10 {
        chain.grow(vec![log()]);
    }
    Put::new(1100, 1110).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((111, 1110)));
}

// P-21
#[test]
fn answers_that_touch_are_one_index_and_of_others_the_newer_stays() {
    let chain = chain(200);
    let mut shelf = Shelf::default();
    Put::new(100, 120).into(&mut shelf, &chain).unwrap();
    Put::new(121, 130).into(&mut shelf, &chain).unwrap();
    Put::new(90, 105).into(&mut shelf, &chain).unwrap();
    Put::new(110, 115).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((90, 130)));
    let cut = shelf
        .find(&any(), &ask(90, Some(130)), &chain.view())
        .unwrap();
    assert_eq!(texts(&cut), chain.scan(&Wanted::default(), 90, 130));
    Put::new(10, 20).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((90, 130)));
    Put::new(150, 160).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((150, 160)));
}

// P-14
#[test]
fn answers_that_nothing_ties_together_are_not_one_index() {
    let mut chain = chain(200);
    let mut shelf = Shelf::default();
    Put::new(150, 190).into(&mut shelf, &chain).unwrap();
    // Above 160 nothing is final, and no block is in both.
    Put::new(191, 195).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((191, 195)));
    Put::new(150, 190).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((191, 195)));
    Put::new(180, 192).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((180, 195)));
    // What is final is of any chain.
    let mut shelf = Shelf::default();
    Put::new(150, 190).into(&mut shelf, &chain).unwrap();
    for _ in 0..4 {
        chain.grow(vec![]);
    }
    Put::new(161, 164).into(&mut shelf, &chain).unwrap();
    assert_eq!(shelf.range(&any()), Some((150, 190)));
}

// P-14, L12
#[test]
fn blocks_that_left_the_chain_leave_the_index() {
    let mut chain = chain(100);
    let mut shelf = Shelf::default();
    Put::new(90, 100).into(&mut shelf, &chain).unwrap();
    chain.turn(2, || vec![log(), log()]);
    let tail = tail(&chain, 98);
    assert_eq!(found(&mut shelf, ask(95, Some(100)), &chain), tail);
    assert_eq!(found(&mut shelf, ask(95, None), &chain), tail);
    assert_eq!(
        found(&mut shelf, ask(99, Some(100)), &chain),
        Err(Miss::OtherBlock)
    );
    // What is below the fork is served as before.
    let cut = shelf
        .find(&any(), &ask(95, Some(98)), &chain.view())
        .unwrap();
    assert_eq!(texts(&cut), chain.scan(&Wanted::default(), 95, 98));
    // A fork below all of it takes it whole.
    chain.turn(20, Vec::new);
    assert_eq!(
        found(&mut shelf, ask(95, Some(98)), &chain),
        Err(Miss::Absent)
    );
    assert!(shelf.is_empty());
}

// P-14
#[test]
fn after_a_gap_only_final_blocks_stay() {
    let mut chain = chain(100);
    let mut shelf = Shelf::default();
    Put::new(20, 100).into(&mut shelf, &chain).unwrap();
    chain.recent.restart();
    chain.grow(vec![log()]);
    // Everything is void.
    assert_eq!(
        found(&mut shelf, ask(30, Some(40)), &chain),
        Err(Miss::Absent)
    );
    Put::new(20, 100).into(&mut shelf, &chain).unwrap();
    let header = highwater_core::recent::Header {
        number: 150,
        hash: [9; 32],
        parent: [8; 32],
    };
    chain.recent.observe(header, 0, chain.now);
    chain.recent.jump(chain.now);
    let mut view = chain.view();
    view.head = Some(150);
    view.finalized = Some(70);
    let cut = shelf.find(&any(), &ask(30, Some(60)), &view).unwrap();
    assert_eq!(texts(&cut), chain.scan(&Wanted::default(), 30, 60));
    // What became final since may have left the chain unseen.
    let cut = shelf.find(&any(), &ask(30, Some(70)), &view).unwrap();
    let open = Found::Tail {
        from: 62,
        seam: None,
    };
    assert_eq!(cut.found, open);
}

// P-21
#[test]
fn the_shelf_keeps_to_its_bytes_and_drops_the_oldest() {
    let chain = chain(300);
    let mut shelf = Shelf::default();
    let most = 60_000;
    for address in 0..30_u8 {
        let wanted = Wanted {
            addresses: vec![1, 100 + address],
            topics: vec![],
        };
        let filter = Filter::read(&wanted.params(false)).unwrap();
        let text = format!("[{}]", chain.scan(&wanted, 280, 300));
        let list = List::read(&text, &filter, 280, 300).unwrap();
        let told = Told {
            from: 280,
            to: 300,
            list: &list,
            pinned: true,
            all_hold: false,
            rival: false,
            pieces: &[Piece {
                to: 300,
                voice: None,
            }],
            endpoint: &chain.endpoint,
            blooms: &Blooms::default(),
            at: chain.now,
            since: chain.recent.mark(),
        };
        shelf
            .put(&filter, &told, WINDOW, most, &chain.view())
            .unwrap();
        assert!(shelf.bytes() <= most, "{}", shelf.bytes());
        assert_eq!(shelf.range(&filter), Some((280, 300)));
    }
    assert!((2..30).contains(&shelf.len()), "{}", shelf.len());
    // One that alone is more than half of the room is not kept.
    Put::new(0, 300).into(&mut shelf, &chain).unwrap();
    let before = shelf.len();
    let text = format!("[{}]", chain.scan(&Wanted::default(), 0, 300));
    let list = List::read(&text, &any(), 0, 300).unwrap();
    let told = Told {
        from: 0,
        to: 300,
        list: &list,
        pinned: true,
        all_hold: false,
        rival: false,
        pieces: &[Piece {
            to: 300,
            voice: None,
        }],
        endpoint: &chain.endpoint,
        blooms: &Blooms::default(),
        at: chain.now,
        since: chain.recent.mark(),
    };
    shelf
        .put(&any(), &told, WINDOW, 1000, &chain.view())
        .unwrap();
    assert!(shelf.len() < before && shelf.range(&any()).is_none());
}
