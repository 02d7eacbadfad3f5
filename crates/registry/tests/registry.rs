//! What the registry does with requests: publication, inquiry, reports, and the attacks on them.

use jiff::{SignedDuration, Timestamp};
use soapstone_registry::ganglia::HostMetrics;
use soapstone_registry::names::{AGREEMENT, PROTOCOL_SOAP, REMOTE_POLICY, XML_LOCAL_NAME};
use soapstone_registry::{
    Answer, Applied, Asked, BindingTemplate, BusinessEntity, BusinessService, Entry, Figures, Find,
    Host, KeyedReference, Limits, Operation, Owner, Provider, ProviderQuery, PublisherRule, Record,
    Refusal, Registry, Report, Request, State, StoredReport, TModel, TModelInstance, Text, Times,
    uddi,
};
use soapstone_registry::{Change, EntryKind};
use soapstone_xml::{Buffers, Document, ParseOptions};

#[path = "registry/bounds.rs"]
mod bounds;
#[path = "registry/calls.rs"]
mod calls;
#[path = "registry/rules.rs"]
mod rules;

const ANYBODY: PublisherRule = PublisherRule {
    subject: None,
    issuer: None,
    services: None,
    access_points: None,
    calls: false,
};

struct World {
    registry: Registry,
    now: Timestamp,
    keys: u32,
}

fn owner(name: &str) -> Owner {
    Owner::new(format!("CN={name}"), "CN=ca")
}

impl World {
    fn new(rules: Vec<PublisherRule>) -> Self {
        Self {
            registry: Registry::new(rules, Limits::default(), Vec::new()),
            now: Timestamp::from_second(1_790_000_000).expect("a moment"),
            keys: 0,
        }
    }

    fn apply(&mut self, owner: Option<&Owner>, request: &Request) -> Result<Answer, Refusal> {
        let keys = &mut self.keys;
        let mut new_key = || {
            *keys += 1;
            format!("uddi:test:{keys}")
        };
        let mut asked = Asked {
            owner,
            now: self.now,
            new_key: &mut new_key,
        };
        let Applied { answer, changes } = self.registry.apply(request, &mut asked)?;
        self.registry.commit(changes);
        Ok(answer)
    }

    fn providers(&mut self) -> Vec<Provider> {
        let query = Request::FindProviders(ProviderQuery::default());
        match self.apply(None, &query) {
            Ok(Answer::Providers(providers)) => providers.found,
            other => panic!("{other:?}"),
        }
    }

    fn report(&mut self, by: &Owner, taken: Timestamp, mean: f64) -> Result<Answer, Refusal> {
        self.apply(Some(by), &Request::Report(report(taken, mean)))
    }
}

fn report(taken: Timestamp, mean: f64) -> Report {
    Report {
        bindings: vec![Figures {
            binding_key: "uddi:p1:binding".to_owned(),
            service: Times {
                mean,
                ..Times::default()
            },
            ..Figures::default()
        }],
        taken: taken.as_millisecond(),
        period: 2_000,
        ..Report::default()
    }
}

/// A business with one service at one place, all of whose keys begin with `name`.
fn business(name: &str, access_point: &str) -> BusinessEntity {
    let binding = BindingTemplate {
        binding_key: format!("uddi:{name}:binding"),
        access_point: access_point.to_owned(),
        use_type: "endPoint".to_owned(),
        t_models: vec![TModelInstance {
            t_model_key: PROTOCOL_SOAP.to_owned(),
            overview_url: Some(format!("{access_point}?wsdl")),
            ..TModelInstance::default()
        }],
        categories: vec![
            KeyedReference::new(REMOTE_POLICY, format!("{access_point}?wsdl")),
            KeyedReference::new(AGREEMENT, "gold"),
        ],
        ..BindingTemplate::default()
    };
    let service = BusinessService {
        service_key: format!("uddi:{name}:service"),
        names: vec![Text::new("Books")],
        bindings: vec![binding],
        categories: vec![KeyedReference::new(XML_LOCAL_NAME, "BooksPort")],
        ..BusinessService::default()
    };
    BusinessEntity {
        business_key: format!("uddi:{name}"),
        names: vec![Text::new(name)],
        services: vec![service],
        ..BusinessEntity::default()
    }
}

fn save(name: &str) -> Request {
    Request::SaveBusiness(vec![business(name, "http://10.0.0.1:9000/books")])
}

