//! Ways around the rules of publication.

use super::*;

/// A rule that lets everybody publish services of one name.
fn only(service: &str) -> PublisherRule {
    PublisherRule {
        services: Some(vec![service.to_owned()]),
        ..ANYBODY
    }
}

/// The services that are found by this name or key.
fn found(world: &mut World, service: &str) -> Vec<String> {
    let query = Request::FindProviders(ProviderQuery {
        service: Some(service.to_owned()),
        ..ProviderQuery::default()
    });
    match world.apply(None, &query) {
        Ok(Answer::Providers(providers)) => {
            let found = providers.found.into_iter();
            found.map(|it| it.service).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// A registry that trusts two authorities knows two owners of one subject.
#[test]
fn a_rule_of_one_authority_is_not_for_the_namesake_of_another_one() {
    let rule = PublisherRule {
        subject: Some("CN=p1".to_owned().into()),
        issuer: Some("CN=ca".to_owned().into()),
        ..ANYBODY
    };
    let mut world = World::new(vec![rule]);
    let own = owner("p1");
    let namesake = Owner {
        issuer: "CN=other".to_owned().into(),
        ..own.clone()
    };
    let what = "anything".to_owned();
    let refused = Err(Refusal::NotAllowed { what });
    assert_eq!(world.apply(Some(&namesake), &save("p1")), refused);
    world.apply(Some(&own), &save("p1")).expect("it is allowed");
}

/// An authority may write a name in another way on the next certificate, and a file always does.
#[test]
fn an_owner_is_one_however_its_names_are_written() {
    let rule = PublisherRule {
        subject: Some("cn = P1".to_owned().into()),
        issuer: Some("CN=\"ca\"".to_owned().into()),
        ..ANYBODY
    };
    let mut world = World::new(vec![rule]);
    let own = owner("p1");
    let renewed = Owner::new("CN=P1", "cn=ca");
    world.apply(Some(&own), &save("p1")).expect("it is allowed");
    world
        .apply(Some(&renewed), &save("p1"))
        .expect("it is the same owner");
    let mut asked = |owner: &str| {
        let query = Request::FindProviders(ProviderQuery {
            owners: vec![owner.to_owned()],
            ..ProviderQuery::default()
        });
        world.apply(None, &query).map(|answer| match answer {
            Answer::Providers(providers) => providers.found.len(),
            other => panic!("{other:?}"),
        })
    };
    for wanted in ["CN=p1", "cn= p1", "CN=P1", "2.5.4.3=p1"] {
        assert_eq!(asked(wanted), Ok(1), "{wanted}");
    }
    assert_eq!(asked("CN=p2"), Ok(0));
    let (part, expected) = ("owner", "the distinguished name of a subject");
    for nobody in ["p1", "", "*"] {
        assert_eq!(asked(nobody), Err(Refusal::Value { part, expected }));
    }
}

/// A publisher that may not publish `Books` makes that name a key of what it may publish.
#[test]
fn the_key_of_a_service_is_not_taken_for_the_name_of_another_one() {
    let mut world = World::new(vec![only("Other")]);
    let own = owner("mallory");
    let mut other = business("mallory", "http://203.0.113.66/");
    other.services[0].names[0] = Text::new("Other");
    let request = Request::SaveBusiness(vec![other.clone()]);
    world.apply(Some(&own), &request).expect("it is allowed");
    let mut named = other;
    named.services[0].service_key = "Books".to_owned();
    let refused = world.apply(Some(&own), &Request::SaveBusiness(vec![named.clone()]));
    let expected = "a URI that begins with uddi:";
    let part = "serviceKey";
    assert_eq!(refused, Err(Refusal::Value { part, expected }));
    assert_eq!(found(&mut world, "uddi:mallory:service"), ["Other"]);
    // Nor is an entry found by such a key that an older registry kept.
    let mut service = named.services.remove(0);
    service.business_key = named.business_key;
    let mut binding = service.bindings.remove(0);
    binding.service_key = service.service_key.clone();
    let entries = [Entry::Service(service), Entry::Binding(binding)];
    let records = entries.map(|entry| Record {
        owner: own.clone(),
        entry,
    });
    world.registry = Registry::new(vec![ANYBODY], Limits::default(), records.into());
    assert_eq!(found(&mut world, "Other"), ["Other"]);
    assert_eq!(found(&mut world, "Books"), [""; 0]);
}

/// Nor is the name of a service taken for the key of another one.
#[test]
fn the_name_of_a_service_is_not_taken_for_the_key_of_another_one() {
    let mut world = World::new(vec![ANYBODY]);
    world
        .apply(Some(&owner("p1")), &save("p1"))
        .expect("it is saved");
    let mut named = business("mallory", "http://203.0.113.66/");
    named.services[0].names[0] = Text::new("uddi:p1:service");
    let request = Request::SaveBusiness(vec![named]);
    world
        .apply(Some(&owner("mallory")), &request)
        .expect("it is saved");
    assert_eq!(found(&mut world, "uddi:p1:service"), ["Books"]);
}

/// Who asked can see that the answer is about the question.
#[test]
fn a_service_with_several_names_is_answered_by_the_one_that_was_asked_for() {
    let mut world = World::new(vec![ANYBODY]);
    let mut named = business("p1", "http://10.0.0.1:9000/books");
    named.services[0].names.push(Text::new("Livres"));
    world
        .apply(Some(&owner("p1")), &Request::SaveBusiness(vec![named]))
        .expect("it is saved");
    assert_eq!(found(&mut world, "Livres"), ["Livres"]);
    assert_eq!(found(&mut world, "uddi:p1:service"), ["Books"]);
}

#[test]
fn keys_of_publishers_begin_with_uddi() {
    let mut world = World::new(vec![ANYBODY]);
    let own = owner("p1");
    let expected = "a URI that begins with uddi:";
    let refused = |part| Err(Refusal::Value { part, expected });
    let given = business("p1", "http://10.0.0.1:9000/books");
    let mut of_business = given.clone();
    of_business.business_key = "p1".to_owned();
    let mut of_binding = given;
    of_binding.services[0].bindings[0].binding_key = "UDDI:p1".to_owned();
    for (business, part) in [(of_business, "businessKey"), (of_binding, "bindingKey")] {
        let request = Request::SaveBusiness(vec![business]);
        assert_eq!(world.apply(Some(&own), &request), refused(part));
    }
    let model = TModel {
        t_model_key: "http://10.0.0.1/".to_owned(),
        name: Text::new("a"),
        ..TModel::default()
    };
    let request = Request::SaveTModel(vec![model]);
    assert_eq!(world.apply(Some(&own), &request), refused("tModelKey"));
}
