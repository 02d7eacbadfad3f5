//! What operators do with several backends and see of them; what mistakes in the file are told.

use http::StatusCode;
use soapstone_gateway::Config;

use super::{Manner, Member, answer, balanced, call, callees, counts, file, metric, usable};
use crate::secured;
use crate::support::{
    Backend, ENVELOPE, Folder, Nobody, config, gateway, get, post, send, to_admin,
};

#[tokio::test]
async fn a_reload_keeps_what_is_known_of_backends_that_stay() {
    let stays = Member::new("stays", Manner::Hangs).await;
    let goes = Member::new("goes", Manner::Names).await;
    let more = "[routes.balance]\nselection = \"round-robin\"\nslow_start = \"1h\"\nejection = { failures = 2, time = \"1h\", longest = \"1h\" }\n";
    let gateway = balanced(&[&stays, &goes], more).await;
    for _ in 0..4 {
        call(&gateway).await;
    }
    assert!(!usable(&gateway, &stays).await);
    let comes = Member::new("comes", Manner::Names).await;
    let backends = [(comes.address, ""), (stays.address, "")];
    gateway.reload(config(&file(&backends, more)));
    assert!(!usable(&gateway, &stays).await);
    assert_eq!(callees(&gateway, 5).await, counts([("comes", 5)]));
    let starting = format!(
        "soapstone_balanced_state{{route=\"/echo\",backend=\"{}\",state=\"starting\"}}",
        comes.address
    );
    assert_eq!(metric(&gateway, &starting).await, 1);
    assert_eq!(stays.requests(), 2);
}

#[tokio::test]
async fn operators_see_each_backend_and_clients_see_none() {
    let one = Member::new("one", Manner::Names).await;
    let nobody = Nobody::new();
    let backends = [
        (one.address, "name = \"first\", weight = 3"),
        (nobody.address, ""),
    ];
    let text = file(&backends, "[routes.balance]\nselection = \"round-robin\"\n");
    let gateway = gateway(&text.replace("LISTEN", "LISTEN\nadmin = \"127.0.0.1:0\"")).await;
    assert_eq!(callees(&gateway, 8).await, counts([("one", 8)]));
    let admin = gateway.admin_address().expect("it is configured");
    let page = send(admin, to_admin("/backends")).await;
    assert_eq!(page.headers["content-type"], "application/json");
    let page: serde_json::Value = serde_json::from_str(&page.body).expect("it is JSON");
    let backends = &page["routes"][0]["backends"];
    assert_eq!(page["routes"][0]["selection"], "round-robin");
    assert_eq!(backends[0]["name"], "first");
    assert_eq!(backends[0]["answered"], 8);
    assert_eq!(backends[0]["weight"], 3);
    assert_eq!(backends[0]["state"], "up");
    assert_eq!(backends[1]["name"], nobody.address.to_string());
    assert_eq!(backends[1]["state"], "ejected");
    let ready = send(admin, get("/readyz")).await;
    assert_eq!(ready.status, StatusCode::OK);
    assert!(
        ready.body.contains("/echo first: reachable\n"),
        "{}",
        ready.body
    );

    // Without a listener of its own, the page is not there, and metrics name no backend.
    let backends = [(one.address, ""), (nobody.address, "")];
    let gateway = crate::support::gateway(&file(&backends, "")).await;
    let page = send(gateway.address(), get("/backends")).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    assert!(!metrics.contains(&one.address.to_string()), "{metrics}");
}

