//! The texts of the files, and what is put into them.
//!
//! A template is the file as it will be, but for names in double braces. The rule kept here: what
//! was typed gets into a file as a TOML string, escaped, and is never looked through for names in
//! braces.

use soapstone::crypto::KeyKind;
use soapstone::wss::Mechanism;

use super::foreign::Foreign;
use super::{Plan, Protection, contract};

/// Who we are in the `username` mechanism.
pub(super) const USER: &str = "alice";

/// The file with the password.
pub(super) const PASSWORD: &str = "alice.password";

const GATEWAY: &str = include_str!("templates/gateway.toml");
const CLIENT_GATEWAY: &str = include_str!("templates/client-gateway.toml");
const CLIENT: &str = include_str!("templates/client.toml");
const ANSWERS: &str = include_str!("templates/answers.toml");
const GET_BOOKS: &str = include_str!("templates/get-books.xml");
const REQUEST: &str = include_str!("templates/request.xml");

/// What the gateway before the service has where nothing but the connection protects messages.
const SERVER_TLS: &str = "
# The connection is all that hides messages and keeps them as they are. The certificate is for localhost and the address
# above; soapstone keys new NAME --signed-by ca --san HOST makes one for another name.
[tls]
certificate = \"service.cert.pem\"
key = \"service.key.pem\"
";

