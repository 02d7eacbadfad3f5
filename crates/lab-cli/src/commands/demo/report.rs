//! What the demo tells: who talks to whom, one message before and after, and the tables.
//!
//! The rule kept here: a figure is printed with what it compares to.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use soapstone::wss::Mechanism;
use soapstone_services::Service;

use super::calls::{Operation, Seen, Sizes};
use super::message;
use crate::table::{Align, Table};
use crate::testbed::{Network, Scratch};

/// Which way a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the service, without gateways.
    Direct,
    /// Through both gateways, secured between them.
    Through(Mechanism),
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Through(mechanism) => mechanism.name(),
        }
    }
}

/// The calls of one operation one way.
pub(super) struct Cell {
    pub(super) way: Way,
    pub(super) operation: Operation,
    /// How long each call took.
    pub(super) samples: Vec<Duration>,
    suite: String,
    secured: Sizes,
    plain: Sizes,
}

impl Cell {
    pub(super) fn new(
        way: Way,
        operation: Operation,
        suite: &str,
        secured: Sizes,
        plain: Sizes,
    ) -> Self {
        let keyed =
            matches!(way, Way::Through(mechanism) if mechanism.signs() || mechanism.encrypts());
        let suite = if keyed {
            suite.to_owned()
        } else {
            String::new()
        };
        Self {
            way,
            operation,
            samples: Vec::new(),
            suite,
            secured,
            plain,
        }
    }

    fn figures(&self) -> Figures {
        let mut sorted: Vec<f64> = self
            .samples
            .iter()
            .map(|sample| sample.as_secs_f64() * 1e6)
            .collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len().max(1) as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let variance = sorted
            .iter()
            .map(|sample| (sample - mean).powi(2))
            .sum::<f64>()
            / n;
        Figures {
            mean,
            median: quantile(&sorted, 0.5),
            p95: quantile(&sorted, 0.95),
            stdev: variance.sqrt(),
        }
    }

    /// Bytes that securing added to request and response together.
    fn overhead(&self) -> usize {
        let (secured, plain) = (self.secured, self.plain);
        (secured.request + secured.response).saturating_sub(plain.request + plain.response)
    }
}

/// Microseconds.
#[derive(Clone, Copy)]
struct Figures {
    mean: f64,
    median: f64,
    p95: f64,
    stdev: f64,
}

/// Between the two nearest samples, in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default();
    at(place.floor()) + (at(place.ceil()) - at(place.floor())) * place.fract()
}

/// One measurement as JSON, in the form that all stacks are measured in.
#[derive(Serialize)]
struct Line<'r> {
    stack: &'static str,
    op: &'static str,
    mechanism: &'static str,
    suite: &'r str,
    payload: &'static str,
    items: u32,
    /// Request and response together, plain.
    bytes: usize,
    /// Request and response together, as they travel between the gateways.
    secured_bytes: usize,
    request_bytes: usize,
    response_bytes: usize,
    clients: u32,
    n: usize,
    mean_us: f64,
    median_us: f64,
    p95_us: f64,
    stdev_us: f64,
    per_s: f64,
    /// Median over that of plain calls through the same gateways.
    factor: f64,
    increment_percent: f64,
}

/// All calls.
pub(super) struct Results(Vec<Cell>);

impl Results {
    pub(super) fn new(cells: Vec<Cell>) -> Self {
        Self(cells)
    }

    /// The median of plain calls through both gateways.
    fn plain(&self, operation: Operation) -> f64 {
        let plain = Way::Through(Mechanism::None);
        let cell = self
            .0
            .iter()
            .find(|cell| cell.way == plain && cell.operation == operation);
        cell.map_or(f64::NAN, |cell| cell.figures().median)
    }

    /// One line of JSON per measurement.
    pub(super) fn json(&self) -> String {
        let mut lines = String::new();
        for cell in &self.0 {
            let (figures, plain) = (cell.figures(), self.plain(cell.operation));
            let (payload, items) = cell.operation.payload();
            let line = Line {
                stack: "soapstone",
                op: "roundtrip",
                mechanism: cell.way.name(),
                suite: &cell.suite,
                payload,
                items,
                bytes: cell.plain.request + cell.plain.response,
                secured_bytes: cell.secured.request + cell.secured.response,
                request_bytes: cell.secured.request,
                response_bytes: cell.secured.response,
                clients: 1,
                n: cell.samples.len(),
                mean_us: round(figures.mean),
                median_us: round(figures.median),
                p95_us: round(figures.p95),
                stdev_us: round(figures.stdev),
                per_s: round(1e6 / figures.mean),
                factor: round(figures.median / plain),
                increment_percent: round((figures.median - plain) / plain * 100.0),
            };
            // Numbers and strings always have a JSON form.
            lines.push_str(&serde_json::to_string(&line).unwrap_or_default());
            lines.push('\n');
        }
        lines
    }

    /// A table per operation.
    pub(super) fn tables(&self, emphasis: bool) -> String {
        let mut text = String::new();
        let mut shown: Vec<Operation> = Vec::new();
        for cell in &self.0 {
            if shown.contains(&cell.operation) {
                continue;
            }
            shown.push(cell.operation);
            let _ = writeln!(
                text,
                "{}, {} calls each, one client, every answer checked\n\n{}",
                cell.operation.title(),
                cell.samples.len(),
                self.table(cell.operation).emphasized(emphasis)
            );
        }
        text.push_str(
            "Round trips are measured at the client. `none` is the same way through both gateways without security, to which factor\n\
             and increment, (T - T_none) / T_none, compare; `direct` is without gateways. Bytes are those between the gateways.\n",
        );
        text
    }

