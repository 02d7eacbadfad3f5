//! The regularized incomplete beta function, from which the distributions of Student and of
//! Bernoulli's trials come.
//!
//! The rule kept here: nothing but this function, to within 1e-12.

/// `I_x(a, b)`, for `a` and `b` above 0 and `x` from 0 to 1 (NIST Digital Library of Mathematical
/// Functions 8.17).
pub(super) fn regularized(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only (8.17.22); the other follows by symmetry
    // (8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - regularized(1.0 - x, b, a);
    }
    let front = a * x.ln() + b * (1.0 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    front.exp() / a / fraction(x, a, b)
}

/// The denominator of the continued fraction of 8.17.22, `1 + d₁/(1 + d₂/(1 + …))`, by Lentz's
/// method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // Some multiple of the square root of the larger parameter is enough: this is for 10^8 samples.
    const MOST_STEPS: u32 = 50_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for step in 1..MOST_STEPS {
        let m = f64::from(step / 2);
        let numerator = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away_from_zero(1.0 + numerator * d);
        c = away_from_zero(1.0 + numerator / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function of a positive number, by the approximation of Lanczos with g
/// = 7 and nine terms.
fn log_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let shifted = x + G + 0.5;
    let sum: f64 = TERMS[0]
        + (1..)
            .zip(&TERMS[1..])
            .map(|(place, term)| term / (x + f64::from(place)))
            .sum::<f64>();
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * shifted.ln() - shifted + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_polynomial_where_parameters_are_whole() {
        // I_x(1, b) = 1 - (1 - x)^b and I_x(a, 1) = x^a (DLMF 8.17.7, 8.17.8).
        for x in [0.01, 0.3, 0.5, 0.9] {
            assert!((regularized(x, 1.0, 4.0) - (1.0 - (1.0 - x).powi(4))).abs() < 1e-12);
            assert!((regularized(x, 5.0, 1.0) - x.powi(5)).abs() < 1e-12);
        }
    }

    #[test]
    fn it_is_the_chance_of_so_many_heads() {
        // Of ten coins at least five show heads with a chance of 638 in 1024.
        assert!((regularized(0.5, 5.0, 6.0) - 638.0 / 1024.0).abs() < 1e-12);
        // Of a million, half of them or more: a little over one half.
        let million = regularized(0.5, 500_000.0, 500_001.0);
        assert!((million - 0.500_398_942).abs() < 1e-6, "{million}");
    }

    #[test]
    fn its_ends_are_certain() {
        assert_eq!(
            (regularized(0.0, 2.0, 3.0), regularized(1.0, 2.0, 3.0)),
            (0.0, 1.0)
        );
    }
}
