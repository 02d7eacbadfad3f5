//! Messages as Apache CXF 4.2 and .NET write and read them.

use soapstone_crypto::base64;
use soapstone_trust::{
    ClientRules, ComputedKey, PendingIssue, Responses, SecurityToken, TrustVersion,
};
use soapstone_wss::{ContextOwner, ConversationVersion, SecurityContext};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};

use crate::support::{
    Host, WSC, WSSE, WST, WST_2005, WSU, after, alice, context, envelope, holder, now, user,
};

const SC_2005: &str = "http://schemas.xmlsoap.org/ws/2005/02/sc";

/// Local names of the elements in the one answer of a Body, in their order.
fn elements(answer: &[u8]) -> Vec<String> {
    let envelope = envelope(answer);
    let mut answer = envelope.body().first_child().unwrap();
    if answer.local() == "RequestSecurityTokenResponseCollection" {
        answer = answer.first_child().unwrap();
    }
    let names = answer.children().map(|child| child.local().to_owned());
    names.collect()
}

/// CXF wraps base64 at 76 characters with carriage returns, asks for a life by its clock, and sends
/// `wst:Renewing`.
#[test]
fn cxf_gets_a_context() {
    let secret = base64::encode(&[9; 64]);
    let wrapped = format!("{}&#13;\n{}", &secret[..76], &secret[76..]);
    let request = format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/Issue</wst:RequestType>\
         <wsp:AppliesTo xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\"><wsa:EndpointReference \
         xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>http://localhost:9001/books</wsa:Address></wsa:EndpointReference>\
         </wsp:AppliesTo><wst:Lifetime xmlns:wsu=\"{WSU}\"><wsu:Created>2026-11-20T12:00:01.250Z</wsu:Created>\
         <wsu:Expires>2026-11-20T12:05:01.250Z</wsu:Expires></wst:Lifetime><wst:TokenType>{WSC}/sct</wst:TokenType>\
         <wst:KeySize>256</wst:KeySize><wst:Entropy><wst:BinarySecret Type=\"{WST}/Nonce\">{wrapped}</wst:BinarySecret></wst:Entropy>\
         <wst:ComputedKeyAlgorithm>{WST}/CK/PSHA1</wst:ComputedKeyAlgorithm><wst:Renewing/></wst:RequestSecurityToken>"
    );
    let host = Host::default();
    let action = format!("{WST}/RST/SCT");
    let answer = host
        .answer(request.as_bytes(), Some(&action), &alice(), now())
        .unwrap();
    assert_eq!(answer.action, format!("{WST}/RSTR/SCT"));
    assert_eq!(
        elements(&answer.body),
        [
            "TokenType",
            "RequestedSecurityToken",
            "AppliesTo",
            "RequestedAttachedReference",
            "RequestedUnattachedReference",
            "RequestedProofToken",
            "Entropy",
            "Lifetime",
            "KeySize"
        ]
    );
    let context = host.contexts.borrow()[0].clone();
    assert_eq!(context.expires, after(300));

    // What CXF then does: P_SHA1 over both entropies, cut to `KeySize`.
    let read = Responses::read(envelope(&answer.body).body().first_child().unwrap()).unwrap();
    let response = read.into_vec().remove(0);
    let theirs = response.entropy.unwrap().open(None).unwrap();
    let key = ComputedKey::PSha1
        .compute(&[9; 64], theirs.expose(), 32)
        .unwrap();
    assert_eq!(key.expose(), context.secret.expose());
}

