//! What is said about a gateway's file that is not right.

use std::path::Path;

use soapstone_gateway::Config;

fn problems(text: &str) -> String {
    Config::from_text(text, Path::new("gateway.toml"), &|_| None)
        .expect_err("the text is wrong")
        .to_string()
}

#[test]
fn all_problems_are_reported_at_once_with_place_and_hint() {
    let text = r#"listen = "localhost"
publik_url = "https://soap.example.com"
admin = 9901
[timeouts]
conect = "5s"
response = 60
[limits]
body = "8 megs"
workers = 0
[log]
level = "verbose"
[[routes]]
path = "books"
backend = "127.0.0.1:9000/books"
[[routes]]
path = "/echo"
backend = "http://127.0.0.1:9000/echo"
[routes.inbound]
identity = { key = "absent.pem" }
security = { mechanism = "sing" }
[[routes]]
path = "/echo/"
backend = "https://127.0.0.1:9000/echo"
tls = { ca = "absent.pem" }
"#;
    let expected = r#"gateway.toml:1:10: `listen` must be an address and a port, found a text without a port
    hint: for example "127.0.0.1:8443", "localhost:8443", or ":8443" for every address of this host
gateway.toml:2:1: unknown key `publik_url`
    hint: did you mean `public_url`?
gateway.toml:3:9: `admin` must be a string, found a whole number
gateway.toml:5:1: unknown key `conect` in [timeouts]
    hint: did you mean `connect`?
gateway.toml:6:12: `response` must be a duration such as "500ms", "60s", "5m" or "1h30m", found a number without a unit
gateway.toml:8:8: `body` must be a size such as "64KiB", "8MiB" or "1GB", found "8 megs"
gateway.toml:9:11: `workers` must be a whole number from 1 to 1024, found a smaller number
gateway.toml:11:9: `level` must be one of error, warn, info, debug, trace, found another text
gateway.toml:13:8: `path` must begin with / and hold no query, found one that begins otherwise
    hint: the path alone, as clients ask for it: path = "/books"
gateway.toml:14:11: `backend` must be an http or https URL without a query and without a user, found a text without http:// or https://
    hint: for example "http://127.0.0.1:9000/books"
gateway.toml:19:12: `certificate` is missing in [routes.inbound.identity]
    hint: name a PEM file with the certificate, or a keystore = "….p12"
gateway.toml:19:20: `key` names a file that cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder of this file
gateway.toml:20:26: `mechanism` must be one of none, username, sign, encrypt, sign-encrypt, encrypt-sign, secure-conversation, found "sing"
    hint: did you mean "sign"?
gateway.toml:22:8: `path` "/echo" is served by another route, on line 16
gateway.toml:24:14: `ca` names absent.pem, which cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder of this file"#;
    assert_eq!(problems(text), expected);
}

#[test]
fn what_is_wrong_with_traces_is_told() {
    let rest = "[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9\"\n";
    let given = |keys: &str| problems(&format!("listen = \":0\"\n[traces]\n{keys}\n{rest}"));
    const EXAMPLE: &str = "hint: for example collector = \"http://127.0.0.1:4318\"";
    for (keys, expected) in [
        (
            "one_in = 2",
            format!("gateway.toml:2:1: `collector` is missing in [traces]\n    {EXAMPLE}"),
        ),
        (
            "collector = \"localhost:4318\"",
            format!(
                "gateway.toml:3:13: `collector` must be an http or https URL without a query and without a user, \
                 found a text without http:// or https://\n    {EXAMPLE}"
            ),
        ),
        (
            "collector = \"http://localhost:4318\"\none_in = 0",
            "gateway.toml:4:10: `one_in` must be a whole number from 1 to 1000000000, found a smaller number".to_owned(),
        ),
        (
            "collector = \"http://localhost:4318\"\ntls = { ca = [] }",
            "gateway.toml:4:7: `tls` is for a collector behind https, and this one is behind http".to_owned(),
        ),
        (
            "collector = \"http://localhost:4318\"\nauthorization = \"Bearer a\\nb\"",
            "gateway.toml:4:17: `authorization` must be the value of a header, and this text cannot be one\n    \
             hint: for example \"Bearer …\", in one line"
                .to_owned(),
        ),
        (
            "collector = \"http://localhost:4318\"\nrate = \"fast\"",
            "gateway.toml:4:8: `rate` must be a number in a second, a minute or an hour, found another text\n    \
             hint: for example \"100/s\", \"30/m\" or \"500/h\""
                .to_owned(),
        ),
    ] {
        assert_eq!(given(keys), expected);
    }
}

