//! What an endpoint answers to a batch of ours: taken apart, so that each element is judged as if it
//! had come alone.
//!
//! Elements are matched by id, whatever their order; what has another id, or is no object, answers
//! nothing. Servers refuse a whole batch in several ways: one error object in place of the array, an
//! array of one error without an id, or an array of one error with the id of the first request. None
//! of them says anything about the requests, so all of them are told apart from answers here.

use super::reply::{BadReply, MAX_REPLY_DEPTH, NAMES, Owner, Reply, each, judge};
use super::scan::Scanner;

/// The reply to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchReply<'a> {
    /// For each request the element that has its id; `None` where none has, or several have. An error
    /// without an id stands for those that have none of their own.
    Each(Vec<Option<&'a str>>),
    /// The batch was refused as such, with this error object.
    Refused(&'a str),
}

/// Takes the reply to a batch apart whose requests were sent with `ids`.
///
/// # Errors
/// The body as a whole is neither an array nor an error object that is ours.
pub fn split_batch_reply<'a>(body: &'a [u8], ids: &[u64]) -> Result<BatchReply<'a>, BadReply> {
    let mut scanner = Scanner::new(body, MAX_REPLY_DEPTH)?;
    let place = |id: u64| ids.iter().position(|own| *own == id);
    match scanner.peek() {
        Some(b'[') => {
            let mut found = vec![Found::Nothing; ids.len()];
            let mut for_all = None;
            let mut first_error = None;
            let count = each(&mut scanner, |element| {
                let Some((members, raw)) = element else {
                    return;
                };
                let is_error = || matches!(judge(&members, |_| true), Ok(Reply::Error(_)));
                match Owner::of(&members) {
                    Owner::Id(id) => {
                        if let Some(place) = place(id).and_then(|place| found.get_mut(place)) {
                            if is_error() {
                                first_error.get_or_insert(raw);
                            }
                            *place = match place {
                                Found::Nothing => Found::One(raw),
                                Found::One(_) | Found::Several => Found::Several,
                            };
                        }
                    }
                    Owner::Null | Owner::Absent if is_error() => {
                        for_all.get_or_insert(raw);
                    }
                    Owner::Null | Owner::Absent | Owner::Foreign => {}
                }
            })?;
            scanner.end()?;
            let nobodys = found.iter().all(|found| *found == Found::Nothing);
            let alone = count == 1 && ids.len() > 1;
            let refusal = if nobodys {
                for_all
            } else {
                first_error.filter(|_| alone)
            };
            if let Some(raw) = refusal {
                return Ok(BatchReply::Refused(raw));
            }
            let each = found.into_iter().map(|found| match found {
                Found::Nothing => for_all,
                Found::One(raw) => Some(raw),
                Found::Several => None,
            });
            Ok(BatchReply::Each(each.collect()))
        }
        Some(b'{') => {
            let (members, raw) = scanner.object(NAMES)?;
            scanner.end()?;
            match judge(&members, |id| place(id).is_some())? {
                Reply::Result(_) => Err(BadReply::NotABatch),
                Reply::Error(_) => Ok(BatchReply::Refused(raw)),
            }
        }
        _ => {
            scanner.value()?;
            scanner.end()?;
            Err(BadReply::NotAReply)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found<'a> {
    Nothing,
    One(&'a str),
    Several,
}
