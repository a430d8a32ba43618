//! Chance, from a seed and a place.
//!
//! A draw depends on the seed and on what it is for, not on how many draws came before, so one more
//! request to one node does not change what another node does.

/// A stream of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed at a place, which is a path of numbers.
    #[must_use]
    pub fn at(seed: u64, place: &[u64]) -> Self {
        let mut rng = Self(seed ^ 0x6c61_6221_0000_0000);
        for step in place {
            rng.0 = rng.next() ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        rng
    }

    /// The next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream without an end is no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        // 53 bits fill a double exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// True this share of the time.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A draw from the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        // 1 - u is never 0, so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_same_place_draws_the_same_and_another_place_another() {
        let draw = |place: &[u64]| Rng::at(5, place).next();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[1, 2]), Rng::at(6, &[1, 2]).next());
    }

    #[test]
    fn draws_stay_in_their_bounds_and_near_their_means() {
        let mut rng = Rng::at(1, &[]);
        let hits = (0..10_000).filter(|_| rng.chance(0.25)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| rng.below(7) < 7));
        assert_eq!(rng.below(0), 0);
        let mean = (0..10_000).map(|_| rng.normal()).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05, "{mean}");
    }
}