#[test]
fn a_business_is_saved_whole_and_its_provider_is_found() {
    let mut world = World::new(vec![ANYBODY]);
    world
        .apply(Some(&owner("p1")), &save("p1"))
        .expect("it is saved");
    let [provider] = &world.providers()[..] else {
        panic!("one provider");
    };
    assert_eq!(provider.binding_key, "uddi:p1:binding");
    assert_eq!(provider.business, "p1");
    assert_eq!(provider.service, "Books");
    assert_eq!(provider.port_type.as_deref(), Some("{}BooksPort"));
    assert_eq!(provider.access_point, "http://10.0.0.1:9000/books");
    assert_eq!(
        provider.wsdl.as_deref(),
        Some("http://10.0.0.1:9000/books?wsdl")
    );
    assert_eq!(
        provider.policy.as_deref(),
        Some("http://10.0.0.1:9000/books?wsdl")
    );
    assert_eq!(provider.agreements, ["gold"]);
    assert_eq!(provider.owner, owner("p1"));
    assert_eq!(provider.state, State::Unmonitored);
}

#[test]
fn without_a_signature_nothing_is_written() {
    let mut world = World::new(vec![ANYBODY]);
    assert_eq!(world.apply(None, &save("p1")), Err(Refusal::Unsigned));
    let token = world.apply(None, &Request::AuthToken);
    assert_eq!(token, Err(Refusal::Unsigned));
    assert_eq!(world.providers(), []);
}

/// Registry poisoning: the access point of another provider is turned to the attacker.
#[test]
fn another_certificate_changes_no_entry() {
    let mut world = World::new(vec![ANYBODY]);
    let (own, other) = (owner("p1"), owner("mallory"));
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let not_owner = |key: &str| {
        Err(Refusal::NotOwner {
            key: key.to_owned(),
        })
    };
    let evil = BindingTemplate {
        binding_key: "uddi:p1:binding".to_owned(),
        service_key: "uddi:p1:service".to_owned(),
        access_point: "http://203.0.113.66/".to_owned(),
        ..BindingTemplate::default()
    };
    let beside = BindingTemplate {
        binding_key: String::new(),
        ..evil.clone()
    };
    let mut moved = business("mallory", "http://203.0.113.66/");
    moved.services[0].bindings[0].binding_key = "uddi:p1:binding".to_owned();
    let mut taken = business("mallory", "http://203.0.113.66/");
    taken.services[0].service_key = "uddi:p1:service".to_owned();
    let keys = |key: &str| vec![key.to_owned()];
    for (request, refused) in [
        (save("p1"), "uddi:p1"),
        (Request::SaveBinding(vec![evil]), "uddi:p1:service"),
        (Request::SaveBinding(vec![beside]), "uddi:p1:service"),
        (Request::SaveBusiness(vec![moved]), "uddi:p1:binding"),
        (Request::SaveBusiness(vec![taken]), "uddi:p1:service"),
        (Request::DeleteBusiness(keys("uddi:p1")), "uddi:p1"),
        (
            Request::DeleteService(keys("uddi:p1:service")),
            "uddi:p1:service",
        ),
        (
            Request::DeleteBinding(keys("uddi:p1:binding")),
            "uddi:p1:binding",
        ),
        (
            Request::Withdraw(keys("uddi:p1:binding")),
            "uddi:p1:binding",
        ),
        (Request::Report(report(world.now, 1.0)), "uddi:p1:binding"),
    ] {
        let answer = world.apply(Some(&other), &request);
        assert_eq!(answer, not_owner(refused), "{}", request.name());
    }
    // The same subject of another authority is another owner.
    let namesake = Owner {
        issuer: "CN=other".to_owned().into(),
        ..own
    };
    assert_eq!(
        world.apply(Some(&namesake), &save("p1")),
        not_owner("uddi:p1")
    );
    let [provider] = &world.providers()[..] else {
        panic!("one provider");
    };
    assert_eq!(provider.access_point, "http://10.0.0.1:9000/books");
    assert_eq!(provider.state, State::Unmonitored);
}

