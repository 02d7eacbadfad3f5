//! The policies that providers register, beside those that were agreed on with them.
//!
//! An entry of the registry refers to a policy. It is read where the provider serves it, and must
//! demand and promise what the policy of the file does.
//!
//! The rule kept here: an owner chooses the reference. Only the origin of the access point is
//! asked, to which requests go anyway. What cannot be read is not judged.

use std::sync::Arc;
use std::time::Duration;

use soapstone::policy::{
    CompileOptions, ExchangePolicies, ExchangePolicy, PolicyDocument, PolicyLimits, Selection,
    SignatureReading,
};
use soapstone::wss::Policy;
use soapstone_registry::Provider;

use super::client::RegistryClient;
use super::discovery::providers;
use crate::config::source::{RegistrySource, SourceSpec};
use crate::route::balancer::Balancer;
use crate::route::serving::Serving;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::server::state::State;
use crate::wire::fetch::{address, fetch};

/// Policies are read once in so many periods: a minute, by default.
const PERIODS: u32 = 30;

/// How long a document may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Bytes of the largest document.
const LARGEST: u64 = 1 << 20;

/// Compares for as long as the gateway serves.
pub(in crate::server) async fn compare(state: &State, client: &Arc<RegistryClient>) {
    let mut ticks = tokio::time::interval(client.period.saturating_mul(PERIODS));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Providers are known some moments after the start.
    tokio::time::sleep(client.period).await;
    loop {
        ticks.tick().await;
        let serving = state.current.serving();
        for source in sources(&serving) {
            let Ok(found) = providers(client, &source).await else {
                // Another task tells of a registry that is away.
                continue;
            };
            for provider in &found {
                look(&serving, &source, provider).await;
            }
        }
    }
}

/// Where backends come from whose policies an agreement is about.
fn sources(serving: &Serving) -> Vec<RegistrySource> {
    let Some(agreements) = &serving.agreements else {
        return Vec::new();
    };
    let about = |name: &str| agreements.are_about_descriptions(name);
    let routes = serving.routes.iter().filter(|route| about(&route.name));
    let balancers = routes.filter_map(|route| route.balancer.as_ref());
    let mut sources: Vec<RegistrySource> = Vec::new();
    for source in balancers.filter_map(|balancer| balancer.source.as_ref()) {
        if let SourceSpec::Registry(source) = source
            && !sources.contains(source)
        {
            sources.push(source.clone());
        }
    }
    sources
}

/// Reads the policy of a provider, and tells the agreements about it where it is too weak.
async fn look(serving: &Serving, source: &RegistrySource, provider: &Provider) {
    let Some(reference) = &provider.policy else {
        return;
    };
    let described = match read(reference, &provider.access_point).await {
        Ok(described) => described,
        Err(why) => {
            let provider = &provider.access_point;
            tracing::debug!(provider, why, "the policy of a provider is not to be had");
            return;
        }
    };
    for route in serving.routes.iter() {
        let is_of = |it: &&Arc<Balancer>| matches!(&it.source, Some(SourceSpec::Registry(one)) if one == source);
        let Some(balancer) = route.balancer.as_ref().filter(is_of) else {
            continue;
        };
        let Some((backend, member)) =
            balancer.member_of(&provider.access_point, &provider.owner.subject)
        else {
            continue;
        };
        let signs = |one: &ExchangePolicy| one.response.signature().is_some();
        member.registered_signatures(described.iter().all(signs));
        let endpoint = member.upstream.endpoint.as_deref();
        let weaker = endpoint.and_then(|endpoint| weakness(endpoint, &described));
        if let (Some(why), Some(agreements)) = (weaker, &serving.agreements) {
            let route = &route.name;
            tracing::warn!(route, backend, why, "a provider serves a weaker policy");
            agreements.described(route, backend, &why);
        }
    }
}

/// The policies of the document that a reference names.
async fn read(reference: &str, access_point: &str) -> Result<Vec<ExchangePolicy>, String> {
    let uri = address(reference).map_err(|error| error.to_string())?;
    let own = address(access_point).map_err(|error| error.to_string())?;
    let is_own = uri.scheme() == own.scheme() && uri.authority() == own.authority();
    if !is_own {
        return Err("the reference leads away from the access point".to_owned());
    }
    let read = fetch(&uri, None, PATIENCE, LARGEST).await;
    policies(read.map_err(|error| error.to_string())?)
}

fn policies(document: Vec<u8>) -> Result<Vec<ExchangePolicy>, String> {
    let options = CompileOptions {
        // Nobody is weaker for the way in which names of suites are read.
        signatures: SignatureReading::Sha256,
        ..CompileOptions::default()
    };
    let document = PolicyDocument::parse(document, &PolicyLimits::default());
    let document = document.map_err(|error| error.to_string())?;
    let found = document.agreements(&Selection::default(), &options);
    match found.map_err(|error| error.to_string())? {
        ExchangePolicies::One(exchange) => Ok(vec![*exchange]),
        ExchangePolicies::ByOperation(table) => Ok(table.agreements),
    }
}

