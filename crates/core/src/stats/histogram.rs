//! Latencies counted in bins that get wider as they get slower.

/// Bins per doubling of the latency, so that a bin is at most 1/16 of its latency wide.
const PER_OCTAVE: u64 = 16;
/// Doublings above the first sixteen bins.
const OCTAVES: u64 = 17;
/// Width of the smallest bins in milliseconds.
const UNIT_MS: f64 = 1.0 / 16.0;
/// All bins: up to 131 seconds; slower counts as that.
const BINS: usize = (PER_OCTAVE * (OCTAVES + 1)) as usize;

/// The latencies of one bucket. Only bins that hold something take memory: latencies of one
/// endpoint within half a minute are much alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// Bin and how many, by bin.
    bins: Vec<(u16, u32)>,
    total: u64,
}

impl Histogram {
    /// Counts one latency in milliseconds; a negative one or one that is no number counts as 0.
    pub(super) fn add(&mut self, ms: f64) {
        self.total += 1;
        let bin = bin_of(ms);
        match self.bins.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(at) => self.bins[at].1 = self.bins[at].1.saturating_add(1),
            Err(at) => self.bins.insert(at, (bin, 1)),
        }
    }

    /// Forgets everything but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bins.clear();
        self.total = 0;
    }

    /// How many latencies were counted.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}

/// Latencies of several histograms together.
pub(super) struct Merged {
    counts: [u32; BINS],
    total: u64,
}

impl Merged {
    /// The histograms added up.
    pub(super) fn of<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Self {
        let mut merged = Self {
            counts: [0; BINS],
            total: 0,
        };
        for (bin, n) in histograms.flat_map(|histogram| &histogram.bins) {
            let count = &mut merged.counts[usize::from(*bin)];
            *count = count.saturating_add(*n);
            merged.total += u64::from(*n);
        }
        merged
    }

    /// The latency in milliseconds that the share `q` of all latencies (0 to 1) does not exceed, by
    /// nearest rank, as exact as its bin; none without any latency.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut before = 0_u64;
        for (bin, n) in self.counts.iter().enumerate() {
            let n = u64::from(*n);
            if before + n >= rank {
                let (low, high) = edges(bin as u64);
                // Those in the bin are taken to lie evenly in it.
                let share = ((rank - before) as f64 - 0.5) / n as f64;
                return Some(low + share * (high - low));
            }
            before += n;
        }
        None
    }
}

/// The bin of a latency. By integers, so that every machine finds the same one.
fn bin_of(ms: f64) -> u16 {
    // The cast takes what is no number, or negative, for 0.
    let units = (ms / UNIT_MS) as u64;
    if units < PER_OCTAVE {
        return units as u16;
    }
    let octave = u64::from(units.ilog2() - PER_OCTAVE.ilog2());
    if octave >= OCTAVES {
        return (BINS - 1) as u16;
    }
    (PER_OCTAVE * octave + (units >> octave)) as u16
}

/// Lower and upper edge of a bin in milliseconds.
fn edges(bin: u64) -> (f64, f64) {
    let (start, width) = if bin < PER_OCTAVE {
        (bin, 1)
    } else {
        let octave = bin / PER_OCTAVE - 1;
        ((PER_OCTAVE + bin % PER_OCTAVE) << octave, 1 << octave)
    };
    (start as f64 * UNIT_MS, (start + width) as f64 * UNIT_MS)
}

#[cfg(test)]
mod tests;
