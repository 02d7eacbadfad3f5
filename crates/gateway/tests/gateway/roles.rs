//! Who may do what: decided after a message was verified, and before its backend hears of it.

use http::StatusCode;
use jiff::Timestamp;
use soapstone_gateway::Running;
use soapstone_testkit::keys;

use crate::secured::{client, secured, service};
use crate::support::{Answer, Backend, ENVELOPE, Folder, Said, header, post, reason, send};

const USERS: &str = "users = [{ name = \"alice\", password = \"a\" }, { name = \"bob\", password = \"b\" }]\nsecurity = { mechanism = \"username\" }\n";

fn body(inner: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{inner}</s:Body></s:Envelope>"
    )
}

const GET: &str = "<Get xmlns=\"urn:books\"/>";
const DELETE: &str = "<Delete xmlns=\"urn:books\"/>";

/// A gateway in front of a backend, with these roles.
struct Guarded {
    folder: Folder,
    backend: Backend,
    gateway: Running,
}

impl Guarded {
    async fn by(tables: &str, roles: &str) -> Self {
        let folder = Folder::with_keys();
        let backend = Backend::echo().await;
        let gateway = folder.gateway(&text(&backend, tables, roles)).await;
        Self {
            folder,
            backend,
            gateway,
        }
    }

    /// What that user is answered, with that action beside the message.
    async fn call(&mut self, user: &str, inner: &str, action: Option<&str>) -> Answer {
        let tables = format!(
            "users = [{{ name = \"{user}\", password = \"{}\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
            &user[..1]
        );
        let mut request = post("/echo", self.folder.secured(&tables, &body(inner)));
        request.headers_mut().remove(header("soapaction"));
        if let Some(action) = action {
            let action = format!("\"{action}\"").parse().expect("a value");
            request.headers_mut().insert(header("soapaction"), action);
        }
        let answer = send(self.gateway.address(), request).await;
        let reached = self.backend.seen.try_recv().is_ok();
        assert_eq!(reached, answer.status == StatusCode::OK, "{}", answer.body);
        answer
    }

    /// Whether that user gets through.
    async fn lets(&mut self, user: &str, inner: &str) -> bool {
        self.call(user, inner, None).await.status == StatusCode::OK
    }

    fn denied(&self, rule: &str) -> String {
        let name = format!("soapstone_denied_total{{route=\"books\",rule=\"{rule}\"}} ");
        let metrics = self.gateway.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.expect("the series is there from the start").to_owned()
    }
}

fn text(backend: &Backend, tables: &str, roles: &str) -> String {
    format!(
        "LISTEN\n{roles}\n[[routes]]\nname = \"books\"\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{tables}",
        backend.address
    )
}

fn role(members: &str, more: &str) -> String {
    format!(
        "[[roles]]\nname = \"readers\"\nmembers = {{ {members} }}\nallow = [\"books:Get\"]\n{more}\n"
    )
}

#[tokio::test]
async fn members_may_do_what_their_roles_allow_and_nothing_else() {
    let writers = "[[roles]]\nname = \"writers\"\nmembers = { users = [\"bob\"] }\nallow = [\"*:{urn:books}Delete\"]\n";
    let roles = role("users = [\"alice\", \"bob\"]", "") + writers;
    let mut guarded = Guarded::by(USERS, &roles).await;
    assert!(guarded.lets("alice", GET).await);
    assert!(!guarded.lets("alice", DELETE).await);
    assert!(guarded.lets("bob", GET).await);
    assert!(guarded.lets("bob", DELETE).await);
    let namesake = "<Delete xmlns=\"urn:other\"/>";
    assert!(
        !guarded.lets("bob", namesake).await,
        "the grant has a namespace"
    );
    let both = format!("{GET}{DELETE}");
    assert!(!guarded.lets("bob", &both).await, "two operations are none");
    assert_eq!(guarded.denied("operation"), "3");
    assert_eq!(guarded.denied("no-role"), "0");
}

#[tokio::test]
async fn every_denial_looks_alike_to_peers_and_is_explained_to_the_operator() {
    let more = "bytes = 400\nrate = \"1/h\"\n";
    let roles = role("users = [\"alice\"]", more);
    let (said, _listening) = Said::listen();
    let mut guarded = Guarded::by(USERS, &roles).await;
    let large = format!("<Get xmlns=\"urn:books\">{}</Get>", "x".repeat(400));
    let mut told = Vec::new();
    for (user, inner, action, rule) in [
        ("bob", GET, None, "no-role"),
        ("alice", DELETE, None, "operation"),
        ("alice", GET, Some("urn:books/Delete"), "action"),
        ("alice", &large, None, "size"),
    ] {
        let answer = guarded.call(user, inner, action).await;
        assert_eq!(guarded.denied(rule), "1");
        told.push((answer.status, answer.body));
    }
    let first = guarded.call("alice", GET, Some("urn:books/Get")).await;
    assert_eq!(first.status, StatusCode::OK, "what was denied cost nothing");
    let answer = guarded.call("alice", GET, None).await;
    assert_eq!(guarded.denied("rate"), "1");
    told.push((answer.status, answer.body));
    assert_eq!(told[0].0, StatusCode::FORBIDDEN);
    assert_eq!(reason(&told[0].1), "The sender may not do this here");
    told.dedup();
    assert_eq!(told.len(), 1, "peers see one answer: {told:?}");
    for part in [
        "no-role: `bob` has no role, and calls {urn:books}Get",
        "operation: role readers refuses {urn:books}Delete of `alice`",
        "action: role readers refuses {urn:books}Get of `alice`: the action is that of another one: urn:books/Delete",
        "rate: role readers refuses {urn:books}Get of `alice`",
    ] {
        assert_eq!(said.times(part), 1, "{part}\n{said}");
    }
}