/// In what some of these policies are weaker than all of the endpoint's: that of requests beside
/// that of requests, and answers beside answers.
fn weakness(endpoint: &OutboundEndpoint, described: &[ExchangePolicy]) -> Option<String> {
    let requests: Vec<&Policy> = endpoint.endpoint.outbound().map(|it| it.policy()).collect();
    let answers: Vec<&Policy> = endpoint.endpoint.inbound().map(|it| it.policy()).collect();
    described.iter().find_map(|one| {
        let of_requests = weaker_than_all(&one.request, &requests);
        let of_answers = || weaker_than_all(&one.response, &answers);
        let of_requests = of_requests.map(|why| format!("requests: {why}"));
        of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
    })
}

fn weaker_than_all(described: &Policy, agreed: &[&Policy]) -> Option<String> {
    let mut why = None;
    for one in agreed {
        why = Some(weaker(described, one)?);
    }
    why
}

/// In what a policy is weaker than the one that was agreed on.
fn weaker(described: &Policy, agreed: &Policy) -> Option<String> {
    if let Some(agreed_signature) = agreed.signature() {
        let Some(signature) = described.signature() else {
            return Some("nothing is signed".to_owned());
        };
        let mut parts = agreed_signature.parts.iter();
        if let Some(part) = parts.find(|part| !signature.parts.contains(part)) {
            return Some(format!("{part} is not signed"));
        }
    }
    if let Some(agreed_encryption) = agreed.encryption() {
        let Some(encryption) = described.encryption() else {
            return Some("nothing is encrypted".to_owned());
        };
        let mut parts = agreed_encryption.parts.iter();
        let lacks = |part| !encryption.parts.iter().any(|it| it.part == part);
        if let Some(wanted) = parts.find(|wanted| lacks(wanted.part.clone())) {
            return Some(format!("{} is not encrypted", wanted.part));
        }
        // The strongest that is described against the weakest that was agreed on.
        let strongest = described.suite.data.iter().map(|it| it.strength()).max();
        let weakest = agreed.suite.data.iter().map(|it| it.strength()).min();
        if let (Some(bits), Some(least)) = (strongest, weakest)
            && bits < least
        {
            return Some(format!("encryption of {bits} bits, agreed {least}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No socket is asked: both would hang or be refused otherwise.
    #[tokio::test]
    async fn a_reference_leads_to_no_other_origin() {
        for reference in [
            "http://127.0.0.1:9/books?wsdl",
            "https://127.0.0.1:8/books?wsdl",
            "http://localhost:8/books?wsdl",
        ] {
            let read = read(reference, "http://127.0.0.1:8/books").await;
            let why = read.map(|_| ()).expect_err(reference);
            assert_eq!(why, "the reference leads away from the access point");
        }
        let user = read("http://a@127.0.0.1:8/", "http://127.0.0.1:8/").await;
        let why = user.map(|_| ()).expect_err("a user");
        assert_eq!(why, "the URL cannot be asked: it has a user");
    }

    fn policy(suite: &str, parts: &str) -> Policy {
        let token = |name: &str| {
            format!(
                "<s:{name}><p:Policy><s:X509Token s:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/Always\">\
                 <p:Policy><s:WssX509V3Token10/></p:Policy></s:X509Token></p:Policy></s:{name}>"
            )
        };
        let text = format!(
            "<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">\
             <s:AsymmetricBinding><p:Policy>{}{}<s:AlgorithmSuite><p:Policy><s:{suite}/></p:Policy></s:AlgorithmSuite>\
             <s:IncludeTimestamp/></p:Policy></s:AsymmetricBinding>{parts}</p:Policy>",
            token("InitiatorToken"),
            token("RecipientToken")
        );
        let mut found = policies(text.into_bytes()).expect("it compiles");
        found.swap_remove(0).response
    }

    #[test]
    fn a_policy_is_weaker_where_a_part_or_a_bit_is_missing() {
        let (signed, encrypted) = (
            "<s:SignedParts><s:Body/></s:SignedParts>",
            "<s:EncryptedParts><s:Body/></s:EncryptedParts>",
        );
        let both = [signed, encrypted].concat();
        let header =
            "<s:SignedParts><s:Body/><s:Header Name=\"To\" Namespace=\"urn:a\"/></s:SignedParts>";
        let nothing = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
        let nothing = nothing.expect("it compiles").swap_remove(0).response;
        let agreed = policy("Basic256", &both);
        assert_eq!(
            weaker(&nothing, &agreed).as_deref(),
            Some("nothing is signed")
        );
        for (suite, parts, expected) in [
            ("Basic256", both.as_str(), None),
            ("Basic256", signed, Some("nothing is encrypted")),
            ("Basic256", encrypted, Some("Body is not signed")),
            (
                "Basic128",
                both.as_str(),
                Some("encryption of 128 bits, agreed 256"),
            ),
        ] {
            let found = weaker(&policy(suite, parts), &agreed);
            assert_eq!(found.as_deref(), expected, "{suite} {parts}");
        }
        // More than agreed is not weaker, and less is.
        let more = policy("Basic256", header);
        let less = policy("Basic256", signed);
        assert_eq!(weaker(&more, &less), None);
        let found = weaker(&less, &more).expect("it is weaker");
        assert!(
            found.contains("To") && found.ends_with("is not signed"),
            "{found}"
        );
    }
}
