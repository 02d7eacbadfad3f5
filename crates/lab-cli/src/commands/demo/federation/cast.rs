//! The participants, and the configuration file of each.
//!
//! The rule kept here: no file knows more than its owner would. Users are known to the token
//! service alone, and services trust the token service and nobody else.

use std::net::SocketAddr;

/// The issuer of assertions.
pub(super) const ISSUER: &str = "https://sts.example";
/// The front service, as assertions name it.
pub(super) const FRONT: &str = "https://front.example/books";
/// The books service, as assertions name it.
pub(super) const BOOKS: &str = "https://books.example/books";

/// The name of the attribute with the role of a subject.
pub(super) const ROLE: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/role";
/// The name of the attribute with those who act for a subject.
pub(super) const ACTOR: &str = "http://schemas.xmlsoap.org/ws/2009/09/identity/claims/actor";
/// The role that the books service wants.
pub(super) const READER: &str = "reader";

/// The user who has it.
pub(super) const ALICE: &str = "alice";
/// The user who has none.
pub(super) const BOB: &str = "bob";

/// The names with a key. The subject of its certificate is `CN=` and the name.
pub(super) const KEYS: [&str; 7] = [STS, "front", "books", KIOSK, CLERK, MALLORY, STRANGER];
/// The token service.
pub(super) const STS: &str = "sts";
/// A service that may act for nobody.
pub(super) const KIOSK: &str = "kiosk";
/// A user with a certificate in the place of a password.
pub(super) const CLERK: &str = "clerk";
/// A stranger, with a token service of the same name and another key.
pub(super) const MALLORY: &str = "mallory";
/// That token service.
pub(super) const STRANGER: &str = "stranger";

/// How far clocks may be off, seconds. All of them are one clock here.
pub(super) const SKEW: u32 = 1;
/// How long the shortest assertion lives, seconds.
pub(super) const SHORTEST: u32 = 2;

/// A way through the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With tokens. What backends see is kept.
    Watched,
    /// The same for the user without the role.
    Bob,
    /// With tokens, and nobody looks.
    Tokens,
    /// The same connections and signatures without tokens.
    Signed,
}

impl Way {
    /// The ways with routes of their own behind the front service.
    const BEHIND: [Self; 3] = [Self::Watched, Self::Tokens, Self::Signed];

    /// Where it begins at the gateway of the client.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Watched => "/watched",
            Self::Bob => "/bob",
            Self::Tokens => "/tokens",
            Self::Signed => "/signed",
        }
    }

    /// Where it goes on behind the gateway of the client.
    const fn further(self) -> &'static str {
        match self {
            Self::Bob => Self::Watched.path(),
            other => other.path(),
        }
    }

    const fn has_tokens(self) -> bool {
        !matches!(self, Self::Signed)
    }
}

/// What each file of a gateway begins with.
fn heading(purpose: &str, name: &str, tls: bool) -> String {
    let tls = match tls {
        true => "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }\n",
        false => "",
    };
    format!(
        "# {purpose}\nlisten = \"127.0.0.1:0\"\n{tls}audit = {{ file = \"{}\" }}\nlog = {{ level = \"warn\", format = \"json\" }}\n",
        audit(name)
    )
}

/// The audit trail of a gateway.
pub(super) fn audit(name: &str) -> String {
    format!("{name}-audit.jsonl")
}

/// The file with the password of a user.
pub(super) fn password(user: &str) -> String {
    format!("{user}.password")
}

fn identity(name: &str) -> String {
    format!("identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n")
}

fn user(name: &str) -> String {
    format!(
        "{{ name = \"{name}\", password_file = \"{}\" }}",
        password(name)
    )
}

