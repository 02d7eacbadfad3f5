//! The policies that providers register, beside those that were agreed on with them.
//!
//! An entry of the registry refers to a policy. It is read where the provider serves it, and must
//! demand and promise what the policy of the file does.
//!
//! The rule kept here: an owner chooses the reference, and the access point, too. Only the origin
//! of the access point is asked, to which requests go anyway, and no owner tells of the provider of
//! another one. What cannot be read is not judged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use soapstone::policy::{
    CompileOptions, ExchangePolicies, ExchangePolicy, PolicyDocument, PolicyLimits, Selection,
    SignatureReading,
};
use soapstone_registry::{Owner, Provider};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::RegistryClient;
use super::discovery::{is_usable, providers};
use super::owners::AccessPoints;
use super::weakness::{less_than_assured, weakness};
use crate::config::source::{RegistrySource, SourceSpec};
use crate::route::Route;
use crate::route::balancer::Balancer;
use crate::route::serving::Serving;
use crate::server::state::State;
use crate::wire::fetch::{address, fetch};

/// Policies are read once in so many periods: a minute, by default.
const PERIODS: u32 = 30;

/// How long a document may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Bytes of the largest document.
const LARGEST: u64 = 1 << 20;

/// Documents that are read at the same time.
const AT_ONCE: usize = 8;

/// What a provider serves, and whose backends it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    source: RegistrySource,
    access_point: String,
    owner: Owner,
    /// Where the policy is.
    reference: String,
    /// Names of routes, each with that of its backend.
    backends: Vec<(String, String)>,
}

/// Compares for as long as the gateway serves.
pub(in crate::server) async fn compare(state: &State, client: &Arc<RegistryClient>) {
    let length = client.period.saturating_mul(PERIODS);
    let mut ticks = tokio::time::interval(length);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Providers are known some moments after the start.
    tokio::time::sleep(client.period).await;
    let mut last = None;
    loop {
        ticks.tick().await;
        let mut entries = Vec::new();
        for source in sources(&state.current.serving()) {
            let Ok(found) = providers(client, &source).await else {
                // Another task tells of a registry that is away.
                continue;
            };
            entries.extend(to_read(&state.current.serving(), &source, &found));
        }
        let entries = in_turn(entries, last.as_ref());
        let read = |entry: &Entry| read(entry.reference.clone(), entry.access_point.clone());
        let mut told = BTreeSet::new();
        let judge = |entry: &Entry, described: &[ExchangePolicy]| {
            judge(&state.current.serving(), entry, described, &mut told);
        };
        let reached = round(entries, Instant::now() + length, read, judge).await;
        last = reached.or(last);
    }
}

/// The routes of such agreements, each with its backends.
fn judged(serving: &Serving) -> impl Iterator<Item = (&Route, &Arc<Balancer>)> {
    let agreements = serving.agreements.as_ref();
    let is_judged = move |route: &&Route| {
        agreements.is_some_and(|agreements| agreements.are_about_descriptions(&route.name))
    };
    let routes = serving.routes.iter().filter(is_judged);
    routes.filter_map(|route| Some((route, route.balancer.as_ref()?)))
}

/// Whether the backends of a route come from there.
fn is_from(balancer: &Balancer, source: &RegistrySource) -> bool {
    matches!(&balancer.source, Some(SourceSpec::Registry(one)) if one == source)
}

/// Where backends come from whose policies an agreement is about.
fn sources(serving: &Serving) -> Vec<RegistrySource> {
    let mut sources: Vec<RegistrySource> = Vec::new();
    for source in judged(serving).filter_map(|(_, balancer)| balancer.source.as_ref()) {
        if let SourceSpec::Registry(source) = source
            && !sources.contains(source)
        {
            sources.push(source.clone());
        }
    }
    sources
}

/// What is to be read of the providers that were found: policies of those that are backends.
fn to_read(serving: &Serving, source: &RegistrySource, found: &[Provider]) -> Vec<Entry> {
    let usable = || found.iter().filter(|it| is_usable(source, it));
    // Those that are no backends share none.
    let access_points = AccessPoints::of(usable());
    let entries = usable().filter_map(|provider| {
        let reference = provider.policy.clone()?;
        let routes = judged(serving).filter(|(_, balancer)| is_from(balancer, source));
        let backends = routes.filter_map(|(route, balancer)| {
            let leads = |it: &Provider| balancer.id_of(&it.access_point, &it.owner);
            let own = access_points.own_backend(provider, leads)?;
            Some((route.name.clone(), balancer.pool.name(own).to_owned()))
        });
        let backends: Vec<(String, String)> = backends.collect();
        (!backends.is_empty()).then(|| Entry {
            source: source.clone(),
            access_point: provider.access_point.clone(),
            owner: provider.owner.clone(),
            reference,
            backends,
        })
    });
    entries.collect()
}

/// Each entry once, from the one behind that which was the last of the round before.
fn in_turn(mut entries: Vec<Entry>, last: Option<&Entry>) -> Vec<Entry> {
    entries.sort();
    entries.dedup();
    let had = entries.partition_point(|it| Some(it) <= last);
    entries.rotate_left(had);
    entries
}