#[test]
fn a_publisher_keeps_to_its_rule() {
    let rule = PublisherRule {
        subject: Some("CN=p1".to_owned().into()),
        issuer: None,
        services: Some(vec!["Books".to_owned()]),
        access_points: Some(vec!["http://10.0.0.1:9000/".to_owned()]),
        calls: false,
    };
    let mut world = World::new(vec![rule]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is allowed");
    let not_allowed = |what: &str| {
        Err(Refusal::NotAllowed {
            what: what.to_owned(),
        })
    };
    let mut other_service = business("p1", "http://10.0.0.1:9000/books");
    other_service.services[0].names[0] = Text::new("Payments");
    let request = Request::SaveBusiness(vec![other_service]);
    assert_eq!(
        world.apply(Some(&own), &request),
        not_allowed("the service Payments")
    );
    for url in [
        "http://203.0.113.66/books",
        "http://10.0.0.1:9000.evil.example/",
        "http://10.0.0.1:90001/",
    ] {
        let request = Request::SaveBusiness(vec![business("p1", url)]);
        let refused = not_allowed(&format!("the access point {url}"));
        assert_eq!(world.apply(Some(&own), &request), refused);
    }
    let nobody = world.apply(Some(&owner("p2")), &save("p2"));
    assert_eq!(nobody, not_allowed("anything"));
}

#[test]
fn an_access_point_is_a_plain_web_url() {
    let mut world = World::new(vec![ANYBODY]);
    for url in [
        "",
        "file:///etc/passwd",
        "http:///books",
        "http://user@10.0.0.1/",
        "http://10.0.0.1/a/../b",
        "http://10.0.0.1/a/%2E%2e/b",
        "http://10.0.0.1/a b",
        "http://10.0.0.1\\@evil/",
        "http://10.0.0.1/#x",
    ] {
        let request = Request::SaveBusiness(vec![business("p1", url)]);
        let refused = Refusal::Value {
            part: "accessPoint",
            expected: "an http or https URL without user, fragment and dot segments",
        };
        assert_eq!(
            world.apply(Some(&owner("p1")), &request),
            Err(refused),
            "{url}"
        );
    }
}

#[test]
fn a_report_is_taken_once_and_never_after_a_newer_one() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let now = world.now;
    let stale = Err(Refusal::StaleReport {
        key: "uddi:p1:binding".to_owned(),
    });
    world.report(&own, now, 40.0).expect("the first one");
    assert_eq!(world.report(&own, now, 1.0), stale);
    let before = now - SignedDuration::from_secs(2);
    assert_eq!(world.report(&own, before, 1.0), stale);
    let ahead = now + SignedDuration::from_secs(61);
    assert_eq!(world.report(&own, ahead, 1.0), Err(Refusal::FutureReport));
    let figures = world.providers()[0].figures.clone().expect("a report");
    assert_eq!(figures.service.mean, 40.0);
}

#[test]
fn a_provider_is_active_for_three_periods_of_silence() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    world.report(&own, world.now, 1.0).expect("a report");
    world.now += SignedDuration::from_millis(6_000);
    assert_eq!(world.providers()[0].state, State::Active);
    world.now += SignedDuration::from_millis(1);
    assert_eq!(world.providers()[0].state, State::Inactive);
    assert_eq!(world.providers()[0].age, Some(6_001));
    world.report(&own, world.now, 1.0).expect("a report");
    assert_eq!(world.providers()[0].state, State::Active);
}

/// A provider that says it reports once a day would stay active for three days after its death.
#[test]
fn the_period_of_a_monitor_is_bounded() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let mut seldom = report(world.now, 1.0);
    seldom.period = 86_400_000;
    world
        .apply(Some(&own), &Request::Report(seldom))
        .expect("a report");
    world.now += SignedDuration::from_secs(31);
    assert_eq!(world.providers()[0].state, State::Inactive);
}

#[test]
fn a_withdrawn_provider_comes_back_by_a_newer_report_alone() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    world.report(&own, world.now, 1.0).expect("a report");
    world.now += SignedDuration::from_secs(1);
    let suppressed = report(world.now, 1.0);
    world.now += SignedDuration::from_secs(1);
    let withdraw = Request::Withdraw(vec!["uddi:p1:binding".to_owned()]);
    world.apply(Some(&own), &withdraw).expect("it is withdrawn");
    assert_eq!(world.providers()[0].state, State::Withdrawn);
    let late = world.apply(Some(&own), &Request::Report(suppressed));
    let key = "uddi:p1:binding".to_owned();
    assert_eq!(late, Err(Refusal::StaleReport { key }));
    world.now += SignedDuration::from_secs(1);
    world.report(&own, world.now, 1.0).expect("a report");
    assert_eq!(world.providers()[0].state, State::Active);
}

