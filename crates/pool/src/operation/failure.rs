//! What a closure's error says of itself.

use super::EndpointDataError;
use alloy_provider::PendingTransactionError;
use alloy_transport::TransportError;
use std::convert::Infallible;

/// Why a closure failed, as its operation sees it.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// With this error of a provider. Whether it is the very one that the operation's own provider
    /// gave, the operation knows; no other starts it again.
    Request(&'a TransportError),
    /// The endpoint's data is unusable.
    Data,
    /// With something of its own.
    Own,
}

/// The error of an operation's closure (L-5).
///
/// Only an error that *is* a provider's, not one that holds it, counts for that. For an error type of
/// one's own the default is right: it ends the operation. [`AttemptError`] puts both together.
pub trait Failure {
    /// Why the closure failed. Default: with something of its own.
    fn cause(&self) -> Cause<'_> {
        Cause::Own
    }
}

impl Failure for TransportError {
    fn cause(&self) -> Cause<'_> {
        Cause::Request(self)
    }
}

impl Failure for EndpointDataError {
    fn cause(&self) -> Cause<'_> {
        Cause::Data
    }
}

impl Failure for PendingTransactionError {
    fn cause(&self) -> Cause<'_> {
        match self {
            Self::TransportError(error) => Cause::Request(error),
            Self::FailedToRegister | Self::Recv(_) | Self::TxWatcher(_) => Cause::Own,
        }
    }
}

#[cfg(feature = "contract")]
impl Failure for alloy_contract::Error {
    fn cause(&self) -> Cause<'_> {
        match self {
            Self::TransportError(error) => Cause::Request(error),
            Self::PendingTransactionError(error) => error.cause(),
            _ => Cause::Own,
        }
    }
}

impl Failure for Infallible {}

/// An error that is one of these as it is: a provider's, a contract's, a reason for another endpoint.
impl Failure for Box<dyn std::error::Error + Send + Sync> {
    fn cause(&self) -> Cause<'_> {
        let known = self
            .downcast_ref::<TransportError>()
            .map(Failure::cause)
            .or_else(|| self.downcast_ref::<EndpointDataError>().map(Failure::cause))
            .or_else(|| {
                let error = self.downcast_ref::<PendingTransactionError>();
                error.map(Failure::cause)
            });
        #[cfg(feature = "contract")]
        let known = known.or_else(|| {
            let error = self.downcast_ref::<alloy_contract::Error>();
            error.map(Failure::cause)
        });
        known.unwrap_or(Cause::Own)
    }
}

/// A provider's error, a reason for another endpoint, or an error of one's own: `?` makes all but the
/// last, `.map_err(AttemptError::App)` that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError<E = Infallible> {
    /// A provider's, as it came.
    #[error(transparent)]
    Rpc(#[from] TransportError),
    /// A contract call's, as it came.
    #[cfg(feature = "contract")]
    #[error(transparent)]
    Contract(#[from] alloy_contract::Error),
    /// That of a transaction that was waited for.
    #[error(transparent)]
    Pending(#[from] PendingTransactionError),
    /// The endpoint's data is unusable.
    #[error(transparent)]
    BadData(#[from] EndpointDataError),
    /// The closure's own: ends the operation.
    #[error("{0}")]
    App(E),
}

impl<E> Failure for AttemptError<E> {
    fn cause(&self) -> Cause<'_> {
        match self {
            Self::Rpc(error) => Cause::Request(error),
            #[cfg(feature = "contract")]
            Self::Contract(error) => error.cause(),
            Self::Pending(error) => error.cause(),
            Self::BadData(_) => Cause::Data,
            Self::App(_) => Cause::Own,
        }
    }
}
