//! Routes that are tuned: calls travel as ever, and a memory that knows the original takes nothing
//! else for it.

use http::StatusCode;
use soapstone_testkit::envelope::with_body;

use crate::support::{Backend, Folder, post, send};

/// The tables of a side: the order in the Body is signed by its own id.
fn side(own: &str, other: &str, tuning: &str) -> String {
    format!(
        "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\npeer = {{ certificate = \"{other}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256Sha256\", signed = [\"#order\", \"Timestamp\"] }}\n\
         tuning = {{ {tuning} }}\n"
    )
}

fn order(text: &str) -> String {
    with_body(&format!(
        "<e:echo xmlns:e=\"urn:echo\"><e:order xml:id=\"order\">{text}</e:order></e:echo>"
    ))
}

#[tokio::test]
async fn tuned_gateways_carry_calls_and_refuse_what_was_altered_after_they_have_seen_the_original()
{
    let folder = Folder::with_keys();
    for tuning in [
        "digest_cache = true, prehash = true",
        "digest_cache = { entries = 10, octets = \"64KiB\" }, buffering = \"buffered\"",
        "canonical_runs = false, on_demand = true",
    ] {
        let mut backend = Backend::echo().await;
        let route = |backend: std::net::SocketAddr, which: &str, tables: String| {
            format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n[routes.{which}]\n{tables}"
            )
        };
        let tables = side("server", "client", tuning);
        let service = folder
            .gateway(&route(backend.address, "inbound", tables))
            .await;
        let tables = side("client", "server", tuning);
        let client = folder
            .gateway(&route(service.address(), "outbound", tables))
            .await;
        for text in ["one", "one", "two", "one"] {
            let answer = send(client.address(), post("/echo", order(text))).await;
            assert_eq!(answer.status, StatusCode::OK, "{tuning}: {}", answer.body);
            let expected = format!(">{text}</e:order>");
            assert!(answer.body.contains(&expected), "{tuning}: {}", answer.body);
            let seen = backend.seen.recv().await.expect("it arrived");
            assert!(String::from_utf8_lossy(&seen.body).contains(&expected));
        }

        let secured = folder.secured(&side("client", "server", tuning), &order("one"));
        let secured = String::from_utf8(secured).expect("it is UTF-8");
        for altered in [
            secured.replace(">one<", ">two<"),
            secured.replace("xmlns:e=\"urn:echo\"", "xmlns:e=\"urn:other\""),
        ] {
            let answer = send(service.address(), post("/echo", altered)).await;
            assert!(
                answer.body.contains(">wsse:FailedCheck</faultcode>"),
                "{tuning}: {}",
                answer.body
            );
            assert!(backend.seen.try_recv().is_err());
        }
    }
}
