//! A configuration with the providers that are known as the backends of its routes.
//!
//! The rule kept here: a provider that its policy does not fit is passed over, and no owner shares
//! a backend with another one, or takes its place. Two authorities have two owners of one subject.

use soapstone::config::Located;
use soapstone::endpoint::Calling;
use soapstone_broker::{SecurityIndex, Terms};
use soapstone_registry::Owner;

use super::Config;
use super::balance::{MemberSpec, nobody};
use super::endpoint::EndpointSpec;
use super::owner_name::OwnerName;
use super::route::RouteSpec;
use super::route_table::with_security;
use super::source::{KnownProvider, KnownProviders, OwnersPolicy, SourceSpec};
use super::tls::{self, ClientTls};
use super::url::{backend_url, without_brackets};

impl Config {
    /// The same configuration, with the providers that are known as the backends of its routes.
    pub(crate) fn resolved(mut self, known: &KnownProviders) -> Self {
        for route in &mut self.routes {
            route.resolve(known);
        }
        self
    }

    /// The sources of its routes.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceSpec> {
        let groups = self.routes.iter().filter_map(|route| route.group.as_ref());
        groups.filter_map(|group| group.source.as_ref())
    }
}

impl RouteSpec {
    fn resolve(&mut self, known: &KnownProviders) {
        let Some(group) = &mut self.group else {
            return;
        };
        let known = group.source.as_ref().and_then(|source| known.get(source));
        let Some(known) = known else {
            return;
        };
        let mut members: Vec<MemberSpec> = Vec::new();
        let policies = Policies {
            source: group.source.as_ref(),
            of_owners: &group.policies,
            of_route: self.outbound.as_ref(),
            assured: group.source_assured.as_ref(),
            tls: group.source_tls.as_ref(),
        };
        for provider in known {
            let read = match policies.is_ambiguous(provider, known) {
                true => Err(
                    "the registry has two owners of its subject, and the file names no issuer: owners = [\"CN=… of CN=…\"]",
                ),
                false => member(provider, &policies),
            };
            match read {
                Ok(member) => add(&mut members, member),
                Err(why) => {
                    let url = provider.access_point.as_str();
                    tracing::warn!(route = self.name, url, why, "provider passed over");
                }
            }
        }
        if members.is_empty() {
            members.push(nobody());
        }
        group.members = with_security(
            members,
            &group.policies,
            self.inbound.as_ref(),
            self.outbound.as_ref(),
        );
    }
}

/// Adds a member, unless it is there. Owners choose their access points: one that another owner
/// has, too, is a member of its own. What is found of one is nothing of the other.
fn add(members: &mut Vec<MemberSpec>, member: MemberSpec) {
    let same = |it: &&mut MemberSpec| {
        it.url == member.url && it.address == member.address && it.owner == member.owner
    };
    match members.iter_mut().find(same) {
        Some(known) => {
            let (own, other) = (&mut known.terms, member.terms);
            // DNS gives each of its records a share, and entries of an owner have none.
            own.weight = match (own.backup, other.backup) {
                (true, false) => other.weight,
                (false, true) => own.weight,
                _ if known.address.is_some() => own.weight.saturating_add(other.weight),
                _ => own.weight,
            };
            own.backup &= other.backup;
        }
        None => members.push(member),
    }
}

/// What is in front of providers.
struct Policies<'s> {
    source: Option<&'s SourceSpec>,
    of_owners: &'s [OwnersPolicy],
    of_route: Option<&'s EndpointSpec<Calling>>,
    /// What those without a policy of their owner assure, past a route that passes messages on.
    assured: Option<&'s Located<SecurityIndex>>,
    /// TLS towards those that DNS names.
    tls: Option<&'s ClientTls>,
}