#[tokio::test]
async fn a_description_names_no_backend_whichever_it_is_of() {
    let describing = || {
        |seen: &crate::support::Seen| {
            let host = seen.headers["host"].to_str().expect("a text").to_owned();
            let path = seen.uri.path();
            let text = format!(
                "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:s=\"http://schemas.xmlsoap.org/wsdl/soap/\">\
                 <import namespace=\"urn:i\" location=\"http://{host}{path}?wsdl=i\"/>\
                 <service name=\"S\"><port name=\"P\"><s:address location=\"http://{host}{path}\"/></port></service></definitions>"
            );
            answer(200, text.into())
        }
    };
    let one = Backend::answering(describing()).await;
    let other = Backend::answering(describing()).await;
    let nobody = Nobody::new();
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackends = [{{ url = \"http://{}/first\" }}, {{ url = \"http://{}/second\" }}, {{ url = \"http://{}/third\" }}]\n\
         balance = {{ selection = \"round-robin\", ejection = false }}\n",
        one.address, other.address, nobody.address
    );
    let gateway = gateway(&text).await;
    for _ in 0..6 {
        let answer = send(gateway.address(), get("/echo?wsdl")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let gateways = "location=\"http://gateway.example:8443/echo";
        assert!(
            answer.body.contains(&format!("{gateways}\"")),
            "{}",
            answer.body
        );
        assert!(
            answer.body.contains(&format!("{gateways}?wsdl=i\"")),
            "{}",
            answer.body
        );
        assert!(!answer.body.contains("127.0.0.1"), "{}", answer.body);
    }
}

#[test]
fn mistakes_in_backends_are_told_where_they_are() {
    const BACKENDS: &str = "backends = [{ url = \"http://127.0.0.1:1\" }]\n";
    for (text, expected) in [
        (
            format!("backend = \"http://127.0.0.1:9\"\n{BACKENDS}"),
            "g.toml:4:11: `backend` and `backends` say the same: keep one",
        ),
        (
            "backends = []\n".to_owned(),
            "g.toml:4:12: `backends` names no backend\n    hint: for example backends = [{ url = \"http://127.0.0.1:9000/books\" }]",
        ),
        (
            "backends = [{ url = \"http://127.0.0.1:1/a\" }, { url = \"http://127.0.0.1:1/b\" }]\n"
                .to_owned(),
            "g.toml:4:47: two backends have the same name; the first is on line 4\n    hint: without `name` it is host and port of the URL: give one of them a `name`",
        ),
        (
            "backends = [{ url = \"127.0.0.1:1\" }]\n".to_owned(),
            "g.toml:4:21: `url` must be an http or https URL without a query and without a user, found a text without http:// or https://\n    hint: for example url = \"http://127.0.0.1:9000/books\"",
        ),
        (
            "backends = [{ url = \"http://127.0.0.1:1\", tls = { ca = [] } }]\n".to_owned(),
            "g.toml:4:49: `tls` is for a backend behind https, and this one is behind http",
        ),
        (
            format!("{BACKENDS}tls = {{ ca = [] }}\n"),
            "g.toml:5:7: with `backends`, each of them has its own `tls`",
        ),
        (
            "backend = \"http://127.0.0.1:9\"\nbalance = { retries = 1 }\n".to_owned(),
            "g.toml:5:11: `balance` is for a route with `backends`, and this one has one `backend`",
        ),
        (
            format!("{BACKENDS}balance = {{ sticky = \"partner\" }}\n"),
            "g.toml:5:22: `sticky` is \"partner\", and without `inbound` nobody proves to be one\n    hint: sticky = \"client\" keeps calls of an address together",
        ),
        (
            format!("{BACKENDS}balance = {{ sticky = \"conversation\" }}\n"),
            "g.toml:5:22: `sticky` is \"conversation\", and clients begin none with this route\n    hint: sticky = \"partner\" keeps calls of a certificate or user together",
        ),
        (
            format!("{BACKENDS}balance = {{ ejection = {{ time = \"9s\", longest = \"8s\" }} }}\n"),
            "g.toml:5:49: `longest` must be no shorter than `time`",
        ),
        (
            format!("{BACKENDS}balance = {{ idempotent = [\"b:getBooks\"] }}\n"),
            "g.toml:5:27: `idempotent` holds names of elements in the Body, found another text\n    hint: for example \"getBooks\" or \"{urn:example:books}getBooks\"",
        ),
        (
            format!(
                "{BACKENDS}balance = {{ check = {{ path = \"healthz\", interval = \"0s\" }} }}\n"
            ),
            "g.toml:5:30: `path` must be a path with its query, and begin with /\n    hint: for example path = \"/healthz\"\ng.toml:5:52: `interval` must be longer than nothing, found 0",
        ),
    ] {
        let text = format!("listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/b\"\n{text}");
        let told = Config::from_text(&text, "g.toml".as_ref(), &|_| None);
        assert_eq!(told.expect_err("a mistake").to_string(), expected);
    }
}

#[test]
fn a_route_without_protection_is_told_if_one_of_its_backends_is_protected_elsewhere() {
    let folder = Folder::new();
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/open\"\nbackends = [{{ url = \"http://a/open\" }}, {{ url = \"http://b/books\" }}]\n\
         [[routes]]\npath = \"/books\"\nbackends = [{{ url = \"http://c/books\" }}, {{ url = \"http://b/books\" }}]\n[routes.inbound]\n{}",
        secured::service("username")
    );
    let warnings = folder.config(&text).warnings();
    let names: Vec<&str> = warnings.iter().map(|warning| warning.name).collect();
    assert!(names.contains(&"leads-around"), "{names:?}");
}

/// A server of DNS is added while DNS is away: the backends that it named before are still there.
#[tokio::test]
async fn a_reload_that_changes_a_source_in_dns_takes_no_backend_out_of_use() {
    let folder = Folder::new();
    let backend = Backend::echo().await;
    let port = backend.address.port();
    let nobody = Nobody::new().address;
    let text = |more: &str| {
        format!(
            "LISTEN\nadmin = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\n[routes.backends]\n\
             srv = \"http://_a._tcp.example.test/echo\"\nnetworks = [\"127.0.0.0/8\"]\n{more}\n"
        )
    };
    let known = serde_json::json!({
        "of": { "srv": "_a._tcp.example.test", "networks": ["127.0.0.0/8"] },
        "providers": [{
            "access_point": format!("http://example.test:{port}/echo"), "backup": false, "owner": "",
            "target": { "host": "one", "address": format!("127.0.0.1:{port}"), "weight": 1 },
        }],
    });
    folder.write("known.json", known.to_string());
    let servers = format!("servers = [\"{nobody}\"]");
    let gateway = folder
        .gateway(&text(&format!("{servers}\ncache = \"known.json\"")))
        .await;
    let status = async || {
        send(gateway.address(), post("/echo", ENVELOPE))
            .await
            .status
    };
    assert_eq!(status().await, StatusCode::OK);
    let more = format!("servers = [\"{nobody}\", \"127.0.0.1:9\"]");
    gateway.reload(folder.config(&text(&more)));
    assert_eq!(status().await, StatusCode::OK);
    let admin = gateway.admin_address().expect("it is configured");
    let page = send(admin, to_admin("/backends")).await.body;
    let page: serde_json::Value = serde_json::from_str(&page).expect("it is JSON");
    assert_eq!(page["routes"][0]["dns"]["stale"], true, "{page}");
}
