//! `backends = { srv = "https://_books._tcp.example.com/books", … }` of a route: its backends are
//! those that DNS names (RFC 2782).
//!
//! The rule kept here: what DNS says is where to connect to, and nothing else. Who answers there
//! proves the name in the file (RFC 9525, section 6.1), and the file says in which networks that
//! may be.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use soapstone::config::{Located, OTHER_TEXT, Table};

use super::dns_name::DnsName;
use super::network::Network;
use super::tls::{self, ClientTls};
use super::url::backend_url;

const EXAMPLE: &str = "for example srv = \"https://_books._tcp.example.com/books\"";

/// Which hosts are backends of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DnsSource {
    /// The name that DNS is asked for.
    pub(crate) name: DnsName,
    /// What comes before host and port in the URL of each backend.
    pub(crate) scheme: &'static str,
    /// The host of that URL: the name without service and protocol.
    pub(crate) host: String,
    /// What comes after them.
    pub(crate) path: String,
    /// Where backends may be.
    pub(crate) networks: Vec<Network>,
    /// Whom to ask, where it is not whom the system asks.
    pub(crate) servers: Option<Vec<SocketAddr>>,
    /// Where what is known is kept while the gateway does not run.
    pub(crate) cache: Option<PathBuf>,
}

impl DnsSource {
    /// Whether a backend may be at that address. Some addresses are no host, whatever the file
    /// says: the unspecified one is this machine.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_no_host = address.is_unspecified()
            || address.is_multicast()
            || matches!(address, IpAddr::V4(it) if it.is_broadcast());
        !is_no_host
            && self
                .networks
                .iter()
                .any(|network| network.contains(address))
    }

    /// The URL of the backend at that port.
    pub(crate) fn url(&self, port: u16) -> String {
        let Self {
            scheme, host, path, ..
        } = self;
        format!("{scheme}://{host}:{port}{path}")
    }
}

/// Reads `backends` with `srv`, and TLS towards them where they are behind https. What is wrong has
/// been reported where there is nothing.
pub(super) fn read_srv(mut table: Table<'_>) -> Option<(DnsSource, Option<ClientTls>)> {
    let given = table.required_string("srv", EXAMPLE);
    let asked = given.as_ref().and_then(|given| read_name(&table, given));
    let networks = read_networks(&mut table);
    let servers = read_servers(&mut table);
    let cache = read_cache(&mut table);
    let tls_place = table.place_of("tls");
    let tls_table = table.table("tls");
    let tls = match (&asked, &given) {
        (Some(asked), Some(given)) if asked.scheme == "https" => {
            let report = |message| table.report(given.place, message);
            Some(tls::read_client(tls_table, &asked.host, &report))
        }
        (Some(_), _) => {
            if let Some(place) = tls_place {
                let message = "`tls` is for backends behind https, and these are behind http";
                table.report(place, message);
            }
            None
        }
        _ => None,
    };
    table.finish();
    let source = DnsSource {
        networks: networks?,
        servers: match servers {
            // What is wrong with it has been reported.
            Some(servers) => Some(servers?),
            None => None,
        },
        cache,
        ..asked?
    };
    match tls {
        Some(tls) => Some((source, Some(tls?))),
        None => Some((source, None)),
    }
}

/// The name in a URL, and what becomes of it.
fn read_name(table: &Table<'_>, given: &Located<String>) -> Option<DnsSource> {
    let report = |message: String| table.report_with_hint(given.place, message, EXAMPLE);
    let url = match backend_url(&given.value) {
        Ok(url) => url,
        Err(error) => {
            report(format!("`srv` {error}"));
            return None;
        }
    };
    if url.port().is_some() {
        report("`srv` has a port, and DNS says the ports".to_owned());
        return None;
    }
    let name = url.host().and_then(DnsName::parse);
    let host = name.as_ref().and_then(|name| {
        let text = name.to_string();
        let (service, rest) = text.split_once('.')?;
        let (protocol, host) = rest.split_once('.')?;
        let is_service = service.len() > 1 && service.starts_with('_');
        (is_service && protocol == "_tcp").then(|| host.to_owned())
    });
    let (Some(name), Some(host)) = (name, host) else {
        let message = "`srv` must be the URL of a service over TCP, _SERVICE._tcp.NAME as its host";
        report(format!("{message}, found {OTHER_TEXT}"));
        return None;
    };
    Some(DnsSource {
        name,
        scheme: match url.scheme_str() {
            Some("https") => "https",
            _ => "http",
        },
        host,
        path: url.path().to_owned(),
        networks: Vec::new(),
        servers: None,
        cache: None,
    })
}