/// The token service: a route for users with a password, and one for signers.
pub(super) fn token_service() -> String {
    let rules = format!(
        "[routes.sts]\nissuer = \"{ISSUER}\"\n{}key_types = [\"public-key\", \"bearer\"]\nlifetime = \"10m\"\n\
         shortest_lifetime = \"{SHORTEST}s\"\nrenewable = \"1h\"\n\
         services = [{{ address = \"{FRONT}\" }}, {{ address = \"{BOOKS}\" }}]\n\
         attributes = [{{ subjects = {{ users = [\"{ALICE}\"], certificates = [\"CN={CLERK}\"] }}, claim = \"role\", values = [\"{READER}\"] }}]\n\
         [[routes.sts.delegations]]\nactors = {{ certificates = [\"CN=front\"] }}\nsubjects = {{ users = [\"{ALICE}\", \"{BOB}\"] }}\n\
         forms = [\"act-as\"]\naudiences = [\"{FRONT}\"]\nservices = [\"{BOOKS}\"]\n",
        identity(STS)
    );
    format!(
        "{}[[routes]]\nname = \"users\"\npath = \"/users\"\n{rules}[routes.inbound]\nusers = [{}, {}]\n\
         security = {{ mechanism = \"username\" }}\n\
         [[routes]]\nname = \"signers\"\npath = \"/signers\"\n{rules}[routes.inbound]\n{}\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=front\", \"CN={KIOSK}\", \"CN={CLERK}\"] }}\n\
         security = {{ mechanism = \"sign\" }}\n",
        heading("The token service.", STS, true),
        user(ALICE),
        user(BOB),
        identity(STS)
    )
}

/// A stranger's token service, which says of the stranger whatever the stranger wants.
pub(super) fn strange_token_service() -> String {
    format!(
        "{}[[routes]]\nname = \"signers\"\npath = \"/signers\"\n[routes.sts]\nissuer = \"{ISSUER}\"\n{own}\
         services = [{{ address = \"{BOOKS}\" }}]\n\
         attributes = [{{ subjects = {{ certificates = [\"CN={MALLORY}\"] }}, claim = \"role\", values = [\"{READER}\"] }}]\n\
         [routes.inbound]\n{own}trust = {{ pinned = [\"{MALLORY}.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n",
        heading("A stranger's token service.", STRANGER, true),
        own = identity(STRANGER)
    )
}

/// Whose assertions are believed.
fn issuers() -> String {
    format!("issuers = [{{ name = \"{ISSUER}\", pinned = [\"{STS}.cert.pem\"] }}]\n")
}

/// Where a gateway asks for tokens: for the service with this audience, at this route of the token
/// service, as the endpoint says.
fn asking(sts: SocketAddr, confirmation: &str, route: &str, asked: &str, endpoint: &str) -> String {
    format!(
        "[routes.outbound.saml]\nconfirmation = [\"{confirmation}\"]\n{}[routes.outbound.saml.token_service]\n\
         url = \"https://localhost:{}/{route}\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n{asked}\n\
         [routes.outbound.saml.token_service.endpoint]\n{endpoint}",
        issuers(),
        sts.port()
    )
}

/// A route with a backend behind TLS.
fn leading(name: &str, way: Way, port: u16) -> String {
    format!(
        "[[routes]]\nname = \"{name}\"\npath = \"{}\"\nbackend = \"https://localhost:{port}{}\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n",
        way.path(),
        way.further()
    )
}

/// The gateway of plain clients, which asks for tokens with a user's name and password.
pub(super) fn client(sts: SocketAddr, front: SocketAddr) -> String {
    let mut text = heading("The gateway of clients.", "client", false);
    for way in [Way::Watched, Way::Bob, Way::Tokens, Way::Signed] {
        text.push_str(&leading(&way.path()[1..], way, front.port()));
        text.push_str("[routes.outbound]\nsecurity = { mechanism = \"none\" }\n");
        if way.has_tokens() {
            let name = if way == Way::Bob { BOB } else { ALICE };
            let asked = format!("applies_to = \"{FRONT}\"");
            let endpoint = format!(
                "users = [{}]\nsecurity = {{ mechanism = \"username\" }}\n",
                user(name)
            );
            text.push_str(&asking(sts, "bearer", "users", &asked, &endpoint));
        }
    }
    text
}

/// Header fields that tell a backend who it is.
const TOLD: &str = "subject = \"X-Subject\", issuer = \"X-Issuer\"";

/// What a gateway before a service accepts, and tells its backend.
fn accepting(audience: &str, confirmation: &str) -> String {
    format!(
        "[routes.inbound.saml]\naudience = [\"{audience}\"]\nconfirmation = [\"{confirmation}\"]\n\
         forward = true\nskew = \"{SKEW}s\"\n{}",
        issuers()
    )
}

