//! What a filter would have told, from the chain of an endpoint that is there.

use super::{
    Filter, State,
    ask::{Asking, Head, only},
    of_ours,
};
use crate::{Answer, Error, answer::Origin, driver::Terms};
use futures_util::{StreamExt, TryStreamExt, stream};
use highwater_core::{
    classify::Class,
    filter::{Anchor, Criteria, Kind, Mark, Replay, elements},
    learn::Need,
};
use std::sync::Arc;

/// How many endpoints are tried within one poll.
const TRIES: usize = 3;
/// Headers that are asked for at once.
const AT_ONCE: usize = 16;

/// What one endpoint's chain says.
enum Told {
    /// What is new, as the elements of a list, up to this block.
    New(Vec<String>, Anchor),
    /// The endpoint is not as far as the filter was polled.
    Behind,
    /// Nobody can prove that nothing is lost or repeated.
    Unproven,
}

/// What the filter has to tell now; `None`: it cannot be proven. `failed`: who just failed it.
pub(super) async fn replay(
    asking: &Asking<'_>,
    filter: &Filter,
    state: &mut State,
    failed: Option<Arc<str>>,
) -> Result<Option<Answer>, Error> {
    let Some(highest) = state.trail.anchor().and(state.trail.highest()) else {
        return Ok(None);
    };
    let mut avoid = failed;
    let mut error = None;
    for _ in 0..TRIES {
        let terms = Terms {
            need: Need {
                height: Some(highest),
                ..Need::default()
            },
            avoid: avoid.clone(),
            ..Terms::default()
        };
        // Nobody at all is there: another endpoint was tried already.
        let Some(head) = asking.head(terms).await? else {
            return Err(error.unwrap_or(Error::NoEndpoint));
        };
        let told = match told(asking, filter, state, &head).await {
            Ok(told) => told,
            Err(Error::Closed) => return Err(Error::Closed),
            Err(failure) if is_refused(&failure) => Told::Unproven,
            Err(failure) => {
                avoid = Some(Arc::clone(&head.node.label));
                error = Some(failure);
                continue;
            }
        };
        let elements = match told {
            Told::New(elements, anchor) => {
                state.trail.moved_to(anchor);
                elements
            }
            Told::Behind => Vec::new(),
            Told::Unproven => return Ok(None),
        };
        return Ok(Some(Answer {
            endpoint: Arc::clone(&head.node.label),
            attempts: 1,
            origin: Origin::Endpoint,
            ..of_ours(format!("[{}]", elements.join(",")))
        }));
    }
    Err(error.unwrap_or(Error::NoEndpoint))
}

async fn told(
    asking: &Asking<'_>,
    filter: &Filter,
    state: &State,
    head: &Head,
) -> Result<Told, Error> {
    let trail = &state.trail;
    let Some(anchor) = trail.anchor() else {
        return Ok(Told::Unproven);
    };
    let (node, header) = (&head.node, head.header);
    let to = Anchor {
        number: header.number,
        hash: header.hash,
    };
    if to.number <= anchor.number {
        return Ok(Told::Behind);
    }
    if !trail.reaches(to.number) {
        return Ok(Told::Unproven);
    }
    if filter.kind == Kind::Blocks {
        let between = stream::iter(anchor.number + 1..to.number)
            .map(|number| asking.block(number, node))
            .buffered(AT_ONCE);
        let blocks: Vec<_> = between.try_collect().await?;
        // What is not there although the head is: the chain turned while we looked.
        let Some(mut chain) = blocks.into_iter().collect::<Option<Vec<_>>>() else {
            return Ok(Told::Behind);
        };
        chain.push(header);
        return Ok(match trail.replay_blocks(&chain) {
            Replay::New(places) => {
                let hash = |place: usize| quoted(&chain[place].hash);
                Told::New(places.into_iter().map(hash).collect(), to)
            }
            Replay::Behind => Told::Behind,
            Replay::Unproven => Told::Unproven,
        });
    }
    let same = if to.number == anchor.number + 1 {
        header.parent == anchor.hash
    } else {
        let there = asking.block(anchor.number, node).await?;
        there.is_some_and(|there| there.hash == anchor.hash)
    };
    let criteria = filter.params.as_deref().and_then(Criteria::of_call);
    let Some(criteria) = criteria.filter(|_| same) else {
        return Ok(Told::Unproven);
    };
    let answer = match criteria.within(anchor.number + 1, to.number) {
        Some(params) => Some(asking.ask("eth_getLogs", &params, only(node)).await?),
        // Its range is over, or not there yet.
        None => None,
    };
    let result = match &answer {
        Some(answer) => answer.result(),
        None => Some("[]"),
    };
    let Some(logs) = result.and_then(elements) else {
        return Ok(Told::Unproven);
    };
    let marks = logs.iter().map(|log| match Mark::of_log(log) {
        Some((mark, false)) => Some(mark),
        Some((_, true)) | None => None,
    });
    let Some(marks) = marks.collect::<Option<Vec<_>>>() else {
        return Ok(Told::Unproven);
    };
    Ok(match trail.replay_logs(&marks, to) {
        Replay::New(places) => {
            let log = |place: usize| logs[place].to_owned();
            Told::New(places.into_iter().map(log).collect(), to)
        }
        Replay::Behind => Told::Behind,
        Replay::Unproven => Told::Unproven,
    })
}

/// Whether an endpoint will not tell of that many blocks, or has them no more.
fn is_refused(error: &Error) -> bool {
    match error {
        Error::AllEndpointsFailed { attempts } => attempts.iter().any(|attempt| {
            matches!(
                attempt.class,
                Class::RangeLimit | Class::PayloadTooLarge | Class::MissingHistory
            )
        }),
        _ => false,
    }
}

fn quoted(hash: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(68);
    text.push_str("\"0x");
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    text
}
