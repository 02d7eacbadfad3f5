//! Items of Security headers that an endpoint ignores: not passed on, and counted.

use http::StatusCode;

use crate::secured::{metrics, secured, service};
use crate::support::{Backend, Folder, post, send};

#[tokio::test]
async fn an_ignored_token_is_not_passed_on_and_is_counted() {
    let folder = Folder::with_keys();
    let token = "<wsse:UsernameToken><wsse:Username>mallory</wsse:Username></wsse:UsernameToken>";
    for (more, status, counted) in [
        ("", StatusCode::INTERNAL_SERVER_ERROR, false),
        (", ignore = [\"UsernameToken\"]", StatusCode::OK, true),
    ] {
        let mut backend = Backend::echo().await;
        let tables = service("sign");
        let (keys, security) = tables.split_once("security").expect("its table");
        let security = security.replacen(" }\n", &format!("{more} }}\n"), 1);
        let text = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{keys}security{security}",
            backend.address
        );
        let gateway = folder.gateway(&text).await;
        let message = String::from_utf8(secured(&folder, "sign")).expect("it is UTF-8");
        let message = message.replacen("</wsse:Security>", &format!("{token}</wsse:Security>"), 1);
        let answer = send(gateway.address(), post("/echo", message)).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        if counted {
            let seen = backend.seen.recv().await.expect("it arrived");
            let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
            assert!(!body.contains("mallory"), "{body}");
        }
        let line = "soapstone_ignored_items_total{route=\"/echo\",direction=\"inbound\",mechanism=\"sign\",item=\"UsernameToken\"} 1";
        let metrics = metrics(&gateway).await;
        assert_eq!(metrics.contains(line), counted, "{metrics}");
    }
}
