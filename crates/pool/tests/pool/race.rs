//! Races and hedges, and what counts as under way.