/// CXF renews with the whole token, without entropy and key size, and reads the new key from the
/// proof token.
#[test]
fn cxf_renews_a_context_without_entropy() {
    let theirs = context("urn:uuid:theirs");
    let request = format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/Renew</wst:RequestType><wst:Lifetime xmlns:wsu=\"{WSU}\">\
         <wsu:Created>2026-11-20T12:00:00.000Z</wsu:Created><wsu:Expires>2026-11-20T12:05:00.000Z</wsu:Expires></wst:Lifetime>\
         <wst:RenewTarget><wsc:SecurityContextToken xmlns:wsc=\"{WSC}\" xmlns:wsu=\"{WSU}\" wsu:Id=\"sctId-1\">\
         <wsc:Identifier>urn:uuid:theirs</wsc:Identifier></wsc:SecurityContextToken></wst:RenewTarget><wst:Renewing/></wst:RequestSecurityToken>"
    );
    let host = Host::default();
    let action = format!("{WST}/RST/SCT/Renew");
    let signed = holder(user("alice"), &theirs);
    let answer = host
        .answer(request.as_bytes(), Some(&action), &signed, now())
        .unwrap();
    let envelope = envelope(&answer.body);
    let response = Responses::read(envelope.body().first_child().unwrap())
        .unwrap()
        .into_vec()
        .remove(0);
    let Some(soapstone_trust::ProofToken::Key(key)) = response.proof else {
        panic!("a key");
    };
    let renewed = host.contexts.borrow()[0].clone();
    assert_eq!(key.open(None).unwrap().expose(), renewed.secret.expose());
    assert_eq!(renewed.secret.len(), theirs.secret.len());
    let Some(SecurityToken::Context { name, .. }) = response.token else {
        panic!("a token");
    };
    assert_eq!(name, renewed.name());
}

/// CXF and .NET cancel by the unattached reference, which tells the instance of a renewed context.
#[test]
fn cxf_cancels_a_renewed_context_by_reference() {
    let theirs = SecurityContext {
        instance: Some("_4f2d".to_owned()),
        ..context("urn:uuid:theirs")
    };
    let request = format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/Cancel</wst:RequestType><wst:CancelTarget>\
         <wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\"><wsse:Reference xmlns:wsc=\"{WSC}\" URI=\"urn:uuid:theirs\" ValueType=\"{WSC}/sct\" \
         wsc:Instance=\"_4f2d\"/></wsse:SecurityTokenReference></wst:CancelTarget></wst:RequestSecurityToken>"
    );
    let host = Host::default();
    host.contexts.borrow_mut().push(theirs.clone());
    let action = format!("{WST}/RST/SCT/Cancel");
    let signed = holder(ContextOwner::Anonymous, &theirs);
    let answer = host
        .answer(request.as_bytes(), Some(&action), &signed, now())
        .unwrap();
    assert_eq!(
        String::from_utf8(answer.body).unwrap(),
        format!(
            "<wst:RequestSecurityTokenResponseCollection xmlns:wst=\"{WST}\"><wst:RequestSecurityTokenResponse>\
             <wst:RequestedTokenCancelled></wst:RequestedTokenCancelled></wst:RequestSecurityTokenResponse>\
             </wst:RequestSecurityTokenResponseCollection>"
        )
    );
    assert!(host.contexts.borrow().is_empty());
}

/// The token in the header of the message itself, by its id.
#[test]
fn a_context_is_cancelled_by_the_id_of_its_token_in_the_message() {
    let theirs = context("urn:uuid:theirs");
    let request = format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/Cancel</wst:RequestType><wst:CancelTarget>\
         <wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\"><wsse:Reference URI=\"#token\"/></wsse:SecurityTokenReference></wst:CancelTarget>\
         </wst:RequestSecurityToken>"
    );
    let token = |identifier: &str| {
        format!(
            "<wsc:SecurityContextToken xmlns:wsc=\"{WSC}\" xmlns:wsu=\"{WSU}\" wsu:Id=\"token\"><wsc:Identifier>{identifier}</wsc:Identifier>\
             </wsc:SecurityContextToken>"
        )
    };
    let soap = soapstone_wss::SoapVersion::V11.namespace();
    let message = |identifier: &str| {
        let text = format!(
            "<s:Envelope xmlns:s=\"{soap}\"><s:Header>{}</s:Header><s:Body>{request}</s:Body></s:Envelope>",
            token(identifier)
        );
        let limits = soapstone_xml::Limits::default();
        soapstone_wss::Envelope::parse(text.into_bytes(), &limits, &mut Buffers::default()).unwrap()
    };
    let action = format!("{WST}/RST/SCT/Cancel");
    let signed = holder(ContextOwner::Anonymous, &theirs);
    let host = Host::default();
    host.answer_to(&message("urn:uuid:theirs"), &action, &signed)
        .unwrap();
    // The id leads to a name and to nothing more.
    let refused = host.answer_to(&message("urn:uuid:other"), &action, &signed);
    assert!(matches!(
        refused.unwrap_err().refusal,
        soapstone_trust::Refusal::ContextNotProven { .. }
    ));
}

