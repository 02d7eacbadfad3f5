//! What a registry tells of a provider, for tests.

use soapstone_registry::{Owner, Provider, State};

/// The entry of a provider that is active and has reported nothing.
pub(super) fn provider(access_point: &str, owner: &str) -> Provider {
    Provider {
        binding_key: format!("uddi:{owner}"),
        service_key: String::new(),
        business: String::new(),
        service: "Books".to_owned(),
        port_type: None,
        access_point: access_point.to_owned(),
        wsdl: None,
        policy: None,
        agreements: Vec::new(),
        owner: Owner::new(owner, "CN=ca"),
        state: State::Active,
        age: None,
        taken: None,
        host: None,
        figures: None,
    }
}
