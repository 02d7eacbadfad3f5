//! Keys that are derived from the passwords of users, as the message says and as senders get them
//! wrong (UsernameToken Profile 1.1.1, 4).
//!
//! The rule kept here: a message asks for no more iterations than are bounded here.

use soapstone_crypto::{DigestAlgorithm, PasswordKey, SecretBytes, SymmetricKey, base64, digest};
use soapstone_wss::names::{WSSE, WSSE11, WSU};
use soapstone_xml::{Document, Element};

use crate::keys::Known;

/// Most tokens that are looked at.
const MOST: usize = 2;

/// Most iterations of one derivation: twice what a receiver takes unless it says otherwise. A token
/// takes a dozen derivations.
const MOST_ITERATIONS: u32 = 20_000;

/// Iterations of a token that names none.
const DEFAULT_ITERATIONS: u32 = 1000;

/// What a token says of its key, with the password of its user.
struct Token<'k> {
    id: Option<String>,
    /// The key in words.
    name: String,
    /// The salt as it is written.
    written: String,
    salt: [u8; PasswordKey::SALT_LENGTH],
    iterations: u32,
    password: &'k SecretBytes,
}

/// The tokens whose user is known.
fn tokens<'k>(document: &Document, known: &'k Known) -> Vec<Token<'k>> {
    let tokens = document.elements_named(WSSE, "UsernameToken");
    let tokens = tokens.filter(Element::is_live);
    let tokens = tokens.filter_map(|token| read(token, known));
    tokens.take(MOST).collect()
}

fn read<'k>(token: Element<'_>, known: &'k Known) -> Option<Token<'k>> {
    let text = |namespace, local| {
        let child = token.child(namespace, local)?;
        Some(child.text().trim().to_owned())
    };
    let written = text(WSSE11, "Salt")?;
    let salt = base64::decode_xml_to_vec(written.as_bytes()).ok()?;
    let user = text(WSSE, "Username")?;
    let (_, password) = known.passwords.iter().find(|(name, _)| *name == user)?;
    let iterations = match text(WSSE11, "Iteration") {
        Some(number) => number.parse().ok()?,
        None => DEFAULT_ITERATIONS,
    };
    (iterations <= MOST_ITERATIONS).then_some(Token {
        id: token.attribute(WSU, "Id").map(|id| id.into_owned()),
        name: format!("the key of the password of `{user}`"),
        written,
        salt: salt.try_into().ok()?,
        iterations,
        password,
    })
}

/// The keys as the message says, each with the id of its token and what it is called.
pub(crate) fn keys(
    document: &Document,
    known: &Known,
) -> Vec<(Option<String>, String, SymmetricKey)> {
    let tokens = tokens(document, known).into_iter();
    let keys = tokens.filter_map(|token| {
        let derivation = PasswordKey {
            salt: token.salt,
            iterations: token.iterations,
        };
        Some((
            token.id,
            token.name,
            derivation.derive(token.password).ok()?,
        ))
    });
    keys.collect()
}

/// The keys as they may have been derived, each with what was done.
pub(crate) fn otherwise(document: &Document, known: &Known) -> Vec<(String, SymmetricKey)> {
    let tokens = tokens(document, known).into_iter();
    tokens.flat_map(|token| of_token(&token)).collect()
}

fn of_token(token: &Token<'_>) -> Vec<(String, SymmetricKey)> {
    let mut found = Vec::new();
    let mut add = |says: &str, key: Option<SymmetricKey>| {
        found.extend(key.map(|key| (format!("{} {says}", token.name), key)));
    };
    let (salt, iterations) = (token.salt, token.iterations);
    let of = |salt: &[u8], iterations| derived(token.password, salt, iterations);
    add(
        "with the base64 text of the salt",
        of(token.written.as_bytes(), iterations),
    );
    add("with one iteration more", of(&salt, iterations + 1));
    add("with one iteration less", of(&salt, iterations.max(2) - 1));
    add("with 1000 iterations", of(&salt, DEFAULT_ITERATIONS));
    add("without a salt", of(b"", iterations));
    add(
        "without the first byte of the salt",
        of(&salt[1..], iterations),
    );
    // The first byte says what the key is for (UsernameToken Profile 1.1.1, 4.1).
    for (byte, says) in [(1, "a code"), (2, "encryption")] {
        let mut salt = salt;
        salt[0] = byte;
        let says = format!("with the salt of a key for {says}");
        add(&says, of(&salt, iterations));
    }
    let bytes = token.password.expose().clone();
    add("as its bytes", SymmetricKey::new(bytes).ok());
    found
}

/// SHA-1 again and again, with a salt of any length.
fn derived(password: &SecretBytes, salt: &[u8], iterations: u32) -> Option<SymmetricKey> {
    let mut bytes = [password.expose().as_slice(), salt].concat();
    for _ in 0..iterations.max(1) {
        bytes = digest(DigestAlgorithm::Sha1, &bytes)
            .ok()?
            .as_ref()
            .to_vec();
    }
    SymmetricKey::new(bytes).ok()
}
