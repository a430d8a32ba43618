//! What a failed answer does to the endpoint that gave it: the table of classes as a function.

use std::time::Duration;

use crate::classify::{Class, Verdict};

/// How much of an endpoint a fault speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The lane of the request.
    Lane,
    /// All lanes: connections, TLS, credentials, rate limits.
    Endpoint,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One strike.
    Strike,
    /// Too many requests: one strike, unless a wait is stated.
    RateLimited,
    /// Out until the stated reset, else for a growing time.
    Quota,
    /// The credential, origin or address is refused in words: excluded.
    Refused,
    /// A 403 without words: out for a while, excluded after three in a row.
    Bare403,
    /// The caller says that this endpoint's data is unusable: out for the first cooldown, no strike
    /// (L-6).
    Unusable,
    /// Nothing but the wait that is stated with it.
    Wait,
}

/// A failed answer as the breaker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How much of the endpoint it speaks for.
    pub scope: Scope,
    /// What it does.
    pub kind: Kind,
    /// The stated wait, uncapped. Zero means the default step.
    pub retry_after: Option<Duration>,
}

/// Whether a refusal came in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// In words that a rule knows (its phrases are not empty), or below HTTP.
    Words,
    /// A status and no words that a rule knows.
    Nothing,
    /// A page of markup.
    Page,
}

/// What an answer means for the health of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The endpoint answered: its circuit closes ([`super::Circuit::on_good`]).
    Healthy,
    /// It says nothing of the health ([`super::Circuit::abandon`]).
    Neutral,
    /// It counts against the endpoint ([`super::Circuit::on_fault`]).
    Fault(Fault),
}