/// Reads `cache`: the path begins at the folder of the file.
pub(super) fn read_cache(table: &mut Table<'_>) -> Option<PathBuf> {
    let cache = table.string("cache")?;
    let folder = table.document().file().parent().map(PathBuf::from);
    Some(folder.unwrap_or_default().join(cache.value))
}

fn read_networks(table: &mut Table<'_>) -> Option<Vec<Network>> {
    const HINT: &str = "say where backends may be, for example networks = [\"10.0.0.0/8\"]";
    let given = table.strings("networks");
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        table.missing("networks", HINT);
        return None;
    };
    let read = given.into_iter().map(|text| {
        let network = Network::parse(&text.value);
        if network.is_none() {
            let message = format!("`networks` must hold networks, found {OTHER_TEXT}");
            table.report_with_hint(text.place, message, HINT);
        }
        network
    });
    read.collect()
}

fn read_servers(table: &mut Table<'_>) -> Option<Option<Vec<SocketAddr>>> {
    const HINT: &str = "for example servers = [\"10.0.0.1:53\"]";
    let given = table.strings("servers")?;
    if given.is_empty() {
        table.missing("servers", HINT);
    }
    let read = given.into_iter().map(|text| {
        let server: Option<SocketAddr> = text.value.parse().ok();
        if server.is_none() {
            let message = format!("`servers` must hold addresses with ports, found {OTHER_TEXT}");
            table.report_with_hint(text.place, message, HINT);
        }
        server
    });
    Some(read.collect())
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn mistakes_of_a_source_in_dns_are_told() {
        let said = |source: &str| {
            let text = format!(
                "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\n[routes.backends]\n{source}\n"
            );
            match Config::from_text(&text, "gateway.toml".as_ref(), &|_| None) {
                Ok(_) => String::new(),
                Err(problems) => problems.to_string(),
            }
        };
        let networks = "networks = [\"10.0.0.0/8\"]";
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let policy = root.join("interop/recorded/cxf/transport-username-Basic256/service.wsdl");
        let outbound = format!(
            "[routes.outbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
             security = {{ policy = \"{}\" }}\n",
            policy.display()
        );
        let good = "srv = \"http://_books._tcp.example.com/books\"";
        assert_eq!(said(&format!("{good}\n{networks}")), "");
        for (source, expected) in [
            (good.to_owned(), "`networks` is missing"),
            (format!("{good}\nnetworks = []"), "`networks` is missing"),
            (
                format!("{good}\nnetworks = [\"10.0.0.1/8\"]"),
                "`networks` must hold networks",
            ),
            (
                format!("srv = \"http://books.example.com/\"\n{networks}"),
                "`srv` must be the URL of a service over TCP",
            ),
            (
                format!("srv = \"http://_books._udp.example.com/\"\n{networks}"),
                "`srv` must be the URL of a service over TCP",
            ),
            (
                format!("srv = \"http://_books._tcp/\"\n{networks}"),
                "`srv` must be the URL of a service over TCP",
            ),
            (
                format!("srv = \"http://_books._tcp.example.com:80/\"\n{networks}"),
                "`srv` has a port",
            ),
            (
                format!("{good}\n{networks}\nservers = [\"dns.example.com\"]"),
                "`servers` must hold addresses with ports",
            ),
            (
                format!("{good}\n{networks}\ntls = {{ ca = [] }}"),
                "`tls` is for backends behind https",
            ),
            (
                format!("{good}\n{networks}\nowners = [\"CN=p1\"]"),
                "owners",
            ),
            (
                format!("{good}\n{networks}\n{outbound}"),
                "leaves protection to TLS, and http://_books._tcp.example.com/books is not https",
            ),
        ] {
            let found = said(&source);
            assert!(found.contains(expected), "{source}: {found}");
        }
        // What needs TLS has it.
        let secure = good.replace("http:", "https:");
        assert_eq!(said(&format!("{secure}\n{networks}\n{outbound}")), "");
    }
}
