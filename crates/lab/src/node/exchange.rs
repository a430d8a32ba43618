//! One answer on its way: bytes, and what becomes of them.
//!
//! In-process a client asks [`Exchange::seen`] what it gets and when; on a socket the same value is
//! played byte by byte. So both worlds suffer the same faults.

use std::time::Duration;

use bytes::Bytes;

use super::cue::Cue;

/// What a node does with one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Time until the first byte of the answer, or until the fault.
    pub delay: Duration,
    /// The answer or the fault.
    pub carriage: Carriage,
    /// The fault behind it; what a node with a wrong view answers has none.
    pub cue: Option<Cue>,
}

/// An answer or its absence.
#[derive(Clone, Debug, PartialEq)]
pub enum Carriage {
    /// The connection is refused: nothing was read.
    Refused,
    /// Nothing, ever.
    Silence,
    /// The connection closes without a byte.
    Closed,
    /// The connection is reset without a byte.
    Reset,
    /// An HTTP answer.
    Answer(Delivery),
}

/// An HTTP answer, and how its body travels.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// HTTP status.
    pub status: u16,
    /// Content type.
    pub content_type: String,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The body, not compressed.
    pub body: Bytes,
    /// Whether it travels compressed.
    pub gzip: bool,
    /// When its bytes come.
    pub pace: Pace,
    /// How it ends.
    pub ending: Ending,
}

/// When the bytes of a body come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All at once.
    AtOnce,
    /// With a pause after so many bytes.
    Stall {
        /// Bytes before the pause.
        after: usize,
        /// Length of the pause.
        pause: Duration,
    },
    /// In pieces, with a pause before each.
    Drip {
        /// Bytes of a piece.
        piece: usize,
        /// Length of the pause.
        every: Duration,
    },
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Complete.
    Whole,
    /// The connection closes after so many bytes.
    ClosedAfter(usize),
    /// The connection is reset after so many bytes.
    ResetAfter(usize),
}

/// What a client that waits long enough gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Proof that the request was not read.
    Refused,
    /// The connection ended before the answer was complete.
    Broken,
    /// A complete HTTP answer.
    Complete {
        /// HTTP status.
        status: u16,
        /// Headers beside the content's type and length.
        headers: Vec<(String, String)>,
        /// The body.
        body: Bytes,
    },
}

impl Exchange {
    /// What a client gets and how long after the request; `None` when nothing ever comes.
    #[must_use]
    pub fn seen(&self) -> Option<(Duration, Seen)> {
        match &self.carriage {
            Carriage::Refused => Some((self.delay, Seen::Refused)),
            Carriage::Silence => None,
            Carriage::Closed | Carriage::Reset => Some((self.delay, Seen::Broken)),
            Carriage::Answer(delivery) => {
                let whole = delivery.body.len();
                let (sent, broken) = match delivery.ending {
                    Ending::Whole => (whole, false),
                    Ending::ClosedAfter(bytes) | Ending::ResetAfter(bytes) => {
                        (bytes.min(whole), bytes < whole)
                    }
                };
                let at = self.delay.saturating_add(delivery.pace.lasts(sent));
                if broken {
                    return Some((at, Seen::Broken));
                }
                let complete = Seen::Complete {
                    status: delivery.status,
                    headers: delivery.headers.clone(),
                    body: delivery.body.clone(),
                };
                Some((at, complete))
            }
        }
    }
}

impl Pace {
    /// How long so many bytes take.
    #[must_use]
    pub fn lasts(&self, bytes: usize) -> Duration {
        match *self {
            Self::AtOnce => Duration::ZERO,
            Self::Stall { after, pause } => {
                if bytes > after {
                    pause
                } else {
                    Duration::ZERO
                }
            }
            Self::Drip { piece, every } => {
                let pieces = bytes.div_ceil(piece.max(1));
                every.saturating_mul(u32::try_from(pieces).unwrap_or(u32::MAX))
            }
        }
    }
}

impl Delivery {
    /// A whole answer of JSON.
    #[must_use]
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self {
            status: 200,
            content_type: "application/json".to_owned(),
            headers: Vec::new(),
            body: body.into(),
            gzip: false,
            pace: Pace::AtOnce,
            ending: Ending::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Carriage, Delivery, Ending, Exchange, Pace, Seen};

    const MS: Duration = Duration::from_millis(1);

    fn seen(change: impl FnOnce(&mut Delivery)) -> Option<(Duration, Seen)> {
        let mut delivery = Delivery::json("0123456789");
        change(&mut delivery);
        let carriage = Carriage::Answer(delivery);
        Exchange {
            delay: MS,
            carriage,
            cue: None,
        }
        .seen()
    }

    // B-2
    #[test]
    fn an_answer_is_complete_when_its_last_byte_is_there() {
        let (at, whole) = seen(|_| ()).unwrap();
        assert_eq!(at, MS);
        assert!(matches!(whole, Seen::Complete { status: 200, .. }));
        let drip = |d: &mut Delivery| {
            d.pace = Pace::Drip {
                piece: 4,
                every: MS * 10,
            };
        };
        assert_eq!(seen(drip).unwrap().0, MS * 31);
        let stall = |d: &mut Delivery| {
            d.pace = Pace::Stall {
                after: 4,
                pause: MS * 7,
            };
        };
        assert_eq!(seen(stall).unwrap().0, MS * 8);
        let cut = |d: &mut Delivery| d.ending = Ending::ClosedAfter(4);
        assert_eq!(seen(cut), Some((MS, Seen::Broken)));
        let late = |d: &mut Delivery| d.ending = Ending::ResetAfter(10);
        assert!(matches!(seen(late), Some((_, Seen::Complete { .. }))));
    }
}
