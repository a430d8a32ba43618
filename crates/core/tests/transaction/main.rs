//! Raw transactions, held to alloy's encoder, and to bytes that nobody should send.

mod hostile;
mod vectors;
