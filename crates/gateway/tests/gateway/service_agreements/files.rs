//! Files of agreements: what is wrong with them, and what is warned of.

use std::path::Path;

use soapstone::config::json_schema;
use soapstone_gateway::Config;

use super::*;

/// It is no agreement any more, and its client is served as others are.
#[tokio::test]
async fn an_agreement_that_has_expired_is_warned_of_and_not_in_force() {
    let folder = folder(&GOLD.replace("2999", "2001"));
    let backend_one = Backend::echo().await;
    let text = file(&backend("one", &backend_one), "");
    let config = folder.config(&text);
    let names: Vec<&str> = config
        .warnings()
        .iter()
        .map(|warning| warning.name)
        .collect();
    assert!(names.contains(&"agreement-expired"), "{names:?}");
    let gateway = folder.gateway(&text).await;
    assert_eq!(calls(&folder, &gateway, "client", 5).await, [200; 5]);
    assert_eq!(told(&gateway).await["in_force"], false);
}

/// Token buckets and windows are of one process: whoever runs several is told.
#[tokio::test]
async fn an_agreement_about_a_route_whose_store_others_share_is_warned_of() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let plain = file(&backend("one", &backend_one), "");
    let names = |text: &str| -> Vec<&'static str> {
        let warnings = folder.config(text).warnings();
        warnings.iter().map(|warning| warning.name).collect()
    };
    let store = "store = { url = \"redis://127.0.0.1:9\" }\nidentity";
    let shared = plain.replace(
        "mechanism = \"sign\"",
        "mechanism = \"sign\", replay = { store = \"redis\" }",
    );
    // The first `identity` is that of the records.
    let (before, inbound) = shared.split_once("[routes.inbound]").expect("an endpoint");
    let inbound = inbound.replacen("identity", store, 1);
    let warned = names(&format!("{before}[routes.inbound]{inbound}"));
    assert!(warned.contains(&"agreement-not-shared"), "{warned:?}");
    // So does one store of conversations, with replays in memory.
    let key = "5a".repeat(32);
    let shared = plain.replace(
        "mechanism = \"sign\"",
        "mechanism = \"secure-conversation\", conversations = { store = \"redis\" }",
    );
    let store =
        format!("store = {{ url = \"redis://127.0.0.1:9\", seal_key = \"{key}\" }}\nidentity");
    let (before, inbound) = shared.split_once("[routes.inbound]").expect("an endpoint");
    let inbound = inbound.replacen("identity", &store, 1);
    let warned = names(&format!("{before}[routes.inbound]{inbound}"));
    assert!(warned.contains(&"agreement-not-shared"), "{warned:?}");
    let alone = names(&plain);
    assert!(!alone.contains(&"agreement-not-shared"), "{alone:?}");
}

/// What `Config` says of a file with this agreement and these routes.
fn problems(agreement: &str, routes: &str) -> String {
    read(agreement, routes).map(|_| ()).expect_err(agreement)
}

fn read(agreement: &str, routes: &str) -> Result<Config, String> {
    let folder = folder(agreement);
    let text = format!("listen = \"127.0.0.1:0\"\n{AGREEMENTS}{routes}");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    read.map_err(|problems| {
        let place = folder.path("");
        let problems = problems.to_string();
        problems.replace(place.to_str().expect("UTF-8"), "")
    })
}

