//! Helpers of the black-box tests; see `tests/`.
