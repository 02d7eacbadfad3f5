//! Tokens are kept: how often the token service is asked in many calls, and what a call costs with
//! tokens and without.
//!
//! The rule kept here: nothing is measured through a tap, and both ways have the same connections,
//! gateways and signatures.

use std::time::{Duration, Instant};

use super::Scene;
use super::cast::{ALICE, Way};
use super::told::{Step, Told};
use crate::failure::Failure;
use crate::table::{Align, Table};

/// Books asked for in a call.
const BOOKS: u32 = 2;
/// Calls of one way in a row.
const ROW: u32 = 10;
/// How long after its beginning the demo begins another row, so that it ends within half a minute
/// on a slow machine, too.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was measured.
#[derive(Default)]
struct Times {
    first: Vec<f64>,
    tokens: Vec<f64>,
    signed: Vec<f64>,
}

impl Scene {
    /// Calls with tokens and without, each so many times, in a demo that began then.
    pub(super) async fn times(
        &self,
        told: &mut Told,
        count: u32,
        begun: Instant,
    ) -> Result<(), Failure> {
        let expected = self.expected(BOOKS).await?;
        let asked_before = self.tokens_issued().await?;
        let mut times = Times::default();
        let mut right = true;
        let mut left = count;
        // Whatever is done once per connection is done before anything is measured.
        self.timed(Way::Signed, &expected, &mut right).await?;
        let first = self.timed(Way::Tokens, &expected, &mut right).await?;
        times.first.push(first);
        while left > 0 && (left == count || begun.elapsed() < PATIENCE) {
            let row = left.min(ROW);
            for _ in 0..row {
                let took = self.timed(Way::Tokens, &expected, &mut right).await?;
                times.tokens.push(took);
            }
            for _ in 0..row {
                let took = self.timed(Way::Signed, &expected, &mut right).await?;
                times.signed.push(took);
            }
            left -= row;
        }
        let calls = times.tokens.len() + 1;
        let asked = self.tokens_issued().await? - asked_before;
        let mut step = Step::new(
            "kept",
            format!("{ALICE} calls {calls} times more, and tokens are kept"),
        );
        step.say(format!(
            "{calls} calls, each with a token for the front service and one for the books service: the token service was asked {asked} times"
        ));
        step.fact("calls", calls);
        step.fact("questions", asked);
        step.must(right, "every answer is that of the books service");
        step.must(asked == 2, "one question for each of both tokens");
        told.step(step);

        let title = "What a call through four gateways costs with tokens and without";
        let mut step = Step::new("times", title);
        let signed = median(&mut times.signed);
        let mut table = Table::new([
            ("way", Align::Left),
            ("calls", Align::Right),
            ("median ms", Align::Right),
            ("factor", Align::Right),
        ]);
        for (name, fact, samples) in [
            (
                "TLS, and a signature on the second way",
                "signed_ms",
                &mut times.signed,
            ),
            (
                "the same with tokens at hand",
                "tokens_ms",
                &mut times.tokens,
            ),
            (
                "the first call, which asks for both tokens",
                "first_ms",
                &mut times.first,
            ),
        ] {
            let median = median(samples);
            step.fact(fact, (median * 1e3).round() / 1e3);
            table.row([
                name.to_owned(),
                samples.len().to_string(),
                format!("{median:.3}"),
                format!("{:.2}", median / signed),
            ]);
        }
        for line in table.to_string().lines() {
            step.say(line);
        }
        told.step(step);
        Ok(())
    }

    /// Calls once: how long it took, in milliseconds.
    async fn timed(&self, way: Way, expected: &[u8], right: &mut bool) -> Result<f64, Failure> {
        let url = self.url(way);
        let begun = Instant::now();
        let answer = self.books(&url, BOOKS).await?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        *right &= answer == expected;
        Ok(took)
    }

    /// How many assertions the token service has issued and renewed, by its own figures.
    async fn tokens_issued(&self) -> Result<u64, Failure> {
        let port = self.processes.sts.address().port();
        let url = format!("https://localhost:{port}/metrics");
        let metrics = self.client.text(&url).await?;
        let issued = metrics
            .lines()
            .filter(|line| {
                line.starts_with("soapstone_assertions_total{") && line.contains("event=\"issued\"")
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        Ok(issued.sum())
    }
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
