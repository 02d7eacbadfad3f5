//! `wsse:UsernameToken` (UsernameToken Profile 1.1.1): written, read, and its password checked.
//!
//! It proves a user by a password, or gives a key that is derived from one ([`keys`]). The one
//! rule: an unknown user costs the same time and gives the same answer as a wrong password.

mod keys;

use jiff::Timestamp;
use soapstone_crypto::random::{self, Supply};
use soapstone_crypto::{SecretBytes, base64};
use soapstone_xml::{Element, escape};

pub(crate) use self::keys::{
    PasswordKeyToken, PasswordKeyUse, derivation, encryption_key, is_username_token,
};
use super::kind::{Claim, Kind, Proving, broken};
use crate::attributes::only_attributes;
use crate::digest;
use crate::envelope::expanded_name;
use crate::freshness::{self, Freshness, PeerClock};
use crate::marks::{self, End};
use crate::names::{
    BASE64_BINARY, PASSWORD_DIGEST, PASSWORD_TEXT, USERNAME_TOKEN, WSSE, WSSE_2002, WSU, WSU_2002,
};
use crate::operation::Operation;
use crate::policy::Policy;
use crate::rejected::Rejected;
use crate::supporting::SupportingToken;
use crate::username::{PasswordKind, Presence, User, UsernameDialects, UsernamePolicy};
use crate::values::only_base64;

/// The kind. A token that no policy asks for is refused in its turn.
pub(super) static KIND: Kind = Kind {
    local: "UsernameToken",
    namespaces: &[WSSE, WSSE_2002],
    single: Some("`wsse:UsernameToken`"),
    has_type: |_, claimed| claimed == USERNAME_TOKEN,
    prove: Some(prove),
    is_used_by: |_| true,
    wrong_demands: |policy| {
        wrong_demands(policy)
            .chain(keys::wrong_demands(policy))
            .collect()
    },
    claims: |element| {
        let token = UsernameToken::read(element, None)?;
        let created = Some(token.created).filter(|created| !created.is_empty());
        let created = created.map(|created| Claim::new("created", created));
        let claims = [
            Claim::new("user", token.user),
            Claim::new("password", token.kind.uri().unwrap_or("none")),
        ];
        Ok(claims.into_iter().chain(created).collect())
    },
    ..Kind::named("UsernameToken")
};

/// Of tokens with passwords.
fn wrong_demands(policy: &Policy) -> impl Iterator<Item = &'static str> + use<> {
    let digests_alone = |username: &UsernamePolicy| {
        let lacks = [username.nonce, username.created].contains(&Presence::Absent);
        username.passwords.contains(&PasswordKind::Digest) && lacks
    };
    let users = policy.supporting.iter();
    let users = users.filter_map(SupportingToken::username).count();
    broken([
        (
            policy.username().is_some_and(digests_alone),
            "a password digest has a nonce and the time of its making: without them it can be repeated",
        ),
        (users > 1, "a message has one user"),
    ])
}

/// Authenticates the user, and notes what a copy of the token is known by. Where keys are derived
/// from passwords, a key authenticates in its turn: a token that asks for too much work is refused
/// here.
fn prove(element: Element<'_>, with: &mut Proving<'_>) -> Result<(), Rejected> {
    if let Some(policy) = with.password_keys
        && is_username_token(element)
    {
        PasswordKeyToken::read(element, policy)?;
        with.evidence.password_tokens.push(with.token);
        return Ok(());
    }
    let mut demanded = with.demanded.iter();
    let Some(wanted) = demanded.find_map(SupportingToken::username) else {
        return Err(Rejected::ElementUnexpected {
            element: expanded_name(element),
        });
    };
    if with.evidence.user_token.replace(with.token).is_some() {
        return Err(Rejected::TooMany {
            what: "`wsse:UsernameToken`",
            limit: 1,
        });
    }
    if element.namespace() != WSSE && !wanted.dialects.draft_2002 {
        return Err(Rejected::ElementUnexpected {
            element: expanded_name(element),
        });
    }
    with.observer.ended(Operation::Other);
    let clock = with.facts.clock;
    let token = UsernameToken::read(element, Some((wanted, clock, with.now)))?;
    token.authenticate(with.facts.password(&token.user))?;
    with.observer.ended(Operation::Username);
    if let Some(key) = token.nonce_mark() {
        let end = match token.freshness {
            Some(freshness) => (freshness.remember_until(wanted.skew), End::Proven),
            None => {
                let until = freshness::later(with.now, wanted.ttl + wanted.skew);
                (until, End::Counted)
            }
        };
        with.marks.extend(marks::ending(end, [key]));
    }
    match token.kind {
        PasswordKind::Absent => with.evidence.named_user = Some(token.user),
        _ => with.evidence.user = Some(token.user),
    }
    Ok(())
}

