//! What the log says of a configuration that is taken into use.
//!
//! The rule kept here: what may be meant so is no warning, so that nobody gets used to warnings.

use crate::config::{BYPASSES, Config};

/// Writes what the operator should know of a configuration.
pub(crate) fn tell(config: &Config) {
    for risk in config.risks() {
        let problem = &risk.problem;
        tracing::warn!(
            name = risk.name,
            line = problem.line,
            hint = problem.hint,
            "{}",
            problem.message
        );
    }
    for route in &config.routes {
        let remark = route
            .inbound
            .as_ref()
            .and_then(|inbound| inbound.remark.as_ref());
        if let Some(remark) = remark {
            tracing::info!(route = route.name, "{remark}");
        }
        let inbound = route.inbound.as_ref();
        if let Some((why, _)) = inbound.and_then(|inbound| config.refuses_everybody(inbound)) {
            tracing::warn!(route = route.name, "every request is refused: {why}");
        }
        if let Some(other) = route.bypassed_route(&config.routes) {
            tracing::info!(route = route.name, "{BYPASSES} {}", other.path);
        }
    }
}
