//! What a route demands of messages beside its policy, where HTTP has a say.

use http::StatusCode;

use crate::support::{Backend, Folder, post, reason, send};

const ADDRESSED: &str = "<s:Envelope xmlns:s=\"NAMESPACE\" xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header>\
    <a:Action>urn:echo</a:Action><a:To>urn:books</a:To></s:Header><s:Body><e:echo xmlns:e=\"urn:echo\">hello</e:echo></s:Body></s:Envelope>";

fn side(us: &str, peer: &str, more: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\npeer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\", \
         signed = [\"Body\", \"Timestamp\", \"{{http://www.w3.org/2005/08/addressing}}Action\", \
         \"{{http://www.w3.org/2005/08/addressing}}To\"]{more} }}\n"
    )
}

/// SOAPAction spoofing (WS-Attacks.org): the header of HTTP is changed on the way, and nothing
/// signs it.
#[tokio::test]
async fn an_action_that_was_changed_on_the_way_reaches_no_backend() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let route = |backend: std::net::SocketAddr, side: &str| {
        format!("LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{side}")
    };
    let demand = ", addressing = { to = [\"urn:books\"], soap_action = true }";
    let inbound = format!("[routes.inbound]\n{}", side("server", "client", demand));
    let service = folder.gateway(&route(backend.address, &inbound)).await;
    // What the client's gateway secures is taken on its way.
    let mut way = Backend::echo().await;
    let outbound = format!("[routes.outbound]\n{}", side("client", "server", ""));
    let client = folder.gateway(&route(way.address, &outbound)).await;
    let versions = [
        ("http://schemas.xmlsoap.org/soap/envelope/", "text/xml"),
        (
            "http://www.w3.org/2003/05/soap-envelope",
            "application/soap+xml",
        ),
    ];
    for (namespace, media_type) in versions {
        let soap_11 = media_type == "text/xml";
        for (field, parameter, arrives) in [
            (Some("\"urn:echo\""), None, true),
            (Some("\"\""), None, true),
            (None, None, true),
            (Some("\"urn:drop\""), None, false),
            (None, Some("urn:echo"), true),
            (None, Some("urn:drop"), false),
            (Some("\"urn:echo\""), Some("urn:drop"), false),
        ] {
            let mut request = post("/echo", ADDRESSED.replace("NAMESPACE", namespace));
            let plain = media_type.parse().expect("a value");
            request.headers_mut().insert("content-type", plain);
            send(client.address(), request).await;
            let secured = way.seen.recv().await.expect("it is on its way");
            let mut request = post("/echo", secured.body);
            let said = match parameter {
                Some(action) => format!("{media_type}; charset=utf-8; action=\"{action}\""),
                None => format!("{media_type}; charset=utf-8"),
            };
            let headers = request.headers_mut();
            headers.insert("content-type", said.parse().expect("a value"));
            headers.remove("soapaction");
            if let Some(field) = field {
                headers.insert("soapaction", field.parse().expect("a value"));
            }
            let answer = send(service.address(), request).await;
            let context = format!("{media_type} {field:?} {parameter:?}: {}", answer.body);
            assert_eq!(backend.seen.try_recv().is_ok(), arrives, "{context}");
            if arrives {
                assert_eq!(answer.status, StatusCode::OK, "{context}");
            } else {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let expected = if soap_11 {
                    status
                } else {
                    StatusCode::BAD_REQUEST
                };
                assert_eq!(answer.status, expected, "{context}");
                assert_eq!(
                    reason(&answer.body),
                    "An error was discovered processing the &lt;wsse:Security&gt; header."
                );
            }
        }
    }
}
