//! Bounds of answers, and what is left out of them.

use super::*;

/// Some 100 kB, in texts that are as long as texts may be.
fn long_texts() -> Vec<String> {
    vec!["\u{1F4DA}".repeat(255); 100]
}

/// A registry in which one owner has so many bindings of one service, each of some 100 kB.
fn full_of(count: usize, name: &str) -> Vec<Record> {
    let mut business = business(name, "http://203.0.113.66/");
    let mut service = business.services.remove(0);
    let mut binding = service.bindings.remove(0);
    service.business_key = business.business_key.clone();
    service
        .names
        .extend(long_texts().into_iter().map(Text::new));
    binding.service_key = service.service_key.clone();
    let offers = long_texts().into_iter();
    let offers = offers.map(|offer| KeyedReference::new(AGREEMENT, offer));
    binding.categories = offers.collect();
    let bindings = (0..count).map(|number| {
        Entry::Binding(BindingTemplate {
            binding_key: format!("uddi:{name}:{number:05}"),
            ..binding.clone()
        })
    });
    let services = (0..count).map(|number| {
        Entry::Service(BusinessService {
            service_key: format!("uddi:{name}:{number:05}"),
            ..service.clone()
        })
    });
    let entries = [Entry::Business(business), Entry::Service(service.clone())];
    let entries = entries.into_iter().chain(services).chain(bindings);
    let record = |entry| Record {
        owner: owner(name),
        entry,
    };
    entries.map(record).collect()
}

#[test]
fn an_entry_that_is_asked_for_many_times_is_answered_once() {
    let mut world = World::new(vec![ANYBODY]);
    world
        .apply(Some(&owner("p1")), &save("p1"))
        .expect("it is saved");
    let many = vec!["uddi:p1:binding".to_owned(); 1_000];
    let Ok(Answer::BindingDetail(found)) = world.apply(None, &Request::BindingDetail(many)) else {
        panic!("bindings");
    };
    assert_eq!(found.len(), 1);
    let different = (0..101).map(|number| format!("uddi:{number}")).collect();
    let refused = world.apply(None, &Request::BusinessDetail(different));
    let (part, most) = ("key", 100);
    assert_eq!(refused, Err(Refusal::TooMany { part, most }));
}

/// A request of some hundred bytes, and an answer of as much as the registry holds.
#[test]
fn an_answer_has_its_largest_size() {
    let mut world = World::new(vec![ANYBODY]);
    world.registry = Registry::new(vec![ANYBODY], Limits::default(), full_of(100, "p1"));
    let keys = |key: &str| vec![key.to_owned()];
    for request in [
        Request::FindBinding(Find::default()),
        Request::BusinessDetail(keys("uddi:p1")),
        Request::ServiceDetail(keys("uddi:p1:service")),
        Request::BindingDetail((0..100).map(|it| format!("uddi:p1:{it:05}")).collect()),
    ] {
        let name = request.name();
        assert_eq!(
            world.apply(None, &request),
            Err(Refusal::TooLarge),
            "{name}"
        );
    }
    // Where an answer can say that it leaves something out, it does.
    let answer = world.apply(None, &Request::FindService(Find::default()));
    let Ok(Answer::List(list)) = answer else {
        panic!("a list");
    };
    assert!(list.truncated);
    assert_eq!(list.infos.len(), 81);
    let answer = world.apply(None, &Request::FindProviders(ProviderQuery::default()));
    let Ok(Answer::Providers(providers)) = answer else {
        panic!("providers");
    };
    assert!(providers.truncated);
    assert_eq!(providers.found.len(), 80);
    let some = Request::FindBinding(Find {
        max_rows: Some(10),
        ..Find::default()
    });
    let Ok(Answer::BindingDetail(found)) = world.apply(None, &some) else {
        panic!("bindings");
    };
    assert_eq!(found.len(), 10);
}

/// A publisher with more providers than are answered takes nobody else's out of the answer.
#[test]
fn providers_of_other_owners_take_no_place_of_those_that_are_wanted() {
    let mut world = World::new(vec![ANYBODY]);
    world.registry = Registry::new(vec![ANYBODY], Limits::default(), full_of(100, "mallory"));
    world
        .apply(Some(&owner("p1")), &save("p1"))
        .expect("it is saved");
    let query = Request::FindProviders(ProviderQuery {
        owners: vec!["CN=p1".to_owned()],
        ..ProviderQuery::default()
    });
    let Ok(Answer::Providers(providers)) = world.apply(None, &query) else {
        panic!("providers");
    };
    let keys = providers.found.iter().map(|it| it.binding_key.as_str());
    assert_eq!(keys.collect::<Vec<_>>(), ["uddi:p1:binding"]);
    assert!(!providers.truncated);
    let owners = vec!["CN=p1".to_owned(); 101];
    let many = Request::FindProviders(ProviderQuery {
        owners,
        ..ProviderQuery::default()
    });
    let (part, most) = ("owner", 100);
    assert_eq!(
        world.apply(None, &many),
        Err(Refusal::TooMany { part, most })
    );
}

