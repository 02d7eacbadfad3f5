//! An assertion as it stands in a message, and the requests for one.
//!
//! The rule kept here: each fact about an assertion is read in the message that carries it.

use jiff::Timestamp;
use soapstone::crypto::{Certificate, base64};
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, ParseOptions,
    canonicalize,
};

use super::cast::{ACTOR, ROLE};
use crate::failure::Failure;

const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
/// What the names of confirmation methods begin with.
const METHOD: &str = "urn:oasis:names:tc:SAML:2.0:cm:";

/// An assertion.
pub(super) struct Token {
    /// The element, with every namespace that is in scope.
    pub(super) written: Vec<u8>,
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) audience: String,
    /// How its sender is confirmed.
    pub(super) confirmation: String,
    /// The subject of the certificate whose key its sender holds.
    pub(super) holder: Option<String>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) role: Option<String>,
    /// Who acts for the subject.
    pub(super) actor: Option<String>,
}

impl Token {
    /// The assertion of a message.
    ///
    /// # Errors
    /// There is none, or it lacks something.
    pub(super) fn of(message: &[u8]) -> Result<Self, Failure> {
        let options = ParseOptions::default();
        let document = Document::parse(message.to_vec(), &options, &mut Buffers::default());
        let document = document.map_err(Failure::new)?;
        let mut elements = document.root().descendants();
        let assertion = elements.find(|it| it.is(SAML, "Assertion"));
        let assertion = assertion.ok_or_else(|| Failure::new("a message has no assertion"))?;
        Self::read(assertion)
    }

    fn read(assertion: Element<'_>) -> Result<Self, Failure> {
        let mut written = Vec::new();
        canonicalize(
            assertion.document(),
            Apex::Element(assertion.id()),
            &C14nOptions::new(Canonicalization::Inclusive10),
            &mut C14nScratch::default(),
            &mut written,
        )
        .map_err(Failure::new)?;
        let one = |namespace: &str, name: &'static str| {
            let mut elements = assertion.descendants();
            let found = elements.find(|it| it.is(namespace, name));
            found.ok_or_else(|| lacks(name))
        };
        let text = |name| one(SAML, name).map(|it: Element<'_>| it.text().into_owned());
        let conditions = one(SAML, "Conditions")?;
        let moment = |name| said(conditions, name)?.parse().map_err(Failure::new);
        let attribute = |name: &str| {
            let mut all = assertion.descendants();
            let attribute = all.find(|it| {
                it.is(SAML, "Attribute") && it.attribute("", "Name").as_deref() == Some(name)
            })?;
            let values = attribute.children().map(|it| it.text().into_owned());
            Some(values.collect::<Vec<_>>().join(", "))
        };
        let method = said(one(SAML, "SubjectConfirmation")?, "Method")?;
        let mut held = one(SAML, "SubjectConfirmation")?.descendants();
        let held = held.find(|it| it.is(DS, "X509Certificate"));
        Ok(Self {
            written,
            id: said(assertion, "ID")?,
            issuer: text("Issuer")?,
            subject: text("NameID")?,
            audience: text("Audience")?,
            confirmation: method.strip_prefix(METHOD).unwrap_or(&method).to_owned(),
            holder: held.map(subject_of).transpose()?,
            from: moment("NotBefore")?,
            to: moment("NotOnOrAfter")?,
            role: attribute(ROLE),
            actor: attribute(ACTOR),
        })
    }

    /// What it says, by names.
    pub(super) fn said(&self) -> Vec<(&'static str, String)> {
        let confirmed = match &self.holder {
            Some(holder) => format!("{}, the key of {holder}", self.confirmation),
            None => self.confirmation.clone(),
        };
        let mut said = vec![
            ("issuer", self.issuer.clone()),
            ("subject", self.subject.clone()),
            ("audience", self.audience.clone()),
            ("confirmed", confirmed),
            (
                "holds",
                format!("{} s, from {} to {}", self.life(), self.from, self.to),
            ),
        ];
        said.extend(self.role.clone().map(|role| ("role", role)));
        said.extend(self.actor.clone().map(|actor| ("actor", actor)));
        said
    }

    /// How long it holds, seconds.
    pub(super) fn life(&self) -> i64 {
        self.to.as_second() - self.from.as_second()
    }
}

fn lacks(name: &str) -> Failure {
    Failure::new(format_args!("an assertion lacks `{name}`"))
}

fn said(element: Element<'_>, name: &str) -> Result<String, Failure> {
    let said = element.attribute("", name).ok_or_else(|| lacks(name))?;
    Ok(said.into_owned())
}

/// The subject of a certificate in an element.
fn subject_of(element: Element<'_>) -> Result<String, Failure> {
    let der = base64::decode_xml_to_vec(element.text().as_bytes()).map_err(Failure::new)?;
    let certificate = Certificate::from_der(&der).map_err(Failure::new)?;
    Ok(certificate.subject().to_owned())
}

/// A request to a token service.
fn request(operation: &str, parameters: &str) -> String {
    format!(
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>\
         <wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/{operation}</wst:RequestType>{parameters}\
         </wst:RequestSecurityToken></soap:Body></soap:Envelope>"
    )
}

/// The request for a token for a service, with the key that signs the request.
pub(super) fn issue(audience: &str, parameters: &str) -> String {
    request(
        "Issue",
        &format!(
            "<wsp:AppliesTo xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\">\
             <wsa:EndpointReference xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>{audience}</wsa:Address>\
             </wsa:EndpointReference></wsp:AppliesTo><wst:KeyType>{WST}/PublicKey</wst:KeyType>{parameters}"
        ),
    )
}

/// The parameter that asks for a life of so many seconds.
pub(super) fn living(from: Timestamp, seconds: u32) -> String {
    let to = from + std::time::Duration::from_secs(seconds.into());
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    format!(
        "<wst:Lifetime xmlns:wsu=\"{wsu}\"><wsu:Created>{from}</wsu:Created><wsu:Expires>{to}</wsu:Expires></wst:Lifetime>"
    )
}

/// The parameter that asks to act for the subject of a token.
pub(super) fn acting_as(token: &Token) -> String {
    let wst14 = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";
    let token = String::from_utf8_lossy(&token.written);
    format!("<wst14:ActAs xmlns:wst14=\"{wst14}\">{token}</wst14:ActAs>")
}

/// The request to renew a token.
pub(super) fn renew(token: &Token) -> String {
    let token = String::from_utf8_lossy(&token.written);
    request(
        "Renew",
        &format!("<wst:RenewTarget>{token}</wst:RenewTarget>"),
    )
}
