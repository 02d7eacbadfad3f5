//! From the table of a token service to the rules by which it issues assertions.
//!
//! The rule kept here: a table that cannot be obeyed to the letter is no table. A right that is
//! misspelt is reported, and does not lie idle.

use std::sync::Arc;
use std::time::Duration;

use soapstone_crypto::{
    Certificate, DigestAlgorithm, DistinguishedName, Identity, KeyTransport, SignatureAlgorithm,
    TrustRules, TrustStore,
};
use soapstone_trust::{
    AssertionRules, Delegation, DelegationForm, ForeignSubjects, Parties, SecurityTokenService,
    ServiceRules, TRANSIENT_NAMES, TargetService, takes_symmetric_keys,
};
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionProtection, ConfirmationMethod, KeyBinding,
    KeyTransportMethod, Keys, Policy, SamlVersion, WrappedKeyUse,
};

use super::compiler::Compiler;
use super::exchange_policy::Exchange;
use super::expiring_file::MaterialUse;
use crate::config::{
    AssertionIssuerConfig, DelegationConfig, ForeignSubjectsConfig, KeyTypeChoice, Located,
    OTHER_TEXT, PartiesConfig, StsConfig, TargetServiceConfig,
};

/// Life of an assertion where the file says nothing: as long as a call and its repetitions take.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(60 * 60);
const SHORTEST_LIFETIME: Duration = Duration::from_secs(60);

fn foreign_subjects(config: &ForeignSubjectsConfig) -> ForeignSubjects {
    ForeignSubjects {
        issuer: config.issuer.value.clone(),
        format: config.format.as_ref().map(|it| it.value.clone()),
        names: config.names.iter().map(|it| it.value.clone()).collect(),
    }
}

/// Whether requests by this policy show a requester that an assertion can be about.
fn shows_requester(policy: &Policy) -> bool {
    let names = |key| matches!(key, KeyBinding::Certificate | KeyBinding::Password);
    policy.username().is_some()
        || policy.assertion().is_some()
        || policy.kerberos().is_some()
        || policy.signs_with().is_some_and(names)
        || policy.endorsing().any(|token| names(token.key.kind()))
}

