//! A bank whose operations demand different things, and a gateway before it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Running;

use crate::support::{Answer, Backend, Folder, Said, Seen, post, send};

pub(super) const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
pub(super) const WSA: &str = "http://www.w3.org/2005/08/addressing";

pub(super) const SIGNED: &str = "<sp:SignedParts><sp:Body/></sp:SignedParts>";
pub(super) const SECRET: &str =
    "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
/// The Body and the header of a session.
pub(super) const WITH_SESSION: &str =
    "<sp:SignedParts><sp:Body/><sp:Header Name='Session' Namespace='urn:bank'/></sp:SignedParts>";
pub(super) const SECRET_WITH_ACTION: &str = "<sp:SignedParts><sp:Body/><sp:Header Name='Action' Namespace='http://www.w3.org/2005/08/addressing'/></sp:SignedParts>\
     <sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";

/// Refusals are answered at multiples of this time.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Certificates on both sides, and a Timestamp.
pub(super) fn asymmetric(suite: &str) -> String {
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken='{SP}/IncludeToken/{inclusion}'><wsp:Policy><sp:WssX509V3Token10/>\
             </wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
        )
    };
    let (initiator, recipient) = (
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never"),
    );
    format!(
        "<sp:AsymmetricBinding><wsp:Policy>{initiator}{recipient}<sp:AlgorithmSuite><wsp:Policy>{suite}</wsp:Policy></sp:AlgorithmSuite>\
         <sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding>"
    )
}

pub(super) const CBC: &str = "<sp:Basic256/>";
pub(super) const GCM: &str =
    "<c:Basic256GCM xmlns:c='http://cxf.apache.org/custom/security-policy'/>";

/// A bank with these operations, each with its policy. The binding has `around`.
pub(super) fn bank_with(around: &str, operations: &[(&str, String)]) -> String {
    let (mut messages, mut abstracts, mut bounds) = (String::new(), String::new(), String::new());
    for (name, policy) in operations {
        messages.push_str(&format!(
            "<message name='{name}'><part name='p' element='t:{name}'/></message>\
             <message name='{name}Response'><part name='p' element='t:{name}Response'/></message>"
        ));
        abstracts.push_str(&format!(
            "<operation name='{name}'><input message='t:{name}'/><output message='t:{name}Response'/></operation>"
        ));
        let policy = if policy.is_empty() {
            String::new()
        } else {
            format!("<wsp:Policy>{policy}</wsp:Policy>")
        };
        bounds.push_str(&format!(
            "<operation name='{name}'>{policy}<soap:operation soapAction='urn:bank:{name}'/>\
             <input><soap:body use='literal'/></input><output><soap:body use='literal'/></output></operation>"
        ));
    }
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:bank' targetNamespace='urn:bank'
           xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='{SP}' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>{messages}
          <portType name='Bank'>{abstracts}</portType>
          <binding name='B' type='t:Bank'>{around}<soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>{bounds}</binding>
          <service name='S'><port name='P' binding='t:B'><soap:address location='http://bank/'/></port></service></definitions>"
    )
}

/// `Pay` and `Transfer` are signed and encrypted, the second one with its `wsa:Action`; `Ask` is
/// signed with its session; `Hello` is as it is.
pub(super) fn bank(suite: &str) -> String {
    let binding = asymmetric(suite);
    bank_with(
        "",
        &[
            ("Pay", format!("{binding}{SECRET}")),
            ("Transfer", format!("{binding}{SECRET_WITH_ACTION}")),
            ("Ask", format!("{binding}{WITH_SESSION}")),
            ("Hello", String::new()),
        ],
    )
}

pub(super) fn tables(us: &str, peer: &str, policy: &Path, more: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\npeer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ policy = \"{}\", policy_may_be_empty = true{more} }}\n",
        policy.display()
    )
}

pub(super) fn route(side: &str, backend: &str, tables: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/bank\"\nbackend = \"{backend}/bank\"\n[routes.{side}]\n{tables}"
    )
}

pub(super) fn envelope_with(header: &str, body: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>"
    )
}

pub(super) fn element(operation: &str) -> String {
    format!("<b:{operation} xmlns:b=\"urn:bank\">5</b:{operation}>")
}

pub(super) fn envelope(operation: &str) -> String {
    let session = "<b:Session xmlns:b=\"urn:bank\">7</b:Session>";
    let action = format!("<a:Action xmlns:a=\"{WSA}\">urn:bank:{operation}</a:Action>");
    let header = match operation {
        "Ask" => session.to_owned(),
        "Transfer" => action,
        _ => String::new(),
    };
    envelope_with(&header, &element(operation))
}