#[test]
fn figures_of_operations_are_among_providers_if_they_are_asked_for() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let mut report = report(world.now, 2.5);
    let operations = vec![Operation {
        name: "{urn:b}getBooks".to_owned(),
        in_hand: 2.0,
        calls: 7.0,
        errors: 1.0,
        refusals: 3.0,
        security_share: 0.5,
        service: Times {
            mean: 4.0,
            p50: 3.5,
            p95: 9.0,
        },
        backend: Times {
            mean: 2.0,
            p50: 1.5,
            p95: 4.0,
        },
    }];
    report.bindings[0].operations = operations.clone();
    let taken = report.taken;
    // As it goes over the wire.
    let written = uddi::write_request(&Request::Report(report.clone()));
    let read = uddi::read_request(parse(&format!("<Body>{written}</Body>")).root());
    assert_eq!(read, Ok(Request::Report(report.clone())));
    world
        .apply(Some(&own), &Request::Report(report))
        .expect("it is taken");
    let found = world.providers().remove(0);
    assert_eq!(found.taken, Some(taken));
    let figures = found.figures.expect("figures");
    assert_eq!(figures.service.mean, 2.5);
    assert_eq!(figures.operations, []);
    let query = Request::FindProviders(ProviderQuery {
        operations: true,
        ..ProviderQuery::default()
    });
    let answer = world.apply(None, &query).expect("it is answered");
    let written = format!("<Body>{}</Body>", uddi::write_answer(&answer));
    assert_eq!(
        uddi::read_answer(parse(&written).root()),
        Ok(answer.clone())
    );
    let Answer::Providers(providers) = answer else {
        panic!("providers");
    };
    let figures = providers.found[0].figures.clone().expect("figures");
    assert_eq!(figures.operations, operations);
}

/// A broker that is not told of all providers uses none of an answer.
#[test]
fn figures_of_operations_take_the_place_of_no_provider() {
    let mut world = World::new(vec![ANYBODY]);
    let long = "n".repeat(500);
    // With the figures of their operations they would have 25 MB.
    let records = full_of(1, "p").into_iter().flat_map(|record| match record {
        Record {
            entry: Entry::Binding(binding),
            owner,
        } => {
            let bindings = (0..200).map(|number| BindingTemplate {
                binding_key: format!("uddi:many:{number}"),
                categories: Vec::new(),
                ..binding.clone()
            });
            let reported = bindings.flat_map(|binding| {
                let operation = |number: usize| Operation {
                    name: format!("{number}{long}"),
                    ..Operation::default()
                };
                let report = StoredReport {
                    taken: world.now,
                    received: world.now,
                    period: 2000,
                    withdrawn: false,
                    figures: Figures {
                        binding_key: binding.binding_key.clone(),
                        operations: (0..200).map(operation).collect(),
                        ..Figures::default()
                    },
                    host: Host::default(),
                };
                [Entry::Binding(binding), Entry::Report(report)]
            });
            let records = reported.map(|entry| Record {
                entry,
                owner: owner.clone(),
            });
            records.collect::<Vec<_>>()
        }
        other => vec![other],
    });
    world.registry = Registry::new(vec![ANYBODY], Limits::default(), records.collect());
    let query = Request::FindProviders(ProviderQuery {
        operations: true,
        ..ProviderQuery::default()
    });
    let Ok(Answer::Providers(providers)) = world.apply(None, &query) else {
        panic!("providers");
    };
    assert!(!providers.truncated);
    assert_eq!(providers.found.len(), 200);
    let has_operations = |it: &&Provider| {
        let figures = it.figures.as_ref();
        figures.is_some_and(|figures| !figures.operations.is_empty())
    };
    let with = providers.found.iter().filter(has_operations).count();
    assert!((1..200).contains(&with), "{with}");
}

/// A binding that moves from one service to another is not deleted with what is left of the first.
#[test]
fn a_binding_that_is_moved_stays() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    world.apply(Some(&own), &save("p1")).expect("it is saved");
    let mut source = business("p1", "http://10.0.0.1:9000/books")
        .services
        .remove(0);
    source.business_key = "uddi:p1".to_owned();
    let mut target = source.clone();
    target.service_key = "uddi:p1:other".to_owned();
    source.bindings.clear();
    let moved = Request::SaveService(vec![target.clone(), source.clone()]);
    world.apply(Some(&own), &moved).expect("it is moved");
    let service = |world: &mut World| world.providers()[0].service_key.clone();
    assert_eq!(service(&mut world), "uddi:p1:other");
    // And back, the other way round.
    source.bindings = std::mem::take(&mut target.bindings);
    let moved = Request::SaveService(vec![target, source]);
    world.apply(Some(&own), &moved).expect("it is moved");
    assert_eq!(service(&mut world), "uddi:p1:service");
}