impl Compiler<'_> {
    /// The token service that the endpoint is, if it is one.
    pub(super) fn sts(
        &mut self,
        in_conversation: bool,
        exchanges: &[Exchange],
        keys: &Keys,
    ) -> Option<SecurityTokenService> {
        let config = self.config.sts.as_ref()?;
        if in_conversation {
            self.report_with_hint(
                config.place,
                "a token service within conversations is not supported",
                "take a mechanism for single messages",
            );
        }
        if self.config.intermediary.is_some() {
            self.report_with_hint(
                config.place,
                "a token service answers all messages, and an intermediary passes them on",
                "leave `role` out",
            );
        }
        self.check_assertions_of_requesters(exchanges);
        self.check_audience_of_requesters(config);
        if !in_conversation && !exchanges.iter().all(|one| shows_requester(&one.request)) {
            self.report_with_hint(
                config.place,
                "requests show no user, certificate, assertion or Kerberos client, so that a token service knows nobody",
                "have requesters sign, or give a user and a password",
            );
        }
        let identity = self.identity(&config.identity, MaterialUse::Issuing);
        self.check_own_name(config, identity.as_deref());
        let services = self.target_services(config);
        let attributes = self.granted_attributes(config);
        let dialects = self.claim_dialects(config, &attributes);
        let delegations = self.delegations(config);
        let others = self.assertion_issuers(&config.issuers);
        let (shortest_lifetime, lifetime, longest_lifetime) = self.lifetimes(config);
        let identity = identity?;
        let kind = identity.key().kind();
        let policy = AssertionPolicy {
            versions: SamlVersion::ALL.to_vec(),
            ..AssertionPolicy::default()
        };
        let mut algorithms = policy.signature.iter().copied();
        let Some(signature) = algorithms.find(|one: &SignatureAlgorithm| one.fits(kind)) else {
            let place = config.identity.place;
            self.report(
                place,
                format!("the key that signs is {kind}, which signs no assertions"),
            );
            return None;
        };
        let mut own = TrustRules::default();
        own.pinned = vec![identity.certificate().clone()];
        let own = match TrustStore::new(own) {
            Ok(own) => own,
            Err(error) => {
                self.report(config.identity.place, error.to_string());
                return None;
            }
        };
        let mut issuers = vec![AssertionIssuer {
            name: config.issuer.value.clone(),
            trust: Some(own),
        }];
        for issuer in &config.issuers {
            if issuer.name.value == config.issuer.value {
                self.report_with_hint(
                    issuer.name.place,
                    "another issuer has the name of the service itself",
                    "leave it out: the service knows its own assertions",
                );
            }
            if !issuer.signed {
                self.report_with_hint(
                    issuer.place,
                    "a token service believes no assertion that its issuer does not sign",
                    "leave `signed` out, and name the issuer's certificates: pinned = [\"….cert.pem\"]",
                );
            }
        }
        issuers.extend(others);
        let mut rules = ServiceRules::default();
        rules.contexts = false;
        // Roles and agreements count messages: several requests in one take the operator's word.
        let batch = config.batch.as_ref();
        rules.batch = batch.map_or(1, |most| usize::try_from(most.value).unwrap_or(1));
        rules.requestor_key_alone = config.requester_keys;
        let key = keys.unwrapping(WrappedKeyUse::Secret).next();
        rules.decryption_key = key.map(|identity| identity.key().clone());
        rules.assertions = Some(Arc::new(AssertionRules {
            issuer: config.issuer.value.clone(),
            signature,
            digest: DigestAlgorithm::Sha256,
            versions: config.versions.clone().unwrap_or(SamlVersion::ALL.to_vec()),
            key_types: config.key_types.iter().map(|one| one.key_type()).collect(),
            shortest_lifetime,
            lifetime,
            longest_lifetime,
            renewable: config.renewable.as_ref().map(|it| it.value),
            cancellable: config.cancellable,
            services,
            attributes,
            dialects,
            delegations,
            issuers: issuers.into(),
            policy,
            identity,
        }));
        Some(SecurityTokenService::new(rules))
    }

    /// Refuses assertions that would not show by themselves who asks.
    fn check_assertions_of_requesters(&mut self, exchanges: &[Exchange]) {
        let Some(saml) = &self.config.saml else {
            return;
        };
        let requests = exchanges.iter().map(|exchange| &exchange.request);
        for accepted in requests.filter_map(Policy::assertion) {
            if accepted.accepts(ConfirmationMethod::SenderVouches) {
                self.report_with_hint(
                    saml.place,
                    "whoever may vouch could ask a token service for anybody",
                    "confirmation = [\"holder-of-key\"]; or allow delegations",
                );
            }
            let by_signature = accepted.protection == AssertionProtection::Signature;
            if accepted.accepts(ConfirmationMethod::Bearer) && by_signature {
                self.report_with_hint(
                    saml.place,
                    "the assertion of a bearer under the signature of somebody else does not show who asks a token service",
                    "take a mechanism without signatures, over TLS; or confirmation = [\"holder-of-key\"]",
                );
            }
        }
        if let Some(issuer) = saml.issuers.iter().find(|issuer| !issuer.signed) {
            self.report_with_hint(
                issuer.place,
                "a token service believes no assertion that its issuer does not sign",
                "leave `signed` out, and name the issuer's certificates: pinned = [\"….cert.pem\"]",
            );
        }
    }

    /// Refuses other keys in the name of the service itself: whoever has one would speak for every
    /// user, for its assertions name ours.
    fn check_own_name(&mut self, config: &StsConfig, identity: Option<&Identity>) {
        let (Some(saml), Some(identity)) = (&self.config.saml, identity) else {
            return;
        };
        let mut issuers = saml.issuers.iter();
        let Some(own) = issuers.find(|issuer| issuer.name.value == config.issuer.value) else {
            return;
        };
        let mut pinned = Vec::new();
        for file in &own.trust.pinned {
            pinned.extend(self.certificates(file));
        }
        let is_own = |one: &Certificate| one.der() == identity.certificate().der();
        if !own.trust.anchors.is_empty() || !pinned.iter().all(is_own) {
            self.report_with_hint(
                own.place,
                "expected the certificate of `identity` of the token service and no other for assertions in its own name: whoever has another would speak for every user",
                "pin it alone: pinned = [\"….cert.pem\"]",
            );
        }
    }

    /// Refuses assertions of requesters that are for everybody, or for one of the services: whoever
    /// got one would ask in the name of its subject.
    fn check_audience_of_requesters(&mut self, config: &StsConfig) {
        let Some(saml) = &self.config.saml else {
            return;
        };
        let audience = saml.audience.as_deref();
        if audience.is_some_and(<[_]>::is_empty) {
            self.report_with_hint(
                saml.place,
                "expected the name of the token service in `audience`, found none: an assertion for everybody does not show who asks",
                "name it as issuers do: audience = [\"https://sts.example\"]",
            );
        }
        let services = config.services.iter();
        let audiences = services.map(|one| &one.audience.as_ref().unwrap_or(&one.address).value);
        let others = audiences.filter(|one| **one != config.issuer.value);
        let mut named = audience.unwrap_or_default().iter();
        let shared = named.find(|named| others.clone().any(|other| *other == named.value));
        if let Some(shared) = shared {
            self.report_with_hint(
                shared.place,
                "one of `services` has this audience: it could ask in the name of everybody who calls it",
                "name the token service alone, and allow delegations; a service that is the token service itself has its `issuer` as `audience`",
            );
        }
    }

    fn lifetimes(&mut self, config: &StsConfig) -> (Duration, Duration, Duration) {
        let value = |given: &Option<Located<Duration>>| given.as_ref().map(|it| it.value);
        let asked = value(&config.lifetime);
        let longest = value(&config.longest_lifetime);
        let longest = longest.unwrap_or(LONGEST_LIFETIME.max(asked.unwrap_or_default()));
        let usual = asked.unwrap_or(LIFETIME.min(longest));
        let shortest = value(&config.shortest_lifetime);
        let shortest = shortest.unwrap_or(SHORTEST_LIFETIME.min(usual));
        if shortest > usual || usual > longest {
            let given = [
                &config.lifetime,
                &config.shortest_lifetime,
                &config.longest_lifetime,
            ];
            let place = given.into_iter().flatten().map(|it| it.place).next();
            self.report(
                place.unwrap_or(config.place),
                "expected `lifetime` between `shortest_lifetime` and `longest_lifetime`",
            );
        }
        (shortest, usual, longest)
    }

    fn target_services(&mut self, config: &StsConfig) -> Vec<TargetService> {
        let mut services: Vec<TargetService> = Vec::with_capacity(config.services.len());
        for service in &config.services {
            let address = &service.address;
            if services.iter().any(|known| known.address == address.value) {
                self.report(address.place, "a service is there twice");
            }
            let named = service.audience.as_ref().unwrap_or(address);
            let audience = &named.value;
            let is_shared = |known: &TargetService| {
                known.audience == *audience && known.address != address.value
            };
            if services.iter().any(is_shared) {
                self.report_with_hint(
                    named.place,
                    "two services have one audience: each would accept the assertions of the other",
                    "give each service an audience of its own",
                );
            }
            let certificate = service.certificate.as_ref();
            let certificate = certificate.and_then(|file| {
                let certificate = self.peer(file)?;
                if !takes_symmetric_keys(&certificate) {
                    self.report_with_hint(
                        file.place,
                        "symmetric keys are encrypted to RSA keys alone, and this certificate has another one",
                        "name a certificate with an RSA key, or leave it out",
                    );
                }
                Some(certificate)
            });
            services.push(TargetService {
                address: address.value.clone(),
                audience: audience.clone(),
                key_transport: self.key_transport_to(service),
                certificate,
            });
        }
        let gives_keys = config.key_types.contains(&KeyTypeChoice::SymmetricKey);
        let has_certificate = config.services.iter().any(|it| it.certificate.is_some());
        if gives_keys && !has_certificate {
            self.report_with_hint(
                config.key_types_place,
                "no service has a certificate that a symmetric key could be encrypted to",
                "name it: services = [{ address = \"…\", certificate = \"….cert.pem\" }]",
            );
        }
        services
    }

    /// How symmetric keys are encrypted to a service: as its suite has it.
    fn key_transport_to(&mut self, service: &TargetServiceConfig) -> KeyTransportMethod {
        let usual = TargetService::KEY_TRANSPORT;
        let Some(name) = &service.suite else {
            return usual;
        };
        if service.certificate.is_none() {
            self.report_with_hint(
                name.place,
                "`suite` says how keys are encrypted to the service, and it has no certificate",
                "leave it out, or name the service's certificate",
            );
        }
        let Some(suite) = self.suite_called(name) else {
            return usual;
        };
        let mut methods = suite.key_transport.iter().copied();
        match methods.find(|method| method.algorithm != KeyTransport::Rsa15) {
            Some(method) => method,
            None => {
                self.report_with_hint(
                    name.place,
                    "a symmetric key is encrypted by RSA-OAEP alone, and this suite has another way",
                    "leave it out, or name a suite with RSA-OAEP such as \"Basic256Sha256\"",
                );
                usual
            }
        }
    }

    fn delegations(&mut self, config: &StsConfig) -> Vec<Delegation> {
        let mut delegations = Vec::with_capacity(config.delegations.len());
        let texts = |given: &[Located<String>]| given.iter().map(|it| it.value.clone()).collect();
        for delegation in &config.delegations {
            let mut services = delegation.services.iter();
            let known = |address: &String| {
                let mut known = config.services.iter();
                known.any(|service| service.address.value == *address)
            };
            if let Some(unknown) = services.find(|service| !known(&service.value)) {
                self.report(
                    unknown.place,
                    format!("expected an address of `services` above, found {OTHER_TEXT}"),
                );
            }
            let issuer = delegation.issuer.as_ref();
            let issuer = issuer.filter(|issuer| issuer.value != config.issuer.value);
            if let Some(issuer) = issuer
                && !config
                    .issuers
                    .iter()
                    .any(|it| it.name.value == issuer.value)
            {
                self.report_with_hint(
                    issuer.place,
                    format!("expected the name of one of `issuers`, found {OTHER_TEXT}"),
                    "say which certificates it has: issuers = [{ name = \"https://…\", pinned = [\"….cert.pem\"] }]",
                );
            }
            self.check_actors(config, delegation);
            delegations.push(Delegation {
                actors: self.parties(&delegation.actors),
                subjects: match issuer {
                    Some(issuer) => self.subjects_of(issuer, &delegation.subjects),
                    None => {
                        self.check_format(delegation.subjects.format.as_ref());
                        self.parties(&delegation.subjects)
                    }
                },
                forms: delegation.forms.clone(),
                issuer: issuer.map(|issuer| issuer.value.clone()),
                audiences: match &delegation.audiences {
                    Some(audiences) => texts(audiences),
                    None => vec![config.issuer.value.clone()],
                },
                services: texts(&delegation.services),
                renews: delegation.renew.as_ref().is_some_and(|it| it.value),
            });
        }
        delegations
    }

    /// Reports actors of an issuer whom no request could show, and a right to renew that nobody
    /// could use.
    fn check_actors(&mut self, config: &StsConfig, delegation: &DelegationConfig) {
        let renews = delegation.renew.as_ref().filter(|renew| renew.value);
        if let Some(renew) = renews
            && (config.renewable.is_none() || !delegation.forms.contains(&DelegationForm::ActAs))
        {
            self.report_with_hint(
                renew.place,
                "nothing is renewed by this right: that takes `renewable`, and the form \"act-as\", whose assertions name who acts",
                "leave it out; or renewable = \"8h\" and forms = [\"act-as\"]",
            );
        }
        for foreign in &delegation.actors.foreign {
            self.check_foreign_actors(config, foreign);
        }
    }

    fn check_foreign_actors(&mut self, config: &StsConfig, foreign: &ForeignSubjectsConfig) {
        let issuer = &foreign.issuer;
        let accepted = self.config.saml.iter().flat_map(|saml| &saml.issuers);
        let is_accepted = accepted
            .map(|it| &it.name.value)
            .any(|it| *it == issuer.value);
        if !is_accepted || issuer.value == config.issuer.value {
            self.report_with_hint(
                issuer.place,
                format!("expected the name of another issuer that `saml` of `inbound` accepts, found {OTHER_TEXT}"),
                "say whose assertions requesters show: saml = { issuers = [{ name = \"https://…\", pinned = [\"….cert.pem\"] }], … }",
            );
        }
        if foreign.names.is_empty() {
            self.report_with_hint(
                issuer.place,
                "expected the names of this issuer's subjects, found none: the issuer would decide who acts",
                "names = [\"front\"]",
            );
        }
        self.check_lasting(foreign.format.as_ref());
    }

    fn check_lasting(&mut self, format: Option<&Located<String>>) {
        if let Some(format) = format.filter(|format| format.value == TRANSIENT_NAMES) {
            self.report_with_hint(
                format.place,
                "a transient name is of one login, and another subject's with the next one",
                "have the issuer name them otherwise, for example by persistent names",
            );
        }
    }

    /// Refuses a format beside parties whom the service knows by itself.
    pub(super) fn check_format(&mut self, format: Option<&Located<String>>) {
        if let Some(format) = format {
            self.report_with_hint(
                format.place,
                "`format` is that of names which another issuer gives, and no `issuer` is named",
                "leave it out, or name the issuer of the presented assertions",
            );
        }
    }

    /// The subjects of another issuer for whom somebody acts. `users` are its names for them.
    fn subjects_of(&mut self, issuer: &Located<String>, config: &PartiesConfig) -> Parties {
        self.check_lasting(config.format.as_ref());
        let others = config.certificates.iter().chain(&config.principals);
        if let Some(other) = others.map(|it| it.place).next() {
            self.report_with_hint(
                other,
                "the subjects of another issuer have the names that it gives them, and these are of certificates or principals",
                "users = [\"…\"], and the `format` of these names if it is not the unspecified one",
            );
        }
        let names = config.users.iter().map(|it| it.value.clone());
        Parties {
            foreign: vec![ForeignSubjects {
                issuer: issuer.value.clone(),
                format: config.format.as_ref().map(|it| it.value.clone()),
                names: names.collect(),
            }],
            anybody: config.anybody,
            ..Parties::default()
        }
    }

    pub(super) fn parties(&mut self, config: &PartiesConfig) -> Parties {
        let mut certificates = Vec::with_capacity(config.certificates.len());
        for subject in &config.certificates {
            match DistinguishedName::parse(&subject.value) {
                Ok(name) if !name.is_empty() => certificates.push(name),
                _ => self.report_with_hint(
                    subject.place,
                    format!("`certificates` must hold distinguished names, found {OTHER_TEXT}"),
                    "for example certificates = [\"CN=gateway\"]",
                ),
            }
        }
        Parties {
            users: config.users.iter().map(|user| user.value.clone()).collect(),
            principals: config
                .principals
                .iter()
                .map(|it| it.value.clone())
                .collect(),
            foreign: config.foreign.iter().map(foreign_subjects).collect(),
            certificates,
            anybody: config.anybody,
        }
    }

    /// The issuers of a list.
    pub(super) fn assertion_issuers(
        &mut self,
        configs: &[AssertionIssuerConfig],
    ) -> Vec<AssertionIssuer> {
        let mut issuers = Vec::with_capacity(configs.len());
        for issuer in configs {
            let trust = match issuer.signed {
                false => None,
                true => match self.trust_store(&issuer.trust) {
                    Some(trust) => Some(trust),
                    // It was told of, and nobody is believed in its place.
                    None => continue,
                },
            };
            issuers.push(AssertionIssuer {
                name: issuer.name.value.clone(),
                trust,
            });
        }
        issuers
    }
}

