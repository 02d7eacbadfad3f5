//! What is asked for at a token service, and how it is talked to, by the file and the policy.
//!
//! The rule kept here: a request that would show a secret, or that no receiver could use, is an
//! error of the file.

use soapstone_policy::{IssuedKey, IssuedToken};
use soapstone_trust::addressing::AddressingVersion;
use soapstone_trust::{
    AppliesTo, Contribution, ProofRules, TokenKey, TokenRules, TrustVersion, WantedClaims,
};
use soapstone_wss::{
    AssertionPolicy, ConfirmationMethod, HolderUse, InboundPlan, KeyBinding, OutboundPlan, Part,
    Policy, SamlVersion, SoapVersion,
};

use super::bootstrap::encrypts_body_afresh;
use super::compile::compile;
use super::compiled::Endpoint;
use super::compiler::Compiler;
use super::exchange_policy::EndpointPolicies;
use super::plans::Calling;
use super::role::Role;
use crate::config::{TokenKeyType, TokenServiceConfig};

use super::token_service::{TokenRequests, TokenService};

/// Most assertions of users that are kept, where the file says nothing: some 10 MB, and 256 MB if
/// each is as large as one may be.
const CAPACITY: usize = 1000;

impl Compiler<'_> {
    /// The token service that makes the assertions of requests.
    pub(super) fn token_service(
        &mut self,
        agreed: &EndpointPolicies,
        role: Role,
    ) -> Option<Box<TokenService>> {
        let config = self.config.token_service.as_ref()?;
        if role != Role::Client {
            self.report_with_hint(
                config.place,
                "a token service is asked by whoever sends requests and waits for their answers: a gateway's `outbound`",
                "for single messages, name a file: saml = { assertion = \"assertion.xml\", … }",
            );
            return None;
        }
        let requests = agreed.exchanges.iter().map(|exchange| &exchange.request);
        let of_messages = requests.clone().find(|it| it.assertion().is_some());
        let first = agreed.bootstrap.as_ref().map(|it| &it.request);
        if let (Some(_), Some(first)) = (of_messages, first) {
            let problem = match first.assertion() {
                Some(_) => {
                    "the assertion of a token service begins conversations, and their messages want one as well"
                }
                None => {
                    "the messages of conversations want the assertion of a token service, which nothing but the beginning of a conversation shows"
                }
            };
            self.report_with_hint(
                config.place,
                problem,
                "name a file: saml = { assertion = \"assertion.xml\", … }",
            );
            return None;
        }
        let request = of_messages.or(first.filter(|it| it.assertion().is_some()))?;
        let endpoint = self.endpoint_of_service(config)?;
        let issued = agreed.issued.as_ref();
        let rules = self.token_rules_of(config, &endpoint, request, issued)?;
        let requests = TokenRequests {
            url: self.url_of_service(config, issued)?,
            soap: config.soap.unwrap_or(SoapVersion::V12),
            user: config.user.as_ref().map(|user| user.value),
            capacity: config
                .capacity
                .map_or(CAPACITY, |most| usize::try_from(most).unwrap_or(CAPACITY)),
            renews: self.renews_assertions(config, &rules),
            cancels: config.cancel.as_ref().is_some_and(|it| it.value),
            tls: config.tls.clone(),
            rules,
        };
        self.check_secrecy(config, &endpoint, &requests);
        Some(Box::new(TokenService { endpoint, requests }))
    }

    /// Whether assertions are renewed: those about ourselves, whose bearer or key the request can
    /// show. Of a user's there may be no longer one than the user's own.
    fn renews_assertions(&mut self, config: &TokenServiceConfig, rules: &TokenRules) -> bool {
        let Some(renew) = config.renew.as_ref().filter(|renew| renew.value) else {
            return false;
        };
        let problem = match &rules.key {
            TokenKey::Symmetric(_) => {
                "nothing in a request shows who holds a symmetric key, and so no assertion with one is renewed"
            }
            _ if config.user.is_some() => {
                "the assertion of a user ends with the user's own, and is asked for with it"
            }
            _ => return true,
        };
        self.report_with_hint(
            renew.place,
            problem,
            "leave `renew` out: another one is asked for in time",
        );
        false
    }

    /// The endpoint that faces the token service.
    fn endpoint_of_service(&mut self, config: &TokenServiceConfig) -> Option<Endpoint<Calling>> {
        let own = config.endpoint.as_deref()?;
        let mut endpoint: Endpoint<Calling> = match compile(own, Role::Client) {
            Ok(endpoint) => endpoint,
            Err(problems) => {
                self.take_problems(problems);
                return None;
            }
        };
        if endpoint.conversation.is_some() {
            self.report_with_hint(
                own.security.source.place,
                "conversations with a token service are not supported",
                "take a mechanism for single messages",
            );
            return None;
        }
        self.dated.append(&mut endpoint.dated);
        self.online.append(&mut endpoint.online);
        Some(endpoint)
    }

    /// What is asked for, and what is taken.
    fn token_rules_of(
        &mut self,
        config: &TokenServiceConfig,
        endpoint: &Endpoint<Calling>,
        request: &Policy,
        issued: Option<&IssuedToken>,
    ) -> Option<TokenRules> {
        let wanted = request.assertion()?;
        let applies_to = config.applies_to.as_ref()?;
        let key = self.kind_of_key(config, request, wanted, issued)?;
        let version = config.version.as_ref().map(|version| version.value);
        let version = version.or(match wanted.versions.contains(&SamlVersion::V20) {
            true => Some(SamlVersion::V20),
            false => wanted.versions.first().copied(),
        })?;
        let named = self
            .config
            .saml
            .as_ref()
            .and_then(|it| it.versions.as_ref());
        if let (Some(asked), Some(named)) = (&config.version, named)
            && !named.contains(&asked.value)
        {
            self.report_with_hint(
                asked.place,
                "the assertion is asked for in a version that `versions` does not name",
                "leave `versions` out",
            );
            return None;
        }
        let mut rules = TokenRules::new(AssertionPolicy {
            audiences: vec![applies_to.value.clone()],
            ..wanted.clone()
        });
        let by_policy = issued
            .and_then(|issued| issued.trust)
            .map(TrustVersion::from);
        rules.version = match (&config.trust_version, by_policy) {
            (Some(named), Some(by_policy)) if named.value != by_policy => {
                self.report_with_hint(
                    named.place,
                    "the policy has its template in another version of WS-Trust",
                    "leave `ws_trust` out",
                );
                return None;
            }
            (Some(named), _) => named.value,
            (None, by_policy) => by_policy.unwrap_or(TrustVersion::V13),
        };
        rules.assertion = version;
        rules.key = match key {
            TokenKeyType::Bearer => TokenKey::Bearer,
            TokenKeyType::PublicKey => {
                TokenKey::Public(self.holder_certificate(config, wanted.holder)?)
            }
            TokenKeyType::SymmetricKey => {
                TokenKey::Symmetric(self.proof_rules(config, endpoint, request, issued)?)
            }
        };
        rules.applies_to = Some(AppliesTo::new(
            applies_to.value.clone(),
            AddressingVersion::V10,
        ));
        let template = issued.map(|issued| issued.other.as_bytes().to_vec());
        rules.claims = match &config.claims {
            Some(types) => Some(WantedClaims::Types(
                types.iter().map(|one| one.value.clone()).collect(),
            )),
            None => template
                .filter(|template| !template.is_empty())
                .map(WantedClaims::Template),
        };
        rules.lifetime = config.lifetime;
        rules.issuers = self.issuers();
        Some(rules)
    }

    /// The kind of key that the assertion is to have: as the file says, or the policy, or the
    /// messages that the key protects.
    fn kind_of_key(
        &mut self,
        config: &TokenServiceConfig,
        request: &Policy,
        wanted: &AssertionPolicy,
        issued: Option<&IssuedToken>,
    ) -> Option<TokenKeyType> {
        let holds = ConfirmationMethod::HolderOfKey;
        let by_key = wanted.accepts(holds) && !wanted.accepts(ConfirmationMethod::Bearer);
        let by_policy = match issued.and_then(|issued| issued.key_type) {
            Some(IssuedKey::PublicKey) => Some(TokenKeyType::PublicKey),
            Some(IssuedKey::SymmetricKey) => Some(TokenKeyType::SymmetricKey),
            Some(IssuedKey::Bearer) => Some(TokenKeyType::Bearer),
            _ => None,
        };
        if let (Some(by_policy), Some(key)) = (by_policy, &config.key)
            && by_policy != key.value
        {
            self.report_with_hint(
                key.place,
                "the policy asks for a token with another kind of key",
                "leave `key` out",
            );
            return None;
        }
        let proves = request.uses_proof_key();
        let key = match config.key.as_ref().map(|key| key.value).or(by_policy) {
            Some(key) => key,
            None if proves => TokenKeyType::SymmetricKey,
            None if by_key => TokenKeyType::PublicKey,
            None => TokenKeyType::Bearer,
        };
        let place = config.key.as_ref().map_or(config.place, |key| key.place);
        if proves != (key == TokenKeyType::SymmetricKey) {
            let (message, hint) = match proves {
                true => (
                    "messages are under the symmetric key of an assertion, and the assertion is asked for with another key or none",
                    "leave `key` out",
                ),
                false => (
                    "the assertion is asked for with a symmetric key, and messages are not under it",
                    "say holder_key = \"symmetric\" in `saml`",
                ),
            };
            self.report_with_hint(place, message, hint);
            return None;
        }
        let method = match key {
            TokenKeyType::Bearer => ConfirmationMethod::Bearer,
            TokenKeyType::PublicKey | TokenKeyType::SymmetricKey => holds,
        };
        if !wanted.accepts(method) {
            self.report_with_hint(
                place,
                format!(
                    "the assertion is asked for with the confirmation {}, which `confirmation` does not name",
                    method.name()
                ),
                format!("confirmation = [\"{}\"]", method.name()),
            );
            return None;
        }
        self.refuse_needless_key_rules(config, key);
        Some(key)
    }

    /// Reports what is said of a symmetric key where there is none.
    fn refuse_needless_key_rules(&mut self, config: &TokenServiceConfig, key: TokenKeyType) {
        if key == TokenKeyType::SymmetricKey {
            return;
        }
        let size = config.key_size.as_ref().map(|it| ("key_size", it.place));
        let entropy = config.entropy.as_ref().map(|it| ("entropy", it.place));
        for (name, place) in [size, entropy].into_iter().flatten() {
            self.report_with_hint(
                place,
                format!("`{name}` is given, and the assertion has no symmetric key"),
                "leave it out, or say holder_key = \"symmetric\" in `saml`",
            );
        }
    }

    /// What is asked for of a symmetric key.
    fn proof_rules(
        &mut self,
        config: &TokenServiceConfig,
        endpoint: &Endpoint<Calling>,
        request: &Policy,
        issued: Option<&IssuedToken>,
    ) -> Option<ProofRules> {
        let mut rules = ProofRules::default();
        if let Some(bits) = issued.and_then(|issued| issued.key_size) {
            rules.key_size = bits;
        }
        if let Some(bits) = &config.key_size {
            rules.key_size = bits.value;
        }
        // Its first bytes encrypt, where no keys are derived from it.
        let cipher = request.suite.data.first().filter(|_| {
            let encryption = request.encryption();
            encryption.is_some_and(|one| one.key == KeyBinding::Assertion)
        });
        let fewest = cipher.map_or(0, |cipher| cipher.key_length() as u32 * 8);
        if rules.key_size < fewest {
            let place = config.key_size.as_ref().map_or(config.place, |it| it.place);
            let said_by = match config.key_size {
                Some(_) => "",
                None => " in the `wst:KeySize` of the policy",
            };
            self.report_with_hint(
                place,
                format!(
                    "expected a key as long as the suite encrypts with, found {} bits{said_by}",
                    rules.key_size
                ),
                format!("key_size = {fewest}"),
            );
            return None;
        }
        if let Some(entropy) = &config.entropy {
            rules.contribution = entropy.value;
        }
        let own = endpoint.inbound().find_map(InboundPlan::decryption_key);
        rules.decryption_key = own.cloned();
        Some(rules)
    }

    /// Where the token service is: as the file says, or as the policy says where the file has its
    /// host. A policy is somebody else's word, and our keys would be shown to whomever it names.
    fn url_of_service(
        &mut self,
        config: &TokenServiceConfig,
        issued: Option<&IssuedToken>,
    ) -> Option<String> {
        if let Some(url) = &config.url {
            return Some(url.value.clone());
        }
        let named = issued.and_then(|issued| issued.issuer.as_deref());
        let Some(named) = named else {
            self.report_with_hint(
                config.place,
                "`url` is missing, and no policy names the token service",
                "say where the token service is: url = \"https://sts.example/issue\"",
            );
            return None;
        };
        let host = host_of(named);
        let mut hosts = config.hosts.iter();
        if host.is_some_and(|host| hosts.any(|one| one.value.eq_ignore_ascii_case(host))) {
            return Some(named.to_owned());
        }
        let host = host.unwrap_or("no host");
        self.report_with_hint(
            config.place,
            format!("the policy names a token service at {host:?}, and `hosts` does not"),
            "name its host if you trust it, or say with `url` where the token service is",
        );
        None
    }

    /// The certificate whose key the assertion is to name: the one that signs, or endorses.
    fn holder_certificate(
        &mut self,
        config: &TokenServiceConfig,
        holder: HolderUse,
    ) -> Option<soapstone_crypto::Certificate> {
        let identity = self.config.identity.as_ref();
        let endorsing = identity.and_then(|identity| identity.endorsing.first());
        let named = match holder {
            HolderUse::Endorses => endorsing.or(identity),
            _ => identity,
        };
        let Some(named) = named else {
            self.report_with_hint(
                config.place,
                "the assertion is to name our key, and there is none",
                "say who we are to the service: identity = { key = \"….key.pem\", certificate = \"….cert.pem\" }",
            );
            return None;
        };
        let identity = self.identity(named, super::expiring_file::MaterialUse::Identity)?;
        Some(identity.certificate().clone())
    }

    /// Reports what everybody on the way could read or write.
    fn check_secrecy(
        &mut self,
        config: &TokenServiceConfig,
        endpoint: &Endpoint<Calling>,
        requests: &TokenRequests,
    ) {
        let place = config.url.as_ref().map_or(config.place, |url| url.place);
        let scheme = requests.url.split_once("://").map(|(scheme, _)| scheme);
        let is_https = scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        if is_https {
            return;
        }
        let answers = || endpoint.inbound().map(InboundPlan::policy);
        let asked = || endpoint.outbound().map(OutboundPlan::policy);
        let (answered, sent) = match &requests.rules.key {
            TokenKey::Bearer => (true, false),
            TokenKey::Public(_) => (false, false),
            TokenKey::Symmetric(proof) => (
                proof.contribution != Contribution::Ours,
                proof.contribution != Contribution::Issuers,
            ),
        };
        // Requests to renew or to cancel an assertion have it in them.
        let is_shown = requests.renews || requests.cancels;
        let shows = is_shown && matches!(requests.rules.key, TokenKey::Bearer);
        let readable = answered && !answers().all(encrypts_body_afresh)
            || (sent || shows || requests.user.is_some()) && !asked().all(encrypts_body_afresh);
        let problem = if readable {
            "everybody on the way could read an assertion, or its key, and use it: the token service is not https, and `endpoint` encrypts no Body"
        } else if !answers().all(|policy| policy.signs(&Part::Body)) {
            "everybody on the way could write the answers of the token service: it is not https, and `endpoint` wants no signature"
        } else if endpoint.needs_tls() {
            "`endpoint` leaves protection to TLS, and the token service is not https"
        } else {
            return;
        };
        self.report_with_hint(place, problem, "name the token service's https address");
    }
}

/// Host and port of an address, as it has them; none where there might be two readings of it.
fn host_of(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let (host, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
    let known = ["http", "https"].contains(&scheme);
    (known && !host.is_empty() && host.chars().all(is_plain)).then_some(host)
}
