//! What WCF's clients and services said to each other, as far as Mono has them, recorded in `interop/recorded/wcf`: our endpoints, configured from
//! the policy that they obeyed, accept the request as a service and the response as a client.

#[path = "support/forgetful.rs"]
mod forgetful;
#[path = "support/moment.rs"]
mod moment;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::endpoint::{Endpoint, Memory, OpenedMessage, Role};
use soapstone::wss::{Receipt, Rejected};
use soapstone::xml::Buffers;

use forgetful::Forgetful;

fn cells() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/wcf");
    let mut cells: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the recorded messages")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("service.wsdl").exists())
        .collect();
    cells.sort();
    assert!(cells.len() >= 18, "{} cells are recorded", cells.len());
    cells
}

/// Our side of an exchange, some hours after it was recorded.
fn endpoint(cell: &Path, role: Role, hours: i64) -> Endpoint {
    let file = cell.join(match role {
        Role::Client => "client.toml",
        _ => "service.toml",
    });
    moment::endpoint(&file, role, hours)
}

fn recorded(cell: &Path, name: &str) -> String {
    std::fs::read_to_string(cell.join(name)).expect("a recorded message")
}

fn open(
    endpoint: &Endpoint,
    message: String,
    request: Option<Receipt>,
) -> Result<OpenedMessage, Rejected> {
    endpoint.open(
        message.into_bytes(),
        request,
        Memory::without_conversations(&Forgetful),
        Timestamp::now(),
        &mut Buffers::default(),
        &mut (),
    )
}

fn holds_the_text(cell: &Path, opened: &OpenedMessage) {
    let text = String::from_utf8(opened.bytes.clone()).expect("it is UTF-8");
    assert!(text.contains("Grüße &amp; more<"), "{cell:?}: {text}");
}

#[test]
fn every_exchange_of_wcf_is_accepted_under_its_policy() {
    for cell in cells() {
        let (service, client) = (
            endpoint(&cell, Role::Service, 0),
            endpoint(&cell, Role::Client, 0),
        );
        let request = open(&service, recorded(&cell, "1.request.xml"), None);
        let request = request.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        holds_the_text(&cell, &request);
        let response = recorded(&cell, "1.response.xml");
        let response = open(&client, response, Some(request.receipt));
        let response = response.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        holds_the_text(&cell, &response);
    }
}

#[test]
fn a_request_of_wcf_is_refused_when_something_signed_has_changed() {
    for cell in cells() {
        let service = endpoint(&cell, Role::Service, 0);
        let request = recorded(&cell, "1.request.xml");
        for (signed, changed) in [
            ("echo:Echo</a:Action>", "echo:Oche</a:Action>"),
            (">urn:uuid:", ">urn:diuu:"),
        ] {
            assert_eq!(request.matches(signed).count(), 1, "{cell:?}");
            let refused = open(&service, request.replace(signed, changed), None)
                .err()
                .unwrap_or_else(|| panic!("{cell:?}: accepted with {changed}"));
            assert_eq!(refused.cause().name(), "digest-mismatch", "{cell:?}");
        }
    }
}

#[test]
fn an_exchange_of_wcf_is_stale_an_hour_later() {
    for cell in cells() {
        let service = endpoint(&cell, Role::Service, 1);
        let refused = open(&service, recorded(&cell, "1.request.xml"), None)
            .err()
            .unwrap_or_else(|| panic!("{cell:?}: accepted"));
        assert_eq!(refused.cause().name(), "timestamp-expired", "{cell:?}");
    }
}