/// A backend that no provider will ever have is a mistake, though providers come and go.
#[test]
fn backends_of_providers_are_named_as_they_will_be_found() {
    let inbound = secured::service("sign");
    let registry = format!(
        "[registry]\nurl = \"http://127.0.0.1:9/uddi\"\n[registry.client]\n{}",
        secured::service("sign").replace("anchors = ", "subjects = [\"CN=registry\"], anchors = ")
    );
    let text = |owners: &str| {
        format!(
            "{registry}[[routes]]\npath = \"/echo\"\n\
             [routes.backends]\nservice = \"Books\"\nowners = [{owners}]\n[routes.inbound]\n{inbound}"
        )
    };
    let (alone, owned) = ("http://10.0.0.1/books", "http://10.0.0.1/books (CN=p1)");
    let apart = "gold.toml:7:12: `backends` must hold access points with their owners, since owners have backends of their own, found another text\n    \
                 hint: access point and owner, as `owners` names it: \"http://10.0.0.1/books (CN=p1)\"";
    let of_all =
        "hint: access point, owner and issuer: \"http://10.0.0.1/books (CN=p1 of CN=authority)\"";
    let with_issuer = "http://10.0.0.1/books (CN=p1 of CN=ca)";
    let authorities = "\"CN=p1 of CN=ca\", \"CN=p1 of CN=other\"";
    let of_one = "gold.toml:7:12: `backends` must hold access points, since the route has the providers of one owner, found another text\n    \
                  hint: the access point alone: \"http://10.0.0.1/books\"";
    for (owners, name, expected) in [
        ("\"CN=p1\", \"CN=p2\"", alone, Some(apart)),
        ("\"CN=p1\", \"CN=p2\"", with_issuer, Some(apart)),
        ("\"*\"", alone, Some(of_all)),
        ("\"*\"", owned, Some(of_all)),
        ("\"*\"", with_issuer, None),
        (authorities, owned, Some(apart)),
        (authorities, with_issuer, None),
        ("\"CN=p1\"", owned, Some(of_one)),
        ("\"CN=p1\", \"CN=p2\"", owned, None),
        ("\"CN=p1\"", alone, None),
        // However the owner is written.
        (
            "\"CN=p1\", \"CN=p2\"",
            "http://10.0.0.1/books (cn = P1)",
            None,
        ),
        (
            authorities,
            "http://10.0.0.1/books (cn=p1 of CN = Ca)",
            None,
        ),
        (
            authorities,
            "http://10.0.0.1/books (CN=p1 of CN=third)",
            Some(apart),
        ),
    ] {
        let agreement = format!("{PROVIDER}[provider]\nbackends = [\"{name}\"]\n");
        let found = read(&agreement, &text(owners)).map(|_| ());
        let found = found.err().unwrap_or_default();
        let is_told = expected.map_or(!found.contains("`backends`"), |it| found.contains(it));
        assert!(is_told, "{owners} and {name}: {found}");
    }
}

