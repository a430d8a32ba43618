//! Scenarios that once broke a promise, as small as they can be.

use highwater_lab::scenario::Scenario;

/// What each is about is its file's name.
const FILES: [&str; 9] = [
    include_str!("regressions/a-chain-that-began-anew.toml"),
    include_str!("regressions/a-mark-that-is-not-believed.toml"),
    include_str!("regressions/an-old-block-takes-back-nothing-above-it.toml"),
    include_str!("regressions/below-the-fork.toml"),
    include_str!("regressions/below-the-lowest-header.toml"),
    include_str!("regressions/read-before-any-header.toml"),
    include_str!("regressions/voices-part-above-the-chain.toml"),
    include_str!("regressions/who-goes-over-above-the-chain-says-not-how-far-down.toml"),
    include_str!("regressions/who-is-below-confirms-nothing.toml"),
];

/// All of them.
pub(crate) fn regressions() -> impl Iterator<Item = Scenario> {
    FILES
        .into_iter()
        .map(|file| Scenario::parse(file, None).unwrap())
}
