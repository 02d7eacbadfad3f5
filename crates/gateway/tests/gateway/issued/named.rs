//! Assertions that messages name and do not carry: their ids are told to nobody.

use super::*;

/// Whoever has the id may be given the assertion.
#[tokio::test]
async fn the_id_of_an_assertion_that_is_named_stays_out_of_the_audit_trail() {
    for (named, expected) in [(false, "\"_0\""), (true, "\"SHA-256 of ")] {
        let folder = folder();
        let backend = Backend::echo().await;
        let sts = Sts::honest(&folder, true, true).await;
        let confirmation = "holder-of-key";
        let text = file(backend.address, sts.backend.address, confirmation, "");
        let text = text.replace("LISTEN\n", "LISTEN\naudit = { file = \"audit.jsonl\" }\n");
        let saml = "[routes.outbound.saml]\n";
        let by_reference = "send_by_reference = { authority = \"https://idp.example/a\" }\n";
        let text = match named {
            true => text.replace(saml, &format!("{saml}{by_reference}")),
            false => text,
        };
        let gateway = folder.gateway(&text).await;
        ask(&gateway).await;
        let path = folder.path("audit.jsonl");
        let line = async {
            loop {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if text.ends_with('\n') {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        };
        let line = soon("the line", line).await;
        let expected = format!("\"issued_assertion\":{expected}");
        assert!(line.contains(&expected), "{line}");
        assert_eq!(line.contains("\"_0\""), !named, "{line}");
    }
}