/// Each of two authorities may certify one subject, and each of two certificates may be of it:
/// whose is meant, nobody knows.
#[test]
fn a_party_without_an_issuer_is_refused_where_its_route_trusts_two_authorities() {
    let folder = folder("");
    another_authority(&folder);
    let two =
        |tables: String| tables.replace("\"ca.cert.pem\"", "\"ca.cert.pem\", \"other.cert.pem\"");
    let said = |agreement: &str, inbound: String, outbound: String| {
        folder.write("gold.toml", agreement);
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{AGREEMENTS}[[routes]]\npath = \"/echo\"\n\
             backends = [{{ name = \"one\", url = \"http://127.0.0.1:9/echo\" }}]\n\
             [routes.inbound]\n{inbound}[routes.outbound]\n{outbound}"
        );
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let place = folder.path("").to_str().expect("UTF-8").to_owned();
        let problems = read.err().map(|problems| problems.to_string());
        problems.unwrap_or_default().replace(&place, "")
    };
    let pinning = |tables: &str, file: &str| {
        let pinned = format!("\"ca.cert.pem\"], pinned = [\"{file}\"]");
        tables.replace("\"ca.cert.pem\"]", &pinned)
    };
    let ambiguous = |line: u8| {
        format!(
            "gold.toml:{line}:11: `subject` is that of several certificates: `trust` believes 2 issuers, and each may issue one\n    \
             hint: say whose it is: issuer = \"CN=authority,O=Example\""
        )
    };
    let (one_in, one_out) = (secured::service("sign"), secured::client("sign"));
    let (two_in, two_out) = (two(one_in.clone()), two(one_out.clone()));
    // One that is believed by itself may have the subject as well, where another one issued it.
    let by_other = |subject| keys::identity_by("CN=other", subject, keys::P256);
    folder.write_identity("namesake", &by_other("CN=client"));
    folder.write_identity("another", &by_other("CN=server"));
    let (pins_in, pins_out) = (
        pinning(&one_in, "namesake.cert.pem"),
        pinning(&one_out, "another.cert.pem"),
    );
    let own_in = pinning(&one_in, "client.cert.pem");
    // One of another subject says nothing of the party.
    let others_in = pinning(&one_in, "other.cert.pem");
    // Without an authority, each certificate of the subject has an issuer of its own.
    let pinned_alone = |file: &str| {
        let pinned = format!("pinned = [\"client.cert.pem\", \"{file}\"]");
        one_in.replace("anchors = [\"ca.cert.pem\"]", &pinned)
    };
    let (both_in, apart_in) = (
        pinned_alone("namesake.cert.pem"),
        pinned_alone("server.cert.pem"),
    );
    let provider = format!("{PROVIDER}[provider]\nsubject = \"CN=server\"\n");
    let with_issuer = format!("{PROVIDER}issuer = \"CN=ca\"\n");
    for (agreement, inbound, outbound, expected) in [
        (PROVIDER, &one_in, &two_out, String::new()),
        (PROVIDER, &two_in, &one_out, ambiguous(5)),
        (PROVIDER, &pins_in, &one_out, ambiguous(5)),
        (PROVIDER, &own_in, &one_out, String::new()),
        (PROVIDER, &others_in, &one_out, String::new()),
        (PROVIDER, &both_in, &one_out, ambiguous(5)),
        (PROVIDER, &apart_in, &one_out, String::new()),
        (&*provider, &one_in, &pins_out, ambiguous(7)),
        (&*with_issuer, &two_in, &one_out, String::new()),
        (&*provider, &one_in, &one_out, String::new()),
        (&*provider, &one_in, &two_out, ambiguous(7)),
    ] {
        let found = said(agreement, inbound.clone(), outbound.clone());
        assert_eq!(found, expected, "{agreement}");
    }
    let nobodys = format!("{PROVIDER}[provider]\nissuer = \"CN=ca\"\n");
    let expected = "gold.toml:7:10: `issuer` is that of a `subject`, and there is none";
    assert_eq!(said(&nobodys, one_in, one_out), expected);
}

