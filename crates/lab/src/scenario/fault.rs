//! From a fault in the file to a fault of a node: every kind takes its own fields and no others.

use std::time::Duration;

use super::class;
use super::quantity::Span;
use super::raw::{Kind, Lost, RawFault};
use crate::chain::{Fork, Reach};
use crate::node::{Carries, Fault, Says, Sees, What};

/// A page as proxies make them.
const HTML: &str = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad \
                    Gateway</h1></center></body></html>";

/// A fault, and the stray fork it needs; the fork's index is filled in once all are known.
pub(super) struct Checked {
    pub(super) fault: Fault,
    pub(super) stray: Option<Fork>,
}

/// Checks a fault. The error is a sentence about the fault whose kind it names.
pub(super) fn check(mut raw: RawFault) -> Result<Checked, String> {
    let kind = *raw.kind.get_ref();
    let from = raw.from.map_or(Duration::ZERO, |Span(from)| from);
    let until = raw.until.map(|Span(until)| until);
    if until.is_some_and(|until| until <= from) {
        return Err("`until` must be later than `from`".to_owned());
    }
    let every = raw.every.map(|Span(every)| every);
    if let Some(every) = every {
        let Some(until) = until else {
            return Err("a fault with `every` needs `until`: it must end to come back".to_owned());
        };
        if every <= until.saturating_sub(from) {
            return Err("`every` must be longer than the time from `from` to `until`".to_owned());
        }
        if kind == Kind::Strayed {
            return Err("a node strays once: drop `every`".to_owned());
        }
    }
    let share = raw.share.map_or(1.0, |share| share.0);
    let stray = match kind {
        Kind::Strayed => Some(Fork {
            at: from,
            depth: need(raw.depth.take(), "depth")?,
            reach: Reach::Strayed,
        }),
        _ => None,
    };
    let what = what(kind, share, &mut raw)?;
    let sees = matches!(what, What::Sees(_));
    if sees && raw.share.is_some() && kind != Kind::Backwards {
        return Err("a fault of what the node sees strikes every request: drop `share`".to_owned());
    }
    if sees && !raw.methods.is_empty() && kind != Kind::NoMethod {
        return Err(
            "a fault of what the node sees strikes every method: drop `methods`".to_owned(),
        );
    }
    if let Some(field) = leftover(&raw) {
        return Err(format!("this kind of fault does not take `{field}`"));
    }
    let fault = Fault {
        from,
        until,
        every,
        share: if sees { 1.0 } else { share },
        methods: raw.methods,
        what,
    };
    Ok(Checked { fault, stray })
}