impl Policies<'_> {
    /// Which of the policies is that of an owner.
    fn of(&self, owner: &Owner) -> Option<usize> {
        let is_of = |policy: &OwnersPolicy| policy.owners.iter().any(|it| it.is_of(owner));
        self.of_owners.iter().position(is_of)
    }

    /// How the file names an owner: where it has a policy, as this one does.
    fn name_of(&self, owner: &Owner) -> Option<OwnerName> {
        let mut of_policies = self.of_owners.iter().flat_map(|policy| &policy.owners);
        let named = of_policies.find(|it| it.is_of(owner)).cloned();
        named.or_else(|| match self.source {
            Some(SourceSpec::Registry(source)) => source.name_of(owner),
            _ => None,
        })
    }

    /// Whether another authority has an owner that the file names the same: which of both it
    /// means, nobody knows.
    fn is_ambiguous(&self, provider: &KnownProvider, known: &[KnownProvider]) -> bool {
        let owner = &provider.owner;
        self.name_of(owner).is_some_and(|name| {
            let mut owners = known.iter().map(|it| &it.owner);
            owners.any(|other| other != owner && name.is_of(other))
        })
    }

    /// What a provider of a registry is called. Of one access point there may be one for each
    /// owner. The file alone says how they are named: no owner that comes renames the backend of
    /// another one.
    fn backend_name(&self, provider: &KnownProvider) -> Result<String, &'static str> {
        let name = self.name_of(&provider.owner);
        let name = name.ok_or("the name of its owner reads as that of another one")?;
        let names_owners = self.source.is_some_and(SourceSpec::names_owners);
        Ok(match names_owners || self.of(&provider.owner).is_some() {
            true => format!("{} ({name})", provider.access_point),
            false => provider.access_point.clone(),
        })
    }
}

