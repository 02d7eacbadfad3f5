//! The XML of Ganglia: what `gmond` says on port 8649, and `gmetad` on 8651.
//!
//! `gmond` puts a document type before its document: one that declares elements and attributes. It
//! is skipped and never read: with a declaration of an entity in it the document is refused.
//!
//! The rule kept here: what is read is bounded, and a figure that is no number is left out.

use std::fmt;

use soapstone_xml::{Buffers, Document, Element, Limits, ParseError, ParseOptions, escape};

use crate::report::Host;

/// Largest document that is read, in bytes: a cluster of a thousand hosts has some 10 MB.
pub const LARGEST: usize = 16 << 20;

/// Longest name of a host or a metric, in characters: file systems have names of 255 bytes.
const LONGEST_NAME: usize = 200;
/// Most hosts that are read.
const MOST_HOSTS: usize = 10_000;

/// The version that documents are written in.
const VERSION: &str = "3.7.2";

/// A host with its metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostMetrics {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Seconds since it reported.
    pub seconds: u64,
    /// After how many seconds it should have reported again.
    pub patience: u64,
    /// Its metrics: name, value and unit.
    pub metrics: Vec<(String, f64, String)>,
}

impl HostMetrics {
    /// Whether the host is up: it is down when it is silent for four times as long as it should be
    /// (Ganglia's own rule).
    pub fn is_up(&self) -> bool {
        self.seconds <= self.patience.saturating_mul(4)
    }

    /// The figures of a machine among its metrics.
    pub fn host(&self) -> Host {
        let mut host = Host::default();
        for (name, value, _) in &self.metrics {
            if let Some(figure) = host.figure_mut(name) {
                *figure = Some(*value);
            }
        }
        host
    }
}

/// A name as `gmetad` may have it: hosts and metrics are folders and files there, and a slash in
/// one of their names ends it.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let name = name.trim_start_matches('.').chars().take(LONGEST_NAME);
    name.map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Writes a document with one cluster.
pub fn write(cluster: &str, now: i64, hosts: &[HostMetrics]) -> String {
    let mut out = String::with_capacity(512 + hosts.len() * 2048);
    out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n");
    let name = escape::value_of(cluster);
    out.push_str(&format!(
        "<GANGLIA_XML VERSION=\"{VERSION}\" SOURCE=\"gmond\">\n<CLUSTER NAME=\"{name}\" LOCALTIME=\"{now}\" OWNER=\"unspecified\" LATLONG=\"unspecified\" URL=\"unspecified\">\n"
    ));
    for host in hosts {
        let (name, address) = (plain(&host.name), escape::value_of(&host.address));
        let reported = now.saturating_sub_unsigned(host.seconds);
        out.push_str(&format!(
            "<HOST NAME=\"{name}\" IP=\"{address}\" TAGS=\"\" REPORTED=\"{reported}\" TN=\"{}\" TMAX=\"{}\" DMAX=\"0\" LOCATION=\"unspecified\" GMOND_STARTED=\"0\">\n",
            host.seconds, host.patience
        ));
        for (name, value, units) in &host.metrics {
            let (name, units) = (plain(name), escape::value_of(units));
            out.push_str(&format!(
                "<METRIC NAME=\"{name}\" VAL=\"{value}\" TYPE=\"double\" UNITS=\"{units}\" TN=\"{}\" TMAX=\"{}\" DMAX=\"0\" SLOPE=\"both\" SOURCE=\"soapstone\"/>\n",
                host.seconds, host.patience
            ));
        }
        out.push_str("</HOST>\n");
    }
    out.push_str("</CLUSTER>\n</GANGLIA_XML>\n");
    out
}

/// Why a document of Ganglia is refused.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GangliaError {
    /// It has more bytes than are read.
    TooLarge,
    /// It has more hosts than are read.
    TooManyHosts,
    /// Its document type declares an entity, or does not end.
    Entity,
    /// It is no XML.
    Malformed(ParseError),
    /// Its root is another element.
    Root {
        /// Which.
        found: String,
    },
}

impl fmt::Display for GangliaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(out, "expected at most {LARGEST} bytes"),
            Self::TooManyHosts => write!(out, "expected at most {MOST_HOSTS} hosts"),
            Self::Entity => out.write_str("expected a document type without entities"),
            Self::Malformed(error) => error.fmt(out),
            Self::Root { found } => write!(out, "expected GANGLIA_XML, found {found}"),
        }
    }
}

impl std::error::Error for GangliaError {}

/// Reads the hosts of a document.
///
/// # Errors
///
/// Why it is refused.
pub fn read(document: &[u8]) -> Result<Vec<HostMetrics>, GangliaError> {
    if document.len() > LARGEST {
        return Err(GangliaError::TooLarge);
    }
    let body = without_document_type(document)?;
    let mut limits = Limits::default();
    limits.message = LARGEST;
    // GANGLIA_XML, GRID, CLUSTER, HOST, METRIC, EXTRA_DATA, EXTRA_ELEMENT; grids may hold grids.
    limits.depth = 16;
    let options = ParseOptions {
        limits,
        ..ParseOptions::default()
    };
    let document = Document::parse(body, &options, &mut Buffers::default());
    let document = document.map_err(GangliaError::Malformed)?;
    let root = document.root();
    if !root.is("", "GANGLIA_XML") {
        return Err(GangliaError::Root {
            found: root.qualified_name().chars().take(100).collect(),
        });
    }
    let hosts = root.descendants().filter(|it| it.is("", "HOST"));
    let hosts: Vec<HostMetrics> = hosts.take(MOST_HOSTS + 1).map(read_host).collect();
    match hosts.len() <= MOST_HOSTS {
        true => Ok(hosts),
        false => Err(GangliaError::TooManyHosts),
    }
}

/// The document from its root on, in UTF-8: values outside ASCII do not count here, and `gmond`
/// says ISO-8859-1.
fn without_document_type(document: &[u8]) -> Result<Vec<u8>, GangliaError> {
    let text = String::from_utf8_lossy(document);
    let Some(root) = text.find("<GANGLIA_XML") else {
        return Ok(text.into_owned().into_bytes());
    };
    match text[..root].contains("<!ENTITY") {
        true => Err(GangliaError::Entity),
        false => Ok(text[root..].as_bytes().to_vec()),
    }
}

fn read_host(element: Element<'_>) -> HostMetrics {
    let word = |name| element.attribute("", name).unwrap_or_default().into_owned();
    let number = |name| word(name).parse().unwrap_or_default();
    let metrics = element.children().filter(|it| it.is("", "METRIC"));
    let metrics = metrics.filter_map(|it| {
        let value: f64 = it.attribute("", "VAL")?.parse().ok()?;
        let units = it.attribute("", "UNITS").unwrap_or_default().into_owned();
        let name = it.attribute("", "NAME")?.into_owned();
        (value.is_finite() && value >= 0.0).then_some((name, value, units))
    });
    HostMetrics {
        name: word("NAME"),
        address: word("IP"),
        seconds: number("TN"),
        patience: number("TMAX"),
        metrics: metrics.collect(),
    }
}
