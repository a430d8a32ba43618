//! Endpoints that fail on cue.
