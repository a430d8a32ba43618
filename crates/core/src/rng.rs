//! Random numbers from a seed, so that the same seed gives the same decisions.
//!
//! `xoshiro256++`, its state filled from the seed by `splitmix64`, as its authors advise. It is for
//! spreading load and jitter, never for secrets.

/// A generator. The caller brings the seed; nothing here looks for randomness.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose whole sequence follows from `seed`; every seed is a good one, 0 included.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut counter = seed;
        let mut state = [0; 4];
        let mut word = 0;
        // Four different counters through a bijection: at most one word can be zero, and the state
        // of zeros, which never leaves zero, cannot come up.
        while word < state.len() {
            let (next, value) = splitmix64(counter);
            counter = next;
            state[word] = value;
            word += 1;
        }
        Self { state }
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number from `0..n`, each as likely as the other; 0 where `n` is 0.
    pub const fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n < 2 {
            return 0;
        }
        // Multiplication instead of division (Lemire); the few products that would favour some
        // results are drawn again.
        let unfair = n.wrapping_neg() % n;
        loop {
            let product = self.next_u64() as u128 * n as u128;
            if product as u64 >= unfair {
                return (product >> 64) as usize;
            }
        }
    }

    /// A number from `0.0..1.0`, in steps of 2⁻⁵³.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

const fn splitmix64(counter: u64) -> (u64, u64) {
    let counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (counter, z ^ (z >> 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_published_sequence() {
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        assert_eq!(expected.map(|_| rng.next_u64()), expected);
    }

    #[test]
    fn fills_its_state_by_the_published_splitmix() {
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        assert_eq!(Rng::new(1_234_567).state, expected);
    }

    #[test]
    fn one_seed_gives_one_sequence_and_another_seed_another() {
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            [(); 8].map(|()| rng.next_u64())
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    #[test]
    fn stays_below_the_bound_and_reaches_every_number_equally_often() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7)] += 1;
        }
        assert!(seen.iter().all(|n| (9_600..10_400).contains(n)), "{seen:?}");
    }

    #[test]
    fn draws_again_where_a_product_would_favour_some_results() {
        // With a bound of 3·2⁶² a quarter of all products is unfair; without the second draw the
        // multiples of 3 would come up twice as often as the others.
        let bound = 3 << 62;
        let mut rng = Rng::new(1);
        let mut thirds = [0_u32; 3];
        for _ in 0..30_000 {
            thirds[rng.below(bound) % 3] += 1;
        }
        assert!(
            thirds.iter().all(|n| (9_700..10_300).contains(n)),
            "{thirds:?}"
        );
    }

    #[test]
    fn has_only_zero_below_one_and_below_nothing() {
        let mut rng = Rng::new(3);
        assert_eq!([rng.below(0), rng.below(1)], [0, 0]);
    }

    #[test]
    fn keeps_the_unit_interval_half_open() {
        let mut rng = Rng::new(11);
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let x = rng.unit();
            assert!((0.0..1.0).contains(&x));
            sum += x;
        }
        assert!((4_900.0..5_100.0).contains(&sum), "{sum}");
    }
}
