//! Endpoint files for signatures as libraries for XML signatures write them.

use std::path::Path;

use soapstone::Opener;
use soapstone::config::EndpointConfig;

fn problems(security: &str) -> String {
    let text = format!("security = {{ {security} }}\n");
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None);
    let outcome = config.and_then(|config| Opener::from_config(&config).map(drop));
    match outcome {
        Ok(()) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn what_cannot_be_an_id_or_be_ignored_is_a_mistake() {
    for (security, problem) in [
        (
            "mechanism = \"username\", ids = [\"Identity\"]",
            "`ids` must be one of Id, ID, id",
        ),
        (
            "mechanism = \"username\", ignore = [\"Assertion\"]",
            "`ignore` must name items of the Security header",
        ),
        (
            "mechanism = \"username\", ignore = [\"{http://www.w3.org/2000/09/xmldsig#}Signature\"]",
            "`ignore` names `Signature`, which is read in every header",
        ),
        (
            "mechanism = \"username\", ignore = [\"UsernameToken\"]",
            "`ignore` names the UsernameToken, and the policy demands one",
        ),
        (
            "mechanism = \"username\", several_signatures = true",
            "`several_signatures` wants certificates that sign",
        ),
        (
            "mechanism = \"sign\", timestamp = false, several_signatures = true",
            "a Timestamp that each of them covers",
        ),
    ] {
        let found = problems(security);
        assert!(found.contains(problem), "{security}: {found}");
    }
    let right =
        "mechanism = \"username\", ids = [\"Id\", \"ID\"], ignore = [\"{urn:vendor}Token\"]";
    assert_eq!(problems(right), "");
}