/// Reads some entries at once. None begins after the end of the round: the last one that has begun
/// is given back, if there is one.
async fn round<Read>(
    entries: Vec<Entry>,
    end: Instant,
    read: impl Fn(&Entry) -> Read,
    mut judge: impl FnMut(&Entry, &[ExchangePolicy]),
) -> Option<Entry>
where
    Read: Future<Output = Result<Vec<ExchangePolicy>, String>> + Send + 'static,
{
    let mut waiting = entries.into_iter();
    let mut reading = JoinSet::new();
    let mut last = None;
    loop {
        while reading.len() < AT_ONCE
            && Instant::now() < end
            && let Some(entry) = waiting.next()
        {
            let described = read(&entry);
            last = Some(entry.clone());
            reading.spawn(async move { (entry, described.await) });
        }
        let Some(done) = reading.join_next().await else {
            return last;
        };
        match done {
            Ok((entry, Ok(described))) => judge(&entry, &described),
            Ok((entry, Err(why))) => {
                let provider = entry.access_point;
                tracing::debug!(provider, why, "the policy of a provider is not to be had");
            }
            Err(why) => tracing::debug!(%why, "the policy of a provider is not to be had"),
        }
    }
}

/// Tells the agreements about a provider where its policy is too weak: once in a round, however
/// many entries it has.
fn judge(
    serving: &Serving,
    entry: &Entry,
    described: &[ExchangePolicy],
    told: &mut BTreeSet<(String, String)>,
) {
    for (route, balancer) in judged(serving).filter(|(_, it)| is_from(it, &entry.source)) {
        let route = &route.name;
        let backend = entry.backends.iter().find(|(of, _)| of == route);
        let Some((_, backend)) = backend else {
            continue;
        };
        let Some(member) = balancer.named(backend) else {
            continue;
        };
        let signs = |one: &ExchangePolicy| one.response.signature().is_some();
        member.registered_signatures(!described.is_empty() && described.iter().all(signs));
        let endpoint = member.upstream.endpoint.as_deref();
        let weaker = match (endpoint, &member.assured) {
            (Some(endpoint), _) => weakness(&endpoint.endpoint, described),
            (None, Some(assured)) => less_than_assured(assured, described),
            (None, None) => None,
        };
        if let (Some(why), Some(agreements)) = (weaker, &serving.agreements)
            && told.insert((route.clone(), backend.clone()))
        {
            tracing::warn!(route, backend, why, "a provider serves a weaker policy");
            agreements.described(route, backend, &why);
        }
    }
}

/// The policies of the document that a reference names.
async fn read(reference: String, access_point: String) -> Result<Vec<ExchangePolicy>, String> {
    let uri = address(&reference).map_err(|error| error.to_string())?;
    let own = address(&access_point).map_err(|error| error.to_string())?;
    let is_own = uri.scheme() == own.scheme() && uri.authority() == own.authority();
    if !is_own {
        return Err("the reference leads away from the access point".to_owned());
    }
    let read = fetch(&uri, None, PATIENCE, LARGEST).await;
    let read = read.map_err(|error| error.to_string())?;
    let policies = tokio::task::spawn_blocking(move || policies(read));
    policies.await.map_err(|error| error.to_string())?
}

/// Far below what a file of the operator may have: a stranger sends this again and again.
fn limits() -> PolicyLimits {
    let mut limits = PolicyLimits::default();
    limits.document = 1 << 20;
    limits.elements = 1 << 15;
    limits.documents = 1;
    limits.subjects = 1024;
    limits.agreements = 64;
    limits.alternatives = 512;
    limits.steps = 100_000;
    // Some 100 ms.
    limits.all_steps = 1_000_000;
    limits
}

pub(super) fn policies(document: Vec<u8>) -> Result<Vec<ExchangePolicy>, String> {
    let options = CompileOptions {
        // Nobody is weaker for the way in which names of suites are read.
        signatures: SignatureReading::Sha256,
        ..CompileOptions::default()
    };
    let document = PolicyDocument::parse(document, &limits());
    let document = document.map_err(|error| error.to_string())?;
    let found = document.agreements(&Selection::default(), &options);
    match found.map_err(|error| error.to_string())? {
        ExchangePolicies::One(exchange) => Ok(vec![*exchange]),
        ExchangePolicies::ByOperation(table) => Ok(table.agreements),
    }
}

#[cfg(test)]
mod tests {
    use soapstone_registry::WrittenName;

    use super::super::testing::provider;
    use super::*;
    use crate::config::owner_name::OwnerName;

