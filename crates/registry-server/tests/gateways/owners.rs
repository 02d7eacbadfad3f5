//! Owners of providers, each with the policy that was agreed on with it.

use super::*;

/// The registry says who owns a provider, and so which policy holds: none is no policy by mistake.
#[test]
fn providers_of_every_owner_have_a_policy_where_one_has() {
    let folder = folder();
    let registry = table(SocketAddr::from(([127, 0, 0, 1], 1)), "p1");
    let said = |owners: &str, more: &str| {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{registry}[[routes]]\npath = \"/\"\n{more}\
             [routes.backends]\nservice = \"Books\"\nowners = [{owners}]\n{}",
            policy("p1", "sign")
        );
        match GatewayConfig::from_text(&text, &folder.path("gateway.toml"), &|_| None) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    };
    let missing = "`outbound` is missing: providers of owners without one of `policies` would get messages unsecured";
    assert_eq!(said("\"CN=p1\"", ""), "");
    // However the owner is written.
    assert_eq!(said("\"cn = P1\"", ""), "");
    for owners in ["\"CN=p1\", \"CN=p2\"", "\"*\"", "\"CN=p1\", \"*\""] {
        let found = said(owners, "");
        assert!(found.contains(missing), "{owners}: {found}");
        let outbound = format!("[routes.outbound]\n{}", endpoint("p1", "p2", "sign"));
        assert_eq!(said(owners, &outbound), "", "{owners}");
        let unsecured = "[routes.outbound]\nsecurity = { mechanism = \"none\" }\n";
        assert_eq!(said(owners, unsecured), "", "{owners}");
    }
}

/// An owner that is named twice would have its backends named as those of several are.
#[test]
fn an_owner_is_named_once_and_whole() {
    let folder = folder();
    let registry = table(SocketAddr::from(([127, 0, 0, 1], 1)), "p1");
    let said = |owners: &str| {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{registry}[[routes]]\npath = \"/\"\n\
             [routes.backends]\nservice = \"Books\"\nowners = [{owners}]\n"
        );
        let read = GatewayConfig::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let problems = read.err().map(|problems| problems.to_string());
        let problems = problems.unwrap_or_default();
        let said = problems.split_once("gateway.toml:").map(|(_, said)| said);
        said.unwrap_or_default().to_owned()
    };
    // Of `owners`, behind the listener, the registry and the route.
    let line = registry.lines().count() + 6;
    let twice = "`owners` has this owner twice, however it is written\n    hint: keep one";
    for (one, other) in [
        ("CN=p1,O=Acme", "cn = P1; o=acme"),
        ("CN=p1 of CN=ca", "CN=P1 of cn = ca"),
        ("CN=p1", "CN=p1"),
        ("*", "*"),
    ] {
        let column = 15 + one.len();
        let found = said(&format!("\"{one}\", \"{other}\""));
        assert_eq!(found, format!("{line}:{column}: {twice}"));
    }
    assert_eq!(said("\"CN=p1 of CN=ca\", \"CN=p1 of CN=other\""), "");
    let half = "`owners` must hold distinguished names, found a text with \" of \" outside of quotes\n    \
                hint: name the issuer as well, \"CN=p1 of CN=authority\"; a value with the word stands in quotes: 'CN=\"Bank of Books\"'";
    for owner in ["CN=p1 of authority", "CN=Bank of Books of CN=ca"] {
        let found = said(&format!("\"{owner}\""));
        assert_eq!(found, format!("{line}:11: {half}"), "{owner}");
    }
    for owner in ["'CN=\"Bank of Books\"'", "'CN=Bank\\ of Books of CN=ca'"] {
        assert_eq!(said(owner), "", "{owner}");
    }
}