/// What is added where clients show a certificate.
const SERVER_CLIENTS: &str = "# Who issues the certificates that clients show.
client_ca = [\"ca.cert.pem\"]
";

/// The same for those who call it.
const CLIENT_TLS: &str = "# Who issued the certificate of that gateway's connections.
tls = { ca = [\"ca.cert.pem\"] }
";

/// The same, where they show a certificate.
const CLIENT_TLS_SHOWN: &str = "# Who issued the certificate of that gateway's connections, and what the client shows of itself.
tls = { ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\" }
";

/// What can be said of a service behind TLS.
const BACKEND_TLS: &str =
    "# If the service's certificate is not from one of the system's authorities:
# tls = { ca = [\"service-ca.pem\"] }
";

/// `gateway.toml`.
pub(super) fn gateway(plan: &Plan) -> String {
    let backend_tls = if plan.backend.scheme_str() == Some("https") {
        BACKEND_TLS
    } else {
        ""
    };
    let tls = match (plan.uses.tls, plan.uses.tls_client) {
        (false, _) => String::new(),
        (true, false) => SERVER_TLS.to_owned(),
        (true, true) => format!("{SERVER_TLS}{SERVER_CLIENTS}"),
    };
    let values = [
        ("listen", &*quoted(&plan.listen.to_string())),
        ("admin", &quoted(&plan.admin(plan.listen).to_string())),
        ("path", &quoted(plan.path())),
        ("backend", &quoted(&plan.backend.to_string())),
        ("tls", &tls),
        ("backend_tls", backend_tls),
        ("tables", &tables(Party::Service, plan)),
    ];
    fill(GATEWAY, &values)
}

/// `client-gateway.toml`.
pub(super) fn client_gateway(plan: &Plan) -> String {
    let backend_tls = match (plan.uses.tls, plan.uses.tls_client) {
        (false, _) => "",
        (true, false) => CLIENT_TLS,
        (true, true) => CLIENT_TLS_SHOWN,
    };
    let values = [
        ("listen", &*quoted(&plan.client_listen.to_string())),
        (
            "admin",
            &quoted(&plan.admin(plan.client_listen).to_string()),
        ),
        ("path", &quoted(plan.path())),
        ("backend", &quoted(&plan.service_url())),
        ("backend_tls", backend_tls),
        ("tables", &tables(Party::Client, plan)),
    ];
    fill(CLIENT_GATEWAY, &values)
}

/// `client.toml`.
pub(super) fn client(plan: &Plan) -> String {
    fill(CLIENT, &[("tables", &tables(Party::Request, plan))])
}

/// `answers.toml`.
pub(super) fn answers(plan: &Plan) -> String {
    fill(ANSWERS, &[("tables", &tables(Party::Answer, plan))])
}

/// `request.xml`.
pub(super) fn request(plan: &Plan) -> String {
    let Some(contract) = &plan.contract else {
        let text = if plan.calls_sample_services() {
            GET_BOOKS
        } else {
            REQUEST
        };
        return text.to_owned();
    };
    match contract.call.as_ref().map(|call| &call.request) {
        Some(Ok(request)) => format!("{request}\n"),
        _ => {
            let namespace = contract.version().namespace();
            let why = match contract
                .call
                .as_ref()
                .map(|call| (&call.name, &call.request))
            {
                Some((name, Err(why))) => format!("the element of {name} ({why})"),
                _ => "the element that the WSDL says for an operation".to_owned(),
            };
            // No comment may have two hyphens side by side. The second time is for those that the
            // first one brings together.
            let why = why.replace("--", "- -").replace("--", "- -");
            format!(
                "<soap:Envelope xmlns:soap=\"{namespace}\">\n  <soap:Body>\n    <!-- Put here what your service expects: {why}. -->\n  \
                 </soap:Body>\n</soap:Envelope>\n"
            )
        }
    }
}

/// Whose endpoint it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Party {
    /// Before the service.
    Service,
    /// Behind clients.
    Client,
    /// The client, for what it sends alone.
    Request,
    /// The client, for what it gets alone.
    Answer,
}

impl Party {
    fn sends(self) -> bool {
        self != Self::Answer
    }

    fn gets(self) -> bool {
        self != Self::Request
    }
}

/// The tables of an endpoint: those that its mechanism needs, each with what it is for.
fn tables(party: Party, plan: &Plan) -> String {
    let uses = plan.uses;
    let (signs, decrypts, encrypts, verifies) = match party {
        Party::Service => (
            uses.service_signs,
            uses.service_decrypts,
            uses.client_decrypts,
            uses.client_signs,
        ),
        _ => (
            uses.client_signs,
            uses.client_decrypts,
            uses.service_decrypts,
            uses.service_signs,
        ),
    };
    let own = match party {
        Party::Service => "service",
        _ => "client",
    };
    let (sent, got) = match party {
        Party::Service => ("answers", "requests"),
        _ => ("requests", "answers"),
    };
    // Which key messages are encrypted to, and what else a client's certificate takes.
    let reads = if plan.second_key().is_some() {
        "-reads"
    } else {
        ""
    };
    let kind = match plan.first_key() {
        KeyKind::Ec(_) => " --kind ec-p256",
        KeyKind::Ed25519 => " --kind ed25519",
        _ => "",
    };
    let mut lines = Vec::new();
    // The key that an assertion names signs, and no certificate says whose it is.
    let holds = uses.foreign.is_some_and(Foreign::holds_client_key);
    let signs = signs || (holds && party != Party::Service);
    let told = [
        (party.sends() && signs).then(|| format!("signs {sent}")),
        (party.gets() && decrypts).then(|| format!("decrypts {got}")),
    ];
    let [signs, decrypts] = &told;
    let own_key = format!("key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\"");
    let other_key =
        format!("key = \"{own}-reads.key.pem\", certificate = \"{own}-reads.cert.pem\"");
    match (signs, decrypts) {
        (None, None) => {}
        (Some(signs), Some(decrypts)) if !reads.is_empty() => lines.push(format!(
            "# The {own}'s keys, as the suite takes two: one {signs}, the other {decrypts}.\n\
             identity = {{ {own_key}, decryption = {{ {other_key} }} }}"
        )),
        (None, Some(decrypts)) if !reads.is_empty() => lines.push(format!(
            "# The {own}'s key: {decrypts}.\nidentity = {{ {other_key} }}"
        )),
        _ => {
            let uses: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
            lines.push(format!(
                "# The {own}'s key: {}.\nidentity = {{ {own_key} }}",
                uses.join(", ")
            ));
        }
    }
    match party {
        // Answers are encrypted to whoever signed the request.
        Party::Service if uses.answers_unknown => lines.push(
            "# Answers are encrypted to it. No request shows a certificate: whoever has service.cert.pem can call.\n\
             peer = { certificate = \"client.cert.pem\" }"
                .to_owned(),
        ),
        Party::Service if !reads.is_empty() => lines.push(
            "# Answers are encrypted to it. For several clients leave it out, and `decryption` at theirs: answers are then encrypted with the key\n\
             # that came with the request.\n\
             peer = { certificate = \"client-reads.cert.pem\" }"
                .to_owned(),
        ),
        Party::Client | Party::Request if encrypts || uses.answers_named => {
            let what = match (encrypts, uses.answers_named) {
                (true, false) => "Requests are encrypted to it.",
                (true, true) => "Requests are encrypted to it, and answers name it without showing it.",
                (false, _) => "Answers name it without showing it.",
            };
            lines.push(format!(
                "# {what}\npeer = {{ certificate = \"service{reads}.cert.pem\" }}"
            ));
        }
        _ => {}
    }
    if party.gets() && verifies {
        let who = match party {
            Party::Service => format!(
                "Who may sign requests: further clients need a certificate (soapstone keys new NAME{kind} --signed-by ca) and their subject here."
            ),
            _ => "Who may sign answers.".to_owned(),
        };
        lines.push(trust(party, &who, uses.requests_named));
    }
    if party.sends() && uses.users {
        let who = match party {
            Party::Service => {
                "Who may call: further users are further tables, each with a password of its own."
            }
            _ => "Who we are.",
        };
        lines.push(format!(
            "# {who}\nusers = [{{ name = \"{USER}\", password_file = \"{PASSWORD}\" }}]"
        ));
    }
    lines.push(security(party, plan));
    if let Some(foreign) = uses.foreign {
        lines.push(match party {
            Party::Service => foreign.of_service(),
            _ => foreign.of_client(uses.converses),
        });
    }
    lines.join("\n")
}

/// What operators have to know of encryption before signing.
const SHORT_CIPHER_TEXT: &str = "\
    # Short messages have the key of their cipher text signed, or are refused. Partners with CXF, Metro or WSS4J do not sign it:\n\
    # allow_short_cipher_text = true takes their messages. Those with Metro refuse ours as well, unless it is not signed:\n\
    # encryption = { sign_session_key = false }. Both are risks: docs/weak-algorithms.md, \"Short cipher text\".\n";

/// Whose signatures are accepted, and the certificates that requests may name.
fn trust(party: Party, who: &str, requests_named: bool) -> String {
    let (peer, named, pinned) = match party {
        Party::Service if requests_named => (
            "client",
            "# Requests name a certificate without showing it: `pinned` has those of all clients.\n",
            ", pinned = [\"client.cert.pem\"]",
        ),
        Party::Service => ("client", "", ""),
        _ => ("service", "", ""),
    };
    format!(
        "{named}# {who}\ntrust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"]{pinned} }}"
    )
}