impl PasswordKind {
    /// `Password/@Type`, where there is a password.
    const fn uri(self) -> Option<&'static str> {
        match self {
            Self::Text => Some(PASSWORD_TEXT),
            Self::Digest => Some(PASSWORD_DIGEST),
            Self::Absent => None,
        }
    }

    /// The kind that the `Type` of a password means; `None` if it is none of the profile's.
    fn of_type(password: Element<'_>, dialects: UsernameDialects) -> Option<Self> {
        let Some(said) = password.attribute("", "Type") else {
            return Some(Self::Text);
        };
        match said.as_ref() {
            PASSWORD_TEXT => return Some(Self::Text),
            PASSWORD_DIGEST => return Some(Self::Digest),
            _ => {}
        }
        if dialects.other_identifiers {
            let mut starts = OTHER_STARTS_OF_TYPES.into_iter();
            let named = starts.find_map(|start| Self::named(said.strip_prefix(start)?));
            if named.is_some() {
                return named;
            }
        }
        let is_of_draft = password.namespace() == WSSE_2002 && dialects.draft_2002;
        let (prefix, local) = said.split_once(':')?;
        let namespace = password.namespace_of(prefix)?;
        let is_ours = namespace == WSSE || namespace == WSSE_2002;
        if !is_ours || !(dialects.qualified_types || is_of_draft) {
            return None;
        }
        Self::named(local)
    }

    /// The kind that the profile calls so.
    fn named(local: &str) -> Option<Self> {
        match local {
            "PasswordText" => Some(Self::Text),
            "PasswordDigest" => Some(Self::Digest),
            _ => None,
        }
    }
}

/// What clients write in front of the names of types, ONVIF's above all: version 1.1 of the profile
/// has kept the identifiers of 1.0 for them (UsernameToken Profile 1.1.1, 2.1).
const OTHER_STARTS_OF_TYPES: [&str; 3] = [
    "http://docs.oasis-open.org/wss/oasis-wss-username-token-profile-1.1#",
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.1#",
    "",
];

/// What they write as the encoding of a nonce: SOAP Message Security has the identifier.
const OTHER_ENCODINGS: [&str; 2] = [
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd#Base64Binary",
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#Base64Binary",
];

/// Whether a nonce is said to be base64 as other documents or the draft of 2002 say it.
fn is_base64_of_dialect(nonce: Element<'_>, dialects: UsernameDialects) -> bool {
    let Some(said) = nonce.attribute("", "EncodingType") else {
        return false;
    };
    if dialects.other_identifiers && OTHER_ENCODINGS.contains(&&*said) {
        return true;
    }
    // A nonce of the draft is in a token of the draft.
    let is_of_draft = |(prefix, local): (&str, &str)| {
        local == "Base64Binary" && nonce.namespace_of(prefix) == Some(WSSE_2002)
    };
    nonce.namespace() == WSSE_2002 && said.split_once(':').is_some_and(is_of_draft)
}

/// A `UsernameToken` as found, with nothing checked but its shape and its times.
struct UsernameToken {
    user: String,
    kind: PasswordKind,
    password: SecretBytes,
    nonce: Vec<u8>,
    created: String,
    freshness: Option<Freshness>,
}

/// Longest nonce remembered, bytes; 16 is customary.
const NONCE_LIMIT: usize = 128;

