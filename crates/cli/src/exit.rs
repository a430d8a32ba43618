//! Exit codes, in one place.

use std::process::ExitCode;

/// The table of `--help` and `docs/cli.md`.
pub(crate) const TABLE: &str = "\
Exit codes:
   0  done, or stopped as asked
   1  demo: success not above 99.9 %, or no fault hidden; lab --gateway: a bound not kept, or a
      violation
   2  wrong usage, a bad URL argument or line of input included
  64  bad configuration or scenario file
  69  nothing to serve: endpoints on different chains, or none answering with --require-ready;
      or no gateway that answers `explain`
  70  internal error
  71  operating system: port in use, no permission";

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Ok,
    /// The demo did not show what it is there to show, or a scenario's bounds were not kept.
    Shortfall,
    /// Wrong usage.
    Usage,
    /// Bad configuration or scenario file.
    Configuration,
    /// A fault of our own.
    Internal,
    /// The operating system refused something that is no listener.
    System,
    /// The gateway did not start; the code is its own.
    NotServing(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Shortfall => 1,
            Self::Usage => 2,
            Self::Configuration => 64,
            Self::Internal => 70,
            Self::System => 71,
            Self::NotServing(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