#[test]
fn what_is_wrong_with_an_agreement_is_told_with_its_place() {
    let inbound = secured::service("sign");
    let route = format!(
        "[[routes]]\npath = \"/echo\"\nbackends = [{{ name = \"one\", url = \"http://127.0.0.1:9/echo\" }}]\n\
         [routes.inbound]\n{inbound}"
    );
    for (agreement, expected) in [
        (
            PROVIDER.replace("/echo", "/other"),
            "gold.toml:1:11: `service` must be the name of a route, and no route has it\n    \
             hint: the `name` of a route, or its path where it has none",
        ),
        (
            PROVIDER.replace(
                "until = 2999-01-01\n",
                "from = 2030-01-01\nuntil = 2029-01-01\n",
            ),
            "gold.toml:3:9: `until` must be later than `from`",
        ),
        (
            PROVIDER.replace("calls = 2", "calls = 2, time = \"1m\""),
            "gold.toml:3:10: `window` is a `time` or a number of `calls`\n    \
             hint: { time = \"1m\" } or { calls = 100 }",
        ),
        (
            PROVIDER.replace("CN=client", "client"),
            "gold.toml:5:11: `subject` must be a distinguished name, found another text\n    \
             hint: for example subject = \"CN=client,O=Example\"",
        ),
        (
            format!("{PROVIDER}[provider]\nbackends = [\"two\"]\n"),
            "gold.toml:7:12: `backends` must hold names of backends of the route, found another text\n    \
             hint: the `name` of a backend, or host and port where it has none",
        ),
        (
            format!("{PROVIDER}[provider]\nsubject = \"CN=server\"\n"),
            "gold.toml:7:11: `subject` of [provider] is proven by answers, and nothing opens those of a backend\n    \
             hint: give the route or the backend an `outbound` whose answers are signed",
        ),
        (
            format!("{PROVIDER}[provider]\nsecurity = {{ bits = 128 }}\n"),
            "gold.toml:7:12: no backend of the provider covers `security`, with what the route needs\n    \
             hint: `soapstone broker explain` shows what each backend gives",
        ),
        (
            format!("{PROVIDER}[provider]\ndescription = true\n"),
            "gold.toml:7:15: `description` of [provider] is about policies that a registry knows, and the backends of the route are not found in one\n    \
             hint: leave it out, or let the route have backends = { service = \"…\", owners = […] }",
        ),
        (
            format!("{PROVIDER}[provider]\ntime = \"1s\"\n"),
            "gold.toml:7:8: `time` needs `quantile`: the share of calls that are answered in it\n    \
             hint: for example quantile = \"95%\"",
        ),
        (
            format!("{PROVIDER}[provider]\navailability = \"99,9%\"\n"),
            "gold.toml:7:16: `availability` must be a share of calls, found another text\n    \
             hint: for example \"95%\" or \"99.95%\"",
        ),
        (
            format!("{PROVIDER}rates = \"1/s\"\n"),
            "gold.toml:6:1: unknown key `rates` in [client]\n    hint: did you mean `rate`?",
        ),
    ] {
        assert_eq!(problems(&agreement, &route), expected);
    }
    let alone = format!(
        "[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/echo\"\n[routes.inbound]\n{inbound}"
    );
    assert_eq!(
        problems(PROVIDER, &alone),
        "gold.toml:1:11: route /echo has one `backend`, and nothing measures it\n    \
         hint: write it as several: backends = [{ url = \"…\" }]"
    );
    let plain = route.replace(
        "/echo\" }",
        "/echo\", outbound = { security = { mechanism = \"none\" } } }",
    );
    let secured = format!("{plain}[routes.outbound]\n{}", secured::client("sign"));
    assert_eq!(
        problems(
            &format!("{PROVIDER}[provider]\nsubject = \"CN=server\"\n"),
            &secured
        ),
        "gold.toml:7:11: `subject` of [provider] is proven by answers, and nothing opens those of a backend\n    \
         hint: give the route or the backend an `outbound` whose answers are signed"
    );
    let open = "[[routes]]\npath = \"/echo\"\nbackends = [{ url = \"http://127.0.0.1:9/echo\" }]\n";
    assert_eq!(
        problems(PROVIDER, open),
        "gold.toml:1:11: route /echo has no `inbound`: nobody proves to be the client of an agreement\n    \
         hint: give it an endpoint whose clients sign"
    );
}

/// Both files of the guide, with keys that its reader would have.
#[test]
fn the_example_of_the_guide_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/agreements.md")).expect("the guide");
    let block = |name: &str| {
        let (_, rest) = guide
            .split_once(&format!("```toml\n# {name}\n"))
            .expect(name);
        rest.split_once("\n```").expect("its end").0.to_owned()
    };
    let folder = folder(&block("gold.toml"));
    folder.write_identity("service", &keys::identity("CN=service", RSA));
    let config = folder.config(&block("gateway.toml"));
    let warnings = config.warnings();
    let ours = warnings.iter().find(|it| it.name.starts_with("agreement"));
    assert_eq!(ours, None);
}

/// To write it anew: `SOAPSTONE_WRITE_SCHEMA=1 cargo test -p soapstone-gateway --test gateway
/// schema`.
#[test]
fn the_schema_of_agreements_has_the_keys_that_are_read() {
    let text = "window = {}\n[client]\n[provider]\nsecurity = {}\nexclusion = {}\n";
    let keys = Config::known_agreement_keys(text, Path::new("gold.toml"));
    let schema = json_schema("Soapstone agreement", &keys);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let written = root.join("docs/agreement.schema.json");
    if std::env::var_os("SOAPSTONE_WRITE_SCHEMA").is_some() {
        std::fs::write(&written, &schema).expect("it is written");
    }
    let written = std::fs::read_to_string(written).expect("a schema");
    assert!(
        schema == written,
        "docs/agreement.schema.json is not what is read"
    );
}