#[test]
fn a_provider_without_a_monitor_is_known_by_the_gmond_of_its_host() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let host = HostMetrics {
        name: "one".to_owned(),
        address: "10.0.0.1".to_owned(),
        seconds: 1,
        patience: 20,
        metrics: vec![("load_one".to_owned(), 0.5, String::new())],
    };
    let now = world.now;
    world.registry.observe("127.0.0.1:8649", vec![host], now);
    let provider = &world.providers()[0];
    assert_eq!(provider.state, State::Active);
    assert_eq!(provider.host.and_then(|host| host.load_one), Some(0.5));
    assert_eq!(provider.age, Some(1_000));
    // Four times as long as the host may be silent, and one second more.
    world.now += SignedDuration::from_secs(80);
    assert_eq!(world.providers()[0].state, State::Inactive);
    // What the provider's own monitor says goes before.
    world.report(&own, world.now, 1.0).expect("a report");
    assert_eq!(world.providers()[0].state, State::Active);
    assert_eq!(
        world.providers()[0].host.and_then(|host| host.load_one),
        None
    );
}

#[test]
fn figures_are_finite_and_not_negative() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    for mean in [f64::NAN, f64::INFINITY, -1.0] {
        let refused = Refusal::Value {
            part: "a figure",
            expected: "a finite number that is not negative",
        };
        assert_eq!(world.report(&own, world.now, mean), Err(refused));
    }
}

#[test]
fn an_owner_has_room_for_so_many_entries() {
    let limits = Limits {
        per_owner: 3,
        ..Limits::default()
    };
    let mut world = World::new(vec![ANYBODY]);
    world.registry = Registry::new(vec![ANYBODY], limits, Vec::new());
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("three entries");
    world
        .apply(Some(&own), &save("p1"))
        .expect("the same three entries");
    assert_eq!(world.apply(Some(&own), &save("p2")), Err(Refusal::Full));
    world
        .apply(Some(&owner("p2")), &save("p2"))
        .expect("another owner");
}

#[test]
fn what_is_saved_without_a_part_has_it_no_longer() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    world.report(&own, world.now, 1.0).expect("a report");
    let mut smaller = business("p1", "http://10.0.0.1:9000/books");
    smaller.services[0].bindings.clear();
    world
        .apply(Some(&own), &Request::SaveBusiness(vec![smaller]))
        .expect("it is saved");
    assert_eq!(world.providers(), []);
    // The report is gone, too: the binding that comes next has not reported.
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    assert_eq!(world.providers()[0].state, State::Unmonitored);
}

#[test]
fn a_registry_goes_on_with_the_records_of_its_storage() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    let mut new_key = || "uddi:test:new".to_owned();
    let mut asked = Asked {
        owner: Some(&own),
        now: world.now,
        new_key: &mut new_key,
    };
    let applied = world
        .registry
        .apply(&save("p1"), &mut asked)
        .expect("saved");
    let records: Vec<Record> = applied
        .changes
        .into_iter()
        .filter_map(|change| match change {
            Change::Put(record) => Some(*record),
            Change::Delete(..) | Change::Log(_) => None,
        })
        .collect();
    let kinds: Vec<EntryKind> = records.iter().map(|it| it.entry.kind()).collect();
    assert_eq!(
        kinds,
        [EntryKind::Business, EntryKind::Service, EntryKind::Binding]
    );
    assert_eq!(
        world.providers(),
        [],
        "nothing is in force before it is kept"
    );
    world.registry = Registry::new(vec![ANYBODY], Limits::default(), records);
    assert_eq!(world.providers().len(), 1);
}