fn member(provider: &KnownProvider, policies: &Policies<'_>) -> Result<MemberSpec, &'static str> {
    let policy = policies.of(&provider.owner);
    let of_owner = policy.and_then(|index| policies.of_owners.get(index));
    let side = of_owner.and_then(|it| it.outbound.as_ref());
    let side = side.or(policies.of_route);
    let needs_tls = side.is_some_and(|side| side.endpoint.needs_tls() || side.shows_its_keys());
    let url = backend_url(&provider.access_point).map_err(|error| error.found)?;
    let is_secure = url.scheme_str() == Some("https");
    if needs_tls && !is_secure {
        return Err("its policy leaves protection to TLS, and it is not https");
    }
    let host = without_brackets(url.host().unwrap_or_default());
    let unusable = "TLS cannot be used with its host";
    let tls = match (is_secure, &provider.target) {
        (false, _) => None,
        (true, None) => Some(tls::read_client(None, host, &|_| {}).ok_or(unusable)?),
        (true, Some(_)) => Some(policies.tls.cloned().ok_or(unusable)?),
    };
    Ok(MemberSpec {
        name: match &provider.target {
            // Of one host there may be several.
            Some(target) => format!("{} ({})", target.host, target.address),
            None => policies.backend_name(provider)?,
        },
        owner: match &provider.target {
            Some(_) => None,
            None => Some(provider.owner.clone()),
        },
        address: provider.target.as_ref().map(|target| target.address),
        tls,
        outbound: None,
        policy,
        assured: match of_owner {
            Some(of_owner) => of_owner.assured.clone(),
            None => policies.assured.cloned(),
        },
        terms: Terms {
            backup: provider.backup,
            weight: provider.target.as_ref().map_or(1, |target| target.weight),
            ..Terms::default()
        },
        url,
    })
}

#[cfg(test)]
mod tests {
    use soapstone_broker::Property;
    use soapstone_testkit::Folder;
    use soapstone_testkit::keys::P256;

    use super::*;
    use crate::config::source::DnsTarget;

    /// A route with these tables, whose backends are the providers of p1, p2 and p3.
    fn config(tables: &str) -> Config {
        config_of("[\"CN=p1\", \"CN=p2\", \"CN=p3\"]", tables)
    }

    fn config_of(owners: &str, tables: &str) -> Config {
        let folder = Folder::with_keys(P256, &["broker", "registry"]);
        let text = text_of(owners, tables);
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config.unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn text_of(owners: &str, tables: &str) -> String {
        format!(
            "listen = \"127.0.0.1:0\"\n[registry]\nurl = \"http://127.0.0.1:1/uddi\"\n[registry.client]\n\
             identity = {{ key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }}\n\
             peer = {{ certificate = \"registry.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=registry\"] }}\n\
             security = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n\
             [[routes]]\npath = \"/books\"\n[routes.backends]\nservice = \"Books\"\n\
             owners = {owners}\n{tables}"
        )
    }

    /// Two policies: the second is of p2 and p3.
    fn two_policies() -> Config {
        let policy = |owners: &str| {
            format!(
                "[[routes.backends.policies]]\nowners = [{owners}]\n\
                 [routes.backends.policies.outbound]\nsecurity = {{ mechanism = \"none\" }}\n"
            )
        };
        config(&(policy("\"CN=p1\"") + &policy("\"CN=p2\", \"CN=p3\"")))
    }

    /// `"CN=p1"` of the authority of most, or `"CN=p1 of CN=other"`.
    fn owner_of(text: &str) -> Owner {
        let (subject, issuer) = text.split_once(" of ").unwrap_or((text, "CN=ca"));
        Owner::new(subject, issuer)
    }

    /// Name, policy and `backup` of the members that these providers, each with its owner and
    /// `backup`, become.
    fn members(config: Config, known: &[(&str, &str, bool)]) -> Vec<(String, Option<usize>, bool)> {
        let source = config.sources().next().expect("a source").clone();
        let known = known
            .iter()
            .map(|(access_point, owner, backup)| KnownProvider {
                access_point: (*access_point).to_owned(),
                owner: owner_of(owner),
                backup: *backup,
                target: None,
            });
        let config = config.resolved(&KnownProviders::from([(source, known.collect())]));
        let group = config.routes.into_iter().next().and_then(|it| it.group);
        let members = group.expect("several backends").members.into_iter();
        let members = members.map(|it| (it.name, it.policy, it.terms.backup));
        members.collect()
    }

    #[test]
    fn no_owner_takes_the_place_of_another_one_with_its_access_point() {
        for backup in [false, true] {
            let p1 = ("http://10.0.0.1/books", "CN=p1", backup);
            let p2 = ("http://10.0.0.1/books", "CN=p2", !backup);
            let of_p1 = ("http://10.0.0.1/books (CN=p1)".to_owned(), Some(0), backup);
            let of_p2 = ("http://10.0.0.1/books (CN=p2)".to_owned(), Some(1), !backup);
            assert_eq!(
                members(two_policies(), &[p1, p2]),
                [of_p1.clone(), of_p2.clone()]
            );
            assert_eq!(members(two_policies(), &[p2, p1]), [of_p2, of_p1]);
        }
    }

    /// An authority may write the names on the next certificate in another way.
    #[test]
    fn an_owner_that_is_written_in_two_ways_is_no_namesake() {
        let known = [
            ("http://10.0.0.1/books", "CN=p1", false),
            ("http://10.0.0.2/books", "cn = P1 of CN=Ca", false),
        ];
        let found = ["http://10.0.0.1/books", "http://10.0.0.2/books"];
        let backends = found.map(|url| (format!("{url} (CN=p1)"), None, false));
        assert_eq!(members(config(""), &known), backends);
    }

    /// What an agreement is about is found by the names of backends.
    #[test]
    fn an_agreement_is_about_the_backends_of_an_owner_however_it_writes_that() {
        for (owners, written, found) in [
            ("\"CN=p1\", \"CN=p2\"", "cn = P1", "CN=p1"),
            ("\"cn = P1\", \"CN=p2\"", "CN=p1", "cn = P1"),
            (
                "\"CN=p1 of CN=ca\", \"CN=p1 of CN=other\"",
                "CN=P1 of cn = ca",
                "CN=p1 of CN=ca",
            ),
            ("\"*\"", "cn = p1 of cn = ca", "CN=p1 of CN=ca"),
        ] {
            let folder = Folder::with_keys(P256, &["broker", "registry"]);
            let gold = format!(
                "service = \"/books\"\nuntil = 2999-01-01\nwindow = {{ calls = 2 }}\n\
                 [client]\nsubject = \"CN=client\"\n[provider]\nbackends = [\"http://10.0.0.1/books ({written})\"]\n"
            );
            folder.write("gold.toml", gold);
            let identity =
                "identity = { key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }\n";
            let agreements = format!(
                "[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n{identity}[[routes]]"
            );
            let inbound = format!(
                "[routes.inbound]\n{identity}trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
                 security = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n"
            );
            let text = text_of(&format!("[{owners}]"), &inbound).replace("[[routes]]", &agreements);
            let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
            let config = config.unwrap_or_else(|problems| panic!("{written}: {problems}"));
            let agreements = config.agreements.as_ref().expect("agreements");
            let about = agreements.agreements[0].terms.backends.clone();
            let members = members(config, &[("http://10.0.0.1/books", "CN=p1", false)]);
            assert_eq!(about, [format!("http://10.0.0.1/books ({found})")]);
            assert_eq!(about, [members[0].0.as_str()]);
        }
    }

    /// Of an owner several entries are one backend, and it is a backup if all of them say so. What
    /// the entry of another one says changes nothing of it.
    #[test]
    fn owners_with_one_policy_have_a_backend_each() {
        for (first, second, expected) in [
            (false, false, false),
            (false, true, false),
            (true, false, false),
            (true, true, true),
        ] {
            let known = [
                ("http://10.0.0.1/", "CN=p2", first),
                ("HTTP://10.0.0.1", "CN=p2", second),
                ("http://10.0.0.1/", "CN=p3", !expected),
            ];
            let backends = [
                ("http://10.0.0.1/ (CN=p2)".to_owned(), Some(1), expected),
                ("http://10.0.0.1/ (CN=p3)".to_owned(), Some(1), !expected),
            ];
            assert_eq!(members(two_policies(), &known), backends);
            let of_route = backends.map(|(name, _, backup)| (name, None, backup));
            assert_eq!(members(config(""), &known), of_route);
        }
    }

    /// What is assured is that of the provider's owner, or else that of all.
    #[test]
    fn a_provider_has_what_the_file_assures_of_its_owner() {
        let assures = |bits: u16| {
            format!(
                "assures = {{ properties = [\"integrity\"], bits = {bits}, algorithms = [\"rsa-sha256\"] }}\n"
            )
        };
        let tables = format!(
            "{}[[routes.backends.policies]]\nowners = [\"CN=p2\"]\n{}[routes.inbound]\nrole = \"urn:broker\"\n\
             identity = {{ key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n",
            assures(112),
            assures(128)
        );
        let config = config(&tables);
        let source = config.sources().next().expect("a source").clone();
        let known = ["CN=p1", "CN=p2"].map(|owner| KnownProvider {
            access_point: "http://10.0.0.1/books".to_owned(),
            owner: owner_of(owner),
            backup: false,
            target: None,
        });
        let config = config.resolved(&KnownProviders::from([(source, known.into())]));
        let group = config.routes.into_iter().next().and_then(|it| it.group);
        let members = group.expect("several backends").members;
        let bits = members
            .iter()
            .map(|it| it.terms.security.of(Property::Integrity).bits);
        assert_eq!(bits.collect::<Vec<_>>(), [112, 128]);
    }

    /// The name is what agreements know a backend by: nobody changes it by an entry.
    #[test]
    fn a_backend_is_named_by_its_owner_where_the_file_names_several() {
        let known = [("http://10.0.0.1/", "CN=p1", false)];
        for (owners, expected) in [
            ("[\"CN=p1\"]", "http://10.0.0.1/"),
            ("[\"CN=p1\", \"CN=p2\"]", "http://10.0.0.1/ (CN=p1)"),
            ("[\"CN=p1 of CN=ca\"]", "http://10.0.0.1/"),
            (
                "[\"CN=p1 of CN=ca\", \"CN=p1 of CN=other\"]",
                "http://10.0.0.1/ (CN=p1 of CN=ca)",
            ),
            ("[\"*\"]", "http://10.0.0.1/ (CN=p1 of CN=ca)"),
        ] {
            let found = members(config_of(owners, ""), &known);
            assert_eq!(found, [(expected.to_owned(), None, false)]);
        }
    }

    /// A registry that trusts two authorities knows two owners of one subject.
    #[test]
    fn owners_of_one_subject_and_two_authorities_share_no_backend() {
        let url = "http://10.0.0.1/";
        let known = [
            (url, "CN=p1", false),
            (url, "CN=p1 of CN=other", false),
            ("http://10.0.0.2/", "CN=p1 of CN=other", false),
            (url, "CN=p2", false),
        ];
        let of = |owners: &str| {
            let found = members(config_of(owners, ""), &known).into_iter();
            found.map(|(name, ..)| name).collect::<Vec<_>>()
        };
        let both = "[\"CN=p1 of CN=ca\", \"CN=p1 of CN=other\"]";
        let own = "http://10.0.0.1/ (CN=p1 of CN=ca)";
        let others = [
            "http://10.0.0.1/ (CN=p1 of CN=other)",
            "http://10.0.0.2/ (CN=p1 of CN=other)",
        ];
        assert_eq!(of(both), [own, others[0], others[1]]);
        let of_all = of("[\"*\"]");
        assert_eq!(of_all[..3], [own, others[0], others[1]]);
        // Whom the file means is not known: neither is a backend.
        assert_eq!(of("[\"CN=p1\", \"CN=p2\"]"), ["http://10.0.0.1/ (CN=p2)"]);
        assert_eq!(of("[\"CN=p1\"]"), ["no provider is known"]);
    }

    /// What one authority's owner and its clients agreed on is not agreed on with its namesake.
    #[test]
    fn a_policy_of_an_owner_is_not_that_of_its_namesake() {
        let policy = |owner: &str| {
            format!(
                "[[routes.backends.policies]]\nowners = [\"{owner}\"]\n\
                 [routes.backends.policies.outbound]\nsecurity = {{ mechanism = \"none\" }}\n\
                 [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n"
            )
        };
        let known = [
            ("http://10.0.0.1/", "CN=p1", false),
            ("http://10.0.0.2/", "CN=p1 of CN=other", false),
        ];
        let found = members(config_of("[\"*\"]", &policy("CN=p1 of CN=ca")), &known);
        let of = |name: &str, policy| (name.to_owned(), policy, false);
        let expected = [
            of("http://10.0.0.1/ (CN=p1 of CN=ca)", Some(0)),
            of("http://10.0.0.2/ (CN=p1 of CN=other)", None),
        ];
        assert_eq!(found, expected);
        let found = members(config_of("[\"*\"]", &policy("CN=p1")), &known);
        assert_eq!(found, [of("no provider is known", None)]);
    }

    /// Two names of one host are one backend, and it has the shares of both.
    #[test]
    fn an_address_that_dns_names_twice_has_both_weights() {
        let text = "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\n[routes.backends]\n\
                    srv = \"http://_a._tcp.example.com/\"\nnetworks = [\"10.0.0.0/8\"]\n";
        for (first, second, expected) in [
            (false, false, 7),
            (true, true, 7),
            (false, true, 3),
            (true, false, 4),
        ] {
            let config = Config::from_text(text, "gateway.toml".as_ref(), &|_| None);
            let config = config.unwrap_or_else(|problems| panic!("{problems}"));
            let source = config.sources().next().expect("a source").clone();
            let named = |host: &str, weight, backup| KnownProvider {
                access_point: "http://example.com:80/".to_owned(),
                owner: Owner::default(),
                backup,
                target: Some(DnsTarget {
                    host: host.to_owned(),
                    address: ([10, 0, 0, 1], 80).into(),
                    weight,
                }),
            };
            let known = vec![named("one", 3, first), named("two", 4, second)];
            let config = config.resolved(&KnownProviders::from([(source, known)]));
            let group = config.routes.into_iter().next().and_then(|it| it.group);
            let members = group.expect("several backends").members;
            let found: Vec<(u32, bool)> = members
                .iter()
                .map(|it| (it.terms.weight, it.terms.backup))
                .collect();
            assert_eq!(found, [(expected, first && second)]);
        }
    }

    /// Which providers there will be is not known when the file is read.
    #[test]
    fn a_policy_that_leaves_protection_to_tls_is_for_providers_behind_https() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let policy = root.join("interop/recorded/cxf/transport-username-Basic256/service.wsdl");
        let outbound = format!(
            "[routes.outbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
             security = {{ policy = \"{}\" }}\n",
            policy.display()
        );
        let known = [
            ("http://10.0.0.1/", "CN=p1", false),
            ("https://10.0.0.1/", "CN=p1", false),
        ];
        let secure = ("https://10.0.0.1/ (CN=p1)".to_owned(), None, false);
        assert_eq!(members(config(&outbound), &known), [secure]);
        let nobody = ("no provider is known".to_owned(), None, false);
        assert_eq!(members(config(&outbound), &known[..1]), [nobody]);
    }
}