fn route(way: Way, backend: &str) -> String {
    let identity = match way.has_tokens() {
        true => format!(
            "identity = {{ {TOLD}, attributes = [{{ name = \"{ROLE}\", header = \"X-Role\" }}, {{ name = \"{ACTOR}\", header = \"X-Actor\" }}] }}\n"
        ),
        false => String::new(),
    };
    format!(
        "[[routes]]\nname = \"{}\"\npath = \"{}\"\nbackend = \"http://{backend}\"\n{identity}[routes.inbound]\n",
        &way.path()[1..],
        way.path()
    )
}

/// The backends of the ways: what is watched has one of its own.
pub(super) struct Backends {
    pub(super) watched: SocketAddr,
    pub(super) service: SocketAddr,
}

impl Backends {
    fn of(&self, way: Way) -> SocketAddr {
        match way {
            Way::Watched | Way::Bob => self.watched,
            Way::Tokens | Way::Signed => self.service,
        }
    }
}

/// The gateway before the front service, whose callers bear assertions.
pub(super) fn before_front(backends: &Backends) -> String {
    let mut text = heading("The gateway before the front service.", "front", true);
    for way in Way::BEHIND {
        let backend = format!("{}{}", backends.of(way), way.path());
        text.push_str(&route(way, &backend));
        text.push_str("security = { mechanism = \"none\" }\n");
        if way.has_tokens() {
            text.push_str(&accepting(FRONT, "bearer"));
        }
    }
    text
}

/// The gateway behind the front service, which exchanges the assertion of a user.
pub(super) fn behind_front(sts: SocketAddr, books: SocketAddr) -> String {
    let purpose = "The gateway behind the front service.";
    let mut text = heading(purpose, "front-out", false);
    for way in Way::BEHIND {
        text.push_str(&leading(&way.path()[1..], way, books.port()));
        text.push_str("[routes.outbound]\n");
        text.push_str(&signer("front", "books"));
        if way.has_tokens() {
            let asked = format!("applies_to = \"{BOOKS}\"\nuser = \"act-as\"");
            let endpoint = signer("front", STS);
            text.push_str(&asking(sts, "holder-of-key", "signers", &asked, &endpoint));
        }
    }
    text
}

/// The gateway before the books service, whose callers hold the key that their assertion names.
pub(super) fn before_books(backends: &Backends, path: &str) -> String {
    let purpose = "The gateway before the books service.";
    let mut text = heading(purpose, "books", true);
    let ways = Way::BEHIND.iter().filter(|way| way.has_tokens());
    let allowed: Vec<String> = ways
        .map(|way| format!("\"{}:getBooks\"", &way.path()[1..]))
        .collect();
    text.push_str(&format!(
        "[[roles]]\nname = \"readers\"\nallow = [{}]\n\
         members = {{ attributes = [{{ issuer = \"{ISSUER}\", name = \"{ROLE}\", value = \"{READER}\" }}] }}\n\
         [[roles]]\nname = \"services\"\nallow = [\"signed:getBooks\"]\nmembers = {{ subjects = [\"CN=front\"] }}\n",
        allowed.join(", ")
    ));
    for way in Way::BEHIND {
        text.push_str(&route(way, &format!("{}{path}", backends.of(way))));
        text.push_str(&identity("books"));
        text.push_str("security = { mechanism = \"sign\" }\n");
        text.push_str(&match way.has_tokens() {
            true => accepting(BOOKS, "holder-of-key"),
            false => {
                "trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=front\"] }\n".to_owned()
            }
        });
    }
    text
}

/// An endpoint that signs its messages, and wants answers of the peer.
pub(super) fn signer(name: &str, peer: &str) -> String {
    format!(
        "{}trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n",
        identity(name)
    )
}

/// The same with an assertion from a file.
pub(super) fn shower(name: &str, peer: &str, assertion: &str, confirmation: &str) -> String {
    format!(
        "{}saml = {{ assertion = \"{assertion}\", confirmation = [\"{confirmation}\"] }}\n",
        signer(name, peer)
    )
}