impl Meaning {
    /// What a failed answer means for its endpoint, per the table of classes. `status` is that of the
    /// HTTP answer, 200 where there was none; `said` matters for refusals only.
    #[must_use]
    pub fn of(verdict: &Verdict, status: u16, said: Said) -> Self {
        let counts = verdict.counts_against_endpoint;
        let fault = |kind, scope| {
            Self::Fault(Fault {
                scope,
                kind,
                retry_after: verdict.retry_after,
            })
        };
        // A header states a wait for everybody, whatever it comes with. Classes of a busy
        // endpoint also read it from words, and those may concern one sender only.
        let wait_or = |meaning| match verdict.retry_after {
            Some(_) => fault(Kind::Wait, Scope::Endpoint),
            None => meaning,
        };
        let bare = status == 403 && said == Said::Nothing;
        match verdict.class {
            Class::ExecutionRevert
            | Class::InvalidParams
            | Class::InvalidRequest
            | Class::ParseError
            | Class::TxRejected
            | Class::AlreadyKnown
            | Class::UserRejected
            | Class::FilterNotFound
            | Class::RangeLimit => wait_or(Self::Healthy),
            Class::Behind
            | Class::ReorgedBlock
            | Class::Syncing
            | Class::MissingHistory
            | Class::MethodUnsupported
            | Class::MethodBlocked
            | Class::PayloadTooLarge
            | Class::SubscriptionUnsupported => wait_or(Self::Neutral),
            Class::RateLimited if counts => fault(Kind::RateLimited, Scope::Endpoint),
            Class::QuotaExhausted if counts => fault(Kind::Quota, Scope::Endpoint),
            Class::Unauthorized if !counts => wait_or(Self::Neutral),
            Class::Unauthorized => match said {
                _ if verdict.subclass == Some("upstream_key") => fault(Kind::Strike, Scope::Lane),
                Said::Words => fault(Kind::Refused, Scope::Endpoint),
                Said::Nothing if bare => fault(Kind::Bare403, Scope::Endpoint),
                Said::Nothing | Said::Page => fault(Kind::Strike, Scope::Endpoint),
            },
            Class::BadGatewayHtml if counts && bare => fault(Kind::Bare403, Scope::Endpoint),
            Class::Internal if counts => match verdict.subclass {
                Some("resolve" | "connect" | "tls") => fault(Kind::Strike, Scope::Endpoint),
                Some(_) | None => fault(Kind::Strike, Scope::Lane),
            },
            Class::BadGatewayHtml
            | Class::Timeout
            | Class::Overloaded
            | Class::MalformedEnvelope
            | Class::WrongChain
                if counts =>
            {
                fault(Kind::Strike, Scope::Lane)
            }
            Class::Internal | Class::MalformedEnvelope | Class::WrongChain => {
                wait_or(Self::Neutral)
            }
            Class::RateLimited
            | Class::QuotaExhausted
            | Class::BadGatewayHtml
            | Class::Timeout
            | Class::Overloaded => Self::Neutral,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(class: Class, subclass: Option<&'static str>) -> Verdict {
        let (retry_other_endpoint, counts_against_endpoint) = class.usual_flags();
        Verdict {
            class,
            subclass,
            retry_other_endpoint,
            counts_against_endpoint,
            retry_after: None,
            suggested_range: None,
            fingerprint: None,
        }
    }

    fn kind(class: Class) -> Meaning {
        Meaning::of(&verdict(class, None), 200, Said::Words)
    }

    fn fault(kind: Kind, scope: Scope) -> Meaning {
        Meaning::Fault(Fault {
            scope,
            kind,
            retry_after: None,
        })
    }

    // and the table of classes
    #[test]
    fn gives_every_class_the_meaning_of_the_table() {
        let strike = fault(Kind::Strike, Scope::Lane);
        for class in Class::ALL {
            let expected = match class {
                Class::ExecutionRevert
                | Class::InvalidParams
                | Class::InvalidRequest
                | Class::ParseError
                | Class::TxRejected
                | Class::AlreadyKnown
                | Class::UserRejected
                | Class::FilterNotFound
                | Class::RangeLimit => Meaning::Healthy,
                Class::Behind
                | Class::ReorgedBlock
                | Class::Syncing
                | Class::MissingHistory
                | Class::MethodUnsupported
                | Class::MethodBlocked
                | Class::PayloadTooLarge
                | Class::SubscriptionUnsupported => Meaning::Neutral,
                Class::RateLimited => fault(Kind::RateLimited, Scope::Endpoint),
                Class::QuotaExhausted => fault(Kind::Quota, Scope::Endpoint),
                Class::Unauthorized => fault(Kind::Refused, Scope::Endpoint),
                Class::Timeout
                | Class::Overloaded
                | Class::Internal
                | Class::BadGatewayHtml
                | Class::MalformedEnvelope
                | Class::WrongChain => strike,
            };
            assert_eq!(kind(class), expected, "{}", class.name());
        }
    }

    //
    #[test]
    fn counts_connection_faults_in_all_lanes_and_a_reset_in_its_own() {
        for (word, scope) in [
            ("resolve", Scope::Endpoint),
            ("connect", Scope::Endpoint),
            ("tls", Scope::Endpoint),
            ("reset", Scope::Lane),
        ] {
            assert_eq!(
                Meaning::of(&verdict(Class::Internal, Some(word)), 200, Said::Words),
                fault(Kind::Strike, scope),
                "{word}"
            );
        }
    }

    //
    #[test]
    fn tells_refusals_by_their_words() {
        let refused =
            |class, subclass, status, said| Meaning::of(&verdict(class, subclass), status, said);
        use Class::{BadGatewayHtml, Unauthorized};
        let strike = fault(Kind::Strike, Scope::Endpoint);
        let bare = fault(Kind::Bare403, Scope::Endpoint);
        assert_eq!(refused(Unauthorized, None, 401, Said::Nothing), strike);
        assert_eq!(refused(Unauthorized, None, 401, Said::Page), strike);
        assert_eq!(refused(Unauthorized, None, 403, Said::Nothing), bare);
        assert_eq!(
            refused(Unauthorized, Some("origin"), 403, Said::Words),
            fault(Kind::Refused, Scope::Endpoint)
        );
        assert_eq!(
            refused(Unauthorized, Some("upstream_key"), 401, Said::Words),
            fault(Kind::Strike, Scope::Lane)
        );
        assert_eq!(
            refused(BadGatewayHtml, Some("waf"), 403, Said::Nothing),
            bare
        );
        assert_eq!(
            refused(BadGatewayHtml, Some("waf"), 403, Said::Page),
            fault(Kind::Strike, Scope::Lane)
        );
        assert_eq!(
            refused(BadGatewayHtml, None, 502, Said::Nothing),
            fault(Kind::Strike, Scope::Lane)
        );
    }

    //
    #[test]
    fn obeys_a_stated_wait_whatever_it_comes_with() {
        let wait = Some(Duration::from_secs(7));
        for class in [Class::ExecutionRevert, Class::Behind, Class::Syncing] {
            let verdict = Verdict {
                retry_after: wait,
                ..verdict(class, None)
            };
            assert_eq!(
                Meaning::of(&verdict, 429, Said::Words),
                Meaning::Fault(Fault {
                    scope: Scope::Endpoint,
                    kind: Kind::Wait,
                    retry_after: wait
                })
            );
        }
    }

    // a limit of one sender says nothing of the endpoint, and nor does the wait it states.
    #[test]
    fn leaves_an_endpoint_alone_where_the_answer_does_not_count() {
        let wait = Some(Duration::from_secs(7));
        let of = |class, retry_after| {
            let verdict = Verdict {
                counts_against_endpoint: false,
                retry_after,
                ..verdict(class, None)
            };
            Meaning::of(&verdict, 403, Said::Nothing)
        };
        for class in [
            Class::RateLimited,
            Class::QuotaExhausted,
            Class::Timeout,
            Class::Overloaded,
            Class::BadGatewayHtml,
        ] {
            assert_eq!(of(class, wait), Meaning::Neutral, "{}", class.name());
        }
        for class in [
            Class::Unauthorized,
            Class::Internal,
            Class::MalformedEnvelope,
            Class::WrongChain,
        ] {
            assert_eq!(of(class, None), Meaning::Neutral, "{}", class.name());
            let waits = Fault {
                scope: Scope::Endpoint,
                kind: Kind::Wait,
                retry_after: wait,
            };
            assert_eq!(of(class, wait), Meaning::Fault(waits), "{}", class.name());
        }
    }
}
