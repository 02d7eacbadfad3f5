//! When a provider that is killed gets no calls any more, and when it gets them again.
//!
//! The rule kept here: a front tells it itself, and is asked again and again.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::testbed::Client;
use crate::testbed::architecture::Front;

/// How long a provider may take until it gets no calls, or gets them again.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long it takes until `/backends`, which is asked again and again, says that the backend at
/// this URL gets no calls.
pub(super) async fn out_of_use(
    backends: impl AsyncFn() -> Result<Value, Failure>,
    url: &str,
    patience: Duration,
) -> Result<Duration, Failure> {
    let died = Instant::now();
    loop {
        let told = backends().await?;
        let elapsed = died.elapsed();
        match is_usable(&told, url) {
            false => return Ok(elapsed),
            true if elapsed > patience => {
                return Err(Failure::new("a provider that was killed is still in use"));
            }
            true => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}

/// Whether `/backends` says that the backend at this URL gets calls.
fn is_usable(told: &Value, url: &str) -> bool {
    let mut known = told["routes"][0]["backends"]
        .as_array()
        .into_iter()
        .flatten();
    known.any(|it| it["url"] == url && it["usable"] == true)
}

/// Waits until a front sends calls again to the provider at this URL.
pub(super) async fn back_in_use(broker: &Front, url: &str) -> Result<(), Failure> {
    let watcher = Client::new();
    let given_up = Instant::now() + PATIENCE;
    while Instant::now() < given_up {
        if is_usable(&broker.backends(&watcher).await?, url) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Failure::new(
        "a provider that came back gets no calls again",
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    const URL: &str = "http://10.0.0.1/books";

    fn told(usable: bool) -> Value {
        json!({ "routes": [{ "backends": [{ "url": URL, "usable": usable }] }] })
    }

    /// The bar of the experiment fails by such a time alone.
    #[tokio::test]
    async fn a_killed_provider_is_watched_until_it_is_out_of_use() {
        let asked = Cell::new(0);
        let backends = async || {
            asked.set(asked.get() + 1);
            Ok(told(asked.get() < 4))
        };
        let ended = out_of_use(backends, URL, PATIENCE).await;
        ended.expect("it is out of use");
        assert_eq!(asked.get(), 4);
    }

    #[tokio::test]
    async fn a_killed_provider_that_stays_in_use_is_a_failure() {
        let ended = out_of_use(async || Ok(told(true)), URL, Duration::ZERO).await;
        let failure = ended.expect_err("it is in use");
        assert_eq!(
            failure.to_string(),
            "soapstone: a provider that was killed is still in use\n"
        );
    }
}