    /// No socket is asked: both would hang or be refused otherwise.
    #[tokio::test]
    async fn a_reference_leads_to_no_other_origin() {
        for reference in [
            "http://127.0.0.1:9/books?wsdl",
            "https://127.0.0.1:8/books?wsdl",
            "http://localhost:8/books?wsdl",
        ] {
            let read = read(reference.to_owned(), "http://127.0.0.1:8/books".to_owned()).await;
            let why = read.map(|_| ()).expect_err(reference);
            assert_eq!(why, "the reference leads away from the access point");
        }
        let own = "http://127.0.0.1:8/".to_owned();
        let user = read("http://a@127.0.0.1:8/".to_owned(), own).await;
        let why = user.map(|_| ()).expect_err("a user");
        assert_eq!(why, "the URL cannot be asked: it has a user");
    }

    /// Owners choose their access points. One that says that of another owner tells nothing of it,
    /// and hides nothing of one that has a backend of its own.
    #[test]
    fn no_owner_is_judged_by_the_policy_of_another_one() {
        let own = provider("http://a/", "CN=p1");
        for other in [
            provider("http://a/", "CN=p2"),
            provider("HTTP://A/", "CN=p2"),
        ] {
            let found = [own.clone(), other.clone(), provider("http://b/", "CN=p2")];
            let access_points = AccessPoints::of(&found);
            // One backend of both.
            let shared = |_: &Provider| Some(7);
            assert_eq!(access_points.own_backend(&own, shared), None);
            assert_eq!(access_points.own_backend(&other, shared), None);
            assert_eq!(access_points.own_backend(&found[2], shared), Some(7));
            // The name of the backend is that of one of both.
            let of_first = |it: &Provider| (it.owner.subject.as_str() == "CN=p1").then_some(7);
            assert_eq!(access_points.own_backend(&own, of_first), None);
            assert_eq!(access_points.own_backend(&other, of_first), None);
            // Each has its own.
            let apart = |it: &Provider| Some(it.owner.subject.clone());
            for one in [&own, &other] {
                let found = access_points.own_backend(one, apart);
                assert_eq!(found.as_ref(), Some(&one.owner.subject));
            }
        }
        // Another authority's subject of the same name is another owner.
        let mut namesake = provider("http://a/", "CN=p1");
        namesake.owner.issuer = WrittenName::new("CN=other");
        let found = [own.clone(), namesake];
        let access_points = AccessPoints::of(&found);
        let by_subject = |it: &Provider| Some(it.owner.subject.clone());
        assert_eq!(access_points.own_backend(&own, by_subject), None);
    }

    fn entries(count: usize) -> Vec<Entry> {
        let entry = |index| Entry {
            source: RegistrySource {
                service: Some("Books".to_owned()),
                port_type: None,
                owners: vec![OwnerName::parse("*")],
                cache: None,
            },
            access_point: format!("http://{index:04}/"),
            owner: provider("http://a/", "CN=p1").owner,
            reference: format!("http://{index:04}/?wsdl"),
            backends: Vec::new(),
        };
        (0..count).map(entry).collect()
    }

    /// A thousand that never answer take some rounds, and each round ends.
    #[tokio::test(start_paused = true)]
    async fn slow_documents_hide_no_others_and_each_round_ends() {
        let mut all = entries(1000);
        all.push(Entry {
            access_point: "http://honest/".to_owned(),
            ..all[0].clone()
        });
        let read = |entry: &Entry| {
            let is_slow = entry.access_point != "http://honest/";
            async move {
                if is_slow {
                    tokio::time::sleep(PATIENCE).await;
                    return Err("slow".to_owned());
                }
                Ok(Vec::new())
            }
        };
        let (mut judged, mut rounds, mut last) = (0, 0, None);
        while judged == 0 {
            rounds += 1;
            let (begun, length) = (Instant::now(), Duration::from_secs(60));
            // One that has had its turn has no second one before the others.
            let entries = in_turn([all.clone(), all.clone()].concat(), last.as_ref());
            assert_eq!(entries.len(), all.len());
            last = round(entries, begun + length, read, |_, _| judged += 1).await;
            assert!(begun.elapsed() <= length + PATIENCE);
            assert!(rounds <= 7, "{last:?}");
        }
    }

    #[test]
    fn a_round_begins_where_the_one_before_has_ended() {
        let all = entries(3);
        let turn = |last| in_turn(all.clone(), last);
        assert_eq!(turn(None), all);
        for (last, first) in [(0, 1), (1, 2), (2, 0)] {
            assert_eq!(turn(Some(&all[last]))[0], all[first]);
        }
        // The last one may have gone meanwhile.
        assert_eq!(
            in_turn(vec![all[0].clone(), all[2].clone()], Some(&all[1]))[0],
            all[2]
        );
        assert!(in_turn(Vec::new(), Some(&all[0])).is_empty());
    }

    /// Each optional assertion doubles the alternatives, and each operation asks anew.
    #[test]
    fn a_document_that_costs_much_is_not_read() {
        let optional = "<s:IncludeTimestamp p:Optional=\"true\"/>".repeat(10);
        let text = format!(
            "<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:s=\"urn:s\">{optional}</p:Policy>"
        );
        let why = policies(text.into_bytes()).map(|_| ());
        let why = why.expect_err("too many alternatives");
        assert!(why.contains("512"), "{why}");
    }
}
