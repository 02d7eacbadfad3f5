//! Policies of messages as Rampart's samples made them for Rodrigues, Estrella and Branco: the
//! receiver's key named by the thumbprint of its certificate, and a Timestamp only where messages
//! are signed.
//!
//! The paper's section 4.1 says which certificates travel. Where messages are signed only, request
//! and answer have their signer's certificate. Where they are encrypted, the client has the
//! service's certificate already, so that an answer names it by its thumbprint, also where it is
//! signed. The rule kept here: what the paper does not say is as the presets have it.

use soapstone::wss::Mechanism;

use super::Route;

/// The name of the policy's file.
pub(super) fn file(route: &Route) -> String {
    format!("{}-{}.policy.xml", route.mechanism, route.suite)
}

/// The policy, for both sides.
pub(super) fn policy(route: &Route) -> String {
    let mechanism = route.mechanism;
    let (signs, encrypts) = (mechanism.signs(), mechanism.encrypts());
    let initiator = token(if signs { "AlwaysToRecipient" } else { "Never" });
    let recipient = token(if encrypts {
        "Never"
    } else {
        "AlwaysToInitiator"
    });
    let part = |asked: bool, assertion: &str| match asked {
        true => format!("<sp:{assertion}><sp:Body/></sp:{assertion}>"),
        false => String::new(),
    };
    let timestamp = if signs { "<sp:IncludeTimestamp/>" } else { "" };
    let order = match mechanism {
        Mechanism::EncryptSign => "<sp:EncryptBeforeSigning/>",
        _ => "",
    };
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\"><sp:AsymmetricBinding><wsp:Policy>\
         <sp:InitiatorToken><wsp:Policy>{initiator}</wsp:Policy></sp:InitiatorToken>\
         <sp:RecipientToken><wsp:Policy>{recipient}</wsp:Policy></sp:RecipientToken>\
         <sp:AlgorithmSuite><wsp:Policy><sp:{}/></wsp:Policy></sp:AlgorithmSuite>{timestamp}{order}\
         </wsp:Policy></sp:AsymmetricBinding>{}{}</wsp:Policy>",
        route.suite,
        part(signs, "SignedParts"),
        part(encrypts, "EncryptedParts")
    )
}

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

/// A certificate that is in messages as `inclusion` says, and is named by its thumbprint elsewhere.
fn token(inclusion: &str) -> String {
    let reference = match inclusion {
        "Never" => "<sp:RequireThumbprintReference/>",
        _ => "",
    };
    format!(
        "<sp:X509Token sp:IncludeToken=\"{SP}/IncludeToken/{inclusion}\"><wsp:Policy>{reference}<sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use soapstone_lab::study::{Form, Proof};
    use soapstone_services::{DatabaseLocation, Device, Service, SoapVersion, requests, responses};

    use super::*;
    use crate::runtime;
    use crate::testbed::{
        Client, Instance, Layout, Network, Place, Scratch, Target, canonical_body,
    };

    fn route(mechanism: Mechanism) -> Route {
        Route {
            prefix: format!("/{mechanism}"),
            target: Target::Sample {
                instance: 0,
                service: Service::Sum,
            },
            mechanism,
            proof: Proof::Usual,
            suite: "TripleDesRsa15".to_owned(),
            rsa_bits: 1_024,
            form: Form::Thumbprints,
            tls: false,
            warm_up: None,
        }
    }

    /// Section 4.1 of the paper: which messages have a Timestamp, a certificate, a thumbprint.
    #[test]
    fn messages_have_timestamps_and_certificates_where_the_paper_has_them() {
        let layout = Layout {
            name: "thumbprints",
            instances: vec![Instance {
                name: "services".to_owned(),
                database: DatabaseLocation::default(),
                device: Device {
                    delay: Duration::ZERO,
                    ..Device::default()
                },
            }],
            routes: [Mechanism::Encrypt, Mechanism::Sign, Mechanism::SignEncrypt]
                .map(route)
                .into(),
            largest_message: 8,
        };
        let scratch = Scratch::make("thumbprints-test").expect("a folder");
        let runtime = runtime::multi_threaded().expect("a runtime");
        let told = runtime.block_on(async {
            let network = Network::start(&scratch, &layout, Place::Here).await;
            let network = network.expect("services and gateways");
            let client = Client::new();
            let soap = SoapVersion::Soap11;
            let message = Bytes::from(requests::sum(soap, 2, 3));
            let right = canonical_body(&responses::sum(soap, 2, 3), "Sum").expect("a body");
            let mut told = Vec::new();
            for route in &layout.routes {
                let url = format!("http://{}/tapped{}", network.outbound(), route.path());
                let soap = (soap, Service::Sum.soap_action());
                let answer = client.post(&url, soap, message.clone()).await;
                let answer =
                    answer.unwrap_or_else(|failure| panic!("{}: {failure}", route.mechanism));
                assert!(canonical_body(&answer, "Sum").expect("a body") == right);
                let seen = network.tapped();
                let parts = [&seen.request[..], &seen.response[..]].map(|message| {
                    let text = String::from_utf8_lossy(message);
                    let has = |wanted: &str| text.contains(wanted);
                    (
                        has("Timestamp>"),
                        has("BinarySecurityToken"),
                        has("#ThumbprintSHA1"),
                    )
                });
                told.push((route.mechanism, parts));
            }
            network.shutdown().await;
            told
        });
        // A Timestamp, a certificate, a thumbprint: of request and answer.
        assert_eq!(
            told,
            [
                (Mechanism::Encrypt, [(false, false, true); 2]),
                (Mechanism::Sign, [(true, true, false); 2]),
                (
                    Mechanism::SignEncrypt,
                    [(true, true, true), (true, false, true)]
                ),
            ]
        );
    }
}