impl UsernameToken {
    /// Reads the token, and compares it with a policy and the clock where there are any. A digest
    /// needs nonce and `Created` (UsernameToken Profile 1.1.1, 3.1: without them it can be
    /// replayed).
    fn read(
        token: Element<'_>,
        judged: Option<(&UsernamePolicy, PeerClock, Timestamp)>,
    ) -> Result<Self, Rejected> {
        let malformed = |problem: &str| Rejected::Malformed {
            element: "wsse:UsernameToken",
            problem: problem.to_owned(),
        };
        let only = |namespace: &str, local: &str| -> Result<Option<Element<'_>>, Rejected> {
            let mut found = token.children().filter(|child| child.is(namespace, local));
            let first = found.next();
            match found.next() {
                None => Ok(first),
                Some(_) => Err(malformed(&format!("expected one `{local}`, found more"))),
            }
        };
        let text = |element: Element<'_>| {
            element
                .text_strict()
                .map(std::borrow::Cow::into_owned)
                .ok_or_else(|| {
                    malformed(&format!(
                        "expected text in `{}`, found elements or comments",
                        element.local()
                    ))
                })
        };
        let attributes = |element, allowed: &[&str]| {
            only_attributes(element, allowed).map_err(|problem| malformed(&problem))
        };
        // The draft of 2002 has the same elements in namespaces of its own.
        let (extension, utility) = match token.namespace() {
            WSSE_2002 => (WSSE_2002, WSU_2002),
            _ => (WSSE, WSU),
        };
        let dialects = match judged {
            Some((policy, ..)) => policy.dialects,
            None => UsernameDialects {
                qualified_types: true,
                other_identifiers: true,
                draft_2002: true,
            },
        };
        attributes(token, &[])?;
        let user = only(extension, "Username")?
            .ok_or_else(|| malformed("expected `Username`, found none"))?;
        attributes(user, &[])?;
        let user = text(user)?;
        let password = only(extension, "Password")?;
        let kind = match password {
            None => PasswordKind::Absent,
            Some(password) => {
                attributes(password, &["Type"])?;
                PasswordKind::of_type(password, dialects).ok_or_else(|| {
                    let said = password.attribute("", "Type").unwrap_or_default();
                    Rejected::PasswordKindNotAllowed {
                        found: said.into_owned(),
                    }
                })?
            }
        };
        if let Some((policy, ..)) = judged
            && !policy.passwords.contains(&kind)
        {
            return Err(match kind.uri() {
                Some(uri) => Rejected::PasswordKindNotAllowed {
                    found: uri.to_owned(),
                },
                None => malformed("expected `Password`, found none"),
            });
        }
        let nonce = match only(extension, "Nonce")? {
            None => Vec::new(),
            Some(nonce) => {
                attributes(nonce, &["EncodingType"])?;
                if !is_base64_of_dialect(nonce, dialects) {
                    // BSP 1.1, R4221.
                    only_base64(nonce, "nonce")?;
                }
                let coded = text(nonce)?;
                if coded.len() > 2 * NONCE_LIMIT {
                    return Err(malformed(&format!(
                        "expected a nonce of at most {NONCE_LIMIT} bytes, found more"
                    )));
                }
                let mut octets = Vec::new();
                base64::decode_xml(coded.as_bytes(), &mut octets)
                    .map_err(|_| malformed("expected base64 in `Nonce`, found something else"))?;
                octets
            }
        };
        let created = only(utility, "Created")?;
        let freshness = created
            .zip(judged)
            .map(|(created, (policy, clock, now))| {
                freshness::read_created(created, policy.ttl, policy.skew, clock, now)
            })
            .transpose()?;
        if kind == PasswordKind::Digest && (nonce.is_empty() || created.is_none()) {
            return Err(malformed(
                "expected `Nonce` and `Created` beside a password digest, found not both",
            ));
        }
        if let Some((policy, ..)) = judged {
            for (presence, missing, name) in [
                (policy.nonce, nonce.is_empty(), "Nonce"),
                (policy.created, created.is_none(), "Created"),
            ] {
                if presence == Presence::Demanded && missing {
                    return Err(malformed(&format!("expected `{name}`, found none")));
                }
            }
        }
        let password = password.map(text).transpose()?.unwrap_or_default();
        Ok(Self {
            user,
            kind,
            password: SecretBytes::new(password.into_bytes()),
            nonce,
            created: created.map(text).transpose()?.unwrap_or_default(),
            freshness,
        })
    }

    /// Checks the password against the one that the host knows for this user; `None` if it knows no
    /// such user.
    fn authenticate(&self, known: Option<&SecretBytes>) -> Result<(), Rejected> {
        if self.kind == PasswordKind::Absent {
            // Nobody is proven. That it is a user of ours is all there is to see.
            return match known {
                Some(_) => Ok(()),
                None => Err(Rejected::AuthenticationFailed {
                    user: self.user.clone(),
                }),
            };
        }
        // A user without a password has none that could be right.
        let known = known.filter(|password| !password.expose().is_empty());
        let stand_in = SecretBytes::new(b"no such user".to_vec());
        let expected = known.unwrap_or(&stand_in);
        let coded;
        let expected = match self.kind {
            PasswordKind::Text => expected.expose().as_slice(),
            PasswordKind::Digest => {
                coded = base64::encode(&password_digest(&self.nonce, &self.created, expected));
                coded.as_bytes()
            }
            PasswordKind::Absent => &[],
        };
        // Digests of equal length are compared, so that neither the length of the password nor its
        // beginning shows.
        let salt = random::bytes::<16>();
        let matches = digest::mark([&salt, expected])
            == digest::mark([&salt, self.password.expose().as_slice()]);
        if matches && known.is_some() {
            Ok(())
        } else {
            Err(Rejected::AuthenticationFailed {
                user: self.user.clone(),
            })
        }
    }

    /// What must not be seen twice: the nonce and the time, with the user. As one piece, as they
    /// are digested: where the nonce ends, the digest does not say, and bytes at its end that
    /// may begin a time could be moved there.
    fn nonce_mark(&self) -> Option<[u8; 32]> {
        let digested = [self.nonce.as_slice(), self.created.as_bytes()].concat();
        let pieces = [b"nonce", self.user.as_bytes(), digested.as_slice()];
        (!self.nonce.is_empty()).then(|| digest::mark(pieces))
    }
}