    fn table(&self, operation: Operation) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("mechanism", Left),
            ("suite", Left),
            ("median ms", Right),
            ("factor", Right),
            ("increment", Right),
            ("request B", Right),
            ("response B", Right),
            ("overhead B", Right),
        ]);
        let plain = self.plain(operation);
        for cell in self.0.iter().filter(|cell| cell.operation == operation) {
            let median = cell.figures().median;
            let suite = if cell.suite.is_empty() {
                "-"
            } else {
                &cell.suite
            };
            let factor = format!("{:.2}", median / plain);
            let increment = format!("{:+.0} %", (median - plain) / plain * 100.0);
            table.row([
                cell.way.name().to_owned(),
                suite.to_owned(),
                format!("{:.3}", median / 1e3),
                factor,
                increment,
                grouped(cell.secured.request),
                grouped(cell.secured.response),
                grouped(cell.overhead()),
            ]);
        }
        table
    }
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Who talks to whom.
pub(super) fn introduction(network: &Network, services: SocketAddr) -> String {
    format!(
        "\
Real SOAP calls travel through two gateways. Client and services know nothing of WS-Security.

client -- plain SOAP --> outbound gateway == secured SOAP ==> inbound gateway -- plain SOAP --> services
                         {:<16}                    {:<15}                   {}

",
        network.outbound().to_string(),
        network.inbound().to_string(),
        services
    )
}

/// One call as the client and as the wire between the gateways sees it.
pub(super) fn before_and_after(seen: &Seen, suite: &str) -> String {
    let mut text = String::new();
    let title = seen.operation.title();
    for (what, message) in [
        (
            format!("{title}, as the client sends it"),
            &seen.plain.request,
        ),
        (
            format!("the same between the gateways: {}, {suite}", seen.mechanism),
            &seen.secured.request,
        ),
        (
            "the answer, as the client gets it".to_owned(),
            &seen.plain.response,
        ),
    ] {
        let _ = writeln!(
            text,
            "--- {what} ({} bytes, here indented)\n{}",
            grouped(message.len()),
            message::indented(message)
        );
    }
    text
}

/// How to call what was left running.
pub(super) fn invitation(network: &Network, scratch: &Scratch) -> String {
    let mut text = String::from(
        "\nEverything keeps running until Ctrl-C. Send plain SOAP to the outbound gateway, under any mechanism:\n\n",
    );
    for mechanism in Mechanism::ALL {
        let paths = [Service::Echo, Service::Books].map(|service| {
            format!(
                "http://{}/{mechanism}{}",
                network.outbound(),
                service.path()
            )
        });
        let _ = writeln!(text, "  {}", paths.join("  "));
    }
    let echo = Operation::Echo;
    let _ = write!(
        text,
        "\n  curl -H 'Content-Type: text/xml; charset=utf-8' -H 'SOAPAction: \"{}\"' \\\n    --data '{}' \\\n    http://{}/{}{}\n\n\
         Plain SOAP to the inbound gateway (http://{}) is refused. Keys, certificates and both configuration files are in\n{}\n\
         until then.\n",
        echo.service().soap_action(),
        echo.request(),
        network.outbound(),
        Mechanism::SignEncrypt,
        echo.service().path(),
        network.inbound(),
        scratch.folder().display()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(way: Way, milliseconds: &[u64], secured: usize) -> Cell {
        let sizes = |bytes| Sizes {
            request: bytes,
            response: bytes,
        };
        let mut cell = Cell::new(
            way,
            Operation::Echo,
            "Basic256GCM",
            sizes(secured),
            sizes(200),
        );
        cell.samples = milliseconds
            .iter()
            .map(|time| Duration::from_millis(*time))
            .collect();
        cell
    }

    #[test]
    fn increments_compare_medians_with_those_of_plain_calls() {
        let plain = cell(Way::Through(Mechanism::None), &[1, 2, 30], 200);
        let signed = cell(Way::Through(Mechanism::Sign), &[5, 3, 4], 1700);
        let table = Results::new(vec![plain, signed])
            .table(Operation::Echo)
            .to_string();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_ascii_whitespace().collect())
            .collect();
        assert_eq!(
            rows[1],
            ["none", "-", "2.000", "1.00", "+0", "%", "200", "200", "0"]
        );
        assert_eq!(
            rows[2],
            [
                "sign",
                "Basic256GCM",
                "4.000",
                "2.00",
                "+100",
                "%",
                "1,700",
                "1,700",
                "3,000"
            ]
        );
    }

    #[test]
    fn each_measurement_is_one_line_of_json() {
        let json = Results::new(vec![cell(Way::Through(Mechanism::None), &[1, 3], 200)]).json();
        let line: serde_json::Value = serde_json::from_str(json.trim_end()).unwrap();
        assert_eq!(line["op"], "roundtrip");
        assert_eq!(line["median_us"], 2000.0);
        assert_eq!(line["n"], 2);
        assert_eq!(line["bytes"], 400);
    }

    #[test]
    fn quantiles_lie_between_samples() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0], 0.95), 1.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn digits_are_grouped_in_threes() {
        assert_eq!(
            [grouped(7), grouped(999), grouped(1000), grouped(1234567)],
            ["7", "999", "1,000", "1,234,567"]
        );
    }
}
