//! Where the gateway listens.
//!
//! The rule kept here: an address means the same tomorrow. No name is looked up.

use std::net::{Ipv4Addr, SocketAddr};

use soapstone::config::Table;

/// Reads the address under a key; what is wrong with it is reported.
pub fn read_address(table: &mut Table<'_>, key: &'static str) -> Option<SocketAddr> {
    let text = table.string(key)?;
    match listening_address(&text.value) {
        Ok(address) => Some(address),
        Err(found) => {
            table.report_with_hint(
                text.place,
                format!("`{key}` must be an address and a port, found {found}"),
                "for example \"127.0.0.1:8443\", \"localhost:8443\", or \":8443\" for every address of this host",
            );
            None
        }
    }
}

/// An address and a port; `:8443` is every IPv4 address of this host, and `localhost` is 127.0.0.1.
/// Other names are not looked up: what they mean may change, and a gateway would listen elsewhere.
fn listening_address(text: &str) -> Result<SocketAddr, &'static str> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("a text without a port");
    };
    let port = port
        .parse()
        .map_err(|_| "a text whose port is no number up to 65535")?;
    match host {
        "" => Ok(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))),
        "localhost" => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        _ => Err("another host than an address or localhost"),
    }
}