/// A backend that goes by `SOAPAction` would do another thing than the one that was allowed.
#[tokio::test]
async fn an_action_beside_the_message_or_in_it_cannot_name_another_operation() {
    let more = "actions = [\"urn:books:v1:fetch\"]\n";
    let mut guarded = Guarded::by(USERS, &role("users = [\"alice\"]", more)).await;
    for (action, expected) in [
        ("", StatusCode::OK),
        ("urn:books/Get", StatusCode::OK),
        ("urn:books/GetRequest", StatusCode::OK),
        ("urn:books:v1:fetch", StatusCode::OK),
        ("urn:books/Delete", StatusCode::FORBIDDEN),
        ("urn:books/ForGet", StatusCode::FORBIDDEN),
        // Readers differ in where these end.
        ("urn:books/Delete\"/Get", StatusCode::FORBIDDEN),
        ("urn:books/Delete\", \"urn:books/Get", StatusCode::FORBIDDEN),
        ("urn:books/Delete /Get", StatusCode::FORBIDDEN),
    ] {
        let answer = guarded.call("alice", GET, Some(action)).await;
        assert_eq!(answer.status, expected, "{action}");
    }
}

/// The operation is read with the bounds that the message was opened with.
#[tokio::test]
async fn a_request_within_the_limits_of_its_route_is_of_its_operation() {
    let limits = "limits = { depth = 400 }\n";
    let mut guarded = Guarded::by(
        &format!("{USERS}{limits}"),
        &role("users = [\"alice\"]", ""),
    )
    .await;
    let tables = format!(
        "users = [{{ name = \"alice\", password = \"a\" }}]\nsecurity = {{ mechanism = \"username\" }}\n{limits}"
    );
    let deep = format!(
        "<Get xmlns=\"urn:books\">{}{}</Get>",
        "<a>".repeat(300),
        "</a>".repeat(300)
    );
    let mut request = post("/echo", guarded.folder.secured(&tables, &body(&deep)));
    request.headers_mut().remove(header("soapaction"));
    let answer = send(guarded.gateway.address(), request).await;
    assert!(guarded.backend.seen.try_recv().is_ok(), "{}", answer.body);
}

#[tokio::test]
async fn a_role_holds_at_its_hours_alone() {
    let now = Timestamp::now();
    let day = |ahead: i64| {
        let days = jiff::SignedDuration::from_hours(24 * ahead);
        let then = now.checked_add(days).expect("a moment");
        then.strftime("%a").to_string()
    };
    // Tomorrow counts as well: a test may begin before midnight.
    let open = format!("hours = [\"{},{} 00:00-24:00\"]", day(0), day(1));
    let shut = format!("hours = [\"{} 00:00-24:00\"]", day(3));
    let mut guarded = Guarded::by(USERS, &role("users = [\"alice\"]", &open)).await;
    assert!(guarded.lets("alice", GET).await);
    let mut guarded = Guarded::by(USERS, &role("users = [\"alice\"]", &shut)).await;
    assert!(!guarded.lets("alice", GET).await);
    assert_eq!(guarded.denied("hours"), "1");
}

#[tokio::test]
async fn the_subject_of_the_certificate_that_signed_has_a_role_and_nobody_else_has() {
    for (members, expected) in [
        ("subjects = [\"CN=client\"]", StatusCode::OK),
        ("subjects = [\"CN=server\"]", StatusCode::FORBIDDEN),
        ("subjects = [\"cn = Client of CN=Ca\"]", StatusCode::OK),
        // A namesake of another authority.
        (
            "subjects = [\"CN=client of CN=other\"]",
            StatusCode::FORBIDDEN,
        ),
        ("users = [\"CN=client\"]", StatusCode::FORBIDDEN),
        ("anybody = true", StatusCode::OK),
    ] {
        let roles = role(members, "").replace("books:Get", "books:*");
        let guarded = Guarded::by(&service("sign"), &roles).await;
        let request = post("/echo", secured(&guarded.folder, "sign"));
        let answer = send(guarded.gateway.address(), request).await;
        assert_eq!(answer.status, expected, "{members}: {}", answer.body);
    }
}