/// .NET: February 2005, `Context`, an id on the secret, no algorithm.
#[test]
fn dotnet_gets_a_context_of_february_2005() {
    let secret = base64::encode(&[9; 32]);
    let request = format!(
        "<t:RequestSecurityToken Context=\"uuid-1\" xmlns:t=\"{WST_2005}\"><t:TokenType>{SC_2005}/sct</t:TokenType>\
         <t:RequestType>{WST_2005}/Issue</t:RequestType><t:Entropy><t:BinarySecret Type=\"{WST_2005}/Nonce\" u:Id=\"uuid-2\" xmlns:u=\"{WSU}\">\
         {secret}</t:BinarySecret></t:Entropy><t:KeySize>256</t:KeySize></t:RequestSecurityToken>"
    );
    let host = Host::default();
    let action = format!("{WST_2005}/RST/SCT");
    let answer = host
        .answer(request.as_bytes(), Some(&action), &alice(), now())
        .unwrap();
    assert_eq!(answer.version, TrustVersion::February2005);
    assert_eq!(answer.action, format!("{WST_2005}/RSTR/SCT"));
    let body = envelope(&answer.body);
    let response = body.body().first_child().unwrap();
    assert_eq!(response.local(), "RequestSecurityTokenResponse");
    assert_eq!(response.attribute("", "Context").unwrap(), "uuid-1");
    let version = host.contexts.borrow()[0].version;
    assert_eq!(version, ConversationVersion::February2005);
}

/// An answer in the form of [MS-LWSSP] 4.9: default namespaces, seven digits of a second.
#[test]
fn an_answer_of_dotnet_is_accepted() {
    let mut rules = ClientRules::default();
    rules.version = TrustVersion::February2005;
    let (pending, _) = PendingIssue::issue(&rules, None, now());
    let (wss, sct) = (WSSE, format!("{SC_2005}/sct"));
    let secret = base64::encode(&[9; 32]);
    let reference = |uri: &str| {
        format!(
            "<SecurityTokenReference xmlns=\"{wss}\"><Reference URI=\"{uri}\" ValueType=\"{sct}\"/></SecurityTokenReference>"
        )
    };
    let answer = format!(
        "<RequestSecurityTokenResponse Context=\"urn:uuid:c\" xmlns=\"{WST_2005}\"><TokenType>{sct}</TokenType><RequestedSecurityToken>\
         <SecurityContextToken a:Id=\"_sct\" xmlns:a=\"{WSU}\" xmlns=\"{SC_2005}\"><Identifier>urn:uuid:i</Identifier></SecurityContextToken>\
         </RequestedSecurityToken><RequestedAttachedReference>{}</RequestedAttachedReference><RequestedUnattachedReference>{}\
         </RequestedUnattachedReference><RequestedProofToken><ComputedKey>{WST_2005}/CK/PSHA1</ComputedKey></RequestedProofToken><Entropy>\
         <BinarySecret Type=\"{WST_2005}/Nonce\">{secret}</BinarySecret></Entropy><Lifetime>\
         <Created xmlns=\"{WSU}\">2026-11-20T12:00:00.3184132Z</Created><Expires xmlns=\"{WSU}\">2026-11-20T22:00:00.3184132Z</Expires></Lifetime>\
         <KeySize>256</KeySize></RequestSecurityTokenResponse>",
        reference("#_sct"),
        reference("urn:uuid:i"),
    );
    let body = envelope(answer.as_bytes());
    let context = pending.accept(body.body(), user("service"), now()).unwrap();
    assert_eq!(context.identifier, "urn:uuid:i");
    assert_eq!(context.secret.len(), 32);
    assert_eq!(context.expires.to_string(), "2026-11-20T22:00:00.3184132Z");
}