#[cfg(test)]
mod tests {
    use soapstone_testkit::Folder;
    use soapstone_testkit::keys::{self, P256, RSA};
    use soapstone_wss::{
        Binding, EndorsingKey, EndorsingToken, KerberosForm, KerberosPolicy, Mechanism, Suite,
        SupportingToken, SymmetricBinding, SymmetricToken,
    };

    use super::*;
    use crate::config::{Document, EndpointConfig, Surroundings};
    use crate::endpoint::Service;

    /// What requesters encrypt by itself comes by RSA-OAEP, whichever key of ours comes first.
    #[test]
    fn a_token_service_opens_secrets_with_a_key_of_rsa() {
        let folder = Folder::with_keys(RSA, &["rsa"]);
        folder.write_identity("curve", &keys::identity("CN=curve", P256));
        let pair =
            |name: &str| format!("key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\"");
        let of = |name: &str| format!("{{ {} }}", pair(name));
        let found = |decryption: &[&str]| {
            let decryption: Vec<String> = decryption.iter().map(|name| of(name)).collect();
            let text = format!(
                "trust = {{ pinned = [\"rsa.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\" }}\nidentity = {{ {}, decryption = [{}] }}\n",
                pair("rsa"),
                decryption.join(", ")
            );
            let sts = format!(
                "issuer = \"https://sts.example\"\nidentity = {}\nservices = [{{ address = \"https://books.example\" }}]\n",
                of("rsa")
            );
            let file = folder.path("endpoint.toml");
            let config = EndpointConfig::from_text(&text, &file, &|_| None);
            let mut config = config.unwrap_or_else(|problems| panic!("{problems}"));
            let surroundings = Surroundings {
                file,
                environment: &|_| None,
            };
            let document = Document::parse(&sts, surroundings);
            config.sts = StsConfig::read(document.root());
            let service = Service::from_config(&config);
            let service = service.unwrap_or_else(|problems| panic!("{problems}"));
            let rules = service.sts.as_ref().map(SecurityTokenService::rules);
            let key = rules.and_then(|rules| rules.decryption_key.as_ref());
            key.map(|key| key.kind())
        };
        assert_eq!(found(&["curve", "rsa"]), Some(RSA));
        assert_eq!(found(&["rsa", "curve"]), Some(RSA));
        assert_eq!(found(&["curve"]), None);
    }

    /// Wherever it stands.
    #[test]
    fn a_kerberos_token_shows_a_requester() {
        let token = KerberosPolicy {
            form: KerberosForm::Gss,
            carried: true,
            by_identifier: false,
        };
        let policy_of =
            |mechanism: Mechanism| mechanism.policy(Suite::named("Basic256GCM").expect("a suite"));
        let mut protecting = policy_of(Mechanism::Sign);
        assert!(shows_requester(&protecting));
        protecting.binding = Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Kerberos(token),
            derived_keys: None,
            order: protecting.order(),
        });
        let mut endorsing = policy_of(Mechanism::None);
        endorsing.binding = Binding::Transport;
        endorsing.endorse_with(EndorsingToken::by(EndorsingKey::Kerberos {
            token,
            derived_keys: None,
        }));
        let mut authenticating = policy_of(Mechanism::None);
        authenticating
            .supporting
            .push(SupportingToken::Kerberos(token));
        assert!(!shows_requester(&policy_of(Mechanism::None)));
        for policy in [protecting, endorsing, authenticating] {
            assert!(shows_requester(&policy), "{policy:?}");
        }
    }
}