/// Each provider is called by the policy of its owner, and is worth what that policy gives.
#[tokio::test(flavor = "multi_thread")]
async fn providers_of_one_route_have_the_policies_of_their_owners() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let p1 = protected(&folder, address, "p1", "sign").await;
    let p2 = protected(&folder, address, "p2", "sign-encrypt").await;
    until("both are registered", async || {
        let providers = providers(&registry).await;
        providers.len() == 2 && providers.iter().all(|it| it.state == State::Active)
    })
    .await;
    let route = |path: &str, needs: &str| {
        format!(
            "[[routes]]\npath = \"/{path}\"\n{needs}[routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n{}{}",
            policy("p1", "sign"),
            policy("p2", "sign-encrypt")
        )
    };
    let confidential = "balance = { needs = { properties = [\"confidentiality\"], bits = 128 } }\n";
    let fair = "balance = { selection = \"round-robin\" }\n";
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}{}{}",
        table(address, "broker"),
        route("all", fair),
        route("confidential", confidential)
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    let answered = async |route: &str| -> Vec<(String, u64)> {
        let members = backends(admin, route).await;
        let members = members.iter().map(|member| {
            let url = member["url"].as_str().expect("a URL").to_owned();
            (url, member["answered"].as_u64().expect("a number"))
        });
        members.collect()
    };
    until("both are known to both routes", async || {
        answered("/all").await.len() == 2 && answered("/confidential").await.len() == 2
    })
    .await;
    for path in ["/all", "/confidential"] {
        for _ in 0..6 {
            let (status, body) = call(broker, path).await;
            assert_eq!((status, body.contains("Echo")), (200, true), "{body}");
        }
    }
    let of = |gateway: &soapstone_gateway::Running, found: &[(String, u64)]| {
        let url = format!("http://{}/books", gateway.address());
        found
            .iter()
            .find(|(it, _)| *it == url)
            .map(|(_, calls)| *calls)
    };
    let all = answered("/all").await;
    assert_eq!((of(&p1, &all), of(&p2, &all)), (Some(3), Some(3)));
    let confidential = answered("/confidential").await;
    let expected = (Some(0), Some(6));
    assert_eq!((of(&p1, &confidential), of(&p2, &confidential)), expected);
    running.abort();
}

/// The route has `outbound`, and p2 gets messages as they are: that is the policy of p2.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_policy_is_none_gets_messages_as_they_are() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let plain = backend(ECHO);
    let _p2 = provider(&folder, address, "p2", plain, &format!("http://{plain}/")).await;
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         [routes.outbound]\n{}[routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n\
         [[routes.backends.policies]]\nowners = [\"CN=p2\"]\n\
         [routes.backends.policies.outbound]\nsecurity = {{ mechanism = \"none\" }}\n",
        table(address, "broker"),
        endpoint("broker", "p1", "sign")
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    until("the provider is known", async || {
        let known = backends(admin, "/books").await;
        known[0]["url"] == format!("http://{plain}/").as_str()
    })
    .await;
    let (status, body) = call(broker, "/books").await;
    assert_eq!((status, body.contains("Echo")), (200, true), "{body}");
    running.abort();
}

/// p2 publishes the access point of p1. Calls that prove what p2 agreed on are refused there, and
/// those that prove what p1 agreed on are answered.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_publishes_the_access_point_of_another_one_takes_it_out_of_no_use() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let p1 = protected(&folder, address, "p1", "sign-encrypt").await;
    let url = format!("http://{}/books", p1.address());
    let _p2 = provider(&folder, address, "p2", backend("p2"), &url).await;
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         balance = {{ selection = \"round-robin\", ejection = {{ failures = 1, time = \"1h\", longest = \"1h\" }} }}\n\
         [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n{}{}",
        table(address, "broker"),
        policy("p1", "sign-encrypt"),
        policy("p2", "sign")
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    until("both are known", async || {
        backends(admin, "/books").await.len() == 2
    })
    .await;
    let statuses = RefCell::new(Vec::new());
    until("both were called", async || {
        let (status, _) = call(broker, "/books").await;
        statuses.borrow_mut().push(status);
        let known = backends(admin, "/books").await;
        known.iter().all(|it| it["answered"] != 0)
    })
    .await;
    let statuses = statuses.take();
    let count = |status: u16| statuses.iter().filter(|it| **it == status).count();
    let known = backends(admin, "/books").await;
    let told = known.iter().map(|it| {
        let [name, answered, usable] = ["name", "answered", "usable"].map(|field| &it[field]);
        json!([name, answered, usable])
    });
    let expected = [
        json!([format!("{url} (CN=p1)"), count(200), true]),
        json!([format!("{url} (CN=p2)"), count(502), true]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{statuses:?}");
    running.abort();
}