#[test]
fn an_empty_file_lacks_an_address_and_routes() {
    assert_eq!(
        problems(""),
        "gateway.toml:1:1: `listen` is missing\n    hint: say where to listen: listen = \"127.0.0.1:8443\"\n\
         gateway.toml:1:1: `routes` is missing\n    \
         hint: say what is served: [[routes]] with path = \"/…\" and backend = \"http://…\""
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::load(Path::new("absent/gateway.toml"), &|_| None)
        .expect_err("it is not there")
        .to_string();
    assert_eq!(
        error,
        "absent/gateway.toml: the configuration file cannot be read: No such file or directory (os error 2)\n    \
         hint: check the path given with --config"
    );
}

#[test]
fn a_shared_host_and_tls_where_the_backend_has_none_are_reported() {
    let text = "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\ntls = {}\n";
    assert_eq!(
        problems(text),
        "gateway.toml:5:7: `tls` is for a backend behind https, and this one is behind http"
    );
}

#[test]
fn a_file_without_a_route_serves_nothing() {
    assert_eq!(
        problems("listen = \"127.0.0.1:0\"\nroutes = []\n"),
        "gateway.toml:2:10: `routes` names no route\n    \
         hint: say what is served: [[routes]] with path = \"/…\" and backend = \"http://…\""
    );
}

#[test]
fn tables_of_an_endpoint_belong_below_a_route() {
    let text = "listen = \"127.0.0.1:0\"\n[security]\nmechanism = \"none\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n";
    assert_eq!(
        problems(text),
        "gateway.toml:2:2: unknown key `security`\n    \
         hint: the tables of an endpoint stand below a route: [routes.inbound] or [routes.outbound]"
    );
}

#[test]
fn a_key_that_cannot_be_read_is_complained_about_once_and_one_that_is_not_named_with_how_to_name_it()
 {
    let text = r#"listen = "127.0.0.1:0"
[[routes]]
path = "/"
backend = "http://127.0.0.1:9/"
[routes.inbound]
identity = { key = "absent.pem", certificate = "absent.pem" }
security = { mechanism = "sign-encrypt" }
"#;
    assert_eq!(
        problems(text),
        r#"gateway.toml:6:20: `key` names a file that cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder of this file
gateway.toml:6:48: `certificate` names absent.pem, which cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder of this file
gateway.toml:7:26: a trust anchor or a pinned certificate is needed to verify signatures
    hint: say whom to trust: trust = { anchors = ["ca.cert.pem"] }, or pinned = ["….cert.pem"]"#
    );
}

#[test]
fn admin_has_an_address_of_its_own() {
    let text = |listen: &str, admin: &str| {
        format!(
            "listen = \"{listen}\"\nadmin = \"{admin}\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n"
        )
    };
    assert_eq!(
        problems(&text("0.0.0.0:8443", "127.0.0.1:8443")),
        "gateway.toml:2:9: `admin` must be another address than `listen`, found 0.0.0.0:8443 and 127.0.0.1:8443\n    \
         hint: without `admin`, health and metrics are served beside the routes"
    );
    for (listen, admin) in [
        ("127.0.0.1:8443", "127.0.0.2:8443"),
        ("127.0.0.1:0", "127.0.0.1:0"),
    ] {
        let file = Path::new("gateway.toml");
        assert!(Config::from_text(&text(listen, admin), file, &|_| None).is_ok());
    }
}

#[test]
fn a_service_of_users_knows_some() {
    let text = |users: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n\
             [routes.inbound]\n{users}\nsecurity = {{ mechanism = \"username\" }}\n"
        )
    };
    let expected = "gateway.toml:7:26: a user with a password is needed to check a `UsernameToken`\n    \
         hint: say whom we know: users = [{ name = \"…\", password_env = \"…\" }]";
    assert_eq!(problems(&text("")), expected);
    assert_eq!(problems(&text("users = []")), expected);
    assert_eq!(
        problems(&text(
            "users = [{ name = \"alice\", password_env = \"ALICE\" }]"
        )),
        "gateway.toml:6:43: the environment variable that `password_env` names is not set\n    \
         hint: set it, or use `password` or `password_file`"
    );
}

#[test]
fn a_password_that_is_not_there_is_not_a_wrong_one() {
    // Any file that is there.
    let text = r#"listen = "127.0.0.1:0"
[[routes]]
path = "/"
backend = "http://127.0.0.1:9/"
[routes.outbound]
identity = { keystore = "Cargo.toml", password_env = "ABSENT" }
security = { mechanism = "none" }
"#;
    assert_eq!(
        problems(text),
        "gateway.toml:6:54: the environment variable that `password_env` names is not set\n    \
         hint: set it, or use `password` or `password_file`"
    );
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    let found = problems(
        "listen = \"127.0.0.1:0\"\npublic_url = \"https://user:secret@a\"\n[[routes]]\npath = \"/\"\n\
         backend = \"http://user:secret@127.0.0.1:9/\"\n",
    );
    assert!(
        found.matches("found a URL with a user").count() == 2,
        "{found}"
    );
    assert!(!found.contains("secret"), "{found}");
}

#[test]
fn the_clock_of_a_gateway_cannot_be_stopped() {
    let text = r#"listen = "127.0.0.1:0"
[[routes]]
path = "/"
backend = "http://127.0.0.1:9/"
[routes.inbound]
users = [{ name = "alice", password = "secret" }]
security = { mechanism = "username", time = "2026-11-20T12:00:00Z" }
"#;
    assert_eq!(
        problems(text),
        "gateway.toml:7:45: `time` is for single messages, and would stop the clock of a gateway\n    \
         hint: leave it out; `soapstone open` and `soapstone secure` take it for recorded messages"
    );
}

#[test]
fn a_route_that_leads_around_the_protection_of_another_is_told() {
    let protected = "[routes.inbound]\nusers = [{ name = \"a\", password = \"b\" }]\nsecurity = { mechanism = \"username\" }\n";
    let route = |path: &str, backend: &str, more: &str| {
        format!("[[routes]]\npath = \"{path}\"\nbackend = \"{backend}\"\n{more}")
    };
    for (path, backend, told) in [
        ("/open", "http://b:1/svc", true),
        ("/open", "http://b:1", true),
        ("/open", "http://b:1/svc/books/", true),
        ("/open", "http://b:1/svc/books/1", false),
        ("/open", "http://b:1/svc/boo", false),
        ("/open", "http://b:2/svc", false),
        // What is below it is asked for by the other one's path.
        ("/", "http://b:1/svc", false),
        ("/", "http://b:1", true),
        ("/", "http://b:1/svc/books", true),
    ] {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{}{}",
            route(path, backend, ""),
            route("/books", "http://b:1/svc/books", protected)
        );
        let config = Config::from_text(&text, Path::new("gateway.toml"), &|_| None);
        let said = config
            .unwrap_or_else(|problems| panic!("{problems}"))
            .to_string();
        let expected = " (without protection: it leads to what is protected on the route /books)\n";
        assert_eq!(said.contains(expected), told, "{path} {backend}: {said}");
    }
}

#[test]
fn addresses_to_listen_at_may_leave_out_the_host_or_name_localhost() {
    let listen = |listen: &str| {
        let text = format!(
            "listen = \"{listen}\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n"
        );
        Config::from_text(&text, Path::new("gateway.toml"), &|_| None)
            .map(|config| config.listen().to_string())
            .map_err(|problems| problems.0[0].message.clone())
    };
    for (text, address) in [
        (":8443", "0.0.0.0:8443"),
        ("localhost:8443", "127.0.0.1:8443"),
        ("[::1]:8443", "[::1]:8443"),
        ("localhost:0", "127.0.0.1:0"),
    ] {
        assert_eq!(listen(text).as_deref(), Ok(address));
    }
    for (text, found) in [
        ("8443", "a text without a port"),
        (
            "localhost:https",
            "a text whose port is no number up to 65535",
        ),
        (":70000", "a text whose port is no number up to 65535"),
        (
            "soap.example.com:8443",
            "another host than an address or localhost",
        ),
    ] {
        let expected = format!("`listen` must be an address and a port, found {found}");
        assert_eq!(listen(text), Err(expected));
    }
}
