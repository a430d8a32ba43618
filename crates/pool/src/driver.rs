//! Carries out what the call machine decides.