/// What CXF's own service answers: no token type, references without value type, no key size.
#[test]
fn an_answer_of_cxf_is_accepted() {
    let (pending, _) = PendingIssue::issue(&ClientRules::default(), None, now());
    let secret = base64::encode(&[9; 32]);
    let reference = |uri: &str| {
        format!(
            "<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\"><wsse:Reference URI=\"{uri}\"></wsse:Reference></wsse:SecurityTokenReference>"
        )
    };
    let answer = format!(
        "<ns:RequestSecurityTokenResponseCollection xmlns:ns=\"{WST}\"><ns:RequestSecurityTokenResponse><ns:RequestedSecurityToken>\
         <wsc:SecurityContextToken xmlns:wsc=\"{WSC}\" xmlns:wsu=\"{WSU}\" wsu:Id=\"sctId-1\"><wsc:Identifier>uuid:1</wsc:Identifier>\
         </wsc:SecurityContextToken></ns:RequestedSecurityToken><ns:RequestedAttachedReference>{}</ns:RequestedAttachedReference>\
         <ns:RequestedUnattachedReference>{}</ns:RequestedUnattachedReference><ns:Lifetime xmlns:wsu=\"{WSU}\">\
         <wsu:Created>2026-11-20T12:00:00.000Z</wsu:Created><wsu:Expires>2026-11-20T12:30:00.000Z</wsu:Expires></ns:Lifetime>\
         <ns:RequestedProofToken><ns:ComputedKey>{WST}/CK/PSHA1</ns:ComputedKey></ns:RequestedProofToken><ns:Entropy>\
         <ns:BinarySecret Type=\"{WST}/Nonce\">{secret}</ns:BinarySecret></ns:Entropy></ns:RequestSecurityTokenResponse>\
         </ns:RequestSecurityTokenResponseCollection>",
        reference("#sctId-1"),
        reference("uuid:1"),
    );
    let body = envelope(answer.as_bytes());
    let context = pending.accept(body.body(), user("service"), now()).unwrap();
    assert_eq!(context.identifier, "uuid:1");
    assert_eq!(context.expires, after(1800));
}

/// Generated XML is canonical when born: it is digested as it is written.
#[test]
fn what_is_written_is_its_own_canonical_form() {
    let host = Host::default();
    let mut rules = ClientRules::default();
    rules.lifetime = Some(std::time::Duration::from_secs(60));
    let scope = soapstone_trust::AppliesTo::new(
        "https://example.org/?a=1&b=<2>",
        soapstone_trust::addressing::AddressingVersion::August2004,
    );
    let (_, request) = PendingIssue::issue(&rules, Some(scope), now());
    let answer = host
        .answer(&request.body, Some(&request.action), &alice(), now())
        .unwrap();
    let theirs = SecurityContext {
        instance: Some("urn:uuid:two".to_owned()),
        ..context("urn:uuid:theirs")
    };
    let (_, renew) = PendingIssue::renew(&rules, &theirs, now());
    let signed = holder(user("alice"), &theirs);
    let renewed = host
        .answer(&renew.body, Some(&renew.action), &signed, now())
        .unwrap();
    for text in [request.body, answer.body, renew.body, renewed.body] {
        let options = ParseOptions::default();
        let document = Document::parse(text.clone(), &options, &mut Buffers::new()).unwrap();
        let mut canonical = Vec::new();
        canonicalize(
            &document,
            Apex::Document,
            &C14nOptions::new(Canonicalization::Exclusive),
            &mut C14nScratch::default(),
            &mut canonical,
        )
        .unwrap();
        let (text, canonical) = (String::from_utf8(text), String::from_utf8(canonical));
        assert_eq!(text.unwrap(), canonical.unwrap());
    }
}
