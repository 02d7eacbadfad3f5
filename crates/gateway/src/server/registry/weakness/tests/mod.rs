//! What the comparison finds in policies as documents have them.

mod assured;
mod conversations;
mod messages;
mod published;

use super::super::described::policies;
use super::*;

const NAMESPACES: &str = "xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
     xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"";

const SIGNED: &str = "<s:SignedParts><s:Body/></s:SignedParts>";
const ENCRYPTED: &str = "<s:EncryptedParts><s:Body/></s:EncryptedParts>";

fn token(kind: &str, inner: &str) -> String {
    let always =
        "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient";
    format!("<s:{kind} s:IncludeToken=\"{always}\"><p:Policy>{inner}</p:Policy></s:{kind}>")
}

fn certificate() -> String {
    token("X509Token", "<s:WssX509V3Token10/>")
}

/// A document with this binding and what stands beside it.
fn compiled(binding: &str, suite: &str, tokens: &str, beside: &str) -> ExchangePolicy {
    let text = format!(
        "<p:Policy {NAMESPACES}><s:{binding}><p:Policy>{tokens}<s:AlgorithmSuite><p:Policy><s:{suite}/></p:Policy></s:AlgorithmSuite>\
         <s:IncludeTimestamp/></p:Policy></s:{binding}>{beside}</p:Policy>"
    );
    let found = policies(text.into_bytes());
    found.expect("it compiles").swap_remove(0)
}

fn by_certificates(suite: &str, beside: &str) -> ExchangePolicy {
    let token = |name: &str| {
        let inner = certificate().replace("AlwaysToRecipient", "Always");
        format!("<s:{name}><p:Policy>{inner}</p:Policy></s:{name}>")
    };
    let tokens = token("InitiatorToken") + &token("RecipientToken");
    compiled("AsymmetricBinding", suite, &tokens, beside)
}

fn policy(suite: &str, parts: &str) -> Policy {
    by_certificates(suite, parts).response
}

/// A policy that demands nothing.
fn nothing() -> ExchangePolicy {
    let found = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
    found.expect("it compiles").swap_remove(0)
}

/// Messages of a conversation of Basic256, which begins like this.
fn conversing(beginning: &str) -> ExchangePolicy {
    conversing_with(beginning, "")
}

/// The same, with tokens in the messages of the conversation.
fn conversing_with(beginning: &str, beside: &str) -> ExchangePolicy {
    let bootstrap =
        format!("<s:BootstrapPolicy><p:Policy>{beginning}</p:Policy></s:BootstrapPolicy>");
    let token = token("SecureConversationToken", &bootstrap);
    let tokens = format!("<s:ProtectionToken><p:Policy>{token}</p:Policy></s:ProtectionToken>");
    let beside = [SIGNED, ENCRYPTED, beside].concat();
    compiled("SymmetricBinding", "Basic256", &tokens, &beside)
}

/// The messages that begin it: under a session key, with tokens beside it.
fn beginning(suite: &str, tokens: &str) -> String {
    let certificate = certificate().replace("AlwaysToRecipient", "Never");
    format!(
        "<s:SymmetricBinding><p:Policy><s:ProtectionToken><p:Policy>{certificate}</p:Policy></s:ProtectionToken>\
         <s:AlgorithmSuite><p:Policy><s:{suite}/></p:Policy></s:AlgorithmSuite><s:IncludeTimestamp/></p:Policy>\
         </s:SymmetricBinding>{SIGNED}{ENCRYPTED}{tokens}"
    )
}

fn supporting(kind: &str, token: &str) -> String {
    format!("<s:{kind}><p:Policy>{token}</p:Policy></s:{kind}>")
}

/// An exchange that was agreed on, whose messages have this key.
fn under(protection: &str) -> ExchangePolicy {
    let parts = [SIGNED, ENCRYPTED].concat();
    let tokens = supporting("ProtectionToken", protection);
    compiled("SymmetricBinding", "Basic256", &tokens, &parts)
}