/// `SHA-1(nonce + created + password)` (UsernameToken Profile 1.1.1, 3.1).
fn password_digest(nonce: &[u8], created: &str, password: &SecretBytes) -> [u8; 20] {
    digest::sha1([nonce, created.as_bytes(), password.expose()])
}

/// Appends a token for `user`, in canonical form, as the policy wants tokens.
pub(crate) fn write(
    user: &User,
    policy: &UsernamePolicy,
    id: &str,
    now: Timestamp,
    supply: &mut Supply,
    out: &mut Vec<u8>,
) {
    let kind = policy.passwords.first().copied();
    let kind = kind.unwrap_or(PasswordKind::Absent);
    let has = |presence| presence != Presence::Absent || kind == PasswordKind::Digest;
    let nonce = has(policy.nonce).then(|| supply.bytes::<16>());
    let created = has(policy.created).then(|| freshness::write(now));
    let put = |out: &mut Vec<u8>, pieces: &[&str]| {
        for piece in pieces {
            out.extend_from_slice(piece.as_bytes());
        }
    };
    put(out, &["<wsse:UsernameToken xmlns:wsse=\"", WSSE, "\""]);
    put(out, &[" xmlns:wsu=\"", WSU, "\" wsu:Id=\"", id, "\">"]);
    put(out, &["<wsse:Username>"]);
    escape::text(&user.name, out);
    put(out, &["</wsse:Username>"]);
    if let Some(uri) = kind.uri() {
        match policy.implied_text && kind == PasswordKind::Text {
            true => put(out, &["<wsse:Password>"]),
            false => put(out, &["<wsse:Password Type=\"", uri, "\">"]),
        }
        if kind == PasswordKind::Digest {
            let nonce = nonce.as_ref().map_or(&[][..], |nonce| nonce);
            let created = created.as_deref().unwrap_or_default();
            base64::encode_into(&password_digest(nonce, created, &user.password), out);
        } else {
            escape::text(&String::from_utf8_lossy(user.password.expose()), out);
        }
        put(out, &["</wsse:Password>"]);
    }
    if let Some(nonce) = &nonce {
        put(out, &["<wsse:Nonce EncodingType=\"", BASE64_BINARY, "\">"]);
        base64::encode_into(nonce, out);
        put(out, &["</wsse:Nonce>"]);
    }
    if let Some(created) = &created {
        put(out, &["<wsu:Created>", created, "</wsu:Created>"]);
    }
    put(out, &["</wsse:UsernameToken>"]);
}