fn parse(text: &str) -> Document {
    let options = ParseOptions::default();
    let parsed = Document::parse(text.as_bytes().to_vec(), &options, &mut Buffers::default());
    parsed.unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn requests_and_answers_are_the_same_as_soap_and_as_json() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    let keys = |key: &str| vec![key.to_owned()];
    let find = Find {
        names: vec![Text::new("Boo%")],
        qualifiers: keys("approximateMatch"),
        categories: vec![KeyedReference::new(XML_LOCAL_NAME, "BooksPort")],
        t_models: keys(PROTOCOL_SOAP),
        max_rows: Some(5),
        ..Find::default()
    };
    let requests = [
        Request::AuthToken,
        save("p1"),
        Request::Report(report(world.now, 2.5)),
        Request::FindBusiness(Find::default()),
        Request::FindService(find),
        Request::FindBinding(Find {
            service_key: Some("uddi:p1:service".to_owned()),
            ..Find::default()
        }),
        Request::FindTModel(Find::default()),
        Request::BusinessDetail(keys("uddi:p1")),
        Request::ServiceDetail(keys("uddi:p1:service")),
        Request::BindingDetail(keys("uddi:p1:binding")),
        Request::FindProviders(ProviderQuery {
            service: Some("Books".to_owned()),
            port_type: Some("BooksPort".to_owned()),
            owners: keys("CN=p1"),
            operations: true,
        }),
        Request::Withdraw(keys("uddi:p1:binding")),
        Request::DeleteBusiness(keys("uddi:p1")),
        Request::DiscardAuthToken,
    ];
    for request in requests {
        let xml = format!("<Body>{}</Body>", uddi::write_request(&request));
        assert_eq!(
            uddi::read_request(parse(&xml).root()),
            Ok(request.clone()),
            "{xml}"
        );
        let json = serde_json::to_string(&request).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Request>(&json).expect(&json),
            request
        );
        let answer = world.apply(Some(&own), &request);
        let answer = answer.unwrap_or_else(|refusal| panic!("{xml}: {refusal}"));
        let xml = format!("<Body>{}</Body>", uddi::write_answer(&answer));
        assert_eq!(
            uddi::read_answer(parse(&xml).root()),
            Ok(answer.clone()),
            "{xml}"
        );
        let json = serde_json::to_string(&answer).expect("JSON");
        assert_eq!(serde_json::from_str::<Answer>(&json).expect(&json), answer);
    }
}

/// UDDI 3.0.2, section 5.2, and its WSDL: the message of success has no part. Clients that obey the
/// WSDL take nothing else.
#[test]
fn what_was_done_is_said_by_an_empty_body() {
    assert_eq!(uddi::write_answer(&Answer::Done), "");
    let report = "<dispositionReport xmlns=\"urn:uddi-org:api_v3\"><result errno=\"0\"/></dispositionReport>";
    for said in ["", report] {
        let xml = format!("<Body>{said}</Body>");
        let read = uddi::read_answer(parse(&xml).root());
        assert_eq!(read, Ok(Answer::Done), "{xml}");
    }
}

#[test]
fn what_the_registry_does_not_keep_is_refused_by_name() {
    for (body, found) in [
        (
            "<save_business xmlns='urn:uddi-org:api_v3'><businessEntity><name>a</name><contacts/></businessEntity></save_business>",
            "contacts",
        ),
        (
            "<save_tModel xmlns='urn:uddi-org:api_v3'><tModel authorizedName='x'><name>a</name></tModel></save_tModel>",
            "authorizedName",
        ),
        (
            "<find_service xmlns='urn:uddi-org:api_v3'><find_tModel/></find_service>",
            "find_tModel",
        ),
    ] {
        let read = uddi::read_request(parse(&format!("<Body>{body}</Body>")).root());
        let found = found.to_owned();
        assert_eq!(read, Err(Refusal::Unsupported { found }), "{body}");
    }
    let read = |body: &str| uddi::read_request(parse(body).root());
    let other = "{urn:uddi-org:api_v2}find_service".to_owned();
    let old = read("<Body><find_service xmlns='urn:uddi-org:api_v2'/></Body>");
    assert_eq!(old, Err(Refusal::Unknown { found: other }));
    let part = "element in the Body";
    assert_eq!(read("<Body/>"), Err(Refusal::Missing { part }));
    let two = "<Body><find_service xmlns='urn:uddi-org:api_v3'/><find_service xmlns='urn:uddi-org:api_v3'/></Body>";
    assert_eq!(read(two), Err(Refusal::Missing { part }));
}

#[test]
fn a_refusal_is_a_disposition_report() {
    let refusal = Refusal::NotOwner {
        key: "uddi:a&b".to_owned(),
    };
    let detail = format!("<detail>{}</detail>", uddi::write_refusal(&refusal));
    let read = uddi::read_refusal(parse(&detail).root());
    let said = "uddi:a&b belongs to another certificate".to_owned();
    assert_eq!(read, Some(("E_userMismatch".to_owned(), said)));
}

#[test]
fn an_unknown_find_qualifier_is_refused() {
    let mut world = World::new(vec![ANYBODY]);
    let find = Find {
        qualifiers: vec!["uddi:uddi.org:findqualifier:orallkeys".to_owned()],
        ..Find::default()
    };
    let found = "the find qualifier uddi:uddi.org:findqualifier:orallkeys".to_owned();
    let answer = world.apply(None, &Request::FindService(find));
    assert_eq!(answer, Err(Refusal::Unsupported { found }));
}