/// Which of two holders of one name has the role, nobody knows.
#[tokio::test]
async fn a_member_without_an_issuer_is_refused_where_two_may_have_issued_its_certificate() {
    let folder = Folder::with_keys();
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let backend = Backend::echo().await;
    let one = service("sign");
    let two = one.replace("\"ca.cert.pem\"", "\"ca.cert.pem\", \"other.cert.pem\"");
    let elsewhere = one.replace("\"ca.cert.pem\"", "\"other.cert.pem\"");
    let said = |tables: &str, member: &str, allow: &str, more: &str| {
        let members = format!("subjects = [\"{member}\"]");
        let roles = role(&members, "").replace("books:Get", allow);
        let text = text(&backend, tables, &roles) + more;
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let file = folder.path("gateway.toml");
        let config = soapstone_gateway::Config::from_text(&text, &file, &|_| None);
        config.err().map(|problems| problems.to_string())
    };
    let expected = "4:25: `subjects` has that of several certificates: `trust` believes 2 issuers, and each may issue one\n    \
                    hint: say whose it is: subjects = [\"CN=client of CN=authority\"]";
    let found = said(&two, "CN=client", "books:*", "").expect("it is ambiguous");
    assert!(found.ends_with(expected), "{found}");
    assert_eq!(said(&two, "CN=client of CN=ca", "books:*", ""), None);
    assert_eq!(said(&one, "CN=client", "books:*", ""), None);
    // The issuer is no name.
    let found = said(&one, "CN=client of authority", "books:*", "").expect("half a name");
    let expected_of_half = "4:25: `subjects` must hold whole names, found a text with \" of \" outside of quotes\n    \
                            hint: name an issuer, \"CN=client of CN=authority\"; a value with the word stands in quotes: 'CN=\"Bank of Books\"'";
    assert!(found.contains(expected_of_half), "{found}");
    // A role is of the same people on each of its routes.
    let orders = format!(
        "[[routes]]\nname = \"orders\"\npath = \"/orders\"\nbackend = \"http://{}/\"\n[routes.inbound]\n{elsewhere}",
        backend.address
    );
    let found = said(&one, "CN=client", "*:*", &orders).expect("it is ambiguous");
    assert!(found.ends_with(expected), "{found}");
    assert_eq!(said(&one, "CN=client of CN=ca", "*:*", &orders), None);
}

/// What is not verified is refused as ever: roles are asked afterwards.
#[tokio::test]
async fn an_unverified_message_is_refused_for_its_security_whatever_roles_say() {
    let roles = role("users = [\"alice\"]", "");
    let guarded = Guarded::by(USERS, &roles).await;
    let answer = send(guarded.gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(guarded.denied("no-role"), "0");
}

#[tokio::test]
async fn the_owner_of_a_conversation_keeps_its_roles_in_it() {
    let conversing = |tables: String| tables.replace("\"sign\"", "\"secure-conversation\"");
    for (member, expected) in [
        ("CN=client", StatusCode::OK),
        ("CN=server", StatusCode::BAD_GATEWAY),
    ] {
        let roles = role(&format!("subjects = [\"{member}\"]"), "");
        let roles = roles.replace("books:Get", "books:*");
        let guarded = Guarded::by(&conversing(service("sign")), &roles).await;
        let text = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
            guarded.gateway.address(),
            conversing(client("sign"))
        );
        let sender = guarded.folder.gateway(&text).await;
        let answer = send(sender.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, expected, "{member}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_route_that_no_role_names_is_a_mistake_and_so_is_a_grant_of_nothing() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let problems = |roles: &str| {
        let text = text(&backend, USERS, roles).replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let file = folder.path("gateway.toml");
        let config = soapstone_gateway::Config::from_text(&text, &file, &|_| None);
        config.map(drop).unwrap_err().to_string()
    };
    let members = "members = { users = [\"alice\"] }";
    for (roles, expected) in [
        (
            "roles = []".to_owned(),
            "serves nobody: no role allows anything on it",
        ),
        (
            format!("[[roles]]\nname = \"a\"\n{members}\nallow = [\"orders:Get\"]"),
            "`allow` must hold operations of routes with `inbound`",
        ),
        (
            format!("[[roles]]\nname = \"a\"\n{members}"),
            "a role without `allow` allows nothing",
        ),
        (
            "[[roles]]\nname = \"a\"\nmembers = {}\nallow = [\"books:*\"]".to_owned(),
            "`members` names nobody",
        ),
        (
            role("users = [\"alice\"]", "hours = [\"8-18\"]"),
            "`hours` must hold spans of time",
        ),
        (
            role(
                "users = [\"alice\"]",
                "hours = [\"08:00-18:00\"]\ntime_zone = \"Nowhere/At All\"",
            ),
            "`time_zone` must name a time zone of this host",
        ),
    ] {
        let told = problems(&roles);
        assert!(told.contains(expected), "{roles}\n{told}");
    }
}