fn what(kind: Kind, share: f64, raw: &mut RawFault) -> Result<What, String> {
    Ok(match kind {
        Kind::Lag => What::Sees(Sees::Lag(need(raw.blocks.take(), "blocks")?)),
        Kind::Stuck => What::Sees(Sees::Stuck),
        Kind::Delayed => What::Sees(Sees::Delayed(need(raw.late.take(), "late")?.0)),
        Kind::Ahead => What::Sees(Sees::Ahead(need(raw.blocks.take(), "blocks")?)),
        Kind::Backwards => What::Sees(Sees::Backwards {
            blocks: need(raw.blocks.take(), "blocks")?,
            share: if raw.share.is_some() { share } else { 0.5 },
        }),
        Kind::Strayed => What::Sees(Sees::Strayed(usize::MAX)),
        Kind::WrongChain => What::Sees(Sees::WrongChain(need(raw.id.take(), "id")?)),
        Kind::Pruned => {
            let kept = need(raw.blocks.take(), "blocks")?;
            What::Sees(match raw.lost.take().unwrap_or(Lost::State) {
                Lost::State => Sees::PrunedState(kept),
                Lost::Blocks => Sees::PrunedBlocks(kept),
            })
        }
        Kind::NoTags => What::Sees(Sees::NoTags),
        Kind::LogLimit => {
            let (blocks, results) = (raw.blocks.take(), raw.results.take());
            if blocks.is_none() && results.is_none() {
                return Err("needs `blocks`, `results` or both".to_owned());
            }
            What::Sees(Sees::LogLimit { blocks, results })
        }
        Kind::ShortLogs => {
            let share = need(raw.lost_share.take(), "lost_share")?;
            What::Sees(Sees::ShortLogs(share.0))
        }
        Kind::NoMethod => {
            if raw.methods.is_empty() {
                return Err("needs `methods`".to_owned());
            }
            What::Sees(Sees::NoMethod)
        }
        Kind::LateReceipts => What::Sees(Sees::LateReceipts(need(raw.late.take(), "late")?.0)),
        Kind::Forgets => What::Sees(Sees::Forgets),
        Kind::Error => What::Says(error(raw)?),
        Kind::WrongId => What::Says(Says::WrongId),
        Kind::StringId => What::Says(Says::StringId),
        Kind::MissingId => What::Says(Says::MissingId),
        Kind::Twice => What::Says(Says::Twice),
        Kind::Omitted => What::Says(Says::Omitted),
        Kind::Both => What::Says(Says::Both),
        Kind::Neither => What::Says(Says::Neither),
        Kind::Null => What::Says(Says::Null),
        Kind::Older => What::Says(Says::Older(need(raw.blocks.take(), "blocks")?)),
        Kind::LostSend => {
            if raw.methods.is_empty() {
                raw.methods = vec!["eth_sendRawTransaction".to_owned()];
            }
            What::Says(Says::LostSend)
        }
        Kind::Slow => What::Carries(Carries::Slow {
            add: need(raw.add.take(), "add")?.0,
            ramp: raw.ramp.take().unwrap_or(false),
        }),
        Kind::Down => What::Carries(Carries::Down),
        Kind::Hang => What::Carries(Carries::Hang),
        Kind::Close => What::Carries(Carries::Close),
        Kind::Reset => What::Carries(match raw.bytes.take() {
            Some(after) => Carries::ResetBody(after),
            None => Carries::Reset,
        }),
        Kind::Truncate => What::Carries(Carries::Truncate(need(raw.bytes.take(), "bytes")?)),
        Kind::Stall => What::Carries(Carries::Stall {
            after: raw.bytes.take().unwrap_or(1),
            pause: need(raw.pause.take(), "pause")?.0,
        }),
        Kind::Drip => What::Carries(Carries::Drip {
            piece: raw.piece.take().unwrap_or(1).max(1),
            every: need(raw.pause.take(), "pause")?.0,
        }),
        Kind::Page => What::Carries(Carries::Page {
            status: need(raw.status.take(), "status")?,
            content_type: raw.content_type.take().unwrap_or("text/plain".to_owned()),
            body: raw.body.take().unwrap_or_default(),
            retry_after: raw.retry_after.take(),
        }),
        Kind::Html => What::Carries(Carries::Page {
            status: raw.status.take().unwrap_or(200),
            content_type: "text/html".to_owned(),
            body: raw.body.take().unwrap_or(HTML.to_owned()),
            retry_after: raw.retry_after.take(),
        }),
        Kind::InvalidJson => What::Carries(Carries::InvalidJson),
        Kind::Huge => What::Carries(Carries::Huge(need(raw.bytes.take(), "bytes")?)),
        Kind::Gzip => What::Carries(Carries::Gzip),
        Kind::RateLimit => {
            let rate = need(raw.rate.take(), "rate")?;
            let burst = raw.burst.take().unwrap_or(rate);
            if !(rate >= 0.0 && burst >= 1.0) {
                return Err("`rate` is at least 0 and `burst` at least 1".to_owned());
            }
            What::Carries(Carries::RateLimit {
                rate,
                burst,
                retry_after: raw.retry_after.take(),
                per_client: raw.per_client.take().unwrap_or(false),
            })
        }
        Kind::Quota => What::Carries(Carries::Quota(need(raw.requests.take(), "requests")?)),
    })
}

fn error(raw: &mut RawFault) -> Result<Says, String> {
    let (status, code, message) = match raw.class.take() {
        Some(name) => class::find(&name).ok_or_else(|| {
            format!(
                "`{name}` is no class; the classes are {}",
                class::names().join(", ")
            )
        })?,
        None if raw.code.is_none() || raw.message.is_none() => {
            return Err("needs `class`, or `code` and `message`".to_owned());
        }
        None => (200, 0, ""),
    };
    if let Some(data) = &raw.data {
        serde_json::from_str::<serde_json::Value>(data)
            .map_err(|_| "`data` must be JSON text, such as '\"0x08c379a0\"'".to_owned())?;
    }
    Ok(Says::Error {
        status: raw.status.take().unwrap_or(status),
        code: raw.code.take().unwrap_or(code),
        message: raw.message.take().unwrap_or(message.to_owned()),
        data: raw.data.take(),
    })
}

fn need<T>(value: Option<T>, field: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("needs `{field}`"))
}

/// A field that is set and that nobody took.
fn leftover(raw: &RawFault) -> Option<&'static str> {
    let set = [
        ("blocks", raw.blocks.is_some()),
        ("results", raw.results.is_some()),
        ("bytes", raw.bytes.is_some()),
        ("piece", raw.piece.is_some()),
        ("pause", raw.pause.is_some()),
        ("add", raw.add.is_some()),
        ("ramp", raw.ramp.is_some()),
        ("class", raw.class.is_some()),
        ("status", raw.status.is_some()),
        ("code", raw.code.is_some()),
        ("message", raw.message.is_some()),
        ("data", raw.data.is_some()),
        ("body", raw.body.is_some()),
        ("content_type", raw.content_type.is_some()),
        ("retry_after", raw.retry_after.is_some()),
        ("rate", raw.rate.is_some()),
        ("burst", raw.burst.is_some()),
        ("per_client", raw.per_client.is_some()),
        ("requests", raw.requests.is_some()),
        ("id", raw.id.is_some()),
        ("lost", raw.lost.is_some()),
        ("lost_share", raw.lost_share.is_some()),
        ("depth", raw.depth.is_some()),
        ("late", raw.late.is_some()),
    ];
    set.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
}
