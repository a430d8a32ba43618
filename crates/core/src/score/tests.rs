use super::*;
use proptest::{num::f64::ANY, prelude::*};

fn plain() -> Inputs {
    Inputs {
        blended: Blended {
            latency_ms: 100.0,
            tail_ms: 300.0,
            error: 0.0,
            samples: 5,
        },
        inflight: 0,
        excess_lag: None,
        slope: 0.0,
        weight: 1.0,
    }
}

fn of(inputs: &Inputs) -> Parts {
    score(inputs, &ScoreSettings::default())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

// 0.6·100 + 0.4·300 = 180
#[test]
fn mixes_the_average_and_the_tail() {
    let parts = of(&plain());
    assert!(close(parts.service_ms, 180.0));
    assert!(close(parts.total, 180.0));
}

// 1 + n + 0.25·n² for 0, 1, 2, 4
#[test]
fn gets_worse_with_every_request_in_flight() {
    for (inflight, load) in [(0, 1.0), (1, 2.25), (2, 4.0), (4, 9.0)] {
        let parts = of(&Inputs {
            inflight,
            ..plain()
        });
        assert!(close(parts.load, load));
        assert!(close(parts.total, 180.0 * load));
    }
}

// one answer in two failed: 1 + 8·0.5 = 5
#[test]
fn gets_worse_with_errors() {
    let mut inputs = plain();
    inputs.blended.error = 0.5;
    let parts = of(&inputs);
    assert!(close(parts.errors, 5.0));
    assert!(close(parts.total, 900.0));
}

//
#[test]
fn gets_worse_with_every_block_behind_past_the_allowed_ones() {
    for (excess_lag, lag) in [
        (None, 1.0),
        (Some(0), 1.0),
        (Some(1), 2.0),
        (Some(5), 6.0),
        (Some(u64::MAX), 18_446_744_073_709_551_616.0),
    ] {
        let parts = of(&Inputs {
            excess_lag,
            ..plain()
        });
        assert!(close(parts.lag, lag));
        assert!(close(parts.total, 180.0 * lag));
    }
    let settings = ScoreSettings {
        lag_weight: 0.0,
        ..ScoreSettings::default()
    };
    let behind = Inputs {
        excess_lag: Some(100),
        ..plain()
    };
    assert!(close(score(&behind, &settings).lag, 1.0));
}

// +20 % a minute: 1 + 0.5·0.2 = 1.1
#[test]
fn gets_worse_with_a_rising_latency_unless_that_is_turned_off() {
    let rising = Inputs {
        slope: 0.2,
        ..plain()
    };
    assert!(close(of(&rising).slope, 1.1));
    assert!(close(of(&rising).total, 198.0));
    let off = ScoreSettings {
        slope_weight: 0.0,
        ..ScoreSettings::default()
    };
    assert!(close(score(&rising, &off).total, 180.0));
}

// a latency that falls is no merit of its own; the service time already says it.
#[test]
fn gains_nothing_by_a_falling_latency() {
    let falling = Inputs {
        slope: -0.5,
        ..plain()
    };
    assert!(close(of(&falling).total, 180.0));
}

//
#[test]
fn divides_by_the_weight() {
    for (weight, total) in [(2.0, 90.0), (0.15, 1_200.0)] {
        assert!(close(of(&Inputs { weight, ..plain() }).total, total));
    }
}

// R-5, all parts at once: 180 · 1.1 · 4 · 5 · 3 / 2 = 5940
#[test]
fn multiplies_all_its_parts() {
    let mut inputs = Inputs {
        inflight: 2,
        excess_lag: Some(2),
        slope: 0.2,
        weight: 2.0,
        ..plain()
    };
    inputs.blended.error = 0.5;
    assert!(close(of(&inputs).total, 5_940.0));
}

#[test]
fn ranks_two_endpoints_of_no_latency_by_their_load() {
    let mut idle = plain();
    idle.blended.latency_ms = 0.0;
    idle.blended.tail_ms = 0.0;
    let busy = Inputs {
        inflight: 1,
        ..idle
    };
    assert!(of(&idle).total < of(&busy).total);
}

#[test]
fn names_the_setting_that_is_out_of_range() {
    let fine = ScoreSettings::default();
    assert_eq!(fine.check(), Ok(()));
    for (settings, name) in [
        (ScoreSettings { mix: 1.1, ..fine }, "mix"),
        (
            ScoreSettings {
                prior_ms: 0.0,
                ..fine
            },
            "prior_ms",
        ),
        (
            ScoreSettings {
                enough_samples: 0,
                ..fine
            },
            "enough_samples",
        ),
        (
            ScoreSettings {
                inflight_quadratic: -1.0,
                ..fine
            },
            "inflight_quadratic",
        ),
        (
            ScoreSettings {
                error_weight: f64::NAN,
                ..fine
            },
            "error_weight",
        ),
        (
            ScoreSettings {
                lag_weight: f64::INFINITY,
                ..fine
            },
            "lag_weight",
        ),
        (
            ScoreSettings {
                slope_weight: 1e9,
                ..fine
            },
            "slope_weight",
        ),
    ] {
        assert_eq!(settings.check(), Err(name));
    }
}

proptest! {
    #[test]
    fn is_finite_and_above_zero_whatever_comes(
        [latency_ms, tail_ms, error, slope, weight] in [ANY; 5],
        settings in [ANY; 6],
        inflight: u32,
        excess_lag: Option<u64>,
    ) {
        let blended = Blended { latency_ms, tail_ms, error, samples: 0 };
        let inputs = Inputs { blended, inflight, excess_lag, slope, weight };
        let [mix, prior_ms, inflight_quadratic, error_weight, lag_weight, slope_weight] = settings;
        let settings = ScoreSettings {
            mix, prior_ms, enough_samples: 5, inflight_quadratic, error_weight, lag_weight,
            slope_weight,
        };
        let total = score(&inputs, &settings).total;
        prop_assert!(total.is_finite() && total > 0.0, "{total}");
    }
}