/// What is done to messages.
fn security(party: Party, plan: &Plan) -> String {
    let (mechanism, suite) = match &plan.protection {
        Protection::Mechanism { mechanism, suite } => (*mechanism, suite),
        Protection::Policy { port } => {
            let wsdl = contract::WSDL;
            let port = port.as_ref().map_or(String::new(), |port| {
                format!(", policy_subject = {{ port = {} }}", quoted(port))
            });
            let suites = "# sha256_suites = \"sha256\" is for partners who read the ...Sha256 suites with SHA-256 signatures, as WCF does.";
            let anonymous = match party {
                Party::Service if plan.uses.anonymous => format!(
                    "\n# FILL IN: the policy lets nobody be known who begins a conversation, and every call is refused. Where anybody may call,\n\
                     # put this line in the place of the one above:\n\
                     # security = {{ policy = \"{wsdl}\"{port}, conversations = {{ anonymous = true }} }}"
                ),
                _ => String::new(),
            };
            let keys = match plan.uses.binds_keys {
                true => SHORT_CIPHER_TEXT,
                false => "",
            };
            return format!(
                "# What is done to messages, the same on both sides: docs/configure-from-a-wsdl.md.\n{suites}\n{keys}\
                 security = {{ policy = \"{wsdl}\"{port} }}{anonymous}"
            );
        }
    };
    if mechanism == Mechanism::Username {
        return match party {
            Party::Answer => {
                "# Under username nothing in an answer proves anything.\nsecurity = { mechanism = \"none\" }"
            }
            _ => {
                "# What a request must have, the same on both sides: docs/configuration.md, \"security\".\n\
                 security = { mechanism = \"username\" }"
            }
        }
        .to_owned();
    }
    let guide = if mechanism == Mechanism::SecureConversation {
        "docs/run-an-sts.md"
    } else {
        "docs/configuration.md, \"security\""
    };
    format!(
        "# What is done to messages, the same on both sides: {guide}.\nsecurity = {{ mechanism = \"{mechanism}\", suite = {} }}",
        quoted(suite)
    )
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Puts values in the places of their names; nothing, in that of a name without one.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) = rest
        .split_once("{{")
        .and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        text.push_str(before);
        let value = values.iter().find(|(known, _)| *known == name);
        text.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_stays_in_its_string() {
        assert_eq!(
            quoted("a\"\nb = \\ {{listen}}\u{7f}"),
            "\"a\\\"\\u000Ab = \\\\ {{listen}}\\u007F\""
        );
    }

    #[test]
    fn values_are_not_looked_through_for_names() {
        let values = [("a", "{{b}}"), ("b", "never")];
        assert_eq!(fill("x = {{a}}\n{{c}}\n", &values), "x = {{b}}\n\n");
    }
}