/// A request with these `SOAPAction` fields.
pub(super) fn request(actions: &[&str], body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let mut request = post("/bank", body);
    request.headers_mut().remove("soapaction");
    for action in actions {
        let value = format!("\"{action}\"").parse().expect("a value");
        request.headers_mut().append("soapaction", value);
    }
    request
}

/// Answers `Pay` with `PayResponse`, and so on; or always as one operation would.
pub(super) async fn a_bank(always: Option<&'static str>) -> Backend {
    Backend::answering(move |seen: &Seen| {
        let body = String::from_utf8_lossy(&seen.body);
        let asked = ["Pay", "Transfer", "Ask", "Hello"]
            .into_iter()
            .find(|name| body.contains(&format!(":{name} ")));
        let answer = format!("{}Response", always.or(asked).unwrap_or("Nothing"));
        let mut response =
            Response::new(Full::new(Bytes::from(envelope_with("", &element(&answer)))));
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("text/xml"));
        response
    })
    .await
}

/// A folder with a policy, a backend, and a gateway before it.
pub(super) struct Site {
    pub(super) folder: Folder,
    pub(super) policy: PathBuf,
    pub(super) backend: Backend,
    pub(super) service: Running,
}

impl Site {
    pub(super) async fn new(description: &str, backend: Backend) -> Self {
        let folder = Folder::with_keys();
        let policy = folder.write("bank.wsdl", description);
        let to = format!("http://{}", backend.address);
        let side = tables("server", "client", &policy, "");
        let service = folder.gateway(&route("inbound", &to, &side)).await;
        Self {
            folder,
            policy,
            backend,
            service,
        }
    }

    pub(super) async fn client(&self) -> Running {
        let to = format!("http://{}", self.service.address());
        let side = tables("client", "server", &self.policy, "");
        self.folder.gateway(&route("outbound", &to, &side)).await
    }

    /// A message that the client secured as if it were of one operation.
    pub(super) fn secured_as(&self, operation: &str, plain: &str) -> String {
        let more = format!(", policy_subject = {{ operation = \"{operation}\" }}");
        let side = tables("client", "server", &self.policy, &more);
        let secured = self.folder.secured(&side, plain);
        String::from_utf8(secured).expect("it is UTF-8")
    }

    pub(super) async fn send(&self, actions: &[&str], message: &str) -> Answer {
        send(self.service.address(), request(actions, message.to_owned())).await
    }

    /// The message is refused for this reason with this code, and the backend has not seen it.
    pub(super) async fn refuses(
        &mut self,
        actions: &[&str],
        message: &str,
        name: &str,
        code: &str,
    ) {
        self.tells(actions, message, name, code, name).await;
    }

    /// The message is refused after something of it was deciphered: the log alone has this cause,
    /// and peer and metrics are told what they are told of cipher text that cannot be
    /// deciphered.
    pub(super) async fn hides(&mut self, actions: &[&str], message: &str, cause: &str) {
        let (name, code) = ("decryption-failed", "wsse:FailedCheck");
        self.tells(actions, message, name, code, cause).await;
    }

    async fn tells(
        &mut self,
        actions: &[&str],
        message: &str,
        name: &str,
        code: &str,
        cause: &str,
    ) {
        let line = format!(
            "soapstone_refusals_total{{route=\"/bank\",direction=\"inbound\",mechanism=\"by-operation\",reason=\"{name}\"}}"
        );
        let before = count(&self.service, &line).await;
        let (said, listening) = Said::listen();
        let asked = Instant::now();
        let answer = self.send(actions, message).await;
        drop(listening);
        // Whatever refused it, and before or after the cryptography.
        assert!(asked.elapsed() >= TICK, "{:?}", asked.elapsed());
        assert_eq!(
            answer.status,
            StatusCode::INTERNAL_SERVER_ERROR,
            "{actions:?} {}",
            answer.body
        );
        let fault = format!(">{code}</faultcode>");
        assert!(answer.body.contains(&fault), "{actions:?} {}", answer.body);
        assert_eq!(
            count(&self.service, &line).await,
            before + 1,
            "{actions:?} {}",
            metrics(&self.service).await
        );
        assert_eq!(said.caused(cause), 1, "{actions:?} {cause}: {said}");
        assert!(self.backend.seen.try_recv().is_err());
    }
}

pub(super) async fn metrics(gateway: &Running) -> String {
    gateway.metrics()
}

pub(super) async fn count(gateway: &Running, line: &str) -> u64 {
    let metrics = metrics(gateway).await;
    let found = metrics.lines().find_map(|found| found.strip_prefix(line));
    found.map_or(0, |value| value.trim().parse().expect("a number"))
}
